"""Learned hyperparameters become grids: a list of conjugate settings per node, or of priors for the whole graph.

Every grid is even on a logarithmic scale, where the trapezoidal rule converges faster than any power of the step
because densities are smooth and die out at both ends. Prior mass beyond the ends is put on the end points, so that
each grid is itself a proper prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from alldags.errors import PriorError
from alldags.prior import (
    BetaBinomial,
    EqualEdges,
    GPrior,
    HyperG,
    KnownNoise,
    LearnedSlab,
    Noise,
    Prior,
    UnknownNoise,
    ZellnerSiow,
)
from alldags.typing import BoolArray, FloatArray

SlabKind: TypeAlias = Literal["independent", "g"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the hyperparameters, for which the node's problem is conjugate.

    Parameters
    ----------
    slab_variance
        ``tau`` of an independent slab, or ``g`` of a g-prior slab.
    noise
        Known or unknown noise precision.
    slab
        ``"independent"``: coefficients are independent a priori; ``"g"``: their prior covariance is ``g`` times the
        inverse cross-product matrix of the parents present.
    log_weight
        Log prior weight of this value when several are averaged over.
    """

    slab_variance: float
    noise: Noise
    slab: SlabKind = "independent"
    log_weight: float = 0.0


@dataclass(frozen=True, eq=False)
class NodeNumbers:
    """What the settings of one node may depend on; the fields are those of `alldags.nodes.NodeProblem`."""

    gram: FloatArray
    cross: FloatArray
    total: float
    n: float
    rows: float
    probability: FloatArray
    log_size: FloatArray | None


# -- settings of one node --------------------------------------------------------------------------------------------


def node_settings(prior: Prior, numbers: NodeNumbers) -> tuple[Setting, ...]:
    """Return the hyperparameter values one node averages over, with their prior weights."""
    if prior.has_shared:
        raise PriorError(
            "a hyperparameter shared by all nodes cannot be averaged over node by node; "
            "expand the prior with shared_grid(prior) first, as fit() does"
        )
    slabs = slab_settings(prior, numbers.rows)
    if isinstance(prior.noise, KnownNoise) or prior.noise.scales_slab:
        return slabs
    return tuple(part for slab in slabs for part in noise_settings(slab, numbers))


def slab_settings(prior: Prior, rows: float) -> tuple[Setting, ...]:
    """Return one setting per value of the slab's hyperparameter."""
    kind: SlabKind = "independent"
    match prior.slab:
        case None:
            return (Setting(prior.slab_variance, prior.noise),)
        case GPrior(g):
            return (Setting(float(rows) if isinstance(g, str) else float(g), prior.noise, "g"),)
        case LearnedSlab():
            values, weights = learned_slab_grid(prior.slab)
        case HyperG():
            kind, (values, weights) = "g", hyper_g_grid(prior.slab, rows)
        case ZellnerSiow():
            kind, (values, weights) = "g", zellner_siow_grid(prior.slab, rows)
    return tuple(Setting(float(v), prior.noise, kind, float(w)) for v, w in zip(values, weights, strict=True))


def node_edges(prior: Prior, probability: FloatArray, child: str) -> tuple[FloatArray, FloatArray | None]:
    """Return the edge probabilities, shape (k,), and the log weight of the number of uncertain parents present."""
    if prior.edges is None:
        return probability, None
    free = probability < 1.0
    _check_equal(probability[free], child)
    value = prior.edges.probability if isinstance(prior.edges, EqualEdges) else 0.5
    log_size = beta_binomial_log_size(prior.edges, int(free.sum())) if isinstance(prior.edges, BetaBinomial) else None
    return np.where(free, value, probability), log_size


def _check_equal(probability: FloatArray, child: str) -> None:
    if probability.size and np.ptp(probability) > 0:
        raise PriorError(
            f"the uncertain edges into {child!r} have different probabilities ({probability.min():g} to "
            f"{probability.max():g}), which Prior(edges=...) would discard; make them equal, or use edges=None"
        )


def beta_binomial_log_size(edges: BetaBinomial, free: int) -> FloatArray:
    """Return the log prior probability of one parent set with 0, 1, ... of the `free` uncertain parents."""
    from scipy.special import betaln

    size = np.arange(free + 1)
    return np.asarray(betaln(edges.a + size, edges.b + free - size) - betaln(edges.a, edges.b))


# -- grids of slab hyperparameters -----------------------------------------------------------------------------------


def log_grid(
    low: float, high: float, points: int, density: Callable[[FloatArray], FloatArray], tails: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return values and log weights of an even grid of ``t`` in [low, high], as ``exp(t)``.

    Parameters
    ----------
    low, high, points
        Ends and size of the grid.
    density
        Prior density of ``t``.
    tails
        Prior mass below `low` and above `high`; it goes to the end points.
    """
    t = np.linspace(low, high, points)
    weight = density(t) * (t[1] - t[0])
    weight[0] = 0.5 * weight[0] + tails[0]
    weight[-1] = 0.5 * weight[-1] + tails[1]
    return np.exp(t), np.log(weight / weight.sum())


def learned_slab_grid(slab: LearnedSlab) -> tuple[FloatArray, FloatArray]:
    """Return slab variances and their log weights."""
    center, reach = math.log(slab.median), 4.0 * slab.spread
    tail = 0.5 * math.erfc(4.0 / math.sqrt(2.0))

    def density(t: FloatArray) -> FloatArray:
        z = (t - center) / slab.spread
        return np.asarray(np.exp(-0.5 * z * z) / (slab.spread * math.sqrt(2 * math.pi)))

    return log_grid(center - reach, center + reach, slab.points, density, (tail, tail))


# Below g = 1e-3 a slab is no slab and above 1e4 n only the empty set keeps any weight: the ends stand for the tails.
_G_LOW, _G_HIGH = 1e-3, 1e4


def hyper_g_grid(slab: HyperG, rows: float) -> tuple[FloatArray, FloatArray]:
    """Return values of g and their log weights under the hyper-g prior."""
    half = slab.a / 2.0
    low, high = math.log(_G_LOW), math.log(_G_HIGH * rows)

    def density(t: FloatArray) -> FloatArray:
        return np.asarray((half - 1.0) * np.exp(t - half * np.logaddexp(0.0, t)))

    def above(t: float) -> float:
        return float(np.exp((1.0 - half) * np.logaddexp(0.0, t)))

    return log_grid(low, high, slab.points, density, (1.0 - above(low), above(high)))


def zellner_siow_grid(slab: ZellnerSiow, rows: float) -> tuple[FloatArray, FloatArray]:
    """Return values of g and their log weights; ``n / g`` is a squared standard normal."""
    low, high = math.log(rows / 64.0), math.log(_G_HIGH * rows)  # 64 = 8 standard deviations

    def density(t: FloatArray) -> FloatArray:
        ratio = rows * np.exp(-t)
        return np.asarray(np.sqrt(ratio / (2 * math.pi)) * np.exp(-0.5 * ratio))

    below = math.erfc(8.0 / math.sqrt(2.0))
    return log_grid(low, high, slab.points, density, (below, math.erf(math.sqrt(0.5 / _G_HIGH))))


# -- slab independent of the unknown noise ---------------------------------------------------------------------------

_TAIL_NATS = 28.0  # the ends of the grid lie this far below a lower bound of the evidence


def noise_settings(slab: Setting, numbers: NodeNumbers) -> tuple[Setting, ...]:
    """Return known-noise settings that together integrate the noise precision out of an independent slab.

    The integrand over ``u = log s`` of any parent set is at most ``exp(B(u))``, ``B(u) = (a0 + n/2) u - (b0 + R/2)
    exp(u) + c`` with R the least residual sum of squares, because no coefficients fit better. The grid covers all u
    for which this exceeds a lower bound of the evidence less 28 nats. Its step is at most 0.75
    standard deviations of the narrowest integrand (a log-gamma), for which the trapezoidal rule errs by less than
    1e-7.
    """
    noise = slab.noise
    if not isinstance(noise, UnknownNoise):
        raise PriorError(f"only an unknown noise precision can be integrated out, got {noise!r}")
    shape, rate = noise.shape + numbers.n / 2, noise.rate + 0.5 * _least_residual(numbers)
    _check_residual(noise, numbers, rate)
    step = min(0.35, 0.75 / math.sqrt(shape))
    constant = _noise_prior_constant(noise) - numbers.n / 2 * math.log(2 * math.pi)
    floor = _evidence_floor(slab.slab_variance, noise, numbers, rate) - _TAIL_NATS - constant
    low, high = _crossings(shape, rate, floor)
    u = np.arange(math.floor(low / step), math.ceil(high / step) + 1).astype(float) * step
    log_weight = slab.log_weight + _noise_log_prior(noise, u) + math.log(step)
    return tuple(
        replace(slab, noise=KnownNoise(float(s)), log_weight=float(w))
        for s, w in zip(np.exp(u), log_weight, strict=True)
    )


def _noise_prior_constant(noise: UnknownNoise) -> float:
    return noise.shape * math.log(noise.rate) - math.lgamma(noise.shape) if noise.is_proper else 0.0


def _noise_log_prior(noise: UnknownNoise, u: FloatArray) -> FloatArray:
    """Log density of the log precision, with the same convention for improper priors as the conjugate slab."""
    return np.asarray(_noise_prior_constant(noise) + noise.shape * u - noise.rate * np.exp(u))


def _least_residual(numbers: NodeNumbers) -> float:
    """Return a lower bound of the residual sum of squares of every parent set."""
    values, vectors = np.linalg.eigh(numbers.gram) if numbers.cross.size else (np.ones(0), np.ones((0, 0)))
    kept = values > 1e-12 * values.max(initial=0.0)
    explained = float(((vectors.T @ numbers.cross)[kept] ** 2 / values[kept]).sum())
    return max(numbers.total - explained - 1e-10 * numbers.total, 0.0)


def _check_residual(noise: UnknownNoise, numbers: NodeNumbers, rate: float) -> None:
    if rate <= 1e-9 * numbers.total:
        raise PriorError(
            f"the {numbers.cross.size} candidate parents fit the {numbers.n:g} usable rows without residual: with "
            f"{noise!r} the noise precision has no proper posterior; give a rate above 0, or use scales_slab=True"
        )


def _crossings(shape: float, rate: float, floor: float) -> tuple[float, float]:
    """Return where the concave ``shape * u - rate * exp(u)`` passes `floor`, which lies below its maximum."""
    from scipy.optimize import brentq

    def gap(u: float) -> float:
        return shape * u - rate * math.exp(u) - floor

    top = math.log(shape / rate)
    low = min(floor / shape - 1.0, top - 1.0)
    high = top + 1.0
    while gap(high) > 0:
        high += 1.0
    return float(brentq(gap, low, top)), float(brentq(gap, top, high))


def _evidence_floor(tau: float, noise: UnknownNoise, numbers: NodeNumbers, rate: float) -> float:
    """Return a lower bound, about, of the log evidence: the best of k + 1 nested parent sets, on a coarse grid."""
    shape = noise.shape + numbers.n / 2
    spread = 4.0 / math.sqrt(shape)
    low, high = math.log(shape / (noise.rate + 0.5 * numbers.total)) - spread, math.log(shape / rate) + spread
    grid = np.linspace(low, high, 128)
    certain = numbers.probability >= 1.0
    order = _importance_order(tau, math.exp(high), numbers, certain)
    rows = np.array([_nested_log_weights(tau, math.exp(u), numbers, order) for u in grid])
    rows += (numbers.n / 2 * (grid - math.log(2 * math.pi)) + _noise_log_prior(noise, grid))[:, None]
    rows += _nested_log_prior(numbers, order)[None, :]
    total = np.logaddexp.reduce(rows, axis=0)[int(certain.sum()) :]
    return float(total.max()) + math.log(grid[1] - grid[0]) - 2.0


def _importance_order(tau: float, s: float, numbers: NodeNumbers, certain: BoolArray) -> list[int]:
    """Certain parents first, then by how many standard errors they are from zero when all are present."""
    covariance = np.linalg.inv(s * numbers.gram + np.eye(certain.size) / tau)
    z = np.abs(s * covariance @ numbers.cross) / np.sqrt(np.diag(covariance))
    return sorted(range(certain.size), key=lambda i: (not certain[i], -z[i]))


def _nested_log_weights(tau: float, s: float, numbers: NodeNumbers, order: list[int]) -> FloatArray:
    """Log likelihood, less ``n/2 log(s / 2 pi)``, of the first 0, 1, ..., k parents in `order`, from one Cholesky."""
    from scipy.linalg import solve_triangular

    factor = np.linalg.cholesky(s * numbers.gram[np.ix_(order, order)] + np.eye(len(order)) / tau)
    z = solve_triangular(factor, s * numbers.cross[order], lower=True) if order else np.zeros(0)
    steps = 0.5 * z**2 - np.log(np.diag(factor)) - 0.5 * math.log(tau)
    return np.asarray(np.concatenate([[0.0], np.cumsum(steps)]) - 0.5 * s * numbers.total)


def _nested_log_prior(numbers: NodeNumbers, order: list[int]) -> FloatArray:
    p = numbers.probability[order]
    free = p < 1.0
    count = np.concatenate([[0], np.cumsum(free)])
    if numbers.log_size is not None:
        return np.asarray(numbers.log_size[count])
    present = np.concatenate([[0.0], np.cumsum(np.log(p))])
    absent = np.concatenate([[0.0], np.cumsum(np.log1p(-np.where(free, p, 0.0)))])
    return np.asarray(present + absent[-1] - absent)


# -- hyperparameters shared by all nodes -----------------------------------------------------------------------------


def shared_grid(prior: Prior) -> list[tuple[float, Prior]]:
    """Expand the hyperparameters that all nodes share into a list of priors without shared ones.

    Given a shared hyperparameter the posterior factorises over nodes, so the posterior under `prior` is the mixture
    of the posteriors under the returned priors, each weighed by ``exp(log_weight)`` times the *total* evidence (the
    product of the evidences of all nodes).

    Returns
    -------
    list of (log_weight, Prior)
        One pair per grid point; ``[(0.0, prior)]`` if nothing is shared.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.hyper import shared_grid
    >>> pairs = shared_grid(ad.Prior(slab=ad.LearnedSlab(shared=True, points=9)))
    >>> len(pairs), pairs[4][1].slab_variance
    (9, 1.0)
    """
    pairs = [(0.0, prior)]
    if isinstance(prior.slab, LearnedSlab) and prior.slab.shared:
        values, weights = learned_slab_grid(prior.slab)
        pairs = [
            (float(w), replace(prior, slab=None, slab_variance=float(v))) for v, w in zip(values, weights, strict=True)
        ]
    if isinstance(prior.edges, BetaBinomial) and prior.edges.shared:
        edges = shared_edges(prior.edges)
        pairs = [(w + v, replace(part, edges=edge)) for w, part in pairs for v, edge in edges]
    return pairs


def shared_edges(edges: BetaBinomial) -> list[tuple[float, EqualEdges]]:
    """Return Gauss-Jacobi points of the beta distribution: exact for polynomials of degree ``2 points - 1``."""
    from scipy.special import roots_jacobi

    x, weight = roots_jacobi(edges.points, edges.b - 1.0, edges.a - 1.0)
    log_weight = np.log(weight / weight.sum())
    return [(float(w), EqualEdges(float(p))) for w, p in zip(log_weight, (x + 1.0) / 2.0, strict=True)]
