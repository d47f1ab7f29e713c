"""How strong a hidden cause is, in several currencies, and what that does to regressions.

``R2x`` is the share of the treatment's noise that the hidden cause explains, ``R2y`` the share it explains of what
treatment and covariates leave of the outcome (Cinelli and Hazlett 2020). A *loading* is the correlation of a node's
structural error with the hidden cause; its square is the *share* of that error. With the treatment and one other node
hit, one number matters, the bias factor ``f = sqrt(R2y R2x / (1 - R2x))``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from alldags.typing import FloatArray

Number: TypeAlias = float | FloatArray
"""One number, or one for each draw."""

_STEEPEST = 6.0  # log-odds per standard deviation
_POINTS, _RAW = np.polynomial.hermite_e.hermegauss(64)
_WEIGHTS = _RAW / _RAW.sum()

MOST = 0.9999  # of a share: at 1 nothing would be left to estimate


def bias_factor(r2_treatment: Number, r2_outcome: Number) -> FloatArray:
    """Return ``f``: the bias of the coefficient in units of the outcome's over the treatment's noise."""
    r2x = np.minimum(r2_treatment, MOST)
    return np.sqrt(np.asarray(r2_outcome) * r2x / (1.0 - r2x))


def correlation(factor: Number) -> FloatArray:
    """Return the correlation of the two structural errors that goes with a bias factor."""
    f = np.asarray(factor, dtype=float)
    return f / np.sqrt(1.0 + f**2)


def factor_of_correlation(rho: Number) -> FloatArray:
    """Return the bias factor that goes with a correlation of the two structural errors."""
    r = np.asarray(rho, dtype=float)
    return r / np.sqrt(1.0 - r**2)


def equal_share(factor: float) -> float:
    """Return ``r`` with ``bias_factor(r, r) = factor``.

    Examples
    --------
    >>> from alldags.effects.hidden.strengths import bias_factor, equal_share
    >>> round(float(bias_factor(equal_share(0.4), equal_share(0.4))), 12)
    0.4
    """
    square = max(factor, 0.0) ** 2
    return float(0.5 * (np.sqrt(square**2 + 4.0 * square) - square))


def odds_of_share(r2_treatment: float, treated: float) -> float:
    """Return how many times a cause of this strength changes the odds of a yes/no treatment per standard deviation.

    The cause is normal and alone in driving the treatment: its ``p`` is ``1/(1 + exp(-c - b u))`` with mean `treated`,
    and ``b`` such that the mean of ``1/(p (1 - p))`` is ``1/(1 - r2_treatment)`` times what it is without the cause.

    Parameters
    ----------
    r2_treatment
        Share of the representer that only the cause explains, from 0 to 1.
    treated
        Share of rows that have the treatment.

    Examples
    --------
    >>> from alldags.effects.hidden.strengths import odds_of_share
    >>> odds_of_share(0.0, 0.3), round(odds_of_share(0.16, 0.5), 2)
    (1.0, 2.23)
    """
    wanted = 1.0 / (1.0 - min(r2_treatment, MOST))
    low, high = 0.0, _STEEPEST
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _gain(middle, treated) < wanted else (low, middle)
    return math.exp(low)


def _gain(slope: float, treated: float) -> float:
    """Return by how much a cause with this log-odds per standard deviation raises the mean of ``1/(p (1 - p))``."""
    low, high = -(_STEEPEST**2), _STEEPEST**2
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        share = float(_WEIGHTS @ (0.5 + 0.5 * np.tanh(0.5 * (middle + slope * _POINTS))))
        low, high = (middle, high) if share < treated else (low, middle)
    return treated * (1.0 - treated) * (2.0 + 2.0 * math.cosh(low) * math.exp(0.5 * slope**2))


def loadings_of_factor(factor: Number) -> tuple[FloatArray, FloatArray]:
    """Return loadings of treatment and outcome that have this bias factor; the outcome's has its sign."""
    rho = correlation(factor)
    size = np.sqrt(np.abs(rho))
    return size, np.sign(rho) * size


def error_slopes(
    hits: Sequence[str], loadings: Mapping[str, Number], noise: Mapping[str, Number]
) -> dict[str, dict[str, FloatArray]]:
    """Return, for each node hit, the regression of its structural error on those of the nodes hit before it.

    One common factor makes errors ``e_k = lambda_k sd(e_k) U + ...``; the regression on earlier ones has the slopes
    ``lambda_k lambda_j / (1 - lambda_j^2) / (1 + S) sd(e_k) / sd(e_j)``, ``S = sum lambda_j^2 / (1 - lambda_j^2)``.

    Parameters
    ----------
    hits
        Nodes, causes first.
    loadings
        Of each.
    noise
        Standard deviation of each node's noise in the *observed* regression, given the nodes hit before.
    """
    odds: Number = 0.0
    sizes: dict[str, FloatArray] = {}
    slopes: dict[str, dict[str, FloatArray]] = {}
    for name in hits:
        load = np.asarray(loadings[name], dtype=float)
        sizes[name] = noise[name] / np.sqrt(1.0 - load**2 * odds / (1.0 + odds))
        slopes[name] = {
            other: load * _over(loadings[other]) / (1.0 + odds) * sizes[name] / sizes[other] for other in sizes
        }
        slopes[name].pop(name)
        odds = odds + load * _over(load)
    return slopes


def _over(loading: Number) -> FloatArray:
    load = np.asarray(loading, dtype=float)
    return np.asarray(load / np.maximum(1.0 - load**2, 1.0 - MOST))


def benchmark_bounds(
    partial_treatment: Number, partial_outcome: Number, times: float, times_outcome: float
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of (R2x, R2y) for a cause `times` as strong on the treatment as a covariate is, and on the outcome.

    Parameters
    ----------
    partial_treatment, partial_outcome
        Share that the covariate explains of what the other covariates leave of the treatment, and of what they and the
        treatment leave of the outcome.
    times, times_outcome
        How many times as strong as the covariate.
    """
    rx, ry = np.minimum(partial_treatment, MOST), np.minimum(partial_outcome, MOST)
    r2x = np.minimum(times * rx / (1.0 - rx), MOST)
    z = np.minimum(times * rx**2 / (np.maximum(1.0 - times * rx, 1.0 - MOST) * (1.0 - rx)), MOST)
    r2y = ((np.sqrt(times_outcome) + np.sqrt(z)) / np.sqrt(1.0 - z)) ** 2 * ry / (1.0 - ry)
    return np.asarray(r2x), np.asarray(np.minimum(r2y, 1.0))
