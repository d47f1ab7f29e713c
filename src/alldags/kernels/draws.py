"""Draws of coefficients and noise variance given parent sets."""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.linalg import factorise
from alldags.kernels.noise import NoiseTerm, residual_rate
from alldags.typing import BoolArray, FloatArray, IntArray


@compiled
def draw_coefficients(
    precision: FloatArray,
    shift: FloatArray,
    noise: NoiseTerm,
    masks: BoolArray,
    normals: FloatArray,
    gammas: FloatArray,
    rows: IntArray,
    index: IntArray,
    work: FloatArray,
    coefficients: FloatArray,
    variance: FloatArray,
) -> None:
    """Turn standard normals and gammas into coefficients and noise variances given parent sets.

    On the set ``P = masks[d]``, with ``A_P = U'U``, the draw is ``A_P^-1 b_P + sd U^-1 z``. Equal sets in neighbouring
    rows share one factorisation.

    Parameters
    ----------
    precision, shift, noise
        The system, shapes (k, k) and (k,).
    masks
        Parent sets, shape (size, k).
    normals
        Standard normals, one for every parent of every set, one set after the other.
    gammas
        Standard gammas of the noise precision's shape, shape (size,); not read if the noise is known.
    rows
        Row of the results that each draw goes to, shape (size,).
    index, work
        Working space, shapes (k,) and (k + 2, k + 1).
    coefficients, variance
        Results, shapes (size, k), zero where absent before and after, and (size,); in units of known noise.
    """
    size, k = masks.shape
    p, used, rate = int(np.int64(0)), 0, 0.0  # p is not a literal, for which `prepare` would be compiled twice
    for d in range(size):
        same = d > 0
        for i in range(k):
            if not same:
                break
            same = masks[d, i] == masks[d - 1, i]
        if not same:
            p -= p
            for i in range(k):
                if masks[d, i]:
                    index[p] = i
                    p += 1
            rate = residual_rate(noise, prepare(precision, shift, index, p, work))
        spread = 1.0 if noise.known else rate / gammas[d]
        deviation = math.sqrt(spread)
        variance[rows[d]] = spread
        row, x, center = coefficients[rows[d]], work[k], work[k + 1]
        for i in range(p):
            x[i] = center[i] + deviation * normals[used + i]
        for i in range(p - 1, -1, -1):  # one backward substitution serves mean and noise
            value, column = x[i] * work[i, i], work[i]
            row[index[i]] = value
            for j in range(i):
                x[j] -= column[j] * value
        used += p


@inner
def prepare(precision: FloatArray, shift: FloatArray, index: IntArray, p: int, work: FloatArray) -> float:
    """Write the first p rows of ``U'``, with one over its diagonal, and ``U'^-1 b`` to the last row; return ``q``."""
    for i in range(p):  # with b as one more column, which factorising turns into U'^-1 b
        for j in range(i, p):
            work[i, j] = precision[index[i], index[j]]
        work[i, p] = shift[index[i]]
    work[p, p] = 1.0
    factorise(work, np.int64(0), p + 1, 0.0)
    center = work[work.shape[0] - 1]
    q = 0.0
    for i in range(p):
        center[i] = work[i, p]
        q += center[i] * center[i]
        work[i, i] = 1.0 / work[i, i]
        for j in range(i):
            work[i, j] = work[j, i]
    return q
