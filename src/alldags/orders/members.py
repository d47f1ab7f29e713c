"""Graphs that were drawn, and other members of their Markov classes: what observational rows cannot tell apart."""

from __future__ import annotations

import numpy as np

from alldags.engines.conjugate.system import conjugate_system
from alldags.nodes import NodeProblem
from alldags.orders.problem import BlockProblem
from alldags.typing import BoolArray, FloatArray, IntArray

_NEVER = -1e300
_MOST_TRIES = 500_000


def other_members(problem: BlockProblem, present: BoolArray, rng: np.random.Generator) -> BoolArray:
    """Draw, for each graph, another member of its Markov class with the posterior's weights.

    Inside a class the weights are those of the prior; under symmetric odds all members weigh the same. Variables whose
    regressions have different rows (some were set by an experiment) are told apart by these: their edge is not turned.

    Parameters
    ----------
    problem
        The block.
    present
        Edges of graphs that were drawn from the posterior, shape (size, b + e, b).
    rng
        Source of randomness.

    Returns
    -------
    BoolArray
        Edges of the other members, shape (size, b + e, b); the walk is so long that they hardly depend on the first
        ones, but for the class.
    """
    from alldags.kernels.blocks.members import walk_classes

    b = len(problem)
    inside, outside = present[:, :b], present[:, b:]
    words = np.asarray(np.einsum("nij,i->nj", inside, 1 << np.arange(b)), dtype=np.int64)
    tied = _same_rows(problem) & (outside[:, :, :, None] == outside[:, :, None, :]).all(axis=1)
    walk_classes(
        words, tied, _sizes(problem, present), _log_odds(problem), _log_size(problem),
        _tries(inside), np.zeros((b * (b - 1) // 2, 2), dtype=np.int64), rng,
    )  # fmt: skip
    members = present.copy()
    members[:, :b] = (words[:, None, :] >> np.arange(b)[:, None]) & 1
    return members


def _tries(inside: BoolArray) -> IntArray:
    """Return how often an edge is picked: the root of a path of b variables wanders b^2 steps, with 2 edges to take."""
    edges, b = inside.sum(axis=(1, 2)), inside.shape[1]
    return np.asarray(np.minimum(3 * edges * b**2, _MOST_TRIES), dtype=np.int64)


def _same_rows(problem: BlockProblem) -> BoolArray:
    """Return which pairs of regressions have the same rows and the same prior, shape (b, b)."""
    nodes = problem.nodes
    out = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for i, one in enumerate(nodes):
        for j, other in enumerate(nodes):
            out[i, j] = one.settings == other.settings and _share_moments(one, other)
    return out


def _share_moments(one: NodeProblem, other: NodeProblem) -> bool:
    """Return whether the sums of squares that two regressions have in common are the same."""
    squares, others = _squares(one), _squares(other)
    common = [name for name in squares if name in others]
    same = np.allclose([squares[name] for name in common], [others[name] for name in common], rtol=1e-9, atol=0.0)
    return one.n == other.n and bool(same)


def _squares(node: NodeProblem) -> dict[str, float]:
    return dict(zip(node.terms, np.diag(node.gram), strict=True)) | {node.child: node.total}


def _sizes(problem: BlockProblem, present: BoolArray) -> IntArray:
    """Return the number of uncertain parents of each variable in each graph, shape (size, b)."""
    out = np.zeros(present.shape[::2], dtype=np.int64)
    for j, node in enumerate(problem.nodes):
        out[:, j] = present[:, problem.rows(j)[node.uncertain], j].sum(axis=1)
    return out


def _log_odds(problem: BlockProblem) -> FloatArray:
    """Return the log prior odds of the edges inside, shape (b, b); no odds at all where there is no candidate."""
    b = len(problem)
    out = np.full((b, b), _NEVER)
    for j, node in enumerate(problem.nodes):
        mates = problem.mates(j)
        out[problem.rows(j)[mates], j] = np.where(node.certain, -_NEVER, node.log_odds)[mates]
    return out


def _log_size(problem: BlockProblem) -> FloatArray:
    """Return the log prior weights of numbers of uncertain parents, shape (b, most + 2); more cannot be."""
    most = max(node.k for node in problem.nodes)
    out = np.full((len(problem), most + 2), _NEVER)
    for j, node in enumerate(problem.nodes):
        out[j, : node.free + 1] = 0.0 if node.log_size is None else node.log_size
    return out


def mean_coefficients(problem: BlockProblem, present: BoolArray) -> FloatArray:
    """Return E[coefficients | graph] of graphs (size, b + e, b), same shape."""
    out = np.zeros(present.shape)
    for j, node in enumerate(problem.nodes):
        system, rows = conjugate_system(node), problem.rows(j)
        sets, number = np.unique(present[:, rows, j], axis=0, return_inverse=True)
        means = np.zeros(sets.shape)
        for mask, mean in zip(sets, means, strict=True):
            mean[mask] = np.linalg.solve(system.precision[np.ix_(mask, mask)], system.shift[mask])
        out[:, rows, j] = means[number.reshape(-1)]
    return out
