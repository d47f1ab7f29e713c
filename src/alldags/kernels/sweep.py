"""The sweep operator, and greedy search on a swept matrix.

Layout: the augmented matrix ``T`` of shape (k + 1, k + 1) starts as ``[[A, b], [b', 0]]``. After sweeping the set ``P``

- ``T[i, i]`` is minus the inverse's diagonal for ``i`` in ``P`` and the Schur complement's outside,
- ``T[i, k]`` is the conditional mean for ``i`` in ``P`` and the residual shift outside,
- ``T[k, k]`` is ``-q``, minus the quadratic form.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.noise import NoiseTerm, log_term
from alldags.typing import BoolArray, FloatArray


@inner
def exchange(t: FloatArray, v: int, sign: float) -> None:
    """Sweep variable `v` in (`sign` 1) or out (`sign` -1), in place."""
    size = t.shape[0]
    pivot = 1.0 / t[v, v]
    for i in range(size):
        if i != v:
            factor = t[i, v] * pivot
            for j in range(size):
                if j != v:
                    t[i, j] -= factor * t[v, j]
    for i in range(size):
        t[i, v] *= sign * pivot
        t[v, i] = t[i, v]
    t[v, v] = -pivot


@compiled
def sweep(t: FloatArray, v: int) -> None:
    """Sweep variable `v` in, in place."""
    exchange(t, v, 1.0)


@compiled
def greedy_parents(
    precision: FloatArray,
    shift: FloatArray,
    log_factor: FloatArray,
    log_size: FloatArray,
    certain: BoolArray,
    has_determinant: bool,
    noise: NoiseTerm,
) -> tuple[BoolArray, float]:
    """Add the parent that raises the posterior most until none does; certain parents are in from the start.

    Returns the parents present, shape (k,), and their log weight (without the constant). A step costs O(k) and one
    sweep.
    """
    k = shift.shape[0]
    t = np.empty((k + 1, k + 1))
    for i in range(k):  # loops, not slices: those compile to a great deal of code for their error messages
        for j in range(k):
            t[i, j] = precision[i, j]
        t[i, k] = shift[i]
        t[k, i] = shift[i]
    t[k, k] = 0.0
    present = np.zeros(k, dtype=np.bool_)
    base = 0.0  # factors and determinants of what is present
    for v in range(k):
        if certain[v]:
            base += log_factor[v] - (0.5 * math.log(t[v, v]) if has_determinant else 0.0)
            sweep(t, v)
            present[v] = True
    size = int(np.int64(0))  # not literals, here and below, for which numba would compile what is called twice
    score = base + log_size[0] + log_term(noise, -t[k, k], size)
    while size < log_size.shape[0] - 1:
        best, best_score, best_base = int(np.int64(-1)), score, base
        for v in range(k):
            if present[v] or t[v, v] <= 0.0:
                continue
            new_base = base + log_factor[v] - (0.5 * math.log(t[v, v]) if has_determinant else 0.0)
            q = -t[k, k] + t[v, k] * t[v, k] / t[v, v]
            new_score = new_base + log_size[size + 1] + log_term(noise, q, size + 1)
            if new_score > best_score:
                best, best_score, best_base = v, new_score, new_base
        if best < 0:
            break
        sweep(t, best)
        present[best] = True
        size += 1
        score, base = best_score, best_base
    return present, score
