"""What the data say on one parent given all others, and draws by odds."""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import tight
from alldags.kernels.noise import TINY, NoiseTerm, log_gain
from alldags.typing import FloatArray


@tight
def conditional(
    inside: bool,
    diagonal: float,
    linear: float,
    least: float,
    log_prior: float,
    residual: float,
    noise: NoiseTerm,
    others: int,
    determinant: bool,
) -> tuple[float, float, float, float]:
    """Return what holds of an uncertain parent given all others.

    That is its log odds; mean and variance of its coefficient if it is present, the latter in units of the noise's;
    and the rate of the noise precision then. `diagonal` and `linear` are the parent's entries at the current state,
    `residual` is the rate there, `least` the least pivot, `log_prior` what does not depend on the data, and `others`
    the number of other uncertain parents present.
    """
    if inside:
        variance = -diagonal
        mean = linear
        reduction = mean * mean / variance
        without = residual + 0.5 * reduction
    else:
        variance = 1.0 / max(diagonal, least)
        mean = linear * variance
        reduction = mean * linear
        without = residual
    log_odds = log_prior + log_gain(noise, without, reduction, others)
    if determinant:
        log_odds += 0.5 * math.log(variance)
    return log_odds, mean, variance, max(without - 0.5 * reduction, TINY * without)


@tight
def drawn(weight: FloatArray, count: int, generator: np.random.Generator) -> int:
    """Draw one of the first `count` places in proportion to the exponentials of `weight`, which is overwritten."""
    best, chosen = -np.inf, 0
    for u in range(count):
        best = max(best, weight[u])
    total = 0.0
    for u in range(count):
        weight[u] = math.exp(weight[u] - best) if weight[u] > best - 40.0 else 0.0
        total += weight[u]
    left = generator.random() * total
    for u in range(count):
        if weight[u] > 0.0:
            chosen = u
            left -= weight[u]
            if left < 0.0:
                break
    return chosen
