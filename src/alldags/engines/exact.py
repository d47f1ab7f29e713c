"""`Exact`: the posterior over all parent sets of a node, by enumeration at constant cost per set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.conjugate.free import FreeMoments, FreeSystem, free_moments, free_system
from alldags.engines.conjugate.noise import degrees_of_freedom
from alldags.engines.conjugate.one_set import draw_given_sets, known_variance
from alldags.engines.conjugate.settings import over_settings
from alldags.engines.conjugate.system import ConjugateSystem, conjugate_system
from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem, ParentSet
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.engines.kernels.subsets.enumeration import Weights

LARGEST = 30  # parents; 2**30 sets take about a quarter of a minute and every further one doubles that
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
        fewest = 0 if self.problem.certain.any() else 1  # uncertain parents in a set that has parents
        if degrees_of_freedom(self._system.noise, fewest) <= 2:
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
        noise = self._system.noise
        if noise.known:
            return known_variance(self.problem)
        return self._first.noise if noise.shape > 1 else math.inf

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
        from alldags.engines.kernels.subsets.enumeration import tabulate_subsets

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
        from alldags.engines.kernels.subsets.enumeration import best_subsets

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
        from alldags.engines.kernels.subsets.enumeration import locate_subsets

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
