"""Learned hyperparameters become grids: a list of conjugate settings per node, or of priors for the whole graph.

Every grid is even on a logarithmic scale, where the trapezoidal rule converges faster than any power of the step
because densities are smooth and die out at both ends. Prior mass beyond the ends is put on the end points, so that
each grid is itself a proper prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from alldags.errors import PriorError
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.priors.mixtures import ScaleMixture
    from alldags.priors.noise import Noise, UnknownNoise
    from alldags.priors.prior import Prior

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
    coefficients
        Scale mixture that takes the place of spike and slab for uncertain edges; None for none.
    share
        Prior probability of each further column (`NodeProblem.further`), where all are alike.
    """

    slab_variance: float
    noise: Noise
    slab: SlabKind = "independent"
    log_weight: float = 0.0
    coefficients: ScaleMixture | None = None
    share: float = 0.5


class NodeNumbers(Protocol):
    """What the settings of one node may depend on; the names are those of `alldags.nodes.NodeProblem`."""

    @property
    def gram(self) -> FloatArray:
        """Cross-products of the candidate parents, shape (k, k)."""

    @property
    def cross(self) -> FloatArray:
        """Cross-products of the parents with the child, shape (k,)."""

    @property
    def total(self) -> float:
        """Sum of squares of the child."""

    @property
    def n(self) -> float:
        """Number of rows, less one if an intercept was taken out."""

    @property
    def rows(self) -> float:
        """Number of rows."""

    @property
    def probability(self) -> FloatArray:
        """Prior edge probabilities, shape (k,)."""

    @property
    def log_size(self) -> FloatArray | None:
        """Log prior weight of the number of uncertain groups present, shape (free + 1,)."""

    @property
    def leaders(self) -> IntArray:
        """The first column of each column's group, shape (k,); its own place for one that is alone or certain."""


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
    kept = weight > 0.0  # what is too improbable for a number is no point of the grid
    return np.exp(t[kept]), np.log(weight[kept] / weight.sum())


# -- slab independent of the unknown noise ---------------------------------------------------------------------------

_TAIL_NATS = 28.0  # the ends of the grid lie this far below a lower bound of the evidence


def precision_grid(noise: UnknownNoise, slab: Setting, node: NodeNumbers) -> tuple[FloatArray, FloatArray]:
    """Return noise precisions and their log weights that together integrate the precision out of an independent slab.

    The integrand over ``u = log s`` of any parent set is at most ``exp(B(u))``, ``B(u) = (a0 + n/2) u - (b0 + R/2)
    exp(u) + c`` with R the least residual sum of squares, because no coefficients fit better. The grid covers all u
    for which this exceeds a lower bound of the evidence less 28 nats. Its step is at most 0.75
    standard deviations of the narrowest integrand (a log-gamma), for which the trapezoidal rule errs by less than
    1e-7.
    """
    shape, rate = noise.shape + node.n / 2, noise.rate + 0.5 * _least_residual(node)
    _check_residual(noise, node, rate)
    step = min(0.35, 0.75 / math.sqrt(shape))
    constant = noise.log_constant - node.n / 2 * math.log(2 * math.pi)
    floor = _evidence_floor(slab.slab_variance, noise, node, rate) - _TAIL_NATS - constant
    low, high = _crossings(shape, rate, floor)
    u = np.arange(math.floor(low / step), math.ceil(high / step) + 1).astype(float) * step
    return np.exp(u), slab.log_weight + _log_prior(noise, u) + math.log(step)


def _log_prior(noise: UnknownNoise, u: FloatArray) -> FloatArray:
    """Log density of the log precision, with the same convention for improper priors as the conjugate slab."""
    return np.asarray(noise.log_constant + noise.shape * u - noise.rate * np.exp(u))


def _least_residual(node: NodeNumbers) -> float:
    """Return a lower bound of the residual sum of squares of every parent set."""
    values, vectors = np.linalg.eigh(node.gram) if node.cross.size else (np.ones(0), np.ones((0, 0)))
    kept = values > 1e-12 * values.max(initial=0.0)
    explained = float(((vectors.T @ node.cross)[kept] ** 2 / values[kept]).sum())
    return max(node.total - explained - 1e-10 * node.total, 0.0)


def _check_residual(noise: UnknownNoise, node: NodeNumbers, rate: float) -> None:
    if rate <= 1e-9 * node.total:
        raise PriorError(
            f"the {node.cross.size} candidate parents fit the {node.n:g} usable rows without residual: with "
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


def _evidence_floor(tau: float, noise: UnknownNoise, node: NodeNumbers, rate: float) -> float:
    """Return a lower bound, about, of the log evidence: the best of k + 1 nested parent sets, on a coarse grid."""
    shape = noise.shape + node.n / 2
    spread = 4.0 / math.sqrt(shape)
    low, high = math.log(shape / (noise.rate + 0.5 * node.total)) - spread, math.log(shape / rate) + spread
    grid = np.linspace(low, high, 128)
    certain = node.probability >= 1.0
    order = _importance_order(tau, math.exp(high), node, certain)
    rows = np.array([_nested_log_weights(tau, math.exp(u), node, order) for u in grid])
    rows += (node.n / 2 * (grid - math.log(2 * math.pi)) + _log_prior(noise, grid))[:, None]
    rows += _nested_log_prior(node, order)[None, :]
    whole = np.append(np.diff(node.leaders[order], prepend=-1) != 0, True)  # sets that split no group
    total = np.logaddexp.reduce(rows, axis=0)[int(certain.sum()) :][whole[int(certain.sum()) :]]
    return float(total.max()) + math.log(grid[1] - grid[0]) - 2.0


def _importance_order(tau: float, s: float, node: NodeNumbers, certain: BoolArray) -> list[int]:
    """Certain parents first, then by how many standard errors they are from zero when all are present.

    The columns of a group stay together: where the farthest of them belongs.
    """
    covariance = np.linalg.inv(s * node.gram + np.eye(certain.size) / tau)
    z = np.abs(s * covariance @ node.cross) / np.sqrt(np.diag(covariance))
    farthest = np.zeros(certain.size)
    np.maximum.at(farthest, node.leaders, z)
    return sorted(range(certain.size), key=lambda i: (not certain[i], -farthest[node.leaders[i]], node.leaders[i]))


def _nested_log_weights(tau: float, s: float, node: NodeNumbers, order: list[int]) -> FloatArray:
    """Log likelihood, less ``n/2 log(s / 2 pi)``, of the first 0, 1, ..., k parents in `order`, from one Cholesky."""
    from scipy.linalg import solve_triangular

    factor = np.linalg.cholesky(s * node.gram[np.ix_(order, order)] + np.eye(len(order)) / tau)
    z = solve_triangular(factor, s * node.cross[order], lower=True) if order else np.zeros(0)
    steps = 0.5 * z**2 - np.log(np.diag(factor)) - 0.5 * math.log(tau)
    return np.asarray(np.concatenate([[0.0], np.cumsum(steps)]) - 0.5 * s * node.total)


def _nested_log_prior(node: NodeNumbers, order: list[int]) -> FloatArray:
    p = np.where(node.leaders == np.arange(len(order)), node.probability, 1.0)[order]  # a group counts once
    free = p < 1.0
    count = np.concatenate([[0], np.cumsum(free)])
    if node.log_size is not None:
        return np.asarray(node.log_size[count])
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
    >>> from alldags.priors.grid import shared_grid
    >>> pairs = shared_grid(ad.Prior(slab=ad.priors.LearnedSlab(low=0.1, high=10.0, points=5, shared=True)))
    >>> len(pairs), round(pairs[2][1].slab_variance, 3)
    (5, 1.0)
    """
    pairs = [(0.0, prior)]
    if prior.slab is not None and prior.slab.is_shared:
        settings = prior.slab.settings(0.0, prior.noise)
        pairs = [(one.log_weight, replace(prior, slab=None, slab_variance=one.slab_variance)) for one in settings]
    if prior.edges is not None and prior.edges.is_shared:
        edges = prior.edges.fixed_parts()
        pairs = [(w + v, replace(part, edges=edge)) for w, part in pairs for v, edge in edges]
    return pairs
