"""The noise function ``f(q, size)``: what the data say on a parent set, up to determinants and prior odds.

With the coefficients integrated out, the data enter through the explained sum of squares ``q = b' A^-1 b`` alone, and
the noise prior through the number of parents at most. Known noise has ``f = q/2`` (everything is in its units). An
unknown precision ``s ~ Gamma(a, b)`` has the gamma posterior with shape ``a + n/2`` and rate ``b + (total - q)/2``, so
``f = -shape log(rate)``. `alldags.priors.noise` says how ``a`` grows with the number of parents, if it does.

``size`` is the number of *uncertain* parents present; the certain ones are in ``shape`` and ``whole`` already.
`kernels.noise` has the same functions for the compiled loops.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from alldags.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.kernels.noise import NoiseTerm
    from alldags.priors.noise import NoiseNumbers

TINY = 1e-15  # least residual relative to the whole: rounding can leave a perfect fit below zero


def noise_term(numbers: NoiseNumbers, total: float, certain: int = 0) -> NoiseTerm:
    """Return the numbers of ``f`` for a child with this sum of squares and so many certain parents."""
    from alldags.kernels.noise import NoiseTerm

    shape = numbers.shape + numbers.shape_per_parent * certain
    return NoiseTerm(numbers.known, numbers.rate + 0.5 * total, shape, numbers.shape_per_parent)


def shape_of(noise: NoiseTerm, size: IntArray | int) -> FloatArray:
    """Return the shape of the noise precision's gamma posterior, shape as `size`."""
    return np.asarray(noise.shape + noise.shape_per_parent * np.asarray(size))


def residual_rate(noise: NoiseTerm, q: FloatArray | float) -> FloatArray:
    """Return the rate of the noise precision's gamma posterior, shape as `q`."""
    return np.asarray(np.maximum(noise.whole - 0.5 * np.asarray(q), TINY * noise.whole))


def log_term(noise: NoiseTerm, q: float, size: int) -> float:
    """Return ``f(q, size)``."""
    return 0.5 * q if noise.known else -float(shape_of(noise, size)) * math.log(residual_rate(noise, q))


def slope(noise: NoiseTerm, q: float, size: int) -> float:
    """Return the derivative of ``f`` by ``q``: half the mean noise precision."""
    return 0.5 if noise.known else float(0.5 * shape_of(noise, size) / residual_rate(noise, q))


def mean_variance(noise: NoiseTerm, q: float, size: int) -> float:
    """Return the posterior mean of the noise variance; 1 if it is known, infinite if it does not exist."""
    shape = float(shape_of(noise, size))
    if noise.known:
        return 1.0
    return float(residual_rate(noise, q) / (shape - 1.0)) if shape > 1.0 else math.inf


def degrees_of_freedom(noise: NoiseTerm, size: int) -> float:
    """Return those of the coefficients' Student-t posterior; infinite for known noise."""
    return math.inf if noise.known else 2.0 * float(shape_of(noise, size))
