"""`Gibbs`: Gaussian scale mixtures without approximation, by Gibbs sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from alldags import checks
from alldags.engines.mixtures.node import (
    SCOPE,
    MixtureDiagnostics,
    NodeArrays,
    low_rank_factor,
    mixture_of,
    node_arrays,
    perfect_fit,
    standing_warnings,
    start_variance,
)
from alldags.engines.mixtures.posterior import shrinkage_weight
from alldags.engines.suits import check_single, check_suits
from alldags.errors import EngineError
from alldags.nodes import NodePosterior, NodeProblem
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import KnownNoise, UnknownNoise
from alldags.typing import FloatArray

MAX_RHAT = 1.01
MIN_ESS_PER_CHAIN = 100


@dataclass(frozen=True)
class GibbsDiagnostics(MixtureDiagnostics):
    """How the chains of one node behaved.

    Parameters
    ----------
    rhat
        Split R-hat (rank-normalised) of each coefficient, shape (k,).
    ess
        Bulk effective sample size of each coefficient, shape (k,).
    error
        Monte-Carlo standard error of each coefficient's posterior mean, shape (k,).
    chains, draws
        Number of chains, and of draws kept of each.
    """

    rhat: FloatArray = None  # type: ignore[assignment]
    ess: FloatArray = None  # type: ignore[assignment]
    error: FloatArray = None  # type: ignore[assignment]
    chains: int = 0
    draws: int = 0

    @property
    def converged(self) -> bool:
        """Whether every R-hat is at most 1.01 and every effective sample size at least 100 per chain."""
        enough = bool((self.ess >= MIN_ESS_PER_CHAIN * self.chains).all())
        return enough and bool((self.rhat <= MAX_RHAT).all())


@dataclass(frozen=True, slots=True)
class Gibbs:
    """Gibbs sampling with a Gaussian scale mixture as prior: the posterior that `VB` approximates.

    Several chains start from variances spread over orders of magnitude. Split R-hat, effective sample size and
    Monte-Carlo error are in `diagnostics`; where they fail, a warning says how much longer to run. Means are averages
    of conditional means, whose Monte-Carlo error is smaller than that of the draws.

    The prior is `Prior.coefficients`, the paper's ``NEG()`` if none is given. With that, ``kappa = nu = 1e-6``, the
    prior of ``t`` is nearly improper and chains mix slowly: a coefficient that may be zero wanders over many orders of
    magnitude of ``t``.

    Parameters
    ----------
    chains
        Number of chains, at least 2.
    warmup
        Sweeps of each chain before the first kept one.
    draws
        Draws kept of each chain.
    thin
        Sweeps from one kept draw to the next. Raise it when chains mix slowly and memory is short.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> from alldags.nodes import NodeProblem, Setting
    >>> problem = NodeProblem(
    ...     "y", ("a", "b"), 10.0 * np.eye(2), np.array([20.0, 1.0]), 50.0, n=10, probability=np.array([0.5, 0.5]),
    ...     settings=(Setting(1.0, ad.priors.KnownNoise(1.0), coefficients=ad.priors.Laplace()),),
    ... )
    >>> fit = ad.engines.Gibbs(draws=2000)(problem, np.random.default_rng(0))
    >>> bool(abs(fit.mean[0] - 1.80) < 0.02), fit.diagnostics.converged
    (True, True)
    """

    takes: ClassVar[tuple[type, ...]] = (KnownNoise, UnknownNoise, ScaleMixture)
    uses_edges: ClassVar[bool] = False
    scope: ClassVar[str | None] = SCOPE
    estimate: ClassVar[str] = "posterior mean"

    chains: int = 4
    warmup: int = 1000
    draws: int = 2000
    thin: int = 1

    def __post_init__(self) -> None:
        for name, least in (("chains", 2), ("warmup", 0), ("draws", 4), ("thin", 1)):
            checks.whole(name, getattr(self, name), least, error=EngineError)

    @property
    def name(self) -> str:
        return "gibbs"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the sampled posterior of one node."""
        check_suits(self, problem.settings[0])
        check_single(f"the engine {self.name!r}", problem)
        node = node_arrays(problem)
        chains = sample(self, problem, node, rng)
        return GibbsPosterior(problem, node, chains, _diagnose(self, problem, node, chains))


@dataclass(frozen=True, eq=False)
class Chains:
    """What the chains drew.

    Parameters
    ----------
    theta, mean, variance
        Coefficients, their means given the variances, and the variances ``t``, shape (chains, draws, k).
    noise
        Noise precision (1 if known) and the rate of its gamma distribution, shape (chains, draws, 2).
    """

    theta: FloatArray
    mean: FloatArray
    variance: FloatArray
    noise: FloatArray


def sample(engine: Gibbs, problem: NodeProblem, node: NodeArrays, rng: np.random.Generator) -> Chains:
    """Run all chains of one node, each with its own random stream."""
    size = (engine.chains, engine.draws)
    theta, mean, variance = (np.empty((*size, problem.k)) for _ in range(3))
    chains = Chains(theta, mean, variance, np.empty((*size, 2)))
    factor, shift = low_rank_factor(node, problem.n)
    for number, stream in enumerate(rng.spawn(engine.chains)):
        _run(engine, problem, node, factor, shift, stream, chains, number)
    return chains


def _run(
    engine: Gibbs,
    problem: NodeProblem,
    node: NodeArrays,
    factor: FloatArray,
    shift: FloatArray,
    rng: np.random.Generator,
    chains: Chains,
    number: int,
) -> None:
    from alldags.kernels.mixtures.draws import run_chain

    prior = mixture_of(problem)
    # starts spread over four orders of magnitude, wider than any posterior worth sampling
    start = start_variance(problem) * np.exp(2.0 * rng.standard_normal(problem.k))
    run_chain(
        rng,
        factor,
        shift,
        node.fixed,
        node.term,
        prior.code,
        np.array([*prior.pair, float(prior.learned_scale is not None), prior.pair[0]]),
        start,
        engine.warmup,
        engine.thin,
        chains.theta[number],
        chains.mean[number],
        chains.variance[number],
        chains.noise[number],
    )


def _diagnose(engine: Gibbs, problem: NodeProblem, node: NodeArrays, chains: Chains) -> GibbsDiagnostics:
    sentences = standing_warnings(problem)
    empty = np.empty(0)
    rhat, ess, error = _statistics(chains) if problem.k else (empty, empty, empty)
    found = GibbsDiagnostics("gibbs", sentences, rhat, ess, error, engine.chains, engine.draws)
    troubles = perfect_fit(problem, node, float(np.median(chains.noise[..., 1])))
    if not found.converged:
        troubles = (*troubles, _failed(engine, problem, found))
    return replace(found, warnings=(*sentences, *troubles))


def _array_stats() -> Any:
    from importlib import import_module

    return import_module("arviz_stats.base").array_stats


def _statistics(chains: Chains) -> tuple[FloatArray, FloatArray, FloatArray]:
    array_stats = _array_stats()
    axes = {"chain_axis": 0, "draw_axis": 1}
    rhat = np.asarray(array_stats.rhat(chains.theta, **axes))
    ess = np.asarray(array_stats.ess(chains.theta, **axes))
    return rhat, ess, np.asarray(array_stats.mcse(chains.mean, **axes))


def _failed(engine: Gibbs, problem: NodeProblem, found: GibbsDiagnostics) -> str:
    """Say which coefficient mixes worst and how much longer to run."""
    worst = int(np.argmax(np.where(np.isfinite(found.rhat), found.rhat, np.inf) + 1.0 / found.ess))
    wanted = MIN_ESS_PER_CHAIN * engine.chains
    factor = max(2, math.ceil(wanted / max(float(np.min(found.ess)), 1.0)))
    return (
        f"the chains of {problem.child!r} have not mixed: {problem.terms[worst]!r} has R-hat "
        f"{found.rhat[worst]:.3f} (should be at most {MAX_RHAT}) and the smallest effective sample size is "
        f"{np.min(found.ess):.0f} (should be at least {wanted}); run {factor} times longer "
        f"(draws={engine.draws * factor}, or thin={engine.thin * factor})"
    )


class GibbsPosterior(NodePosterior):
    """Posterior of one node from the draws of several chains."""

    def __init__(self, problem: NodeProblem, arrays: NodeArrays, chains: Chains, diagnostics: GibbsDiagnostics) -> None:
        self.problem = problem
        self.arrays = arrays
        self.diagnostics: GibbsDiagnostics = diagnostics
        self._chains = chains

    @cached_property
    def mean(self) -> FloatArray:
        """Average of the conditional means given variances, shape (k,)."""
        return np.asarray(self._chains.mean.mean(axis=(0, 1)))

    @cached_property
    def second_moment(self) -> FloatArray:
        """Covariance of the draws plus the outer product of `mean`, shape (k, k); infinite where none exists.

        Given the variances, coefficients have a t distribution of twice `shape` degrees of freedom: with two or fewer
        there is no variance, whatever the draws show.
        """
        if not self.arrays.known and self.arrays.shape <= 1.0:
            return np.full((self.problem.k, self.problem.k), math.inf)
        theta = self._flat(self._chains.theta)
        centred = theta - theta.mean(axis=0)
        return np.asarray(centred.T @ centred / len(theta) + np.outer(self.mean, self.mean))

    @cached_property
    def noise_variance(self) -> float:
        if self.arrays.known:
            return 1.0 / self.arrays.noise_precision
        if self.arrays.shape <= 1.0:
            return math.inf
        return float(self._chains.noise[..., 1].mean()) / (self.arrays.shape - 1.0)

    @cached_property
    def shrinkage(self) -> FloatArray:
        """Mean share of the data in each coefficient, ``d / (d + 1/t)``, shape (k,); not a probability.

        ``d`` is the precision that the data alone would give the coefficient if the parents were uncorrelated.
        """
        return np.asarray(
            shrinkage_weight(np.diag(self.arrays.gram), 1.0 / self._flat(self._chains.variance)).mean(axis=0)
        )

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return kept draws in random order, each at most once as long as there are enough."""
        theta = self._flat(self._chains.theta)
        rows = rng.choice(len(theta), size=size, replace=size > len(theta))
        precision = self._chains.noise[..., 0].ravel()[rows] * (
            self.arrays.noise_precision if self.arrays.known else 1.0
        )
        return theta[rows], np.asarray(1.0 / precision)

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo standard error of ``weights @ mean``."""
        if not np.any(weights):
            return 0.0
        return float(_array_stats().mcse(self._chains.mean @ weights, chain_axis=0, draw_axis=1))

    @staticmethod
    def _flat(values: FloatArray) -> FloatArray:
        return values.reshape(values.shape[0] * values.shape[1], values.shape[-1])
