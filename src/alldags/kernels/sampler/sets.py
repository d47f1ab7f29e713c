"""One parent set at a time, from its own factorisation: its weight and its moments."""

from __future__ import annotations

import numpy as np

from alldags.kernels.jit import compiled, tight
from alldags.kernels.linalg import factorise, half_log_determinant, solve_backward, solve_forward
from alldags.kernels.noise import residual_rate, variance_factor
from alldags.kernels.sampler.chain import Systems, last_terms, noise_at
from alldags.kernels.sampler.flip import TINY
from alldags.typing import BoolArray, FloatArray, IntArray


@tight
def set_log_weight(systems: Systems, present: BoolArray, setting: int, factor: FloatArray, center: FloatArray) -> float:
    """Return the log weight of a parent set, (k,), under a setting.

    Leaves the Cholesky factor ``U`` of its precision in the leading part of `factor` (k, k), ``U'^-1 b`` in `center`.
    """
    first = p = groups = np.int64(0)
    value, q = systems.constant[setting], 0.0
    for v in range(present.shape[0]):
        if present[v]:
            j = p
            for u in range(v, present.shape[0]):
                if present[u]:
                    factor[p, j] = systems.factor[setting] * systems.gram[v, u]
                    j += 1
            factor[p, p] = systems.scale[setting, v]
            center[p] = systems.shift[setting, v]
            value += systems.log_factor[setting, v]
            groups += systems.leads[v]
            p += 1
    factorise(factor, first, p, TINY)
    solve_forward(factor, first, p, center)
    for i in range(p):
        q += center[i] * center[i]
    if systems.has_determinant[setting]:
        value -= half_log_determinant(factor, first, p)
    return value + last_terms(systems, setting, groups, p - systems.certain_columns, q)


@tight
def add_set_moments(
    systems: Systems,
    present: BoolArray,
    setting: int,
    factor: FloatArray,
    center: FloatArray,
    column: FloatArray,
    weight: float,
    out: FloatArray,
) -> None:
    """Add, times `weight`, presence, mean, mean square and squared mean of the set's coefficients to `out` (4, k).

    `factor` and `center` are as `set_log_weight` left them; the latter is overwritten, and `column` (k,) is scratch.
    """
    first, p, q, free = np.int64(0), np.int64(0), 0.0, np.int64(0)
    for v in range(present.shape[0]):
        if present[v]:
            q += center[p] * center[p]
            p += 1
            free += 0 if systems.certain[v] else 1
    noise = 1.0
    if not systems.known_noise[setting]:
        term = noise_at(systems, setting)
        noise = residual_rate(term, q) * variance_factor(term, free)
    solve_backward(factor, first, p, center)
    i = np.int64(0)
    for v in range(present.shape[0]):
        if not present[v]:
            continue
        for h in range(p):
            column[h] = 1.0 if h == i else 0.0
        solve_forward(factor, i, p, column)
        variance = 0.0
        for h in range(i, p):
            variance += column[h] * column[h]
        mean = center[i]
        out[0, v] += weight
        out[1, v] += weight * mean
        out[2, v] += weight * (mean * mean + noise * variance)
        out[3, v] += weight * mean * mean
        i += 1


@compiled
def set_log_weights(systems: Systems, sets: BoolArray, settings: IntArray, out: FloatArray) -> None:
    """Put the log weight of each parent set, (D, k), under its setting, (D,), into `out`, (D,)."""
    k = sets.shape[1]
    factor, center = np.empty((k, k)), np.empty(k)
    for d in range(sets.shape[0]):
        out[d] = set_log_weight(systems, sets[d], settings[d], factor, center)
