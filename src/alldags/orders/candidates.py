"""Which mates of a variable get a place in its table, and whether those left out would have mattered.

A table has a row for every set of K mates, so that K must stay small. Certain causes are always among them. The others
are ranked by what they add to the evidence: two thirds of the places go to those that add most when all other
candidates are there, too (partial correlations), the rest to those that add most on their own, which matter in orders
that put the former after the variable.

What was left out is looked at afterwards. For a graph that was drawn, with an excluded mate standing before the
variable, the ratio of the weights with and without that edge is known; its average over draws is the weight of all
graphs with this one edge more, relative to those sampled. Mates that would be present change places with those that
hardly ever are ("plus one" growth).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.engines.conjugate.noise import residual_rate, shape_of
from alldags.engines.conjugate.system import ConjugateSystem, conjugate_system
from alldags.nodes import NodeProblem
from alldags.orders.problem import BlockProblem
from alldags.typing import BoolArray, FloatArray, IntArray

_MOST_ODDS = 1e6


@dataclass(frozen=True, eq=False)
class Candidates:
    """Which mates each variable keeps.

    Parameters
    ----------
    kept
        Row = cause, shape (b, b); False on the diagonal and where there is no candidate edge.
    possible
        All candidate edges inside the block, shape (b, b).
    """

    kept: BoolArray
    possible: BoolArray

    @property
    def excluded(self) -> BoolArray:
        """Candidate edges that got no place, shape (b, b)."""
        return self.possible & ~self.kept

    def reduced(self, problem: BlockProblem, variable: int) -> NodeProblem:
        """Return the problem of one variable without the mates that got no place."""
        rows, b = problem.rows(variable), len(problem)
        out = np.array([row < b and not self.kept[row, variable] for row in rows], dtype=bool)
        return problem.nodes[variable].without(out)


def choose(problem: BlockProblem, places: int) -> Candidates:
    """Return the first choice of at most `places` mates for each variable; more where more are certain."""
    b = len(problem)
    possible, kept = np.zeros((b, b), dtype=bool), np.zeros((b, b), dtype=bool)
    for j, node in enumerate(problem.nodes):
        mates = problem.mates(j)
        rows = problem.rows(j)[mates]
        possible[rows, j] = True
        kept[rows[_best(node, mates, places)], j] = True
    return Candidates(kept, possible)


def _best(node: NodeProblem, mates: BoolArray, places: int) -> BoolArray:
    """Return which of its mates a variable keeps, shape (mates,)."""
    certain = node.certain[mates]
    together, alone = (gain[mates] for gain in _gains(node))
    kept = certain.copy()
    for gain, count in ((together, math.ceil(2 * places / 3)), (alone, places)):
        order = np.argsort(-np.where(kept, -np.inf, gain), kind="stable")
        kept[order[: max(min(count, kept.size) - int(kept.sum()), 0)]] = True
    return kept


def _gains(node: NodeProblem) -> tuple[FloatArray, FloatArray]:
    """Return roughly what each term adds to the log weight, given all others, and alone, shape (k,) each."""
    joint = np.block([[node.gram, node.cross[:, None]], [node.cross[None, :], np.array([[node.total]])]])
    scale = np.sqrt(np.maximum(np.diag(joint), 1e-300))
    correlation = joint / np.outer(scale, scale)
    inverse = np.linalg.inv(correlation + np.eye(len(scale)) / max(node.n, 1.0))
    partial = inverse[:-1, -1] ** 2 / (np.diag(inverse)[:-1] * inverse[-1, -1])
    gains = [-0.5 * node.n * np.log1p(-np.minimum(r, 1 - 1e-12)) for r in (partial, correlation[:-1, -1] ** 2)]
    return gains[0] + node.log_odds, gains[1] + node.log_odds


# -- what was left out -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Excluded:
    """What edges without a place would be, to first order.

    Parameters
    ----------
    probability
        About how probable each of them would be, shape (b, b).
    mean
        Its mean coefficient, absence included, in working units, shape (b, b).
    """

    probability: FloatArray
    mean: FloatArray


def look_at_excluded(problem: BlockProblem, candidates: Candidates, present: BoolArray) -> Excluded:
    """Return what excluded edges would be, from graphs drawn without them, shape (size, b + e, b)."""
    b = len(problem)
    out = Excluded(np.zeros((b, b)), np.zeros((b, b)))
    paths = _paths(present[:, :b]) if candidates.excluded.any() else present
    for j in np.flatnonzero(candidates.excluded.any(axis=0)):
        rows = problem.rows(int(j))
        added = np.flatnonzero([row < b and candidates.excluded[row, j] for row in rows])
        sets, number = np.unique(present[:, rows, j], axis=0, return_inverse=True)
        system = conjugate_system(problem.nodes[j])
        gains = np.array([_log_gains(system, mask, added) for mask in sets])[number.reshape(-1)]
        allowed = ~paths[:, j, rows[added]]  # an edge from a descendant would close a cycle
        odds = np.exp(np.minimum(gains[:, 0], math.log(_MOST_ODDS))) * allowed
        total = 1.0 + odds.mean(axis=0)
        out.probability[rows[added], j] = odds.mean(axis=0) / total
        out.mean[rows[added], j] = (odds * gains[:, 1]).mean(axis=0) / total
    return out


def _paths(inside: BoolArray) -> BoolArray:
    """Return where a path leads from the row's to the column's variable, shape (size, b, b)."""
    paths = inside.copy()
    for _ in range(max(inside.shape[1].bit_length(), 1)):
        paths |= np.einsum("nij,njk->nik", paths.astype(np.float32), paths.astype(np.float32)) > 0
    return paths


def _log_gains(system: ConjugateSystem, mask: BoolArray, added: IntArray) -> FloatArray:
    """Return what adding each of some terms to a parent set does to its log weight, and its coefficient, (2, terms)."""
    noise, across = system.noise, system.precision[np.ix_(mask, added)]
    solved = np.linalg.solve(system.precision[np.ix_(mask, mask)], np.column_stack([across, system.shift[mask]]))
    schur = np.diag(system.precision)[added] - (across * solved[:, :-1]).sum(axis=0)
    coefficient = (system.shift[added] - across.T @ solved[:, -1]) / schur
    size, q = int((mask & ~system.certain).sum()), float(system.shift[mask] @ solved[:, -1])
    more_of_it = [system.log_sizes(mask | (np.arange(len(mask)) == one)) for one in added]
    gain = system.log_factor[added] + np.array(more_of_it) - system.log_sizes(mask) - 0.5 * np.log(schur)
    more = coefficient**2 * schur
    if noise.known:
        return np.array([gain + 0.5 * more, coefficient])
    gain += shape_of(noise, size) * np.log(residual_rate(noise, q))
    return np.array([gain - shape_of(noise, size + 1) * np.log(residual_rate(noise, q + more)), coefficient])


def grow(candidates: Candidates, inclusion: FloatArray, excluded: FloatArray, least: float) -> Candidates:
    """Let excluded mates change places with kept ones that are present less often.

    Parameters
    ----------
    candidates
        The choice so far.
    inclusion, excluded
        Probabilities of the edges that were kept, and of those that were not, shape (b, b); certain edges are infinite.
    least
        Probability below which an excluded mate stays out.
    """
    value = np.where(candidates.kept, inclusion, np.where(candidates.excluded & (excluded > least), excluded, -1.0))
    kept = np.zeros_like(candidates.kept)
    for j, count in enumerate(candidates.kept.sum(axis=0)):
        kept[np.argsort(-value[:, j], kind="stable")[:count], j] = True
    return Candidates(kept, candidates.possible)
