"""The table that a page is about: its columns, what stands in their way, and the question the page begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from alldags.data.bad_values import Tally
from alldags.data.files import read_table
from alldags.data.levels import code_words, coded_columns
from alldags.data.look import constant_columns, look_at
from alldags.data.source import Source, open_source
from alldags.errors import AlldagsError, DataError, GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.graph.io import read_graph
from alldags.steps import at
from alldags.wording import either, option

PROBABILITY = 0.5  # of an edge from column to column, unless something else is said


@dataclass(frozen=True, slots=True)
class Column:
    """What a page knows of a column.

    Parameters
    ----------
    name
        Of the column.
    gaps
        Rows without a value.
    words
        Levels of a category; empty for all else.
    is_identifier
        Whether it looks like a row number or an identifier.
    trouble
        Why it cannot be used; empty if it can.

    Examples
    --------
    >>> from alldags.app.study import column
    >>> from alldags.data.source import open_source
    >>> table = open_source({"dose": [1.0, 2.0, None, 1.5], "unit": ["mg", "mg", "mg", "mg"]})
    >>> column(table, "dose").gaps, column(table, "unit").trouble[:31]
    (1, "column 'unit' is 'mg' in every ")
    """

    name: str
    gaps: int = 0
    words: tuple[str, ...] = ()
    is_identifier: bool = False
    trouble: str = ""


@dataclass(frozen=True, eq=False)
class Study:
    """A table, and the first question about it.

    Parameters
    ----------
    path
        Of the file, as it was given.
    table
        What `alldags.fit` takes.
    question
        The first question, in the form that `alldags.app.answer.answer` takes; its treatment or outcome may be None.
    """

    path: Path
    table: Any
    question: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    @cached_property
    def source(self) -> Source:
        """The table, opened."""
        return open_source(self.table)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """What is known of each column."""
        return tuple(column(self.source, name, name in self.categories) for name in self.source.columns)

    @property
    def categories(self) -> Sequence[str]:
        """Columns of numbers that are codes of levels."""
        return names_in(self.question.get("categories"))

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        return self._tally([next(one.name for one in self.columns if not one.trouble)]).rows

    def incomplete(self, names: Sequence[str]) -> int:
        """Return the number of rows without a value in one of some columns."""
        return self._tally(names).incomplete

    def _tally(self, names: Sequence[str]) -> Tally:
        coded, levels = code_words(self.source, names, [name for name in self.categories if name in names])
        return coded.tally(coded_columns(names, levels))


def names_in(value: object) -> list[str]:
    """Return the names in a list that was sent, whatever else it holds."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def column(source: Source, name: str, is_coded: bool = False) -> Column:
    """Look at one column of a table, whose numbers may be codes of levels."""
    try:
        coded, levels = code_words(source, [name], [name] if is_coded else [])
        made = coded_columns([name], levels)
        moments = coded.moments(made, drop_missing=True)
    except AlldagsError as error:
        return Column(name, trouble=str(error))
    if constant_columns(moments.scatter.diagonal(), moments.n, moments.mean).any():
        return Column(name, trouble=f"column {name!r} is the same in every row: it has no effect that data could show")
    words = levels[name].words if len(made) > 1 else ()
    return Column(name, int(coded.tally(made).missing[0]), words, look_at(moments, made[0]).is_identifier)


def open_study(
    path: Path,
    graph: Path | None = None,
    treatment: str | None = None,
    outcome: str | None = None,
    missing: str | None = None,
    categories: Sequence[str] = (),
) -> Study:
    """Read a table and, if there is one, a graph.

    Parameters
    ----------
    path, graph
        Files.
    treatment, outcome
        Names; None: they are chosen on the page.
    missing
        ``"drop"`` or ``"impute"``; None: the page asks where values are missing.
    categories
        Columns of numbers that are codes of levels.
    """
    study = Study(path, read_table(path), {"categories": list(categories)})
    _check_there(study.categories, study.source.columns)
    usable = [one.name for one in study.columns if not one.trouble]
    if len(usable) < 2:
        raise DataError(f"{path.name!r} has {len(usable)} columns that can be used; a page needs two{_why(study)}")
    candidate = None if graph is None else read_graph(graph)
    if candidate is not None:
        _check_graph(candidate, study)
    question = first_question(study.source.columns, candidate, treatment, outcome)
    return Study(path, study.table, {**question, **study.question, "missing": missing})


def _check_there(categories: Sequence[str], names: Sequence[str]) -> None:
    for name in categories:
        if name not in names:
            raise DataError(f"{option('categories', [name])} is no column of the table{did_you_mean(name, names)}")


def _why(study: Study) -> str:
    """Say what is wrong with the first column that cannot be used."""
    return "".join([f": {one.trouble}" for one in study.columns if one.trouble][:1])


def _check_graph(graph: CandidateGraph, study: Study) -> None:
    trouble = {one.name: one.trouble for one in study.columns}
    for name in graph.variables:
        if at(name).lag and name not in trouble:
            raise GraphError(
                f"the graph has {name!r}, a variable of an earlier step, for which the page has no place; ask on the "
                "command line, alldags effect --time --after"
            )
        if name not in trouble:
            raise DataError(f"{name!r} of the graph is no column of the table{did_you_mean(name, trouble)}")
        if trouble[name]:
            raise DataError(f"{name!r} of the graph cannot be used: {trouble[name]}")
    if graph.hidden:
        pair = " <-> ".join(map(repr, next(iter(graph.hidden))))
        raise GraphError(
            f"the graph has the hidden common cause {pair}, which the page cannot show or change; ask "
            f"{either('ad.fit(table, graph).effect(treatment, outcome)', 'alldags effect with this --graph')}, which "
            "models it, or leave it out of the graph"
        )


def first_question(
    names: Sequence[str], graph: CandidateGraph | None, treatment: str | None, outcome: str | None
) -> dict[str, Any]:
    """Return the question that the page begins with: with what was said, and nothing more.

    Without a graph the edge from treatment to outcome is certain, as for `alldags.effect`, and all columns but these
    two are yet to be placed.
    """
    known = names if graph is None else graph.variables
    for role, name in (("treatment", treatment), ("outcome", outcome)):
        if name is not None and name not in known:
            raise AlldagsError(f"the {role} {name!r} is not there{did_you_mean(name, known)}")
    if treatment is not None and treatment == outcome:
        raise AlldagsError(f"treatment and outcome are both {outcome!r}; choose two different variables")
    rest = {"treatment": treatment, "outcome": outcome, "probability": PROBABILITY}
    if graph is None:
        tiers = [[name] for name in (treatment, outcome) if name is not None]
        return {"tiers": tiers, "edges": [], "pairs": [], "left": [], "direct": 1.0, **rest}
    tiers = [list(tier) for tier in graph.tiers()]
    left = [name for name in names if name not in graph.variables]
    return {"tiers": tiers, "edges": _exceptions(graph, tiers), "pairs": _pairs(graph, tiers), "left": left, **rest}


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
                if probability != PROBABILITY:
                    found.append([cause, effect, probability])
    return found
