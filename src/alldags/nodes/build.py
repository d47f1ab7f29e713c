"""From data, graph and prior to a node's problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.errors import PriorError
from alldags.graph.candidate import CandidateGraph
from alldags.hyper import NodeNumbers, node_edges, node_settings
from alldags.nodes.data import ChildData, WorkingData
from alldags.nodes.problem import Loadings, NodeProblem, Origin
from alldags.prior import KnownNoise, Prior


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
    loadings
        None: the terms are the parents.
    """

    child: str
    names: tuple[str, ...]
    probability: tuple[float, ...]
    loadings: Loadings | None = None


def linear_terms(graph: CandidateGraph, child: str) -> NodeTerms:
    """Return one term for each candidate parent: itself."""
    parents = graph.parents(child)
    return NodeTerms(child, parents, tuple(graph.edges[name, child] for name in parents))


def node_problem(working: WorkingData, graph: CandidateGraph, prior: Prior, child: str) -> NodeProblem:
    """Return the problem of a child whose terms are its candidate parents."""
    return build(working.of(child), linear_terms(graph, child), prior)


def build(data: ChildData, terms: NodeTerms, prior: Prior) -> NodeProblem:
    """Cut one child's problem out of the moments of its rows."""
    rows = [data.index[name] for name in terms.names]
    column = data.index[terms.child]
    gram = np.ascontiguousarray(data.scatter[np.ix_(rows, rows)])
    cross = np.ascontiguousarray(data.scatter[rows, column])
    total = float(data.scatter[column, column])
    probability, log_size = node_edges(prior, np.array(terms.probability), terms.child)
    numbers = NodeNumbers(gram, cross, total, data.n, data.rows, probability, log_size)
    problem = NodeProblem(
        child=terms.child,
        terms=terms.names,
        gram=gram,
        cross=cross,
        total=total,
        n=data.n,
        probability=probability,
        settings=node_settings(prior, numbers),
        log_size=log_size,
        rows=data.rows,
        origin=Origin(float(data.mean[column]), data.mean[rows]),
        loadings=terms.loadings,
    )
    _check_settings(problem)
    return problem


_LARGEST_PRECISION = 1e13  # times the child's sum of squares: log weights keep about two decimals


def _check_settings(problem: NodeProblem) -> None:
    for setting in problem.settings:
        if isinstance(setting.noise, KnownNoise) and setting.noise.precision * problem.total > _LARGEST_PRECISION:
            raise PriorError(
                f"the known noise precision {setting.noise.precision:g} is too large for {problem.child!r}: rounding "
                "would decide between graphs; check its unit (one over the noise variance), or use UnknownNoise()"
            )
        if not isinstance(setting.noise, KnownNoise) and 2 * setting.noise.shape + problem.n <= 1:
            raise PriorError(
                f"with {problem.n:g} usable rows the coefficients of {problem.child!r} have no posterior mean; "
                f"add rows or use UnknownNoise(shape=...) with a shape above {(1 - problem.n) / 2:g}"
            )
