"""The factor of the coefficients: normal with precision ``A = G + diag(w)``, and how it changes with the weights.

Two forms: ``G`` of shape (k, k), and, when its rank r is below k (fewer rows than parents), ``G = F F'`` with ``F`` of
shape (k, r): then all work is done on the r x r matrix ``K = (I + F' diag(1/w) F)^-1`` (Woodbury's identity). All
inner loops run along rows.
"""

from __future__ import annotations

import math

from alldags.kernels.jit import compiled, inner
from alldags.kernels.linalg import factorise, half_log_determinant, invert
from alldags.kernels.mixtures.mixing import best_update, weight_and_slope
from alldags.kernels.noise import NoiseTerm, log_term, mean_precision
from alldags.typing import BoolArray, FloatArray

_RANGE = 24.0 * math.log(10.0)


@compiled
def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@compiled
def clip(log_e: float, floor: float) -> float:
    """Hold a log second moment between the floor and 24 orders of magnitude above it.

    `floor` is 1e-10 over the data's precision: below it a coefficient is zero in effect. The upper end is a signal of
    1e14 times the noise, which only a fit without residual reaches.
    """
    return min(max(log_e, floor), floor + _RANGE)


@inner
def write_product(matrix: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Write the product of a symmetric matrix and a vector, along rows."""
    size = vector.shape[0]
    for h in range(size):
        out[h] = 0.0
    for a in range(size):
        for h in range(size):
            out[h] += vector[a] * matrix[a, h]


@inner
def rank_one(matrix: FloatArray, column: FloatArray, gain: float) -> None:
    """Subtract ``gain * column column'`` in place."""
    size = column.shape[0]
    for i in range(size):
        scaled = gain * column[i]
        for h in range(size):
            matrix[i, h] -= scaled * column[h]


@inner
def invert_whole(a: FloatArray, inverse: FloatArray, work: FloatArray) -> float:
    """Write the inverse of the positive definite ``a``, which is overwritten, and return its log determinant."""
    k = a.shape[0]
    factorise(a, 0, k, 0.0)
    invert(a, 0, k, inverse, work)
    return 2.0 * half_log_determinant(a, 0, k)


@inner
def noise_part(fit: float, noise: NoiseTerm) -> tuple[float, float]:
    """Return the mean noise precision and the bound's term in ``fit = b' A^-1 b``.

    If the noise is known, everything is in its units, and the bound has the child's sum of squares in them.
    """
    return mean_precision(noise, fit, 0), log_term(noise, fit, 0) - (noise.whole if noise.known else 0.0)


@inner
def refresh_full(
    gram: FloatArray, shift: FloatArray, weight: FloatArray, space: FloatArray, state: FloatArray
) -> tuple[float, float]:
    """Write ``A^-1`` into ``space[0]`` and the mean into `state`; return ``log|A|`` and ``b' A^-1 b``."""
    k = gram.shape[0]
    for i in range(k):
        for h in range(k):
            space[1, i, h] = gram[i, h]
        space[1, i, i] += weight[i]
    log_determinant = invert_whole(space[1], space[0], space[2])
    fit = 0.0
    for i in range(k):
        state[i] = dot(space[0, i], shift)
        fit += state[i] * shift[i]
    return log_determinant, fit


@inner
def refresh_low_rank(
    factor: FloatArray, shift: FloatArray, weight: FloatArray, space: FloatArray, state: FloatArray
) -> tuple[float, float]:
    """Write ``K`` into ``space[0]`` and ``K y`` into `state`; return ``log|A|`` and ``b' A^-1 b``, ``b = F y``."""
    k, r = factor.shape
    log_determinant = 0.0
    space[1] = 0.0
    for i in range(k):
        log_determinant += math.log(weight[i])
        for a in range(r):
            scaled = factor[i, a] / weight[i]
            for h in range(a, r):
                space[1, a, h] += scaled * factor[i, h]
    for a in range(r):
        space[1, a, a] += 1.0
    log_determinant += invert_whole(space[1], space[0], space[2])
    fit = 0.0
    for a in range(r):
        state[a] = dot(space[0, a], shift)
        fit += shift[a] * (shift[a] - state[a])
    return log_determinant, fit


@compiled
def refresh(
    factor: FloatArray, shift: FloatArray, weight: FloatArray, space: FloatArray, state: FloatArray
) -> tuple[float, float]:
    """Compute the factor of the coefficients from the weights; return ``log|A|`` and ``b' A^-1 b``."""
    numbers: tuple[float, float]
    if factor.shape[1] < factor.shape[0]:
        numbers = refresh_low_rank(factor, shift, weight, space, state)
    else:
        numbers = refresh_full(factor, shift, weight, space, state)
    return numbers


@compiled
def round_full(
    fixed: FloatArray,
    noise: NoiseTerm,
    code: int,
    p: float,
    q: float,
    floor: FloatArray,
    active: BoolArray,
    settled: float,
    log_e: FloatArray,
    weight: FloatArray,
    space: FloatArray,
    state: FloatArray,
    log_determinant: float,
    fit: float,
) -> tuple[float, float]:
    """Move the mixing factor of every active coefficient to its optimum, one after the other; `state` is the mean.

    Where that changes ``log|A|`` by less than `settled`, the coefficient is no longer active.
    """
    k = fixed.shape[0]
    if k == 0:  # the work space has no row either
        return log_determinant, fit
    inverse, column = space[0], space[1, 0]
    for i in range(k):
        if fixed[i] > 0.0 or not active[i]:
            continue
        reach = inverse[i, i]
        pull = state[i] / reach
        precision = mean_precision(noise, fit, 0)
        e = best_update(code, math.exp(log_e[i]), max(1.0 / reach - weight[i], 0.0), precision * pull * pull, p, q)
        log_e[i] = clip(math.log(e), floor[i])
        new, _ = weight_and_slope(code, math.exp(log_e[i]), p, q)
        delta = new - weight[i]
        weight[i] = new
        change = math.log1p(delta * reach)
        active[i] = abs(change) > settled
        log_determinant += change
        gain = delta / (1.0 + delta * reach)
        move = gain * state[i]
        fit -= move * state[i]
        for h in range(k):
            column[h] = inverse[i, h]
            state[h] -= move * column[h]
        rank_one(inverse, column, gain)
    return log_determinant, fit


@compiled
def round_low_rank(
    factor: FloatArray,
    fixed: FloatArray,
    noise: NoiseTerm,
    code: int,
    p: float,
    q: float,
    floor: FloatArray,
    active: BoolArray,
    settled: float,
    log_e: FloatArray,
    weight: FloatArray,
    space: FloatArray,
    state: FloatArray,
    log_determinant: float,
    fit: float,
) -> tuple[float, float]:
    """Do the same as `round_full` on the r x r matrix ``K`` (Woodbury's identity); `state` is ``K y``."""
    inverse, column = space[0], space[1, 0]
    k, r = factor.shape
    for i in range(k):
        if fixed[i] > 0.0 or not active[i]:
            continue
        row = factor[i]
        write_product(inverse, row, column)
        reach, pull = dot(row, column), dot(row, state)
        rest = 1.0 - reach / weight[i]  # of the coefficient's prior variance, the share the data leave
        precision = mean_precision(noise, fit, 0)
        e = best_update(code, math.exp(log_e[i]), reach / rest, precision * (pull / rest) ** 2, p, q)
        log_e[i] = clip(math.log(e), floor[i])
        new, _ = weight_and_slope(code, math.exp(log_e[i]), p, q)
        delta = 1.0 / new - 1.0 / weight[i]
        change = math.log(new / weight[i]) + math.log1p(delta * reach)
        active[i] = abs(change) > settled
        log_determinant += change
        weight[i] = new
        gain = delta / (1.0 + delta * reach)
        move = gain * pull
        fit += move * pull
        for h in range(r):
            state[h] -= move * column[h]
        rank_one(inverse, column, gain)
    return log_determinant, fit


@compiled
def write_mean(factor: FloatArray, weight: FloatArray, state: FloatArray, mean: FloatArray) -> None:
    """Write the mean of the coefficients."""
    if factor.shape[1] == factor.shape[0]:
        mean[:] = state
        return
    for i in range(mean.shape[0]):
        mean[i] = dot(factor[i], state) / weight[i]


@compiled
def write_second_moments(
    factor: FloatArray,
    weight: FloatArray,
    mean: FloatArray,
    precision: float,
    inverse: FloatArray,
    column: FloatArray,
    e: FloatArray,
) -> None:
    """Write ``E[theta_i^2]``, in units of the noise variance if that is unknown; `column` is work space."""
    k, r = factor.shape
    for i in range(k):
        if r == k:
            variance = inverse[i, i]
        else:
            write_product(inverse, factor[i], column)
            variance = (1.0 - dot(factor[i], column) / weight[i]) / weight[i]
        e[i] = variance + precision * mean[i] ** 2
