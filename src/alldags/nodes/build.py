"""From data, graph and prior to a node's problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from alldags.graph.candidate import CandidateGraph
from alldags.nodes.data import ChildData, WorkingData
from alldags.nodes.problem import LinkedPrior, Loadings, NodeProblem, Origin
from alldags.priors.prior import Prior
from alldags.typing import FloatArray


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
    raised
        What a link to another node adds to each probability: p becomes ``1 - (1 - p) (1 - raised)``; None for nothing.
    """

    child: str
    names: tuple[str, ...]
    probability: tuple[float, ...]
    loadings: Loadings | None = None
    raised: tuple[float, ...] | None = None


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
        Without loadings.
    certain
        Names whose probability becomes 1; they are added where they are missing.
    added
        Probabilities of names that are added where they are missing.
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
    raised = None if terms.raised is None else (*terms.raised, *[0.0] * len(new))
    return replace(terms, names=tuple(stated), probability=tuple(stated.values()), raised=raised)


def node_problem(working: WorkingData, graph: CandidateGraph, prior: Prior, child: str) -> NodeProblem:
    """Return the problem of a child whose terms are its candidate parents."""
    return build(working.of(child), linear_terms(graph, child), prior)


def build(data: ChildData, terms: NodeTerms, prior: Prior) -> NodeProblem:
    """Cut one child's problem out of the moments of its rows."""
    rows = [data.index[name] for name in terms.names]
    column = data.index[terms.child]
    stated, log_size = prior.edges_of(np.array(terms.probability), terms.child)
    problem = NodeProblem(
        child=terms.child,
        terms=terms.names,
        gram=np.ascontiguousarray(data.scatter[np.ix_(rows, rows)]),
        cross=np.ascontiguousarray(data.scatter[rows, column]),
        total=float(data.scatter[column, column]),
        n=data.n,
        probability=stated if terms.raised is None else raised_probability(stated, np.array(terms.raised)),
        settings=(),
        log_size=log_size,
        rows=data.rows,
        origin=Origin(float(data.mean[column]), data.mean[rows]),
        loadings=terms.loadings,
        linked=None if terms.raised is None else LinkedPrior(stated, np.array(terms.raised)),
    )
    settings = prior.settings_of(problem)
    for setting in settings:
        setting.noise.check_node(problem.child, problem.n, problem.total)
    return replace(problem, settings=settings)


ALMOST_CERTAIN = 1.0 - 1e-9  # a linked edge stays uncertain: what knowing it would do can still be asked


def raised_probability(probability: FloatArray, raised: FloatArray) -> FloatArray:
    """Return ``1 - (1 - p) (1 - r)`` of the uncertain terms, shape (k,)."""
    higher = np.minimum(1.0 - (1.0 - probability) * (1.0 - raised), ALMOST_CERTAIN)
    return np.where(probability < 1.0, higher, probability)
