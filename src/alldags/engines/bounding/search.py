"""The order of branching and the search for a threshold, for the certified engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.conjugate.free import FreeSystem
from alldags.engines.conjugate.noise import slope
from alldags.errors import EngineError
from alldags.typing import BoolArray, FloatArray, IntArray
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.kernels.bounding.walk import Limits, Walk
    from alldags.kernels.subsets.block import Weights

WIDTH = 13  # variables per block: wider ones spend their time on sets that do not matter, narrower ones on bounds
_NARROWEST = 8
_OVERFLOW = 1e200
_PROBE, _PROBE_SHARE = 3000.0, 8  # threshold above, and share of the budget, of a pass that shows what is hopeless
_TIGHTEN = 1e3  # a subtree this many times above the threshold gets a bound of its own
_SMALLEST = 1e-280  # the thresholds end here


# -- the order of branching ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OrderedSystem:
    """The uncertain parents' system in the order of branching, most probable first.

    Parameters
    ----------
    free
        The system in its own order.
    a, b
        Shapes (f, f) and (f,).
    weights
        For the compiled walks.
    order
        Position of each ordered variable among the uncertain columns, shape (f,); groups stay together.
    heads
        Which ordered variables are the first of their group, shape (f,).
    inverse_diagonal
        Of ``a``, shape (f,).
    reach
        Quadratic form of the full set.
    width
        Variables in the block at the end.
    pilot
        Log weight of the greedy set.
    """

    free: FreeSystem
    a: FloatArray
    b: FloatArray
    weights: Weights
    order: IntArray
    heads: BoolArray
    inverse_diagonal: FloatArray
    reach: float
    width: int
    pilot: float

    @property
    def prefix(self) -> int:
        """Variables before the block."""
        return len(self.b) - self.width

    @property
    def promise(self) -> float:
        """Log weight of the greedy set, relative to the reference."""
        return self.pilot - self.weights.reference

    def relative_to(self, reference: float) -> OrderedSystem:
        """Return the system with another log weight that counts as 1."""
        return replace(self, weights=self.weights._replace(reference=reference))


def ordered_system(free: FreeSystem, max_subsets: int) -> OrderedSystem:
    """Order the uncertain groups by the log odds of each, given what the greedy search selects among the others.

    The block narrows with the budget, so that a small one still reaches some hundred states. It has single columns
    only, the least probable ones.
    """
    pilot, log_odds = _flip_log_odds(free)
    groups = [free.layout.groups[place] for place in np.argsort(-log_odds, kind="stable")]
    single = [place for place, columns in enumerate(groups) if len(columns) == 1]
    width = min(len(single), WIDTH, max(_NARROWEST, max_subsets.bit_length() - 10))
    last = set(single[len(single) - width :])
    groups = [g for i, g in enumerate(groups) if i not in last] + [g for i, g in enumerate(groups) if i in last]
    order = np.concatenate([np.zeros(0, dtype=np.int64), *groups])
    heads = np.concatenate([np.zeros(0, dtype=bool), *[np.arange(len(columns)) == 0 for columns in groups]])
    a, b = np.ascontiguousarray(free.a[np.ix_(order, order)]), free.b[order]
    weights = free.weights._replace(log_factor=free.weights.log_factor[order], reference=pilot)
    inverse = np.asarray(np.linalg.inv(a), dtype=np.float64)
    reach = max(float(b @ inverse @ b), 0.0) * (1 + 1e-9)
    return OrderedSystem(free, a, b, weights, order, heads, np.maximum(np.diag(inverse), 1.0), reach, width, pilot)


def _flip_log_odds(free: FreeSystem) -> tuple[float, FloatArray]:
    """Return the log weight of the greedy set and the log odds of each group given the others in it, (groups,)."""
    from alldags.kernels.sweep import greedy_parents, sweep

    f, weights, groups = len(free.b), free.weights, free.layout.groups
    log_size = np.zeros(len(groups) + 1) if len(weights.log_size) == 1 else weights.log_size
    starts = None if len(groups) == f else np.array([*(columns[0] for columns in groups), f])
    present, pilot = greedy_parents(
        free.a, free.b, weights.log_factor, log_size, weights.log_columns, np.zeros(f, dtype=bool), starts,
        weights.has_determinant, weights.noise,
    )  # fmt: skip
    table = np.block([[free.a, free.b[:, None]], [free.b[None, :], np.zeros((1, 1))]])
    for v in np.flatnonzero(present):
        sweep(table, v)
    diagonal, last = np.diag(table)[:f], table[:f, f]
    alpha = np.where(present, -1.0 / diagonal, diagonal)
    gain = np.where(present, last**2 * alpha, last**2 / alpha)
    determinant = 0.5 * np.log(np.maximum(alpha, 1e-300)) if weights.has_determinant else 0.0
    steep = slope(weights.noise, -float(table[f, f]), 0)
    log_odds = weights.log_factor - determinant + steep * gain
    return pilot, np.array(
        [
            log_odds[columns[0]] if len(columns) == 1 else _group_log_odds(table, columns, weights, steep, present)
            for columns in groups
        ]
    )


def _group_log_odds(table: FloatArray, columns: IntArray, weights: Weights, steep: float, present: BoolArray) -> float:
    """Return the same of one group, whose part of the swept table is minus its covariance if it is present."""
    inside = bool(present[columns[0]])
    corner, last = table[np.ix_(columns, columns)], table[columns, -1]
    sign, log_determinant = np.linalg.slogdet(-corner if inside else corner)
    gain = float(last @ np.linalg.solve(-corner if inside else corner, last)) if sign > 0 else 0.0
    half = 0.5 * float(-log_determinant if inside else log_determinant) if weights.has_determinant else 0.0
    return float(weights.log_factor[columns].sum()) - half + steep * gain


# -- the search for a threshold --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Search:
    """One walk that was kept: its system, where it cut, and its sums, on a scale all hyperparameter values share."""

    system: OrderedSystem
    limits: Limits
    sums: Walk


@dataclass(frozen=True, eq=False)
class Pass:
    """The walks over all hyperparameter values with one threshold.

    The posterior over pairs of value and parent set is one big sum, so that weights, and bounds of what was left out,
    add up over the values.
    """

    walks: tuple[Search, ...]

    @property
    def w(self) -> float:
        """Weight of all sets visited."""
        return math.fsum(one.sums.w for one in self.walks)

    @property
    def left_out(self) -> FloatArray:
        """Upper bounds of the weight left out, by hyperparameter value, shape (settings,)."""
        return np.array([one.sums.left_out for one in self.walks])

    @property
    def mass_left_out(self) -> float:
        """Upper bound of the posterior mass of all that was left out."""
        left_out = float(self.left_out.sum())
        if not math.isfinite(left_out):
            return 1.0
        # 1e-9: the bounds are computed in floating point
        return min(left_out * (1 + 1e-9) / (self.w + left_out), 1.0)

    @property
    def blocks(self) -> int:
        """Blocks of parent sets that were summed."""
        return sum(one.sums.states for one in self.walks)

    @property
    def finished(self) -> bool:
        """Whether the budget sufficed."""
        return all(one.sums.finished for one in self.walks)


def search(
    systems: Sequence[OrderedSystem],
    log_prior: Sequence[float],
    max_subsets: int,
    tolerance: float,
    patient: bool = True,
) -> Pass:
    """Lower the threshold until the mass left out is small enough or the budget is used up.

    Parameters
    ----------
    systems, log_prior
        One system, and one log prior weight, per hyperparameter value.
    max_subsets
        Work to spend in one pass, over all values, in parent sets.
    tolerance
        Wanted bound of the mass left out.
    patient
        Whether to find the best bound the budget allows when the tolerance is out of reach; if not, a coarse pass goes
        first, and an unfinished one ends the search.
    """
    from alldags.kernels.bounding.walk import Limits

    scaled = _on_one_scale(systems, log_prior)

    def run(threshold: float, before: Pass | None = None, budget: int = max_subsets) -> Pass:
        latest = scaled if before is None else [one.system for one in before.walks]
        return _one_pass(latest, Limits(threshold, _TIGHTEN * threshold, budget), before)

    threshold = 0.1 * tolerance  # where the mass left out is usually small enough
    if not patient:
        probe = run(_PROBE * threshold, budget=max_subsets // _PROBE_SHARE)
        if not probe.finished:
            return probe
    found = best = run(threshold)
    if not found.finished and patient:  # what was left out when the budget ran out is not chosen well: start high
        threshold = 0.1
        found = run(threshold)
        best = min(best, found, key=_mass)
    while found.finished and best.mass_left_out > tolerance and threshold > _SMALLEST:
        # the mass left out falls a little more slowly than the threshold
        threshold *= min(max(0.5 * tolerance / found.mass_left_out, 1e-3), 0.3)
        found = run(threshold, found)
        best = min(best, found, key=_mass)
    return best


def _mass(found: Pass) -> float:
    return found.mass_left_out


def _on_one_scale(systems: Sequence[OrderedSystem], log_prior: Sequence[float]) -> list[OrderedSystem]:
    """Return the systems with references on one scale, on which the best greedy set counts as 1."""
    base = [value + one.free.log_base for one, value in zip(systems, log_prior, strict=True)]
    pilot = [value + one.weights.reference for one, value in zip(systems, base, strict=True)]
    best = int(np.argmax(pilot))
    top = systems[best].weights.reference
    return [one.relative_to(top + (base[best] - value)) for one, value in zip(systems, base, strict=True)]


def _one_pass(systems: Sequence[OrderedSystem], limits: Limits, before: Pass | None) -> Pass:
    found = _walk_all(systems, limits, before)
    while not found.w < _OVERFLOW:  # some set is hundreds of nats better than the greedy one, whose weight was 1
        systems = [one.relative_to(one.weights.reference + 400.0) for one in systems]
        found = _walk_all(systems, limits, None)
    if found.w <= 0:  # nothing was heavy enough to be summed: sum what the budget allows
        found = _walk_all(systems, limits._replace(threshold=0.0), None)
    if found.w <= 0:
        raise EngineError(
            f"no parent set with a weight above 0 was found within the budget; use {option('engine', 'mcmc')}"
        )
    return found


def _walk_all(systems: Sequence[OrderedSystem], limits: Limits, before: Pass | None) -> Pass:
    """Walk through all hyperparameter values, the most promising first; the budget is theirs together."""
    walks: dict[int, Search] = {}
    budget = limits.budget
    for place in sorted(range(len(systems)), key=lambda i: -systems[i].promise):
        kept = None if before is None else before.walks[place]
        # nothing was entered before, and the bound of everything is still below the threshold
        if kept is None or kept.sums.states > 0 or not kept.sums.left_out <= limits.threshold:
            own = limits._replace(budget=budget)
            kept = Search(systems[place], own, run_walk(systems[place], own))
            budget = max(budget - kept.sums.work, 0)
        walks[place] = kept
    return Pass(tuple(walks[place] for place in range(len(systems))))


def run_walk(
    system: OrderedSystem,
    limits: Limits,
    second: bool = False,
    paths: BoolArray | None = None,
    values: FloatArray | None = None,
) -> Walk:
    """Call the compiled walk; `paths` and `values` are filled if given."""
    from alldags.kernels.bounding.stack import make_stack
    from alldags.kernels.bounding.walk import walk
    from alldags.kernels.subsets.block import make_block, make_sums

    prefix, width, weights = system.prefix, system.width, system.weights
    if paths is None or values is None:
        paths, values = np.zeros((0, prefix), dtype=bool), np.zeros(0)
    stack = make_stack(system.a, system.b, system.heads, system.reach, width, second)
    block, sums = make_block(width, weights.log_factor[prefix:]), make_sums(width, second)
    path = np.zeros(prefix, dtype=bool)
    heads = None if system.heads.all() else system.heads
    found: Walk = walk(stack, block, sums, width, weights, limits, path, paths, values, heads)
    return found
