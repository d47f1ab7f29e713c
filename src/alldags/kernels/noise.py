"""The noise function ``f(q, size)``, compiled: what the data say on a parent set, up to determinants and prior odds.

``q`` is the explained sum of squares and ``size`` the number of uncertain parents present. `engines.conjugate.noise`
has the same functions in plain Python, and the derivation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from alldags.kernels.jit import tight_callable

TINY = 1e-15  # least residual relative to the whole: rounding can leave a perfect fit below zero


class NoiseTerm(NamedTuple):
    """The numbers of ``f``: ``q/2`` for known noise, else ``-(shape + shape_per_parent size) log(whole - q/2)``."""

    known: bool
    whole: float  # rate + total / 2, less half of what certain parents explain
    shape: float  # of a set without uncertain parents
    shape_per_parent: float


@tight_callable
def shape_of(noise: NoiseTerm, size: int) -> float:
    """Return the shape of the noise precision's gamma posterior."""
    return noise.shape + noise.shape_per_parent * size


@tight_callable
def residual_rate(noise: NoiseTerm, q: float) -> float:
    """Return the rate of the noise precision's gamma posterior."""
    return max(noise.whole - 0.5 * q, TINY * noise.whole)


@tight_callable
def log_term(noise: NoiseTerm, q: float, size: int) -> float:
    """Return ``f(q, size)``."""
    if noise.known:
        return 0.5 * q
    return -shape_of(noise, size) * math.log(residual_rate(noise, q))


@tight_callable
def log_gain(noise: NoiseTerm, rate: float, reduction: float, others: int) -> float:
    """Return ``f(q + reduction, others + 1) - f(q, others)``, where `rate` is the residual rate at ``q``."""
    if noise.known:
        return 0.5 * reduction
    gain = -shape_of(noise, others + 1) * math.log(max(1.0 - 0.5 * reduction / rate, TINY))
    if noise.shape_per_parent != 0.0:
        gain -= noise.shape_per_parent * math.log(rate)
    return gain


@tight_callable
def log_gain_of_group(noise: NoiseTerm, rate: float, reduction: float, others: int, columns: int) -> float:
    """Return ``f(q + reduction, others + columns) - f(q, others)``, where `rate` is the residual rate at ``q``."""
    if noise.known:
        return 0.5 * reduction
    gain = -shape_of(noise, others + columns) * math.log(max(1.0 - 0.5 * reduction / rate, TINY))
    return gain - noise.shape_per_parent * columns * math.log(rate)


@tight_callable
def variance_factor(noise: NoiseTerm, size: int) -> float:
    """Return what turns a residual rate into the mean noise variance; infinite if that does not exist."""
    shape = shape_of(noise, size)
    return 1.0 / (shape - 1.0) if shape > 1.0 else math.inf


@tight_callable
def mean_precision(noise: NoiseTerm, q: float, size: int) -> float:
    """Return the posterior mean of the noise precision; 1 if it is known."""
    return 1.0 if noise.known else shape_of(noise, size) / residual_rate(noise, q)
