"""The table that a page is about, and the graph it begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from alldags.data.files import read_table
from alldags.data.levels import code_words
from alldags.data.moments import Moments
from alldags.data.source import Source, open_source
from alldags.errors import AlldagsError, DataError, GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.graph.io import read_graph

DEFAULT_PROBABILITY = 0.5


@dataclass(frozen=True, eq=False)
class Study:
    """A table read once, as moments, and the first question about it.

    Parameters
    ----------
    name
        Of the file.
    moments
        Of all columns that can be used.
    question
        The first question, in the form that `alldags.app.answer.answer` takes.
    left_out
        Columns that are no numbers, or miss values.
    words
        What 0 and 1 stand for, in columns of two words.
    yes_no
        Columns with no other values than 0 and 1.
    """

    name: str
    moments: Moments
    question: Mapping[str, Any]
    left_out: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    yes_no: frozenset[str] = frozenset()

    def notes(self, treatment: str, outcome: str) -> list[str]:
        """Return what a reader of an answer should know of the two columns."""
        found = [
            f"{name} is 0 for {self.words[name][0]!r} and 1 for {self.words[name][1]!r}"
            for name in (treatment, outcome)
            if name in self.words
        ]
        if outcome in self.yes_no:
            found.append(
                f"{outcome} is yes/no, and this page, which has to be quick, fits straight lines: the command alldags "
                "effect and ad.fit() give a difference of risks from a logistic regression"
            )
        return found


def open_study(
    path: Path, graph: Path | None = None, treatment: str | None = None, outcome: str | None = None
) -> Study:
    """Read a table and, if there is one, a graph.

    Without a graph the last column is the outcome, the one before it the treatment, and all others come first.
    """
    opened = open_source(read_table(path))
    source, words, left_out = usable_columns(opened)
    names = tuple(name for name in opened.columns if name not in left_out)
    if len(names) < 2:
        raise DataError(
            f"{path.name!r} has {len(names)} columns of numbers, or two words, without gaps; a page needs two"
        )
    candidate = None if graph is None else read_graph(graph)
    if candidate is not None:
        _check_graph(candidate, names)
    found = source.moments(names)
    moments = Moments(found.n, found.mean, found.scatter, found.names, profile=found.profile)
    question = first_question(names, candidate, treatment, outcome)
    return Study(path.name, moments, question, left_out, words, _yes_no(source, names))


def _yes_no(source: Source, names: tuple[str, ...]) -> frozenset[str]:
    """Return the columns with no other values than 0 and 1."""
    columns = source.numbers(names)
    values = zip(names, columns.read(0, columns.rows), strict=True)
    return frozenset(name for name, column in values if np.isin(column, (0.0, 1.0)).all())


def _check_graph(graph: CandidateGraph, names: tuple[str, ...]) -> None:
    for name in graph.variables:
        if name not in names:
            hint = did_you_mean(name, names)
            raise DataError(f"{name!r} of the graph is no column of numbers without gaps, nor of two words{hint}")
    if graph.hidden:
        pair = " <-> ".join(map(repr, next(iter(graph.hidden))))
        raise GraphError(f"the graph has the hidden common cause {pair}, for which the page has no place; leave it out")


def usable_columns(source: Source) -> tuple[Source, dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the table with words coded, what two words stand for, and the columns that cannot be used.

    Examples
    --------
    >>> from alldags.app.study import usable_columns
    >>> from alldags.data.source import open_source
    >>> table = {"x": [1.0, 2.0, 3.0], "smoker": ["no", "yes", "no"], "gap": [1.0, None, 2.0]}
    >>> usable_columns(open_source(table))[1:]
    ({'smoker': ('no', 'yes')}, ('gap',))
    """
    words: dict[str, tuple[str, ...]] = {}
    left_out: list[str] = []
    for name in source.columns:
        try:
            coded, levels = code_words(source, [name])
            coded.moments((name,))  # a category has no column of its own name
        except AlldagsError:
            left_out.append(name)
        else:
            words |= {one.name: one.words for one in levels.values()}
    return code_words(source, list(words))[0], words, tuple(left_out)


def first_question(
    names: tuple[str, ...], graph: CandidateGraph | None, treatment: str | None, outcome: str | None
) -> dict[str, Any]:
    """Return the question that the page begins with."""
    known = names if graph is None else graph.variables
    for role, name in (("treatment", treatment), ("outcome", outcome)):
        if name is not None and name not in known:
            raise AlldagsError(f"the {role} {name!r} is not there{did_you_mean(name, known)}")
    last = outcome or next(name for name in reversed(known) if name != treatment)
    first = treatment or next(name for name in reversed(known) if name != last)
    if first == last:
        raise AlldagsError(f"treatment and outcome are both {first!r}; choose two different variables")
    if graph is None:
        before = [name for name in names if name not in (first, last)]
        tiers = [tier for tier in (before, [first], [last]) if tier]
        return {"tiers": tiers, "edges": [], "pairs": [], "unused": [], **_rest(first, last)}
    tiers = [list(tier) for tier in graph.tiers()]
    unused = [name for name in names if name not in graph.variables]
    rest = {"unused": unused, **_rest(first, last)}
    return {"tiers": tiers, "edges": _exceptions(graph, tiers), "pairs": _pairs(graph, tiers), **rest}


def _rest(treatment: str, outcome: str) -> dict[str, Any]:
    return {"probability": DEFAULT_PROBABILITY, "treatment": treatment, "outcome": outcome}


def _pairs(graph: CandidateGraph, tiers: list[list[str]]) -> list[list[Any]]:
    """Return the edges inside a tier, where the order is open: two names and the probability of each direction."""
    found = []
    for first, second in ((a, b) for tier in tiers for i, a in enumerate(tier) for b in tier[i + 1 :]):
        forward, backward = (graph.edges.get(edge, 0.0) for edge in ((first, second), (second, first)))
        if forward or backward:
            found.append([first, second, forward, backward])
    return found


def _exceptions(graph: CandidateGraph, tiers: list[list[str]]) -> list[list[Any]]:
    """Return the edges whose probability is not that of all others; 0 for those that are no candidates."""
    found = []
    for place, later in enumerate(tiers):
        for cause in (name for tier in tiers[:place] for name in tier):
            for effect in later:
                probability = graph.edges.get((cause, effect), 0.0)
                if probability != DEFAULT_PROBABILITY:
                    found.append([cause, effect, probability])
    return found
