"""Where the posterior of the correlation, the ratio of scales and the slabs lies: a grid that is refined where it is.

Nothing is sampled. A first look, with few ratios of scales and all slabs, tells which of them matter at any correlation
that does; a second one with those alone halves the cells of the correlation until none holds much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from alldags.interrupts import checkpoint
from alldags.kernels.pairs import set_weights
from alldags.pairs.problem import WIDE_SLAB, PairProblem
from alldags.typing import FloatArray

_COARSE = 17  # correlations looked at first
_MOST_MASS, _MOST_COARSE = 0.07, 0.3  # that a cell may hold
_MOST_POINTS = 160
_NEAR, _KEPT = 10.0, 12.0  # nats below the best in which slabs are looked at, and cells kept
_LEAST_SLAB, _LEAST_RATIO = 0.01, 2e-3  # shares at any correlation


@dataclass(frozen=True, eq=False)
class Grid:
    """The posterior on its grid.

    Parameters
    ----------
    zeta
        Inverse hyperbolic tangent of the correlation at each cell, shape (cells,); zero for no correlation, if last.
    start, width
        Where cells begin, as distances from `zeta`, and how wide they are, shape (cells,) each; zero where there is no
        correlation.
    points
        Settings inside a cell, the same in all: shape (settings, 6) as for `alldags.kernels.pairs.slab_variances`, of
        which the first number is to be replaced by the hyperbolic sine of `zeta`.
    log_weights
        Of every set at every setting of every cell, shape (cells, settings, sets); they add up to the evidence.
    hidden
        Posterior probability of a correlation.
    """

    zeta: FloatArray
    start: FloatArray
    width: FloatArray
    points: FloatArray
    log_weights: FloatArray
    hidden: float

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood, up to what all settings share."""
        return float(log_sum(self.log_weights))


class _Look:
    """What has been looked at: the log weights of all sets at some settings, by correlation."""

    def __init__(self, problem: PairProblem, points: FloatArray) -> None:
        self.problem, self.points = problem, points
        self.found: dict[float, FloatArray] = {}
        self._total: dict[float, float] = {}

    def at(self, zetas: Iterable[float]) -> None:
        one = self.problem
        for zeta in zetas:
            if zeta in self.found:
                continue
            points = self.points.copy()
            points[:, 0] = math.sinh(zeta)
            known = one.scatter, one.single, one.first, one.second, one.kinds, one.certain
            self.found[zeta] = set_weights(
                *known, one.log_odds, one.counted.astype(np.int64), one.log_size, one.counts, points
            )
            self._total[zeta] = log_sum(self.found[zeta])
        checkpoint()

    def zetas(self) -> FloatArray:
        return np.array(sorted(self.found))

    def totals(self, zetas: FloatArray) -> FloatArray:
        """Return the log evidence at some correlations, up to what all settings share."""
        return np.array([self._total[zeta] for zeta in zetas])

    def refine(self, most: float) -> None:
        """Halve cells until none holds more than `most`."""
        while len(self.found) <= _MOST_POINTS:
            zetas = self.zetas()
            height = self.totals(zetas) + self.problem.correlation.log_density(zetas)
            mass = height + np.log(widths(zetas))
            mass = np.exp(mass - log_sum(mass))
            heavy = np.maximum(mass[1:], mass[:-1]) > most
            steep = (np.maximum(height[1:], height[:-1]) > height.max() - 8.0) & (np.abs(np.diff(height)) > 4.0)
            split = (heavy | steep) & (np.diff(zetas) > 1e-3)
            if not split.any():
                return
            self.at((0.5 * (zetas[1:] + zetas[:-1])[split]).tolist())


def log_sum(logs: FloatArray) -> float:
    """Return the logarithm of the sum of exponentials."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def widths(zetas: FloatArray) -> FloatArray:
    """Return the widths of the cells around ordered points; those at the ends are halves."""
    gaps = np.diff(zetas)
    return np.asarray(0.5 * (np.append(gaps, 0.0) + np.insert(gaps, 0, 0.0)))


def starts(zetas: FloatArray) -> FloatArray:
    """Return where the cells around ordered points begin, as distances from the points: half way to the one before."""
    return np.asarray(-0.5 * np.diff(zetas, prepend=zetas[0]))


def search(problem: PairProblem) -> Grid:
    """Return the posterior of a pair on its grid."""
    low, high = problem.correlation.ends
    ratios = np.exp(problem.log_ratio + np.arange(-3.5, 4.6) / math.sqrt(problem.n))
    shapes = problem.first_slabs, problem.second_slabs, problem.direct_slabs
    coarse = _Look(problem, _settings(ratios[1::3], *shapes))
    coarse.at(np.linspace(low, high, _COARSE).tolist())
    coarse.refine(_MOST_COARSE)
    zetas = coarse.zetas()
    height = coarse.totals(zetas) + problem.correlation.log_density(zetas)
    if problem.hidden < 1.0:
        coarse.at([0.0])
    near = [*zetas[height > height.max() - _NEAR].tolist(), *([0.0] if problem.hidden < 1.0 else [])]
    shares = np.max([_shares(coarse.found[zeta]) for zeta in near], axis=0)
    shares = shares.reshape(len(ratios[1::3]), *map(len, shapes))
    by_ratio = shares.sum(axis=(1, 2, 3))[np.arange(len(ratios)) // 3] > _LEAST_RATIO
    kept = [shape[_others(shares, axis) > _LEAST_SLAB] for axis, shape in enumerate(shapes, 1)]
    fine = _Look(problem, _settings(ratios[by_ratio], *kept))
    start = zetas[height > height.max() - _KEPT]
    best = int(np.argmax(height))
    fine.at(start.tolist() if len(start) > 2 else zetas[max(best - 2, 0) : best + 3].tolist())
    fine.refine(_MOST_MASS)
    return _grid(problem, fine)


def _others(shares: FloatArray, axis: int) -> FloatArray:
    return np.asarray(shares.sum(axis=tuple(i for i in range(shares.ndim) if i != axis)))


def _shares(log_weights: FloatArray) -> FloatArray:
    """Return the share of each setting at one correlation, shape (settings,)."""
    weights = np.exp(log_weights - log_weights.max()).sum(axis=1)
    return np.asarray(weights / weights.sum())


def _settings(ratios: FloatArray, *slabs: FloatArray) -> FloatArray:
    """Return all combinations, shape (settings, 6)."""
    first, second, direct = slabs
    rows = [(0.0, lam, a, WIDE_SLAB, b, c) for lam, a, b, c in product(ratios, first, second, direct)]
    return np.array(rows, dtype=float)


def _grid(problem: PairProblem, look: _Look) -> Grid:
    zetas = look.zetas()
    width = widths(zetas)
    weights = np.array([look.found[zeta] for zeta in zetas]) + _log_prior(problem)
    weights += (problem.correlation.log_density(zetas) + np.log(width))[:, None, None]
    if problem.hidden >= 1.0:
        return Grid(zetas, starts(zetas), width, look.points, weights, 1.0)
    look.at([0.0])
    none = look.found[0.0] + _log_prior(problem) + math.log1p(-problem.hidden)
    weights = np.concatenate([weights + math.log(problem.hidden), none[None]])
    hidden = 1.0 - math.exp(log_sum(none) - log_sum(weights))
    zeta, start, wide = (np.append(values, 0.0) for values in (zetas, starts(zetas), width))
    return Grid(zeta, start, wide, look.points, weights, hidden)


def _log_prior(problem: PairProblem) -> float:
    """Return the log prior of one setting: slabs are alike, and so are logarithms of the ratio of scales."""
    slabs = len(problem.first_slabs) * len(problem.second_slabs) * len(problem.direct_slabs)
    return -math.log(slabs) - 0.5 * math.log(problem.n)
