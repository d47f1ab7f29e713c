"""`Exact`: the posterior over all parent sets of a node, by enumeration at constant cost per set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.engines.conjugate import draw_given_sets, known_variance
from alldags.engines.parallel import run_threads
from alldags.engines.settings import over_settings
from alldags.engines.system import ConjugateSystem, conjugate_system
from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem, ParentSet
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.engines.kernels.enumeration import Weights

LARGEST = 30  # parents; 2**30 sets take about a quarter of a minute and every further one doubles that
_PARTS = 16  # the walk is split into this many pieces whatever the number of threads, so results do not depend on it
_WORTH_SPLITTING = 256  # prefixes; below, setting up a piece costs more than walking it
_OVERFLOW = 1e250
_LARGEST_STEP = 1e7  # nats
_SECONDS_PER_SET = 2e-8
_LARGEST_TABLE = 20


@dataclass(frozen=True, slots=True)
class Exact:
    """Average over every parent set; no approximation.

    Parameters
    ----------
    max_parents
        Refuse nodes with more *uncertain* candidate parents than this; at most 30. Certain parents cost nothing.
    threads
        Threads used for one node. The result does not depend on it.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.engines.Exact(max_parents=28).name
    'exact'
    """

    max_parents: int = 25
    threads: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.max_parents <= LARGEST:
            raise EngineError(f"max_parents must lie between 0 and {LARGEST}, got {self.max_parents!r}")
        if self.threads < 1:
            raise EngineError(f"threads must be at least 1, got {self.threads!r}")

    @property
    def name(self) -> str:
        return "exact"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the exact posterior of one node; nothing random is involved."""
        del rng
        if problem.free > self.max_parents:
            raise EngineError(_too_many(problem, self.max_parents))
        return over_settings(problem, lambda part: ExactPosterior(part, self.threads))


def _too_many(problem: NodeProblem, limit: int) -> str:
    seconds = 2.0**problem.free * _SECONDS_PER_SET * len(problem.settings)
    advice = "use engine='auto' or engine='mcmc'"
    if problem.free <= LARGEST:
        advice = f"allow it with engines.Exact(max_parents={problem.free}), or {advice}"
    return (
        f"{problem.child!r} has {problem.free} uncertain candidate parents, more than max_parents={limit}: "
        f"2^{problem.free} parent sets would take about {_duration(seconds)}; {advice}"
    )


def _duration(seconds: float) -> str:
    for size, unit in ((31557600.0, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{max(seconds, 1.0):.0f} seconds"


# -- certain parents are eliminated first ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FreeSystem:
    """The uncertain parents' system after the certain ones were eliminated, scaled to a unit diagonal.

    Parameters
    ----------
    a, b
        Shapes (f, f) and (f,).
    scale
        Coefficients are `scale` times the scaled ones, shape (f,).
    coupling, offset, inverse
        Certain coefficients given the free ones have mean ``offset - coupling @ theta_free`` and covariance
        ``noise variance * inverse``; shapes (c, f), (c,), (c, c).
    weights
        For the compiled walks; its reference is the greedy set's log weight.
    log_base
        Log weight common to all sets.
    """

    a: FloatArray
    b: FloatArray
    scale: FloatArray
    coupling: FloatArray
    offset: FloatArray
    inverse: FloatArray
    weights: Weights
    log_base: float

    @property
    def width(self) -> int:
        """Variables in one block of the compiled walk."""
        from alldags.engines.kernels.enumeration import WIDTH

        return min(len(self.b), WIDTH)


def free_system(problem: NodeProblem, system: ConjugateSystem) -> FreeSystem:
    """Eliminate the certain parents."""
    certain, free = problem.certain, ~problem.certain
    inner = system.precision[np.ix_(certain, certain)]
    across = system.precision[np.ix_(certain, free)]
    inverse = np.asarray(np.linalg.inv(inner), dtype=np.float64)
    coupling = np.asarray(np.linalg.solve(inner, across), dtype=np.float64)
    offset = np.asarray(np.linalg.solve(inner, system.shift[certain]), dtype=np.float64)
    a = system.precision[np.ix_(free, free)] - across.T @ coupling
    b = system.shift[free] - across.T @ offset
    explained = float(system.shift[certain] @ offset)
    log_base = system.log_constant + float(system.log_factor[certain].sum())
    if system.has_determinant:
        log_base -= 0.5 * float(np.linalg.slogdet(inner)[1])
    if system.known_noise:
        log_base += 0.5 * explained
    scale = 1.0 / np.sqrt(np.diag(a))
    a, b = a * np.outer(scale, scale), b * scale
    np.fill_diagonal(a, 1.0)
    return FreeSystem(
        a, b, scale, coupling, offset, inverse, _weights(problem, system, a, b, scale, explained), log_base
    )


def _weights(
    problem: NodeProblem, system: ConjugateSystem, a: FloatArray, b: FloatArray, scale: FloatArray, explained: float
) -> Weights:
    from alldags.engines.kernels.enumeration import Weights
    from alldags.engines.kernels.sweep import greedy_parents

    log_factor = system.log_factor[~problem.certain] + (np.log(scale) if system.has_determinant else 0.0)
    whole = max(system.rate + 0.5 * (system.total - explained), 1e-15 * (system.rate + 0.5 * system.total))
    none_certain = np.zeros(len(b), dtype=bool)
    _, reference = greedy_parents(
        a, b, log_factor, system.log_size, none_certain, system.has_determinant, system.known_noise,
        2.0 * whole, system.shape, 0.0,
    )  # fmt: skip
    log_size = np.zeros(1) if problem.log_size is None else system.log_size
    return Weights(log_factor, log_size, system.has_determinant, system.known_noise, whole, system.shape, reference)


# -- sums over all sets ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FreeMoments:
    """Posterior of the uncertain parents' scaled coefficients.

    Parameters
    ----------
    log_weight
        Log of the total weight.
    inclusion, mean
        Shape (f,).
    between, within
        Second moments of the conditional means, and mean conditional covariance; shape (f, f), or (0, 0) if not
        asked for.
    noise
        Mean of the noise variance (1 if known; not meaningful if it does not exist).
    """

    log_weight: float
    inclusion: FloatArray
    mean: FloatArray
    between: FloatArray
    within: FloatArray
    noise: float


def free_moments(system: FreeSystem, second: bool, threads: int) -> FreeMoments:
    """Sum over all subsets of the uncertain parents, rescaling if the weights overflow."""
    weights = system.weights
    step = 500.0
    while True:
        parts = _sum_parts(system, weights, second, threads)
        total = float(sum(part.w[0] for part in parts))
        if total < _OVERFLOW:
            break
        if step > _LARGEST_STEP:
            raise EngineError("the weights of the parent sets are beyond what floating-point numbers can hold")
        # some set is hundreds of nats better than the greedy one, whose weight was taken as 1
        weights = weights._replace(reference=weights.reference + step)
        step *= 1.5

    def average(name: str) -> FloatArray:
        return np.asarray(sum(getattr(part, name) for part in parts) / total)

    return FreeMoments(
        log_weight=weights.reference + math.log(total),
        inclusion=average("inclusion"),
        mean=average("mean"),
        between=average("between"),
        within=average("within"),
        noise=float(average("noise")[0]),
    )


def _sum_parts(system: FreeSystem, weights: Weights, second: bool, threads: int) -> list[Any]:
    from alldags.engines.kernels.enumeration import sum_subsets

    prefixes = 1 << (len(system.b) - system.width)
    parts = _PARTS if prefixes >= _WORTH_SPLITTING else 1
    count = prefixes // parts

    def job(part: int) -> Any:
        return sum_subsets(system.a, system.b, weights, system.width, part * count, count, second)

    return run_threads(job, parts, threads)


# -- the posterior ---------------------------------------------------------------------------------------------------


class ExactPosterior(NodePosterior):
    """Exact posterior of one node under one hyperparameter setting."""

    def __init__(self, problem: NodeProblem, threads: int = 1) -> None:
        self.problem = problem
        self.threads = threads
        self.diagnostics = Diagnostics("exact")

    @cached_property
    def _system(self) -> ConjugateSystem:
        return conjugate_system(self.problem)

    @cached_property
    def _free(self) -> FreeSystem:
        return free_system(self.problem, self._system)

    @cached_property
    def _first(self) -> FreeMoments:
        if "_second" in self.__dict__:
            return self._second
        return free_moments(self._free, False, self.threads)

    @cached_property
    def _second(self) -> FreeMoments:
        return free_moments(self._free, True, self.threads)

    @cached_property
    def mean(self) -> FloatArray:
        free, certain = self._free, self.problem.certain
        mean = np.empty(self.problem.k)
        mean[~certain] = self._first.mean * free.scale
        mean[certain] = free.offset - free.coupling @ mean[~certain]
        return mean

    @cached_property
    def inclusion(self) -> FloatArray:
        inclusion = np.ones(self.problem.k)
        inclusion[~self.problem.certain] = np.minimum(self._first.inclusion, 1.0)
        return inclusion

    @cached_property
    def second_moment(self) -> FloatArray:
        if self._system.degrees_of_freedom <= 2:
            present = np.outer(self.inclusion, self.inclusion) > 0
            return np.where(present, math.inf, 0.0)
        moments = self._second
        return self._with_certain(moments.between + moments.within, noise=moments.noise)

    @cached_property
    def second_moment_between(self) -> FloatArray:
        return self._with_certain(self._second.between, noise=0.0)

    def _with_certain(self, scaled: FloatArray, noise: float) -> FloatArray:
        """Extend second moments of the uncertain coefficients to the certain ones."""
        free, certain = self._free, self.problem.certain
        inner = scaled * np.outer(free.scale, free.scale)
        mean = self.mean[~certain]
        full = np.empty((self.problem.k, self.problem.k))
        full[np.ix_(~certain, ~certain)] = inner
        across = np.outer(free.offset, mean) - free.coupling @ inner
        full[np.ix_(certain, ~certain)] = across
        full[np.ix_(~certain, certain)] = across.T
        own = np.outer(free.offset - free.coupling @ mean, free.offset) - across @ free.coupling.T
        full[np.ix_(certain, certain)] = own + noise * free.inverse
        return full

    @property
    def log_evidence(self) -> float:
        return self._free.log_base + self._first.log_weight

    @cached_property
    def noise_variance(self) -> float:
        if self._system.known_noise:
            return known_variance(self.problem)
        return self._first.noise if self._system.shape > 1 else math.inf

    def mean_given(self, parent: int, present: bool) -> FloatArray:
        if present:
            return ExactPosterior(self.problem.with_certain(parent), self.threads).mean
        mean = np.zeros(self.problem.k)
        mean[np.arange(self.problem.k) != parent] = ExactPosterior(self.problem.without([parent]), self.threads).mean
        return mean

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        free_masks = masks[:, ~self.problem.certain]
        impossible = (masks & self.problem.certain).any(axis=1)
        listed = np.flatnonzero(free_masks.any(axis=0))
        if len(listed) <= _LARGEST_TABLE:
            probability = self._disjoint_by_table(free_masks, listed)
        else:
            probability = np.array([self._disjoint_by_refit(mask) for mask in masks & ~self.problem.certain])
        return np.where(impossible, 0.0, probability)

    def _disjoint_by_table(self, free_masks: BoolArray, listed: IntArray) -> FloatArray:
        from alldags.engines.kernels.enumeration import tabulate_subsets

        free = self._free
        table = tabulate_subsets(free.a, free.b, self._weights_at_total(), free.width, listed)
        grid = table.reshape((2,) * len(listed))
        for axis in range(len(listed)):  # sums over subsets, one variable at a time
            grid = np.cumsum(grid, axis=axis)
        allowed = ~free_masks[:, listed] @ (1 << np.arange(len(listed)))
        return np.asarray(np.minimum(grid.reshape(-1)[allowed] / grid.reshape(-1)[-1], 1.0))

    def _disjoint_by_refit(self, mask: BoolArray) -> float:
        without = ExactPosterior(self.problem.without(mask), self.threads)
        prior = float(np.log1p(-self.problem.probability[mask]).sum()) if self.problem.log_size is None else 0.0
        return min(math.exp(without.log_evidence + prior - self.log_evidence), 1.0)

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        from alldags.engines.kernels.enumeration import best_subsets

        free = self._free
        size = min(size, 2**self.problem.free)
        weights, prefixes, lanes = best_subsets(free.a, free.b, self._weights_at_total(), free.width, size)
        masks = self._masks(prefixes, lanes)
        return tuple(
            ParentSet(tuple(name for name, inside in zip(self.problem.parents, mask, strict=True) if inside), float(w))
            for w, mask in zip(weights, masks, strict=True)
            if w > 0
        )

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        from alldags.engines.kernels.enumeration import locate_subsets

        free = self._free
        targets = np.sort(rng.random(size)) * (1 - 1e-15)
        prefixes, lanes = locate_subsets(free.a, free.b, self._weights_at_total(), free.width, targets)
        coefficients, variance = draw_given_sets(self._system, self._masks(prefixes, lanes), rng)
        order = rng.permutation(size)  # the walk returns them sorted by set
        return coefficients[order], variance[order] * known_variance(self.problem)

    def _weights_at_total(self) -> Weights:
        """Return weights that sum to one."""
        return self._free.weights._replace(reference=self._first.log_weight)

    def _masks(self, prefixes: IntArray, lanes: IntArray) -> BoolArray:
        """Turn prefixes and lanes of the compiled walk into parent sets, shape (size, k)."""
        width = self._free.width
        free = np.empty((len(lanes), self.problem.free), dtype=bool)
        for variable in range(self.problem.free):
            bits = lanes >> (width - 1 - variable) if variable < width else prefixes >> (variable - width)
            free[:, variable] = bits & 1
        masks = np.ones((len(lanes), self.problem.k), dtype=bool)
        masks[:, ~self.problem.certain] = free
        return masks
