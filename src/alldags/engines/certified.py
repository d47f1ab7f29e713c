"""`Certified`: the parent sets that matter, with a proven bound on everything that was left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from alldags import checks
from alldags.engines.bounding.search import Pass, Search, ordered_system, run_walk, search
from alldags.engines.conjugate.free import FreeMoments, FreeSystem, free_system
from alldags.engines.conjugate.one_set import draw_given_sets, known_variance
from alldags.engines.conjugate.sets import heaviest, locate, sum_over_subsets
from alldags.engines.conjugate.settings import SettingsPosterior
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.exact import ExactPosterior
from alldags.engines.suits import check_suits
from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem, ParentSet
from alldags.priors.noise import KnownNoise, UnknownNoise
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.kernels.bounding.walk import Walk


_PIECE = 32  # states whose sets are held in memory at once
_TELLS_NOTHING = 1e100  # weight left out over weight visited


@dataclass(frozen=True, slots=True)
class Certified:
    """Average over the parent sets that matter and prove how much the others can weigh.

    Branch and bound: a group of parent sets is left out when an upper bound of its posterior mass is small. The sum of
    these bounds is reported as ``diagnostics.mass_left_out``; `NodePosterior.mean_bound` and
    `NodePosterior.inclusion_bound` say what it means for the answer. Nothing is random.

    Parameters
    ----------
    max_subsets
        Most work in one pass, whichever tolerance that reaches: parent sets to visit (some 50 million a second), and
        bounds, each of which counts as the sets that could be visited in its time. Hyperparameter values share it.
    tolerance
        Stop when the posterior mass left out is proven to be below this.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.engines.Certified(tolerance=1e-6).name
    'certified'
    """

    takes: ClassVar[tuple[type, ...]] = (KnownNoise, UnknownNoise)
    scope: ClassVar[str | None] = None
    estimate: ClassVar[str] = "posterior mean"
    takes_groups: ClassVar[bool] = True

    max_subsets: int = 2**26
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        checks.whole("Certified max_subsets", self.max_subsets, 1, error=EngineError)
        checks.inside("Certified tolerance", self.tolerance, 0, 1, EngineError)

    @property
    def name(self) -> str:
        return "certified"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node; nothing random is involved."""
        check_suits(self, problem.settings[0])
        del rng
        return certify(problem, self)

    def attempt(self, problem: NodeProblem) -> NodePosterior | None:
        """Return the posterior if the tolerance is reached, and None as soon as it is known that it is not."""
        posterior = certify(problem, self, patient=False)
        return posterior if posterior.diagnostics.reached else None


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


def certify(problem: NodeProblem, engine: Certified, patient: bool = True) -> CertifiedPosterior | CertifiedMixture:
    """Search the pairs of hyperparameter value and parent set of a problem that matter, with one bound of the rest."""
    one = len(problem.settings) == 1
    parts = [problem] if one else [problem.with_setting(setting) for setting in problem.settings]
    systems = [ordered_system(free_system(part, conjugate_system(part)), engine.max_subsets) for part in parts]
    log_prior = [0.0] if one else [setting.log_weight for setting in problem.settings]
    found = search(systems, log_prior, engine.max_subsets, engine.tolerance, patient)
    posteriors = [CertifiedPosterior(part, engine, walk) for part, walk in zip(parts, found.walks, strict=True)]
    return posteriors[0] if one else CertifiedMixture(problem, engine, posteriors, found)


def _diagnose(child: str, engine: Certified, found: Pass) -> CertifiedDiagnostics:
    mass, subsets = found.mass_left_out, found.blocks << found.walks[0].system.width
    warnings: tuple[str, ...] = ()
    if mass > engine.tolerance:
        warnings = (
            f"{child!r}: parent sets with up to {mass:.2g} of the posterior mass were left out after {subsets} sets, "
            f"more than the tolerance {engine.tolerance:g}; raise max_subsets, or use 'mcmc'",
        )
    return CertifiedDiagnostics("certified", warnings, mass, subsets, engine.tolerance)


# -- the posterior ---------------------------------------------------------------------------------------------------


class CertifiedPosterior(ExactPosterior):
    """Posterior over the parent sets that matter, under one hyperparameter setting."""

    diagnostics: CertifiedDiagnostics

    def __init__(self, problem: NodeProblem, engine: Certified, found: Search) -> None:
        super().__init__(problem)
        self.engine = engine
        self._search = found
        self._ordered = found.system
        self.diagnostics = _diagnose(problem.child, engine, Pass((found,)))

    @property
    def _free(self) -> FreeSystem:
        return self._ordered.free

    @cached_property
    def _first(self) -> FreeMoments:
        return self._moments(self._search.sums)

    @cached_property
    def _second(self) -> FreeMoments:
        return self._moments(run_walk(self._ordered, self._search.limits, second=True))

    def _moments(self, sums: Walk) -> FreeMoments:
        """Bring sums into the order of the uncertain parents."""
        back = np.argsort(self._ordered.order)
        square = np.ix_(back, back) if sums.between.size else (slice(None), slice(None))
        return FreeMoments(
            log_weight=self._ordered.weights.reference + math.log(sums.w),
            inclusion=sums.inclusion[back] / sums.w,
            mean=sums.mean[back] / sums.w,
            between=sums.between[square] / sums.w,
            within=sums.within[square] / sums.w,
            noise=sums.noise / sums.w,
        )

    @property
    def log_evidence(self) -> float:
        return super().log_evidence if self._search.sums.w > 0 else -math.inf

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
        run_walk(ordered, found.limits, paths=paths, values=values)
        order = np.argsort(-values, kind="stable")
        return paths[order], values[order]

    def _weights_of_sets(self) -> Iterator[FloatArray]:
        """Yield the weights of all sets visited, in pieces of shape (states, lanes)."""
        from alldags.kernels.bounding.replay import weigh_states
        from alldags.kernels.subsets.block import make_block

        ordered, paths = self._ordered, self._states[0]
        k, weights, width = len(ordered.b), ordered.weights, ordered.width
        for first in range(0, len(paths), _PIECE):
            piece = paths[first : first + _PIECE]
            block, lanes = make_block(width, weights.log_factor[k - width :]), np.empty((len(piece), 1 << width))
            weigh_states(ordered.a, ordered.b, piece, ordered.heads, weights, width, block, np.empty((k + 1, k)), lanes)
            yield lanes

    def _masks(self, numbers: IntArray) -> BoolArray:
        """Turn numbers of sets into parent sets, shape (size, k)."""
        ordered = self._ordered
        free = np.empty((len(numbers), len(ordered.b)), dtype=bool)
        free[:, ordered.order[: ordered.prefix]] = self._states[0][numbers >> ordered.width]
        for i in range(ordered.width):
            free[:, ordered.order[ordered.prefix + i]] = numbers >> (ordered.width - 1 - i) & 1
        masks = np.ones((len(numbers), self.problem.k), dtype=bool)
        masks[:, ~self.problem.certain] = free
        return masks

    def mean_given(self, parent: int, present: bool) -> FloatArray:
        return _mean_given(self.problem, self.engine, parent, present)

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        ordered = self._ordered
        free = masks[:, ~self.problem.certain][:, ordered.order]
        allowed = np.asarray(~free[:, ordered.prefix :] @ (1 << np.arange(ordered.width - 1, -1, -1)), dtype=np.int64)
        hits = self._states[0].astype(np.float32) @ free[:, : ordered.prefix].T.astype(np.float32)  # state by mask
        total, first = np.zeros(len(masks)), 0
        for weights in self._weights_of_sets():
            sum_over_subsets(weights)
            total += np.where(hits[first : first + len(weights)] == 0, weights[:, allowed], 0.0).sum(axis=0)
            first += len(weights)
        impossible = (masks & self.problem.certain).any(axis=1)
        return np.where(impossible, 0.0, np.minimum(total / self._search.sums.w, 1.0))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        best, numbers = heaviest(self._weights_of_sets(), min(size, self.diagnostics.subsets))
        return tuple(
            ParentSet(
                tuple(name for name, inside in zip(self.problem.terms, mask, strict=True) if inside),
                float(w / self._search.sums.w),
            )
            for w, mask in zip(best, self._masks(numbers), strict=True)
            if w > 0
        )

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw parent sets exactly among those visited, then coefficients and noise variance given each."""
        numbers = locate(self._weights_of_sets(), np.sort(rng.random(size)) * self._search.sums.w)
        coefficients, variance = draw_given_sets(self._system, self._masks(numbers), rng, rng.permutation(size))
        return coefficients, variance * known_variance(self.problem)


def _mean_given(problem: NodeProblem, engine: Certified, parent: int, present: bool) -> FloatArray:
    """Return the mean given one edge, from a search of its own."""
    if present:
        return certify(problem.with_certain(parent), engine).mean
    mean = np.zeros(problem.k)
    mean[~problem.group_of(parent)] = certify(problem.without([parent]), engine).mean
    return mean


class CertifiedMixture(SettingsPosterior):
    """Posterior over the pairs of hyperparameter value and parent set that matter."""

    diagnostics: CertifiedDiagnostics

    def __init__(
        self, problem: NodeProblem, engine: Certified, parts: Sequence[CertifiedPosterior], found: Pass
    ) -> None:
        super().__init__(problem, parts)
        self.engine = engine
        self._limits = [part.mean_limit for part in parts]
        tells = found.left_out.sum() < _TELLS_NOTHING * found.w
        self._ratios = found.left_out / found.w if tells else np.full(len(parts), math.inf)
        self.diagnostics = _diagnose(problem.child, engine, found)

    @cached_property
    def mean_bound(self) -> FloatArray:
        farthest = np.max(self._limits, axis=0) + np.abs(self.mean)  # holds whatever was left out
        if not np.isfinite(self._ratios).all():
            return np.asarray(farthest)
        return np.asarray(np.minimum(self._ratios @ (np.array(self._limits) + np.abs(self.mean)), farthest))

    @cached_property
    def inclusion_bound(self) -> FloatArray:
        bound = self.diagnostics.mass_left_out * np.maximum(self.inclusion, 1.0 - self.inclusion)
        return np.where(self.problem.certain, 0.0, bound)

    @property
    def log_evidence_bound(self) -> float:
        """How much larger than `log_evidence`, a lower bound, the log evidence can be."""
        return math.log1p(float(self._ratios.sum()))

    def mean_given(self, parent: int, present: bool) -> FloatArray:
        """Return the mean given one edge; hyperparameter values are weighed anew."""
        return _mean_given(self.problem, self.engine, parent, present)
