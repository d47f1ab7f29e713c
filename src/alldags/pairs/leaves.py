"""Leaves: parts of a pair's posterior in which all but coefficients and noise is known, so that these are conjugate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from alldags.kernels.pairs import LEARNED_FIRST
from alldags.pairs.grid import Grid
from alldags.pairs.problem import PairProblem
from alldags.typing import BoolArray, FloatArray, IntArray

_TINY = 1e-10  # probability of a leaf that is left out
_MOST = 3000  # leaves
_CHUNK = 1000
_PARTS = ("weight", "zeta", "start", "width", "points", "present")  # of each leaf


@dataclass(frozen=True, eq=False)
class Leaves:
    """L leaves with K coefficients each, in units of `PairProblem.scale`.

    Parameters
    ----------
    problem
        What was asked.
    weight
        Posterior probability of each, shape (L,).
    zeta, start, width
        Inverse hyperbolic tangent of the correlation, where the cell around it begins, and how wide it is, shape (L,)
        each.
    points
        Settings, shape (L, 6).
    present
        Which terms are there, shape (L, K).
    """

    problem: PairProblem
    weight: FloatArray
    zeta: FloatArray
    start: FloatArray
    width: FloatArray
    points: FloatArray
    present: BoolArray

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def is_hidden(self) -> BoolArray:
        """Where errors are correlated, shape (L,)."""
        return np.asarray(self.width > 0.0)

    @property
    def invalid(self) -> BoolArray:
        """Which doubtful terms are there beside the asked one, shape (L, m) or (L, m - 1)."""
        one = self.problem
        return self.present[:, one.certain : one.size - one.direct]

    def of(self, kept: BoolArray) -> Leaves:
        """Return some of the leaves, with the weights that they have."""
        return replace(self, **{name: getattr(self, name)[kept] for name in _PARTS})

    @property
    def lam(self) -> FloatArray:
        """Ratio of noise scales, shape (L,)."""
        return np.asarray(self.points[:, 1])

    @property
    def tangent(self) -> FloatArray:
        """``rho / sqrt(1 - rho^2)``, shape (L,)."""
        return np.asarray(self.points[:, 0])

    @cached_property
    def _solved(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        parts = [self._solve(slice(i, i + _CHUNK)) for i in range(0, len(self), _CHUNK)]
        mean, root, slope, rate = (np.concatenate(each) for each in zip(*parts, strict=True))
        return mean, root, slope, rate

    def _solve(self, rows: slice) -> tuple[FloatArray, ...]:
        one, here = self.problem, self.present[rows]
        t, lam = self.points[rows, 0], self.points[rows, 1]
        wider = np.sqrt(1.0 + t**2)
        both = here[:, :, None] & here[:, None, :]
        none, inner = np.zeros(len(t)), 1.0 / (lam * wider) ** 2
        gram, cross, total = self._stacked(wider**2, -t / lam, 1.0 / lam**2, none + 1.0, inner)
        slopes, moved, _ = self._stacked(2.0 * t * wider, -wider / lam, none, none, -2.0 * t / wider * inner)
        gram, cross = np.where(both, gram, 0.0), np.where(here, cross, 0.0)
        slopes, moved = np.where(both, slopes, 0.0), np.where(here, moved, 0.0)
        diagonal = np.arange(one.size)
        gram[:, diagonal, diagonal] += np.where(here, 1.0 / self._variances(rows), 1.0)
        spread = np.linalg.inv(gram)
        mean = (spread @ cross[:, :, None])[:, :, 0]
        slope = (spread @ (moved[:, :, None] - slopes @ mean[:, :, None]))[:, :, 0]
        left = np.maximum(total - np.einsum("li,li->l", mean, cross), 1e-15 * total)
        return mean, np.linalg.cholesky(spread) * here[:, :, None], slope, left

    def _stacked(
        self, whole: FloatArray, mixed: FloatArray, own: FloatArray, *single: FloatArray
    ) -> tuple[FloatArray, ...]:
        """Return the stacked normal equations, or how they move, given what multiplies each part, shape (l,) each.

        The last two are of rows that explain one variable alone.
        """
        one, k = self.problem, len(self.problem.first)
        s, a, b = one.scatter, one.first, one.second
        gram, cross = np.empty((len(whole), one.size, one.size)), np.empty((len(whole), one.size))
        gram[:, :k, :k] = whole[:, None, None] * s[np.ix_(a, a)]
        gram[:, :k, k:] = mixed[:, None, None] * s[np.ix_(a, b)]
        gram[:, k:, :k] = np.swapaxes(gram[:, :k, k:], 1, 2)
        gram[:, k:, k:] = own[:, None, None] * s[np.ix_(b, b)]
        cross[:, :k] = np.outer(whole, s[a, 0]) + np.outer(mixed, s[a, 1])
        cross[:, k:] = np.outer(own, s[b, 1]) + np.outer(mixed, s[b, 0])
        total = whole * s[0, 0] + 2.0 * mixed * s[0, 1] + own * s[1, 1]
        for place, (columns, terms) in enumerate(((a, slice(None, k)), (b, slice(k, None)))):
            rows, times = one.alone[place], single[place]
            if rows is not None:
                gram[:, terms, terms] += times[:, None, None] * rows.scatter[np.ix_(columns, columns)]
                cross[:, terms] += np.outer(times, rows.scatter[columns, place])
                total = total + times * rows.scatter[place, place]
        return gram, cross, total

    def _variances(self, rows: slice) -> FloatArray:
        """Return the prior variances of the coefficients, shape (l, K)."""
        kinds, points = self.problem.kinds, self.points[rows]
        unit = np.where(kinds == LEARNED_FIRST, 1.0, points[:, 1:2] ** 2)
        return np.asarray(points[:, 2 + kinds] * unit)

    @property
    def mean(self) -> FloatArray:
        """Mean of the coefficients in each leaf, shape (L, K)."""
        return self._solved[0]

    @property
    def root(self) -> FloatArray:
        """``R`` with ``R R'`` their covariance per unit of the first noise variance, shape (L, K, K)."""
        return self._solved[1]

    @property
    def slope(self) -> FloatArray:
        """Change of `mean` per unit of `zeta`, shape (L, K)."""
        return self._solved[2]

    @property
    def left(self) -> FloatArray:
        """What is left of the response's square sum: the first noise variance is this over a chi-square, (L,)."""
        return self._solved[3]

    @property
    def noise(self) -> FloatArray:
        """Mean of the first variable's noise variance in each leaf, shape (L,); infinite with too few rows."""
        freedom = 2.0 * self.problem.half - 2.0
        return np.asarray(self.left / freedom if freedom > 0 else np.full(len(self), np.inf))


def joined(first: Leaves, second: Leaves) -> Leaves:
    """Return the leaves of both."""
    parts: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in (first, second)]) for name in _PARTS}
    return replace(first, **parts)


def leaves_of(problem: PairProblem, grid: Grid) -> Leaves:
    """Return the leaves of a grid: all heavy ones, and a regular sample of the others."""
    weights = np.exp(grid.log_weights - grid.log_weights.max()).ravel()
    kept = np.flatnonzero(weights > _TINY * weights.sum())
    own = weights[kept] / weights[kept].sum()
    if len(own) <= _MOST:
        return _chosen(problem, grid, kept, own)
    least = _threshold(own, _MOST)
    light = own < least
    steps = np.floor(np.cumsum(np.where(light, own / least, 0.0)) + 0.5)
    taken = ~light | (np.diff(steps, prepend=0.0) > 0)
    return _chosen(problem, grid, kept[taken], np.maximum(own[taken], least))


def _threshold(weights: FloatArray, count: int) -> float:
    """Return the weight below which leaves are sampled in proportion, so that `count` remain."""
    least = 0.0
    for _ in range(60):  # heavy ones stay, and the more of them there are the fewer are sampled
        heavy = weights >= least if least > 0.0 else np.zeros(len(weights), dtype=bool)
        found = float(weights[~heavy].sum()) / (count - int(heavy.sum()))
        if found == least:
            break
        least = found
    return least


def _chosen(problem: PairProblem, grid: Grid, kept: IntArray, weight: FloatArray) -> Leaves:
    cell, setting, chosen = np.unravel_index(kept, grid.log_weights.shape)
    points = grid.points[setting].copy()
    points[:, 0] = np.sinh(grid.zeta[cell])
    present = np.ones((len(kept), problem.size), dtype=bool)
    bits = np.arange(problem.m - 1, -1, -1)
    present[:, problem.certain :] = (chosen[:, None] >> bits) & 1
    cells = grid.zeta[cell], grid.start[cell], grid.width[cell]
    return Leaves(problem, weight / weight.sum(), *cells, points, present)
