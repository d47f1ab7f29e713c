"""From graph and data to a pair with correlated errors: which columns are in which regression, and how sure.

In a pair every covariate that is not declared an instrument, or whose edge to the second variable the graph does not
rule out, is flat in both regressions: it then says nothing about the correlation. Rows in which one of the two was set
show what acts on the other alone, without the hidden cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags import meetings
from alldags.errors import DataError, GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.nodes.build import NodeTerms, build, column_terms
from alldags.nodes.data import ChildData, WorkingData
from alldags.nodes.onto import ParentsPosterior
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.pairs.correlation import Correlation
from alldags.pairs.member import MemberPosterior
from alldags.pairs.posterior import PairPosterior
from alldags.pairs.problem import AloneRows, PairProblem
from alldags.priors.noise import UnknownNoise
from alldags.priors.prior import Prior
from alldags.priors.slabs import GPrior, HyperG, ZellnerSiow
from alldags.typing import FloatArray

_MOST_FLAT = 0.25  # flat columns per row
_CONSTANT = 1e-10  # of a column's square sum, left by flat ones


@dataclass(frozen=True)
class PairKey:
    """What defines a pair: equal keys have equal posteriors.

    Parameters
    ----------
    first, second
        The variables, the first before the second.
    parents
        Candidate parents of each.
    instruments
        Those of the first that act on the second, if at all, through it.
    doubtful
        Instruments that may act on the second, with their probabilities; None where the share of such is unknown.
    direct
        Probability that the first acts on the second, if it is among the parents of that.
    later
        Parents of the second that come after the first.
    correlation, hidden
        What is believed of the correlation, and the probability that there is one.
    data
        The moments; compared by identity.
    """

    first: str
    second: str
    parents: tuple[tuple[str, ...], tuple[str, ...]]
    instruments: tuple[str, ...]
    doubtful: tuple[tuple[str, float | None], ...]
    direct: float
    later: tuple[str, ...]
    correlation: Correlation
    hidden: float
    data: WorkingData

    @classmethod
    def of(cls, graph: CandidateGraph, pair: tuple[str, str], data: WorkingData) -> PairKey:
        """Return what a graph says of a pair."""
        first, second = sorted(pair, key=graph.order.index)
        ours, theirs = graph.parents(first), graph.parents(second)
        declared = {name: valid for (name, treatment), valid in graph.declared.items() if treatment == first}
        maybe = [name for name in ours if name in declared and graph.probability(name, second) < 1.0]
        instruments = tuple(name for name in ours if name in maybe or name not in theirs)
        after = graph.descendants(first) | {first}
        shares = {name: None if declared[name] == "some" else graph.probability(name, second) for name in maybe}
        believed = next((one for key, one in graph.correlations.items() if set(key) == set(pair)), None)
        return cls(
            first,
            second,
            (ours, theirs),
            instruments,
            tuple((name, shares[name]) for name in maybe if name in theirs),
            graph.probability(first, second),
            tuple(name for name in theirs if name in after),
            Correlation.of(believed),
            next(p for key, p in graph.hidden.items() if set(key) == set(pair)),
            data,
        )

    @property
    def flat(self) -> tuple[str, ...]:
        """Covariates that both regressions have, in the order of the first's parents."""
        both = dict.fromkeys((*self.parents[0], *self.parents[1]))
        return tuple(name for name in both if name not in self.instruments and name not in self.later)

    @property
    def rows(self) -> ChildData:
        """Moments of the rows in which neither was set from outside."""
        found = self.data.undisturbed({self.first, self.second})
        if found is None:
            raise DataError(
                f"no row shows what acts on {self.first!r} and {self.second!r}: one was set in each of them"
            )
        return found

    @property
    def asked(self) -> bool:
        """Whether it is in doubt that the first acts on the second."""
        return 0.0 < self.direct < 1.0

    @property
    def unsure(self) -> dict[str, float]:
        """Causes of the second that are in doubt, with their probabilities; the first is the last of them."""
        found = {name: 0.5 if p is None else p for name, p in self.doubtful}
        return found | ({self.first: self.direct} if self.asked else {})

    def _in_second(self, others: tuple[str, ...]) -> tuple[str, ...]:
        """Return the terms of the second's regression, those in doubt last."""
        certain = (self.first,) if self.direct == 1.0 else ()
        return *certain, *others, *self.unsure

    def alone(self, place: int) -> ChildData | None:
        """Return the rows in which one of the two was set, and that show what acts on the other; None without any."""
        shown = self.data.shown_alone
        child, other = (self.first, self.second)[:: 1 - 2 * place]
        found = None if shown is None else shown(child, other)
        return found if found is not None and found.n > len(self.data.columns(self.flat)) else None

    @property
    def is_tried(self) -> bool:
        """Whether the first variable was set to several values, so that its effect shows without the hidden cause."""
        rows = self.alone(1)
        return rows is not None and float(rows.scatter[rows.index[self.first], rows.index[self.first]]) > 0.0

    def problem(self) -> PairProblem:
        """Return the numbers of the pair."""
        others = tuple(name for name in self.later if name != self.first)
        names = (self.first, self.second, *self.instruments, *others)
        place = {name: i for i, name in enumerate(names)}
        moments = _Moments(self.rows, names, self.data.columns(self.flat))
        moments.check()
        alone = [moments.alone(rows) for rows in (self.alone(0), self.alone(1))]
        return PairProblem(
            names=names,
            scatter=moments.scatter,
            scale=moments.scale,
            n=moments.n,
            first=np.array([place[name] for name in self.instruments], dtype=np.int64),
            second=np.array([place[name] for name in self._in_second(others)], dtype=np.int64),
            doubtful=np.array(list(self.unsure.values())),
            counted=np.array([*(p is None for _, p in self.doubtful), *([False] * self.asked)], dtype=bool),
            direct=self.asked,
            correlation=self.correlation,
            hidden=self.hidden,
            flat=moments.flat,
            flat_gram=moments.gram if moments.flat else None,
            flat_slopes=moments.slopes if moments.flat else None,
            alone=(alone[0], alone[1]),
        )

    def member(self, posterior: PairPosterior, place: int, prior: Prior) -> NodePosterior:
        """Return the node of one of the two."""
        child, names = (self.first, self.second)[place], self.parents[place]
        unsure = self.unsure if place else {}
        shares = tuple(unsure.get(name, 1.0) for name in names)
        terms = column_terms(NodeTerms(child, names, shares), self.data.categories)
        found = MemberPosterior(posterior, place, build(self.rows, terms, prior))
        return found if terms.names == names else ParentsPosterior(found, names)

    def over(
        self, posterior: PairPosterior, place: int, columns: tuple[str, ...], prior: Prior, rows: ChildData
    ) -> MemberPosterior:
        """Return the regression of one of the two over some columns; those that it does not have are zero."""
        terms = NodeTerms((self.first, self.second)[place], columns, (1.0,) * len(columns))
        return MemberPosterior(posterior, place, build(rows, terms, prior))


def as_averaged(graph: CandidateGraph, data: WorkingData) -> CandidateGraph:
    """Return the graph with those edges certain that pairs with correlated errors take for certain."""
    edges = dict(graph.edges)
    for district in graph.districts():
        key = PairKey.of(graph, (district[0], district[1]), data)
        certain = [(name, key.first) for name in key.parents[0]]
        certain += [(name, key.second) for name in key.parents[1] if name not in key.unsure]
        edges.update(dict.fromkeys(certain, 1.0))
    return replace(graph, edges=edges) if graph.hidden else graph


class _Moments:
    """Cross-products of some columns after flat ones were taken out."""

    def __init__(self, rows: ChildData, names: tuple[str, ...], flat: tuple[str, ...]) -> None:
        self.rows, self.names, self.flat = rows, names, flat
        self.own = [rows.index[name] for name in names]
        self.out = [rows.index[name] for name in flat]

    @property
    def n(self) -> float:
        """Rows, less those that intercept and flat columns take."""
        return self.rows.n - len(self.flat)

    @cached_property
    def gram(self) -> FloatArray:
        return np.asarray(self.rows.scatter[np.ix_(self.out, self.out)])

    @cached_property
    def slopes(self) -> FloatArray:
        """Regressions of the columns on the flat ones, shape (f, columns)."""
        return np.asarray(np.linalg.solve(self.gram, self.rows.scatter[np.ix_(self.out, self.own)]), dtype=np.float64)

    @cached_property
    def _left(self) -> FloatArray:
        whole = self.rows.scatter[np.ix_(self.own, self.own)]
        return np.asarray(whole - self.rows.scatter[np.ix_(self.own, self.out)] @ self.slopes if self.flat else whole)

    def alone(self, rows: ChildData | None) -> AloneRows | None:
        """Return the same of other rows, in these units; their flat columns may be combinations of each other."""
        if rows is None:
            return None
        gram, mixed = rows.scatter[np.ix_(self.out, self.out)], rows.scatter[np.ix_(self.out, self.own)]
        slopes = np.linalg.pinv(gram, hermitian=True) @ mixed
        left = rows.scatter[np.ix_(self.own, self.own)] - mixed.T @ slopes
        taken = int(np.linalg.matrix_rank(gram, hermitian=True)) if self.flat else 0
        return AloneRows(np.ascontiguousarray(left / np.outer(self.scale, self.scale)), rows.n - taken, slopes)

    @property
    def scale(self) -> FloatArray:
        return np.asarray(np.sqrt(np.diag(self._left) / self.n))

    @property
    def scatter(self) -> FloatArray:
        return np.ascontiguousarray(self._left / np.outer(self.scale, self.scale))

    def check(self) -> None:
        """Refuse too many flat columns, and those that leave nothing of another."""
        if len(self.flat) > _MOST_FLAT * self.rows.rows or self.n < 3:
            raise DataError(
                f"{len(self.flat)} covariates of {self.names[0]!r} and {self.names[1]!r}, whose errors may be "
                f"correlated, are too many for {self.rows.rows:.0f} rows: at most a quarter; leave out those "
                "that matter least"
            )
        if self.flat and np.linalg.matrix_rank(self.gram, hermitian=True) < len(self.flat):
            raise DataError(
                f"covariates of {self.names[0]!r} and {self.names[1]!r} are combinations of each other: {self.flat}; "
                "leave one out"
            )
        whole = np.diag(self.rows.scatter)[self.own]
        for name, left, all_of_it in zip(self.names, np.diag(self._left), whole, strict=True):
            if left <= _CONSTANT * all_of_it:
                raise DataError(f"{name!r} is a combination of covariates, so that nothing is left to learn from it")


def check_pairs(graphs: Sequence[CandidateGraph], data: WorkingData, prior: Prior, engine: Engine) -> None:
    """Refuse hidden common causes that cannot be modelled, by name."""
    for graph in graphs:
        _check_districts(graph, data, prior, engine)
    said = [_of_pairs(graph, data) for graph in graphs]
    for one in said[1:]:
        if differing := [pair for pair in {**said[0], **one} if said[0].get(pair) != one.get(pair)]:
            meetings.check({"correlated errors": differing[0], "differing pairs": differing[0]})


def _of_pairs(graph: CandidateGraph, data: WorkingData) -> dict[tuple[str, ...], tuple[object, ...]]:
    """Return what evidence of each pair depends on beside what is averaged over: what is flat, and what is not."""
    keys = {pair: PairKey.of(graph, (pair[0], pair[1]), data) for pair in graph.districts()}
    return {pair: (set(key.flat), set(key.instruments), set(key.later), key.asked) for pair, key in keys.items()}


def _check_districts(graph: CandidateGraph, data: WorkingData, prior: Prior, engine: Engine) -> None:
    for district in graph.districts():
        if len(district) > 2:
            raise too_many(district)
        _check_pair(graph, data, _model_asks(prior, engine), district)


def too_many(district: Sequence[str]) -> GraphError:
    """Return the error that says that hidden causes join more than two variables."""
    return GraphError(
        f"hidden common causes join {', '.join(map(repr, district))}: correlated errors of more than two variables are "
        "not modelled; keep one pair of them, or leave them out of the graph and ask effect.sensitivity()"
    )


def _check_pair(
    graph: CandidateGraph, data: WorkingData, asked: dict[str, tuple[str, ...]], pair: tuple[str, ...]
) -> None:
    found = {**asked, "correlated errors": pair}
    for name in pair:
        family = data.model(name).family
        if family is not None:
            found[family.name] = (*found.get(family.name, ()), name)
    instruments = PairKey.of(graph, (pair[0], pair[1]), data).instruments
    opened = {name for block in graph.blocks for name in block}
    if inside := tuple(name for name in pair if name in opened):
        found["open directions"] = inside
    if inside := tuple(name for name in (*pair, *instruments) if name in data.categories):
        found["categories inside"] = inside
    if inside := tuple(name for name in pair if name in data.curved and not data.on_demand):
        found["curves"] = inside
    meetings.check(found)


def _model_asks(prior: Prior, engine: Engine) -> dict[str, tuple[str, ...]]:
    """Return what prior and engine are that pairs do not go with."""
    found = {
        "no intercept": not prior.intercept,
        "other noise": not isinstance(prior.noise, UnknownNoise),
        "uneven slabs": isinstance(prior.slab, GPrior | HyperG | ZellnerSiow),
        "scale mixtures": engine.name in ("vb", "em", "gibbs"),
        "one graph known": engine.name in ("k2", "full"),
    }
    names = {"other noise": repr(prior.noise), "uneven slabs": repr(prior.slab)}
    names |= dict.fromkeys(("scale mixtures", "one graph known"), engine.name)
    return {name: (names[name],) if name in names else () for name, is_so in found.items() if is_so}
