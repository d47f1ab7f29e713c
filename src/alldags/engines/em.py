"""`EM`: the posterior mode under a Gaussian scale mixture, by expectation-maximisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags.engines.mixtures.node import (
    IS_A_MODE,
    SCOPE,
    MixtureDiagnostics,
    NodeArrays,
    check_iteration,
    low_rank_factor,
    mixture_of,
    node_arrays,
    perfect_fit,
    residual_rate,
    standing_warnings,
    start_variance,
)
from alldags.engines.mixtures.posterior import NormalPosterior
from alldags.engines.suits import check_single, check_suits
from alldags.nodes import NodeProblem
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import KnownNoise, UnknownNoise
from alldags.typing import FloatArray

_ZERO = 1e-12  # prior variance, as a share of the variance the data give, below which a coefficient is set to zero


@dataclass(frozen=True)
class EMDiagnostics(MixtureDiagnostics):
    """How EM went.

    Parameters
    ----------
    objective
        Log posterior density at the mode, without constants; see `EM` for the coordinates.
    history
        The objective after each round, shape (rounds,); it never falls.
    rounds
        Number of M-steps, extrapolations included.
    converged
        Whether no coefficient moved by more than the tolerance in the last round.
    start
        Coefficients at the start, shape (k,).
    """

    objective: float = math.nan
    history: FloatArray = None  # type: ignore[assignment]
    rounds: int = 0
    converged: bool = True
    start: FloatArray = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class EM:
    """The posterior mode with a Gaussian scale mixture as prior, variances ``t`` integrated out.

    The E-step is ``E[1/t_i]`` given the coefficient, which is ``-p'(theta) / (theta p(theta))`` of the prior density
    ``p``; the M-step is a ridge regression with these weights.

    *Which mode.* With `Laplace` there is one mode (the lasso). The densities of `NEG`, of `StudentT` with small rate
    and of `Horseshoe` have a cusp, a peak or a pole at zero, so that the posterior has many local modes, with the
    horseshoe even of infinite density. EM starts from the full model, that is from the slab as prior of every
    coefficient, and climbs from there: what it finds is the local mode reached by shrinking the full model, and a
    coefficient that reaches zero stays there. With unknown noise the mode is that of the standardised coefficients
    ``theta sqrt(s)`` and ``log s``: in these coordinates answers do not depend on units, and coefficients at zero do
    not count as observations of the noise.

    The posterior it returns is labelled by its warnings as what it is: `mean` is the mode, and the
    covariance ``(G + diag(w))^-1`` a Laplace-type approximation with the weights ``w`` of the last E-step.

    The prior is `Prior.coefficients`, the paper's ``NEG()`` if none is given. The global scale of the horseshoe is
    never learned: the joint mode is at zero.

    Parameters
    ----------
    tolerance
        Stop when a round moves no coefficient by more than this (relative to the largest, if that is above 1).
    max_rounds
        Stop with a warning after so many rounds.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> from alldags.nodes import NodeProblem, Setting
    >>> problem = NodeProblem(
    ...     "y", ("a", "b"), 10.0 * np.eye(2), np.array([20.0, 1.0]), 50.0, n=10, probability=np.array([0.5, 0.5]),
    ...     settings=(Setting(1.0, ad.priors.KnownNoise(1.0), coefficients=ad.priors.Laplace(alpha=4.0)),),
    ... )
    >>> lasso = ad.engines.EM()(problem, np.random.default_rng(0))
    >>> lasso.mean.round(3).tolist()
    [1.8, 0.0]
    """

    takes: ClassVar[tuple[type, ...]] = (KnownNoise, UnknownNoise, ScaleMixture)
    uses_edges: ClassVar[bool] = False
    scope: ClassVar[str | None] = SCOPE
    estimate: ClassVar[str] = "posterior mode"

    tolerance: float = 1e-7
    max_rounds: int = 5000

    def __post_init__(self) -> None:
        check_iteration(self.tolerance, self.max_rounds)

    @property
    def name(self) -> str:
        return "em"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NormalPosterior:
        """Return the mode of one node and a normal approximation around it; no random numbers are used."""
        del rng
        check_suits(self, problem.settings[0])
        check_single(f"the engine {self.name!r}", problem)
        node = node_arrays(problem)
        climb = _Climb(mixture_of(problem), node, *low_rank_factor(node, problem.n))
        start = np.where(node.fixed > 0.0, node.fixed, 1.0 / start_variance(problem))
        weight, theta, history, converged = _climb(climb, start, self.tolerance, self.max_rounds)
        troubles = perfect_fit(problem, node, residual_rate(node, theta))
        if not converged:
            troubles = (*troubles, _not_converged(self, problem))
        diagnostics = EMDiagnostics(
            "em",
            (*standing_warnings(problem), IS_A_MODE, *troubles),
            objective=history[-1],
            history=np.array(history),
            rounds=len(history),
            converged=converged,
            start=climb.maximise(start)[0],
        )
        return NormalPosterior(problem, node, weight, theta, diagnostics)


def _not_converged(engine: EM, problem: NodeProblem) -> str:
    return (
        f"EM of {problem.child!r} did not converge in {engine.max_rounds} rounds; raise max_rounds, or tolerance above "
        f"{engine.tolerance:g}"
    )


@dataclass(frozen=True, eq=False)
class _Climb:
    """The two steps of EM and the objective they raise, for one node."""

    prior: ScaleMixture
    node: NodeArrays
    factor: FloatArray
    shift: FloatArray

    def maximise(self, weight: FloatArray) -> tuple[FloatArray, float]:
        """M-step: return coefficients, shape (k,), and noise precision (1 if known)."""
        d = 1.0 / np.sqrt(weight)
        scaled = self.factor * d[:, None]
        if self.factor.shape[1] < self.factor.shape[0]:  # Woodbury's identity
            theta = d * (scaled @ _solve_unit_plus(scaled.T @ scaled, self.shift))
        else:
            theta = d * _solve_unit_plus(scaled * d, d * self.shift)
        return theta, self._noise_precision(theta)

    def _noise_precision(self, theta: FloatArray) -> float:
        return 1.0 if self.node.known else self.node.shape / residual_rate(self.node, theta)

    def expect(self, theta: FloatArray, precision: float) -> FloatArray:
        """E-step: return ``E[1/t]`` given the coefficients, shape (k,); infinite where a coefficient is set to zero."""
        weight = prior_weight(precision * theta**2, self.prior)
        zero = weight * _ZERO > np.maximum(np.diag(self.node.gram), np.finfo(float).tiny)
        return np.where(self.node.fixed > 0.0, self.node.fixed, np.where(zero, np.inf, weight))

    def objective(self, theta: FloatArray, precision: float) -> float:
        """Return the log posterior density of ``theta sqrt(s)`` and ``log s``, without constants."""
        node = self.node
        squared = precision * theta**2
        free = node.fixed == 0.0
        value = precision * float(node.shift @ theta - 0.5 * theta @ node.gram @ theta - 0.5 * node.total)
        value += float(self.prior.log_density(np.sqrt(squared[free])).sum()) - 0.5 * float(node.fixed @ squared)
        return value if node.known else value + node.shape * math.log(precision) - node.rate * precision


def _solve_unit_plus(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return ``(I + matrix)^-1 right`` by Cholesky."""
    from scipy.linalg import cho_factor, cho_solve

    matrix[np.diag_indices_from(matrix)] += 1.0
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, right, check_finite=False))


def prior_weight(squared: FloatArray, prior: ScaleMixture) -> FloatArray:
    """Return ``-p'(theta) / (theta p(theta))`` of the prior density at ``theta^2``, shape as given; infinite at zero.

    For all but `NEG` this is the variational weight with ``theta^2`` in place of its mean. For `NEG` the two
    differ: variational Bayes separates ``t`` and ``alpha``, EM integrates both out.
    """
    from alldags.kernels.mixtures.mixing import weight_and_slope

    own = prior.mode_weight(squared)
    if own is not None:
        return own
    return np.array([weight_and_slope(prior.code, e, *prior.pair)[0] if e > 0.0 else math.inf for e in squared])


def _climb(
    climb: _Climb, weight: FloatArray, tolerance: float, max_rounds: int
) -> tuple[FloatArray, FloatArray, list[float], bool]:
    """Alternate both steps, extrapolating after every second one (SQUAREM) as long as that raises the objective."""
    theta, precision = climb.maximise(weight)
    history = [climb.objective(theta, precision)]
    path = [weight]
    while len(history) < max_rounds:
        weight = climb.expect(theta, precision)
        new, precision = climb.maximise(weight)
        history.append(climb.objective(new, precision))
        moved = float(np.abs(new - theta).max(initial=0.0))
        theta = new
        if moved <= tolerance * max(1.0, float(np.abs(theta).max(initial=0.0))):
            return weight, theta, history, True
        path.append(weight)
        if len(path) == 3:
            trial = _extrapolate(*path)
            path = [weight]
            found, found_precision = climb.maximise(trial)
            value = climb.objective(found, found_precision)
            if value >= history[-1]:
                weight, theta, precision = trial, found, found_precision
                path = [weight]
            history.append(max(value, history[-1]))
    return weight, theta, history, False


def _extrapolate(first: FloatArray, second: FloatArray, third: FloatArray) -> FloatArray:
    """Return SQUAREM's extrapolation of three weight vectors on the log scale; infinite weights stay."""
    move = np.isfinite(third)
    x0, x1, x2 = np.log(first[move]), np.log(second[move]), np.log(third[move])
    r, v = x1 - x0, x2 - 2.0 * x1 + x0
    length = max(1.0, math.sqrt(float(r @ r) / max(float(v @ v), 1e-300)))
    out = third.copy()
    out[move] = np.exp(np.clip(x0 + 2.0 * length * r + length**2 * v, x2 - 20.0, x2 + 20.0))
    return out
