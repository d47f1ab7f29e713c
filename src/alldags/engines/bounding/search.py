"""The order of branching and the search for a threshold, for the certified engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.conjugate.free import FreeSystem
from alldags.engines.conjugate.noise import slope
from alldags.errors import EngineError
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.engines.kernels.bounding.walk import Limits, Walk
    from alldags.engines.kernels.subsets.block import Weights

WIDTH = 14  # variables per block: wider ones spend their time on sets that do not matter, narrower ones on bookkeeping
_NARROWEST = 8
_OVERFLOW = 1e200
_TIGHTEN = 1e3  # a subtree this many times above the threshold gets a bound of its own
_SMALLEST = 1e-280  # the thresholds end here


# -- the order of branching ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OrderedSystem:
    """The uncertain parents' system in the order of branching, most probable first.

    Parameters
    ----------
    a, b
        Shapes (f, f) and (f,).
    weights
        For the compiled walks.
    order
        Position of each ordered variable among the uncertain parents, shape (f,).
    inverse_diagonal
        Of ``a``, shape (f,).
    reach
        Quadratic form of the full set.
    width
        Variables in the block at the end.
    """

    a: FloatArray
    b: FloatArray
    weights: Weights
    order: IntArray
    inverse_diagonal: FloatArray
    reach: float
    width: int

    @property
    def prefix(self) -> int:
        """Variables before the block."""
        return len(self.b) - self.width


def ordered_system(free: FreeSystem, max_subsets: int) -> OrderedSystem:
    """Order the uncertain parents by the log odds of each, given what the greedy search selects among the others.

    The block narrows with the budget, so that a small one still reaches some thousand states.
    """
    order = np.argsort(-_flip_log_odds(free), kind="stable")
    a, b = np.ascontiguousarray(free.a[np.ix_(order, order)]), free.b[order]
    weights = free.weights._replace(log_factor=free.weights.log_factor[order])
    inverse = np.asarray(np.linalg.inv(a), dtype=np.float64)
    width = min(len(b), WIDTH, max(_NARROWEST, max_subsets.bit_length() - 13))
    reach = max(float(b @ inverse @ b), 0.0) * (1 + 1e-9)
    return OrderedSystem(a, b, weights, order, np.maximum(np.diag(inverse), 1.0), reach, width)


def _flip_log_odds(free: FreeSystem) -> FloatArray:
    from alldags.engines.kernels.sweep import greedy_parents, sweep

    f, weights = len(free.b), free.weights
    log_size = np.zeros(f + 1) if len(weights.log_size) == 1 else weights.log_size
    present, _ = greedy_parents(
        free.a, free.b, weights.log_factor, log_size, np.zeros(f, dtype=bool), weights.has_determinant,
        weights.noise,
    )  # fmt: skip
    table = np.block([[free.a, free.b[:, None]], [free.b[None, :], np.zeros((1, 1))]])
    for v in np.flatnonzero(present):
        sweep(table, v)
    diagonal, last = np.diag(table)[:f], table[:f, f]
    alpha = np.where(present, -1.0 / diagonal, diagonal)
    gain = np.where(present, last**2 * alpha, last**2 / alpha)
    determinant = 0.5 * np.log(np.maximum(alpha, 1e-300)) if weights.has_determinant else 0.0
    return np.asarray(weights.log_factor - determinant + slope(weights.noise, -float(table[f, f]), 0) * gain)


# -- the search for a threshold --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Search:
    """The pass of the walk that was kept: where it cut, and its sums."""

    limits: Limits
    weights: Weights
    sums: Walk

    @property
    def mass_left_out(self) -> float:
        """Upper bound of the posterior mass of the sets left out."""
        if not math.isfinite(self.sums.left_out):
            return 1.0
        # 1e-9: the bounds are computed in floating point
        return min(self.sums.left_out * (1 + 1e-9) / (self.sums.w + self.sums.left_out), 1.0)


def search(system: OrderedSystem, max_subsets: int, tolerance: float) -> Search:
    """Lower the threshold until the mass left out is small enough or the budget is used up."""
    from alldags.engines.kernels.bounding.walk import Limits

    budget = max(max_subsets >> system.width, 1)
    weights, threshold, best = system.weights, 0.1, None
    while True:
        found = _one_pass(system, weights, Limits(threshold, _TIGHTEN * threshold, budget))
        weights = found.weights
        if best is None or found.mass_left_out < best.mass_left_out:
            best = found
        if best.mass_left_out <= tolerance or not found.sums.finished or threshold < _SMALLEST:
            return best
        # the mass left out falls a little more slowly than the threshold
        threshold *= min(max(0.5 * tolerance / found.mass_left_out, 1e-3), 0.3)


def _one_pass(system: OrderedSystem, weights: Weights, limits: Limits) -> Search:
    sums = run_walk(system, weights, limits)
    while not sums.w < _OVERFLOW:  # some set is hundreds of nats better than the greedy one, whose weight was 1
        weights = weights._replace(reference=weights.reference + 400.0)
        sums = run_walk(system, weights, limits)
    if sums.w <= 0:  # nothing was heavy enough to be summed: sum what the budget allows
        limits = limits._replace(threshold=0.0)
        sums = run_walk(system, weights, limits)
    if sums.w <= 0:
        raise EngineError("no parent set with a weight above 0 was found within the budget; use engine='mcmc'")
    return Search(limits, weights, sums)


def run_walk(
    system: OrderedSystem,
    weights: Weights,
    limits: Limits,
    second: bool = False,
    paths: BoolArray | None = None,
    values: FloatArray | None = None,
) -> Walk:
    """Call the compiled walk; `paths` and `values` are filled if given."""
    from alldags.engines.kernels.bounding.walk import walk

    if paths is None or values is None:
        paths, values = np.zeros((0, system.prefix), dtype=bool), np.zeros(0)
    found: Walk = walk(system.a, system.b, system.reach, system.width, weights, limits, second, paths, values)
    return found
