"""`Certified`: the parent sets that matter, with a proven bound on everything that was left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.bounding.search import OrderedSystem, Search, ordered_system, run_walk, search
from alldags.engines.conjugate.free import FreeMoments
from alldags.engines.conjugate.one_set import draw_given_sets, known_variance
from alldags.engines.conjugate.settings import SettingsPosterior
from alldags.engines.exact import ExactPosterior
from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem, ParentSet
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.engines.kernels.bounding.walk import Walk


@dataclass(frozen=True, slots=True)
class Certified:
    """Average over the parent sets that matter and prove how much the others can weigh.

    Branch and bound: a group of parent sets is left out when an upper bound of its posterior mass is small. The sum of
    these bounds is reported as ``diagnostics.mass_left_out``; `NodePosterior.mean_bound` and
    `NodePosterior.inclusion_bound` say what it means for the answer. Nothing is random.

    Parameters
    ----------
    max_subsets
        Most parent sets to visit in one pass, whichever tolerance that reaches (some 50 million a second).
    tolerance
        Stop when the posterior mass left out is proven to be below this.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.engines.Certified(tolerance=1e-6).name
    'certified'
    """

    max_subsets: int = 2**26
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        if not (isinstance(self.max_subsets, int) and self.max_subsets >= 1):
            raise EngineError(f"max_subsets must be a whole number of at least 1, got {self.max_subsets!r}")
        if not 0 < self.tolerance < 1:
            raise EngineError(f"tolerance must lie strictly between 0 and 1, got {self.tolerance!r}")

    @property
    def name(self) -> str:
        return "certified"

    def suits(self, problem: NodeProblem) -> bool:
        """Say whether the bound holds for this problem's noise prior."""
        return all(setting.noise.shape_per_parent == 0.0 for setting in problem.settings)

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node; nothing random is involved."""
        del rng
        if not self.suits(problem):
            raise EngineError(
                f"the engine 'certified' cannot take {problem.settings[0].noise!r}: its bound needs a noise prior that "
                "does not depend on the number of parents; use engine='auto', 'exact' or 'mcmc'"
            )
        if len(problem.settings) == 1:
            return CertifiedPosterior(problem, self)
        parts: list[NodePosterior] = [CertifiedPosterior(problem.with_setting(one), self) for one in problem.settings]
        return CertifiedMixture(problem, parts)


@dataclass(frozen=True)
class CertifiedDiagnostics(Diagnostics):
    """How much of the posterior a certified answer covers.

    Parameters
    ----------
    mass_left_out
        Upper bound of the posterior probability of the parent sets that were left out; 1 if nothing is proven.
    subsets
        Parent sets that were visited for the answer.
    tolerance
        What was asked for.
    """

    mass_left_out: float = 1.0
    subsets: int = 0
    tolerance: float = 1.0

    @property
    def reached(self) -> bool:
        """Whether the mass left out is within the tolerance."""
        return self.mass_left_out <= self.tolerance


# -- the posterior ---------------------------------------------------------------------------------------------------


class CertifiedPosterior(ExactPosterior):
    """Posterior over the parent sets that matter, under one hyperparameter setting."""

    diagnostics: CertifiedDiagnostics

    def __init__(self, problem: NodeProblem, engine: Certified) -> None:
        super().__init__(problem)
        self.engine = engine
        self.diagnostics = self._diagnose()

    def _diagnose(self) -> CertifiedDiagnostics:
        mass, subsets = self._search.mass_left_out, self._search.sums.states << self._ordered.width
        warnings: tuple[str, ...] = ()
        if mass > self.engine.tolerance:
            warnings = (
                f"{self.problem.child!r}: parent sets with up to {mass:.2g} of the posterior mass were left out after "
                f"{subsets} sets, more than the tolerance {self.engine.tolerance:g}; raise max_subsets, or use 'mcmc'",
            )
        return CertifiedDiagnostics("certified", warnings, mass, subsets, self.engine.tolerance)

    @cached_property
    def _ordered(self) -> OrderedSystem:
        return ordered_system(self._free, self.engine.max_subsets)

    @cached_property
    def _search(self) -> Search:
        return search(self._ordered, self.engine.max_subsets, self.engine.tolerance)

    @cached_property
    def _first(self) -> FreeMoments:
        return self._moments(self._search.sums)

    @cached_property
    def _second(self) -> FreeMoments:
        return self._moments(run_walk(self._ordered, self._search.weights, self._search.limits, second=True))

    def _moments(self, sums: Walk) -> FreeMoments:
        """Bring sums into the order of the uncertain parents."""
        back = np.argsort(self._ordered.order)
        square = np.ix_(back, back) if sums.between.size else (slice(None), slice(None))
        return FreeMoments(
            log_weight=self._search.weights.reference + math.log(sums.w),
            inclusion=sums.inclusion[back] / sums.w,
            mean=sums.mean[back] / sums.w,
            between=sums.between[square] / sums.w,
            within=sums.within[square] / sums.w,
            noise=sums.noise / sums.w,
        )

    # -- bounds ------------------------------------------------------------------------------------------------------

    @property
    def left_out_ratio(self) -> float:
        """Upper bound of the weight left out over the weight of the sets visited."""
        mass = self.diagnostics.mass_left_out
        return mass / (1.0 - mass) if mass < 1.0 else math.inf

    @cached_property
    def mean_limit(self) -> FloatArray:
        """Largest absolute conditional mean any parent set can have, shape (k,).

        ``|E[theta_c | P]| <= sqrt((A_P^-1)_cc q_P)`` by Cauchy-Schwarz, and neither factor falls when P grows.
        """
        ordered, free, certain = self._ordered, self._free, self.problem.certain
        back = np.argsort(ordered.order)
        inner = np.sqrt(ordered.inverse_diagonal * max(ordered.reach, 0.0))[back] * free.scale
        limit = np.empty(self.problem.k)
        limit[~certain] = inner
        limit[certain] = np.abs(free.offset) + np.abs(free.coupling) @ inner
        return limit

    @cached_property
    def mean_bound(self) -> FloatArray:
        return np.asarray(self.diagnostics.mass_left_out * (self.mean_limit + np.abs(self.mean)))

    @cached_property
    def inclusion_bound(self) -> FloatArray:
        bound = self.diagnostics.mass_left_out * np.maximum(self.inclusion, 1.0 - self.inclusion)
        return np.where(self.problem.certain, 0.0, bound)

    @property
    def log_evidence_bound(self) -> float:
        """How much larger than `log_evidence`, a lower bound, the log evidence can be."""
        return math.log1p(self.left_out_ratio)

    # -- single sets -------------------------------------------------------------------------------------------------

    @cached_property
    def _states(self) -> tuple[BoolArray, FloatArray]:
        """States entered, shape (states, prefix), and their weights, heaviest first."""
        found, ordered = self._search, self._ordered
        paths = np.zeros((found.sums.states, ordered.prefix), dtype=bool)
        values = np.zeros(found.sums.states)
        run_walk(ordered, found.weights, found.limits, paths=paths, values=values)
        order = np.argsort(-values, kind="stable")
        return paths[order], values[order]

    def _sets(self, states: IntArray, lanes: IntArray) -> BoolArray:
        """Turn states and lanes into parent sets, shape (size, k)."""
        ordered = self._ordered
        free = np.empty((len(lanes), self.problem.free), dtype=bool)
        free[:, ordered.order[: ordered.prefix]] = self._states[0][states]
        for i in range(ordered.width):
            free[:, ordered.order[ordered.prefix + i]] = lanes >> (ordered.width - 1 - i) & 1
        masks = np.ones((len(lanes), self.problem.k), dtype=bool)
        masks[:, ~self.problem.certain] = free
        return masks

    def mean_given(self, parent: int, present: bool) -> FloatArray:
        if present:
            return CertifiedPosterior(self.problem.with_certain(parent), self.engine).mean
        mean = np.zeros(self.problem.k)
        without = CertifiedPosterior(self.problem.without([parent]), self.engine)
        mean[np.arange(self.problem.k) != parent] = without.mean
        return mean

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        from alldags.engines.kernels.bounding.replay import disjoint_weights

        ordered, found = self._ordered, self._search
        free = masks[:, ~self.problem.certain][:, ordered.order]
        bits = 1 << np.arange(ordered.width - 1, -1, -1)
        allowed = np.asarray(~free[:, ordered.prefix :] @ bits, dtype=np.int64).reshape(len(masks))
        prefix_masks = np.ascontiguousarray(free[:, : ordered.prefix])
        weight = disjoint_weights(
            ordered.a, ordered.b, self._states[0], found.weights, ordered.width, prefix_masks, allowed
        )
        impossible = (masks & self.problem.certain).any(axis=1)
        return np.where(impossible, 0.0, np.minimum(weight / found.sums.w, 1.0))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        from alldags.engines.kernels.bounding.replay import best_lanes

        ordered, found = self._ordered, self._search
        paths, values = self._states
        size = min(size, len(values) << ordered.width)
        best, states, lanes = best_lanes(ordered.a, ordered.b, paths, values, found.weights, ordered.width, size)
        masks = self._sets(states, lanes)
        return tuple(
            ParentSet(
                tuple(name for name, inside in zip(self.problem.parents, mask, strict=True) if inside),
                float(w / found.sums.w),
            )
            for w, mask in zip(best, masks, strict=True)
            if w > 0
        )

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw parent sets exactly among those visited, then coefficients and noise variance given each."""
        from alldags.engines.kernels.bounding.replay import locate_lanes

        ordered, found = self._ordered, self._search
        paths, values = self._states
        states = np.sort(rng.choice(len(values), size=size, p=values / values.sum()))
        lanes = locate_lanes(ordered.a, ordered.b, paths, found.weights, ordered.width, states, rng.random(size))
        coefficients, variance = draw_given_sets(self._system, self._sets(states, lanes), rng)
        order = rng.permutation(size)
        return coefficients[order], variance[order] * known_variance(self.problem)


class CertifiedMixture(SettingsPosterior):
    """Certified posteriors of several hyperparameter values, weighed by evidence."""

    def __init__(self, problem: NodeProblem, parts: list[NodePosterior]) -> None:
        super().__init__(problem, parts)
        ratio = float(self._ratios.sum())
        details = [part.diagnostics for part in parts]
        subsets = sum(one.subsets for one in details if isinstance(one, CertifiedDiagnostics))
        tolerance = max(one.tolerance for one in details if isinstance(one, CertifiedDiagnostics))
        mass = ratio / (1.0 + ratio) if math.isfinite(ratio) else 1.0
        warnings: tuple[str, ...] = ()
        if mass > tolerance:
            warnings = (
                f"{problem.child!r}: parent sets with up to {mass:.2g} of the posterior mass were left out, more than "
                f"the tolerance {tolerance:g}; raise max_subsets, or use 'mcmc'",
            )
        self.diagnostics: CertifiedDiagnostics = CertifiedDiagnostics("certified", warnings, mass, subsets, tolerance)

    @cached_property
    def _ratios(self) -> FloatArray:
        """Weight each part left out, over the weight all parts visited, shape (settings,)."""
        ratios = [part.left_out_ratio for part in self.parts if isinstance(part, CertifiedPosterior)]
        return np.where(self.weights > 0, self.weights * np.array(ratios), 0.0)

    @cached_property
    def mean_bound(self) -> FloatArray:
        limits = np.array([part.mean_limit for part in self.parts if isinstance(part, CertifiedPosterior)])
        farthest = limits.max(axis=0) + np.abs(self.mean)  # holds whatever was left out
        if not np.isfinite(self._ratios).all():
            return np.asarray(farthest)
        return np.asarray(np.minimum(self._ratios @ (limits + np.abs(self.mean)), farthest))

    @cached_property
    def inclusion_bound(self) -> FloatArray:
        bound = self.diagnostics.mass_left_out * np.maximum(self.inclusion, 1.0 - self.inclusion)
        return np.where(self.problem.certain, 0.0, bound)
