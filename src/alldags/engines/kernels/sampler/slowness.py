"""In which direction does a sampler move most slowly?

Plain loops rather than BLAS, as in `alldags.engines.kernels.sampler.controls`.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.engines.kernels.jit import compiled, inner
from alldags.typing import FloatArray

STEPS = 500  # of the power method, at most
CLOSE = 1e-8


@compiled
def slowest_direction(trace: FloatArray, length: int) -> FloatArray:
    """Return the direction (k,) in which means over `length` batches vary most, beyond what independent batches give.

    `trace` is (chains, batches, k). The direction is the first eigenvector of the covariance of the means, times
    `length`, less that of single batches.
    """
    chains, batches, k = trace.shape
    count = batches // length
    means = np.zeros((chains * count, k))
    for h in range(chains):
        for b in range(count * length):
            row = means[h * count + b // length]
            for j in range(k):
                row[j] += trace[h, batches - count * length + b, j] / length
    single = _covariance(trace.reshape((chains * batches, k)))
    excess = length * _covariance(means) - single
    shift = 0.0  # makes the largest eigenvalue that of largest size
    for i in range(k):
        shift = max(shift, np.abs(single[i]).sum())
    for i in range(k):
        excess[i, i] += shift
    return _first_eigenvector(excess)


@inner
def _covariance(rows: FloatArray) -> FloatArray:
    n, k = rows.shape
    mean, centred, out = np.zeros(k), np.zeros(k), np.zeros((k, k))
    for b in range(n):
        for j in range(k):
            mean[j] += rows[b, j] / n
    for b in range(n):
        for j in range(k):
            centred[j] = rows[b, j] - mean[j]
        for i in range(k):
            for j in range(k):
                out[i, j] += centred[i] * centred[j] / (n - 1)
    return out


@inner
def _first_eigenvector(matrix: FloatArray) -> FloatArray:
    """Return the eigenvector of the largest eigenvalue of a positive matrix, by the power method."""
    k = matrix.shape[0]
    start = 0
    for i in range(k):
        start = i if matrix[i, i] > matrix[start, start] else start
    vector, product = matrix[start].copy(), np.zeros(k)
    for _ in range(STEPS):
        for i in range(k):
            product[i] = 0.0
            for j in range(k):
                product[i] += matrix[i, j] * vector[j]
        norm = math.sqrt((product * product).sum())
        if norm == 0.0:
            break
        change = 0.0
        for i in range(k):
            change = max(change, abs(product[i] / norm - vector[i]))
            vector[i] = product[i] / norm
        if change < CLOSE:
            break
    return vector
