"""From data, graph and prior to a node's problem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from alldags.graph.candidate import CandidateGraph
from alldags.nodes.data import ChildData, WorkingData
from alldags.nodes.problem import LinkedPrior, NodeProblem, Origin
from alldags.priors.grid import Setting
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

EXPECTED = {0.3: 0.30, 1.0: 0.40, 3.0: 0.25, 10.0: 0.05}  # numbers of further columns, and their prior weights
MOST_SHARE = 0.5  # that each has, at most


class Cleared(NamedTuple):
    """A term of a regression that is replaced by what is left of it when multiples of other terms are taken out.

    Its own coefficient means what it meant; those of the others are of all that goes through the cleared one, too, and
    how much these are shrunk hardly moves that of the cleared one.

    Parameters
    ----------
    name
        What is replaced.
    of
        What is taken out.
    slopes
        How much of each.
    """

    name: str
    of: tuple[str, ...]
    slopes: tuple[float, ...]


def mixing(terms: Sequence[str], cleared: Iterable[Cleared]) -> FloatArray:
    """Return by what the terms are to be multiplied from the right, and coefficients from the left, shape (k, k).

    No term that is cleared is taken out of another.
    """
    place = {name: i for i, name in enumerate(terms)}
    found = np.eye(len(place))
    for one in cleared:
        found[[place[name] for name in one.of], place[one.name]] = -np.array(one.slopes)
    return found


@dataclass(frozen=True)
class NodeTerms:
    """The terms of one child's regression.

    Parameters
    ----------
    child
        Its name.
    names
        Columns of the data, k of them.
    probability
        Prior probability that each is present.
    raised
        What a link to another node adds to each probability: p becomes ``1 - (1 - p) (1 - raised)``; None for nothing.
    cleared
        Terms that are replaced by what others do not explain of them.
    groups
        Number of the group of each column, as in `NodeProblem.groups`; the columns of a group have one probability, and
        one number by which it is raised. None: every column alone.
    further
        Which columns come on top of those of the causes themselves, as in `NodeProblem.further`; None for none.
    once
        Names of which copies count once; see `alldags.nodes.copies`.
    """

    child: str
    names: tuple[str, ...]
    probability: tuple[float, ...]
    raised: tuple[float, ...] | None = None
    cleared: tuple[Cleared, ...] = ()
    groups: tuple[int, ...] | None = None
    further: tuple[bool, ...] | None = None
    once: frozenset[str] = frozenset()


def linear_terms(graph: CandidateGraph, child: str) -> NodeTerms:
    """Return one term for each candidate parent: itself."""
    parents = graph.parents(child)
    return NodeTerms(child, parents, tuple(graph.edges[name, child] for name in parents))


def extended_terms(
    terms: NodeTerms, certain: Sequence[str], added: Mapping[str, float], alike: float | None = None
) -> NodeTerms:
    """Return the terms with some of them certain and others added.

    Parameters
    ----------
    terms
        Without groups.
    certain
        Names whose probability becomes 1; they are added where they are missing.
    added
        Probabilities of names that are added where they are missing, and raised by as much where they are not.
    alike
        Probability of all uncertain terms that are added, under a prior for which they must be the same; it is used
        only if no term is uncertain.
    """
    new = [name for name in (*certain, *added) if name not in terms.names]
    new = list(dict.fromkeys(new))
    common = alike if alike is None else next((p for p in terms.probability if p < 1.0), alike)
    stated = dict(zip(terms.names, terms.probability, strict=True)) | {
        name: added.get(name, 1.0) if common is None else common for name in new
    }
    stated |= dict.fromkeys(certain, 1.0)
    known = zip(terms.names, terms.raised or [0.0] * len(terms.names), strict=True)
    raised = [max(value, 0.0 if name in certain else added.get(name, 0.0)) for name, value in known]
    return replace(
        terms,
        names=tuple(stated),
        probability=tuple(stated.values()),
        raised=(*raised, *[0.0] * len(new)) if any(raised) else None,
    )


def column_terms(terms: NodeTerms, columns: Mapping[str, tuple[str, ...]]) -> NodeTerms:
    """Return the terms with those that stand for several columns written out, each as a group.

    Parameters
    ----------
    terms
        One for each parent; what is cleared is a number, of numbers.
    columns
        The columns that stand for a parent, where that is not the one of its name.
    """
    if columns.keys().isdisjoint(terms.names):
        return terms
    written = [columns.get(name, (name,)) for name in terms.names]
    groups = tuple(number for number, names in enumerate(written) for _ in names)
    return replace(
        terms,
        names=tuple(name for names in written for name in names),
        probability=tuple(terms.probability[number] for number in groups),
        raised=None if terms.raised is None else tuple(terms.raised[number] for number in groups),
        groups=groups if len(groups) > len(terms.names) else None,
    )


def node_problem(working: WorkingData, graph: CandidateGraph, prior: Prior, child: str) -> NodeProblem:
    """Return the problem of a child whose terms are its candidate parents."""
    return build(working.of(child), linear_terms(graph, child), prior)


class Sums(NamedTuple):
    """Cross-products of a child and its k columns: gram (k, k), cross (k,), total, rows less the intercept, rows.

    Where means matter, `origin` has them; `flat` is the number of columns whose coefficients have a flat prior.
    """

    gram: FloatArray
    cross: FloatArray
    total: float
    n: float
    rows: float
    origin: Origin | None = None
    flat: int = 0


def build(data: ChildData, terms: NodeTerms, prior: Prior) -> NodeProblem:
    """Cut one child's problem out of the moments of its rows."""
    return assembled(terms, _sums(data, terms), prior)


def _sums(data: ChildData, terms: NodeTerms) -> Sums:
    rows = [data.index[name] for name in terms.names]
    column = data.index[terms.child]
    return Sums(
        gram=np.ascontiguousarray(data.scatter[np.ix_(rows, rows)]),
        cross=np.ascontiguousarray(data.scatter[rows, column]),
        total=float(data.scatter[column, column]),
        n=data.n,
        rows=data.rows,
        origin=Origin(float(data.mean[column]), data.mean[rows]),
        flat=sum(name in data.flat for name in terms.names),
    )


def assembled(terms: NodeTerms, sums: Sums, prior: Prior) -> NodeProblem:
    """Return the problem of a regression with these cross-products, under a prior."""
    stated, log_size = _stated(terms, prior)
    problem = NodeProblem(
        child=terms.child,
        terms=terms.names,
        gram=sums.gram,
        cross=sums.cross,
        total=sums.total,
        n=sums.n,
        probability=stated if terms.raised is None else raised_probability(stated, np.array(terms.raised)),
        settings=(),
        log_size=log_size,
        rows=sums.rows,
        origin=sums.origin,
        linked=None if terms.raised is None else LinkedPrior(stated, np.array(terms.raised)),
        groups=None if terms.groups is None else np.array(terms.groups),
        further=None if terms.further is None else np.array(terms.further),
    )
    if terms.cleared:
        problem = mixed(problem, mixing(terms.names, terms.cleared))
    settings = prior.settings_of(problem)
    if sums.flat:
        problem, settings = _with_flat(problem, settings, sums.flat)
    for setting in settings:
        setting.noise.check_node(problem.child, problem.n, problem.total)
    return replace(problem, settings=settings if problem.further is None else _with_shares(settings, problem))


def _with_flat(
    problem: NodeProblem, settings: tuple[Setting, ...], count: int
) -> tuple[NodeProblem, tuple[Setting, ...]]:
    """Take off what wide slabs of some columns say of the slab's variance, and of the noise.

    A flat prior knows neither. Under g-priors, which know no units, they stay columns as all. Where each parent adds to
    the degrees of freedom of the noise, those of flat ones are taken off, too.
    """
    if any(one.slab != "independent" for one in settings):
        return problem, settings
    settings = tuple(
        replace(one, log_weight=one.log_weight + 0.5 * count * math.log(one.slab_variance)) for one in settings
    )
    noise = settings[0].noise
    if getattr(noise, "scales_slab", noise.shape_per_parent > 0):
        problem = replace(problem, n=problem.n - count * (1.0 + 2.0 * noise.shape_per_parent))
    return problem, settings


def _with_shares(settings: tuple[Setting, ...], problem: NodeProblem) -> tuple[Setting, ...]:
    """Return the settings with each expected number of further columns: it is learned, about geometric with mean 1."""
    assert problem.further is not None
    count = max(int((problem.further & problem.uncertain).sum()), 1)
    return tuple(
        replace(one, log_weight=one.log_weight + math.log(weight), share=min(expected / count, MOST_SHARE))
        for expected, weight in EXPECTED.items()
        for one in settings
    )


def _stated(terms: NodeTerms, prior: Prior) -> tuple[FloatArray, FloatArray | None]:
    """Return the probability of each term, shape (k,), and the log weight of the number of groups present."""
    probability = np.array(terms.probability)
    if terms.groups is None:
        return prior.edges_of(probability, terms.child)
    firsts, groups = np.unique(terms.groups, return_index=True, return_inverse=True)[1:]
    stated, log_size = prior.edges_of(probability[firsts], terms.child)
    return stated[groups], log_size


def mixed(problem: NodeProblem, matrix: FloatArray) -> NodeProblem:
    """Return the problem with its terms multiplied by a matrix from the right, shape (k, k)."""
    origin = problem.origin
    return replace(
        problem,
        gram=matrix.T @ problem.gram @ matrix,
        cross=matrix.T @ problem.cross,
        origin=None if origin is None else Origin(origin.child, matrix.T @ origin.terms),
    )


ALMOST_CERTAIN = 1.0 - 1e-9  # a linked edge stays uncertain: what knowing it would do can still be asked


def raised_probability(probability: FloatArray, raised: FloatArray) -> FloatArray:
    """Return ``1 - (1 - p) (1 - r)`` of the uncertain terms, shape (k,)."""
    higher = np.minimum(1.0 - (1.0 - probability) * (1.0 - raised), ALMOST_CERTAIN)
    return np.where(probability < 1.0, higher, probability)
