"""Pareto smoothing of importance weights (Vehtari, Simpson, Gelman, Yao and Gabry 2024).

The largest weights are replaced by quantiles of a generalised Pareto distribution fitted to them (Zhang and Stephens
2009); its shape, k-hat, says whether weighted averages can be trusted. ArviZ has the same function, which the tests
compare with; importing it takes longer than an answer.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.typing import FloatArray

_LEAST_TAIL = 5
_PRIOR_DRAWS, _PRIOR_SHAPE = 10.0, 0.5  # the shape is drawn towards one half, as by so many draws
_EVEN = 1e-10  # log weights that differ by less are equal


def smooth(log_weights: FloatArray) -> tuple[FloatArray, float, float]:
    """Return smoothed weights, which add up to one, k-hat, and the log of their mean before; shape (draws,).

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.engines.weighted.pareto import smooth
    >>> weights, shape, log_mean = smooth(np.zeros(100))
    >>> round(float(weights.sum()), 6), shape, log_mean
    (1.0, 0.0, 0.0)
    """
    weights, shape = _smoothed(log_weights - log_weights.max())
    log_mean = float(log_weights.max()) + math.log(float(weights.mean()))
    return np.asarray(weights / weights.sum()), shape, log_mean


def _smoothed(shifted: FloatArray) -> tuple[FloatArray, float]:
    """Return smoothed weights, as shares of the largest raw one, and k-hat."""
    count = len(shifted)
    size = int(3.0 * math.sqrt(count)) if count > 225 else count // 5
    if size < _LEAST_TAIL or np.ptp(shifted) < _EVEN:
        return np.exp(shifted), 0.0
    order = np.argsort(shifted)
    tail = order[-size:]
    weights = np.exp(shifted)
    cutoff = float(weights[order[-size - 1]])
    excess = weights[tail] - cutoff
    if excess[-1] <= 0.0 or excess[int(size / 4 + 0.5) - 1] <= 0.0:
        return weights, 0.0
    shape, scale = _fit(excess)
    if math.isfinite(shape) and scale > 0.0:
        places = (np.arange(1, size + 1) - 0.5) / size
        weights[tail] = np.minimum(cutoff + _quantile(places, shape, scale), 1.0)
    return weights, shape


def _fit(excess: FloatArray) -> tuple[float, float]:
    """Return shape and scale of a generalised Pareto distribution for sorted positive values, shape (size,)."""
    size = len(excess)
    count = 30 + int(math.sqrt(size))
    quarter = excess[int(size / 4 + 0.5) - 1]
    rates = 1.0 / excess[-1] + (1.0 - np.sqrt(count / (np.arange(1, count + 1) - 0.5))) / (3.0 * quarter)
    shapes = np.log1p(-rates[:, None] * excess).mean(axis=1)
    height = size * (np.log(-rates / shapes) - shapes - 1.0)
    share = np.exp(height - height.max())
    share /= share.sum()
    share = np.where(share >= 10 * np.finfo(float).eps, share, 0.0)
    rate = float(rates @ share / share.sum())
    shape = float(np.log1p(-rate * excess).mean())
    return (size * shape + _PRIOR_DRAWS * _PRIOR_SHAPE) / (size + _PRIOR_DRAWS), -shape / rate


def _quantile(places: FloatArray, shape: float, scale: float) -> FloatArray:
    if shape == 0.0:
        return np.asarray(-scale * np.log1p(-places))
    return np.asarray(scale * np.expm1(-shape * np.log1p(-places)) / shape)
