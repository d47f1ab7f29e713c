"""The sweep operator, greedy search on a swept matrix, and coefficient draws.

Layout: the augmented matrix ``T`` of shape (k + 1, k + 1) starts as ``[[A, b], [b', 0]]``. After sweeping the set ``P``

- ``T[i, i]`` is minus the inverse's diagonal for ``i`` in ``P`` and the Schur complement's outside,
- ``T[i, k]`` is the conditional mean for ``i`` in ``P`` and the residual shift outside,
- ``T[k, k]`` is ``-q``, minus the quadratic form.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.engines.kernels.jit import compiled, inner
from alldags.engines.kernels.linalg import copy_part, factorise, solve_backward, solve_forward
from alldags.engines.kernels.noise import NoiseTerm, log_term
from alldags.typing import BoolArray, FloatArray, IntArray


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
def unsweep(t: FloatArray, v: int) -> None:
    """Sweep variable `v` out, in place: the inverse of `sweep`."""
    exchange(t, v, -1.0)


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
    size = 0
    score = base + log_size[0] + log_term(noise, -t[k, k], 0)
    while size < log_size.shape[0] - 1:
        best, best_score, best_base = -1, score, base
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


@inner
def list_members(mask: BoolArray, index: IntArray) -> int:
    """Write the parents present to the start of `index`; return their number."""
    count = 0
    for i in range(mask.shape[0]):
        if mask[i]:
            index[count] = i
            count += 1
    return count


@inner
def solve_half(
    precision: FloatArray, shift: FloatArray, index: IntArray, size: int, upper: FloatArray, center: FloatArray
) -> None:
    """Factorise the part of the system that `index` lists, ``A_P = U'U``, and write ``U'^-1 b_P`` to `center`."""
    copy_part(precision, index, size, upper)
    factorise(upper, 0, size, 0.0)
    for i in range(size):
        center[i] = shift[index[i]]
    solve_forward(upper, 0, size, center)


@compiled
def draw_coefficients(
    precision: FloatArray, shift: FloatArray, masks: BoolArray, normals: FloatArray, noise_sd: FloatArray
) -> FloatArray:
    """Turn standard normals into coefficients given parent sets, shape (size, k).

    Row ``d`` of the result is ``A_P^-1 b_P + noise_sd[d] * U_P^-1 z`` on the set ``P = masks[d]``, zero elsewhere,
    with ``A_P = U_P' U_P``. Equal sets in neighbouring rows share one factorisation.
    """
    size, k = masks.shape
    out = np.zeros((size, k))
    upper = np.empty((k, k))
    index = np.empty(k, dtype=np.int64)
    work, center = np.empty(k), np.empty(k)
    p = 0
    for d in range(size):
        same = d > 0
        if same:
            for i in range(k):
                if masks[d, i] != masks[d - 1, i]:
                    same = False
                    break
        if not same:
            p = list_members(masks[d], index)
            solve_half(precision, shift, index, p, upper, center)
        for i in range(p):  # one backward substitution serves mean and noise
            work[i] = center[i] + noise_sd[d] * normals[d, i]
        solve_backward(upper, 0, p, work)
        for i in range(p):
            out[d, index[i]] = work[i]
    return out


@compiled
def quadratic_forms(precision: FloatArray, shift: FloatArray, masks: BoolArray) -> FloatArray:
    """Return ``q = b_P' A_P^-1 b_P`` for each row of `masks`, shape (size,)."""
    size, k = masks.shape
    out = np.zeros(size)
    upper = np.empty((k, k))
    index = np.empty(k, dtype=np.int64)
    center = np.empty(k)
    for d in range(size):
        p = list_members(masks[d], index)
        solve_half(precision, shift, index, p, upper, center)
        for i in range(p):
            out[d] += center[i] * center[i]
    return out
