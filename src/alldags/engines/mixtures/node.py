"""One node of a scale-mixture engine: its arrays, the constants of its bound, and a normal posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from alldags import checks
from alldags.engines.conjugate import noise
from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.mixtures import NEG, ScaleMixture
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.kernels.noise import NoiseTerm

NOT_USED = (
    "scale mixtures do not use edge probabilities: certain edges have the slab as prior, all others the "
    "mixing distribution"
)
_PERFECT, _NEARLY_PERFECT = 1e-10, 1e-2  # shares of the child's sum of squares
ONE_SETTING = (
    "scale mixtures do not learn the slab's hyperparameters: certain edges have a slab of variance 1, in units of the "
    "noise"
)


IS_A_MODE = (
    "EM gives the posterior mode reached from the full model, not the mean; spreads are a Laplace-type approximation: "
    "variances found are taken as known, and a coefficient at zero as certain"
)
SCOPE = "under a continuous prior on all candidate edges"


@dataclass(frozen=True)
class MixtureDiagnostics(Diagnostics):
    """Diagnostics of which some warnings are the same for every node."""

    @property
    def troubles(self) -> tuple[str, ...]:
        """What was not to be expected."""
        return tuple(sentence for sentence in self.warnings if sentence not in (NOT_USED, ONE_SETTING, IS_A_MODE))


@dataclass(frozen=True, eq=False)
class NodeArrays:
    """A node's problem as the scale-mixture engines take it.

    Parameters
    ----------
    gram, shift
        Data's part of the coefficients' precision, shape (k, k), and shift, shape (k,); in units of the noise if it
        is known.
    total
        Sum of squares of the child, in units of the noise if it is known.
    known
        Whether the noise precision is known.
    noise_precision
        That precision; 1 if unknown.
    shape, rate
        ``a0 + n/2`` and ``b0`` of the unknown noise precision; 0 if known.
    fixed
        Prior precisions of certain edges, 0 for all others, shape (k,).
    """

    gram: FloatArray
    shift: FloatArray
    total: float
    known: bool
    noise_precision: float
    shape: float
    rate: float
    fixed: FloatArray

    @property
    def term(self) -> NoiseTerm:
        """The noise function."""
        from alldags.kernels.noise import NoiseTerm

        return NoiseTerm(self.known, self.rate + 0.5 * self.total, self.shape, 0.0)

    @property
    def free(self) -> int:
        """Number of coefficients with the mixing distribution as prior."""
        return int((self.fixed == 0.0).sum())


def one_setting(problem: NodeProblem) -> Setting:
    """Return the one setting; where several are to be averaged over, one with slab variance 1."""
    if any(setting.noise != problem.settings[0].noise for setting in problem.settings):
        raise EngineError(
            f"the noise precision of {problem.child!r} is on a grid, which scale mixtures cannot take; use KnownNoise, "
            "UnknownNoise(scales_slab=True), or the engine 'exact'"
        )
    only = problem.settings[0]
    return only if len(problem.settings) == 1 or only.slab != "independent" else replace(only, slab_variance=1.0)


def start_variance(problem: NodeProblem) -> float:
    """Return the second moment that every coefficient has at the start: that of the slab, 1 for a g-prior slab."""
    setting = one_setting(problem)
    return setting.slab_variance if setting.slab == "independent" else 1.0


def node_arrays(problem: NodeProblem) -> NodeArrays:
    """Cut what the engines need out of a problem."""
    setting = one_setting(problem)
    if setting.slab != "independent" and problem.certain.any():
        raise EngineError(
            f"{problem.child!r} has certain edges with a g-prior slab, which scale mixtures cannot take; use an "
            "independent slab or the engine 'exact'"
        )
    numbers = setting.noise.numbers(problem.n, problem.total, problem.k, setting.slab_variance)
    s = numbers.precision
    return NodeArrays(
        gram=s * problem.gram,
        shift=s * problem.cross,
        total=s * problem.total,
        known=numbers.known,
        noise_precision=s,
        shape=numbers.shape,
        rate=numbers.rate,
        fixed=np.where(problem.certain, 1.0 / setting.slab_variance, 0.0),
    )


def low_rank_factor(arrays: NodeArrays, n: float) -> tuple[FloatArray, FloatArray]:
    """Return ``(F, y)`` with ``gram = F F'`` and ``shift = F y`` if the rank is below k, else ``(gram, shift)``.

    A pivoted Cholesky factor: cross-products of n < k rows have at most rank n.
    """
    k = len(arrays.shift)
    if n >= k:
        return arrays.gram, arrays.shift
    from scipy.linalg import solve_triangular
    from scipy.linalg.lapack import dpstrf

    lower, pivot, rank, _ = dpstrf(arrays.gram, lower=1)
    if rank in (0, k):
        return arrays.gram, arrays.shift
    order = pivot - 1
    factor = np.empty((k, rank))
    factor[order] = np.tril(lower)[:, :rank]
    return factor, solve_triangular(lower[:rank, :rank], arrays.shift[order[:rank]], lower=True)


def mixture_of(problem: NodeProblem) -> ScaleMixture:
    """Return the prior of the uncertain edges' coefficients; the paper's unless another one was given."""
    return problem.settings[0].coefficients or NEG()


def bound_constant(prior: ScaleMixture, arrays: NodeArrays, problem: NodeProblem) -> float:
    """Return what the kernels leave out of the evidence lower bound, except for the global scale's part."""
    return arrays.free * prior.log_constant + _noise_constant(arrays, problem)


def _noise_constant(arrays: NodeArrays, problem: NodeProblem) -> float:
    if arrays.known:
        return 0.5 * problem.n * math.log(arrays.noise_precision / (2.0 * math.pi))
    constant = math.lgamma(arrays.shape) - 0.5 * problem.n * math.log(2.0 * math.pi)
    prior_shape = arrays.shape - 0.5 * problem.n
    if prior_shape > 0 and arrays.rate > 0:
        constant += prior_shape * math.log(arrays.rate) - math.lgamma(prior_shape)
    return constant


def check_iteration(tolerance: float, max_rounds: int) -> None:
    """Check what decides when an iteration stops."""
    checks.positive("tolerance", tolerance, EngineError)
    checks.whole("max_rounds", max_rounds, 1, error=EngineError)


def residual_rate(arrays: NodeArrays, mean: FloatArray) -> float:
    """Return the rate ``b0 + R/2`` of the noise precision's gamma distribution at the coefficients' mean."""
    return float(noise.residual_rate(arrays.term, float(arrays.shift @ mean)))


def perfect_fit(problem: NodeProblem, arrays: NodeArrays, residual: float) -> tuple[str, ...]:
    """Return a sentence if the noise was driven to (nearly) nothing, which is a fault of the prior and not a finding.

    `residual` is `residual_rate` at the end.
    """
    share = residual / max(arrays.rate + 0.5 * arrays.total, math.ulp(0.0))
    if arrays.known or share > (_NEARLY_PERFECT if arrays.free >= problem.n else _PERFECT):
        return ()
    return (
        f"{problem.child!r} is fitted with {share:.1g} of its sum of squares left over: {problem.k} parents, "
        f"{problem.n:g} usable rows and a prior that allows coefficients of any size cannot tell noise from none; use "
        "KnownNoise, UnknownNoise with a larger shape and rate, a larger kappa, or another mixing distribution",
    )


def standing_warnings(problem: NodeProblem) -> tuple[str, ...]:
    """Return the sentences that are the same for every node of a fit."""
    sentences = (NOT_USED,) if problem.free else ()
    return (*sentences, ONE_SETTING) if len(problem.settings) > 1 else sentences
