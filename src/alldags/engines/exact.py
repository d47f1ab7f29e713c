"""`Exact`: the posterior over all parent sets of a node, by enumeration at constant cost per set."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from alldags import checks
from alldags.engines.conjugate.free import (
    FreeMoments,
    FreeSystem,
    free_moments,
    free_system,
    masks_of_sets,
    tabulate_sets,
    weights_of_sets,
)
from alldags.engines.conjugate.noise import degrees_of_freedom
from alldags.engines.conjugate.one_set import draw_given_sets, known_variance
from alldags.engines.conjugate.sets import heaviest, locate, sum_over_subsets
from alldags.engines.conjugate.settings import LEAST, SettingsPosterior
from alldags.engines.conjugate.system import ConjugateSystem, conjugate_system
from alldags.engines.suits import check_suits
from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem, ParentSet
from alldags.priors.grid import Setting
from alldags.priors.noise import Noise
from alldags.typing import BoolArray, FloatArray, IntArray
from alldags.wording import option

LARGEST = 40  # parents that may be allowed; 2**40 sets take nine hours
_SECONDS_PER_SET = 3e-8  # of all an answer needs; a second walk is made only under values that carry weight
_PATIENCE = 60.0  # seconds
_SHORT = 24.0  # what a set costs on top if vectors had one lane
_LARGEST_TABLE = 20
_TELLS = 1e-3  # from this probability on, one less it is known to twelve digits


@dataclass(frozen=True, slots=True)
class Exact:
    """Average over every parent set; no approximation.

    Parameters
    ----------
    max_parents
        Refuse nodes with more *uncertain* candidate parents than this; at most 40. Certain parents cost nothing. By
        default nodes are refused that would take more than about a minute.
    threads
        Threads used for one node. The result does not depend on it.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.engines.Exact(max_parents=28).name
    'exact'
    """

    takes: ClassVar[tuple[type, ...]] = (Noise,)
    scope: ClassVar[str | None] = None
    estimate: ClassVar[str] = "posterior mean"
    takes_groups: ClassVar[bool] = True

    max_parents: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        if self.max_parents is not None:
            checks.whole("Exact max_parents", self.max_parents, 0, LARGEST, EngineError)
        checks.whole("Exact threads", self.threads, 1, error=EngineError)

    @property
    def name(self) -> str:
        return "exact"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the exact posterior of one node; nothing random is involved."""
        check_suits(self, problem.settings[0])
        del rng
        seconds = 2.0 ** min(log2_sets(problem), 1000.0) * _SECONDS_PER_SET
        if seconds > _PATIENCE if self.max_parents is None else problem.free > self.max_parents:
            raise EngineError(_too_many(problem, self.max_parents, seconds))
        return enumerate_sets(problem, self.threads)


def log2_sets(problem: NodeProblem) -> float:
    """Return how much an enumeration has to do, over all hyperparameter values: log2 of sets of single columns.

    Where few columns are alone, vectors are short, and a set takes up to 13 times as long.
    """
    slower = 1.0
    if problem.has_groups:
        alone = int((np.diff(problem.starts) == 1).sum()) - int(problem.certain.sum())
        slower += _SHORT / 2.0 ** min(max(alone, 1), 10)
    return problem.free + math.log2(len(problem.settings)) + math.log2(slower)


def enumerate_sets(problem: NodeProblem, threads: int = 1) -> ExactPosterior | ExactMixture:
    """Return the exact posterior under one hyperparameter value or several."""
    if len(problem.settings) == 1:
        return ExactPosterior(problem, threads)
    return ExactMixture(problem, [ExactPosterior(problem.with_setting(one), threads) for one in problem.settings])


def _too_many(problem: NodeProblem, limit: int | None, seconds: float) -> str:
    values = f" under {len(problem.settings)} hyperparameter values" if len(problem.settings) > 1 else ""
    advice = f"use {option('engine', 'auto', 'mcmc')}"
    if problem.free <= LARGEST:
        advice = f"allow it with engines.Exact(max_parents={problem.free}), or {advice}"
    return (
        f"{problem.child!r} has {problem.free} uncertain candidate parents"
        f"{'' if limit is None else f', more than max_parents={limit}'}: "
        f"2^{problem.free} parent sets{values} would take about {_duration(seconds)}; {advice}"
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
        if degrees_of_freedom(self._system.noise, _fewest(self.problem)) <= 2:
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
        return _mean_given(self.problem, parent, present, self.threads)

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        masks = self.problem.touched(masks)
        free_masks = masks[:, ~self.problem.certain]
        impossible = (masks & self.problem.certain).any(axis=1)
        listed = np.flatnonzero(free_masks.any(axis=0) & self.problem.heads[~self.problem.certain])
        if len(listed) <= _LARGEST_TABLE:
            probability = self._disjoint_by_table(free_masks, listed)
        else:
            probability = np.array([self._disjoint_by_refit(mask) for mask in masks & ~self.problem.certain])
        return np.where(impossible, 0.0, probability)

    def _disjoint_by_table(self, free_masks: BoolArray, listed: IntArray) -> FloatArray:
        table = tabulate_sets(self._free, self._first.log_weight, listed)
        sum_over_subsets(table)
        allowed = ~free_masks[:, listed] @ (1 << np.arange(len(listed)))
        return np.asarray(np.minimum(table[allowed] / table[-1], 1.0))

    def _disjoint_by_refit(self, mask: BoolArray) -> float:
        without = ExactPosterior(self.problem.without(mask), self.threads)
        gone = self.problem.probability[mask & self.problem.heads]
        prior = float(np.log1p(-gone).sum()) if self.problem.log_size is None else 0.0
        return min(math.exp(without.log_evidence + prior - self.log_evidence), 1.0)

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        pieces = weights_of_sets(self._free, self._first.log_weight)
        weights, numbers = heaviest(pieces, min(size, 2**self.problem.free))
        masks = self._masks(numbers)
        return tuple(
            ParentSet(tuple(name for name, inside in zip(self.problem.terms, mask, strict=True) if inside), float(w))
            for w, mask in zip(weights, masks, strict=True)
            if w > 0
        )

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        numbers = locate(weights_of_sets(self._free, self._first.log_weight), np.sort(rng.random(size)))
        order = rng.permutation(size)  # they are sorted by set
        coefficients, variance = draw_given_sets(self._system, self._masks(numbers), rng, order)
        return coefficients, variance * known_variance(self.problem)

    def _masks(self, numbers: IntArray) -> BoolArray:
        """Turn numbers of sets into parent sets, shape (size, k)."""
        masks = np.ones((len(numbers), self.problem.k), dtype=bool)
        masks[:, ~self.problem.certain] = masks_of_sets(self._free, numbers)
        return masks


def _fewest(problem: NodeProblem) -> int:
    """Return the least number of uncertain columns in a set that has parents."""
    if problem.certain.any():
        return 0
    return int(np.diff(problem.starts).min()) if problem.has_groups else 1


def _mean_given(problem: NodeProblem, parent: int, present: bool, threads: int) -> FloatArray:
    """Return the mean given one edge, from an enumeration of its own."""
    if present:
        return enumerate_sets(problem.with_certain(parent), threads).mean
    mean = np.zeros(problem.k)
    mean[~problem.group_of(parent)] = enumerate_sets(problem.without([parent]), threads).mean
    return mean


class ExactMixture(SettingsPosterior):
    """Exact posterior of one node over several hyperparameter values."""

    parts: list[ExactPosterior]

    def mean_given(self, parent: int, present: bool) -> FloatArray:
        """Return the mean given one edge; the hyperparameter values are weighed anew."""
        problem = replace(self.problem, settings=self._settings_given(parent, present))
        return _mean_given(problem, parent, present, self.parts[0].threads)

    def _settings_given(self, parent: int, present: bool) -> tuple[Setting, ...]:
        """Return the values that carry weight given the edge: all of them, where rounding does not let one tell."""
        inclusion = np.array([part.inclusion[parent] for part in self.parts])
        joint = self.weights * (inclusion if present else 1.0 - inclusion)
        total = float(joint.sum())
        least = LEAST * total if total > _TELLS else -1.0
        return tuple(one for one, value in zip(self.problem.settings, joint, strict=True) if value > least)
