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
from alldags.kernels.linalg import factorise, half_log_determinant, solve_forward
from alldags.kernels.noise import NoiseTerm, log_term
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


@inner
def group_gain(t: FloatArray, first: int, last: int, corner: FloatArray, x: FloatArray) -> tuple[float, float]:
    """Return by how much a group outside the set would raise q, and half the log determinant it would bring.

    The latter is nan if its columns are collinear given the set. `corner` (m, m) and `x` (m,) are scratch.
    """
    k, m, begin, reduction = t.shape[0] - 1, last - first, np.int64(0), 0.0
    for i in range(m):
        x[i] = t[first + i, k]
        for j in range(i, m):
            corner[i, j] = t[first + i, first + j]
    factorise(corner, begin, m, 0.0)
    solve_forward(corner, begin, m, x)
    for i in range(m):
        reduction += x[i] * x[i]
    return reduction, half_log_determinant(corner, begin, m)


@compiled
def greedy_parents(
    precision: FloatArray,
    shift: FloatArray,
    log_factor: FloatArray,
    log_size: FloatArray,
    log_columns: FloatArray,
    certain: BoolArray,
    groups: IntArray | None,
    has_determinant: bool,
    noise: NoiseTerm,
) -> tuple[BoolArray, float]:
    """Add the group that raises the posterior most until none does; certain columns are in from the start.

    What enters as one begins at `groups` (groups + 1,), of which the last is k: a group, or a column alone; a certain
    column is always alone. None: every column is alone, and numba leaves out what is done with groups. Returns the
    columns present, shape (k,), and their log weight (without the constant). A step costs O(k) and one sweep for each
    column of the group.
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
    if groups is not None:
        widest = np.diff(groups).max()
        corner, x = np.empty((widest, widest)), np.empty(widest)
    size = int(np.int64(0))  # not literals, here and below, for which numba would compile what is called twice
    columns = size
    score = base + log_size[0] + log_term(noise, -t[k, k], size)
    while size < log_size.shape[0] - 1:
        best, best_score, best_base = int(np.int64(-1)), score, base
        for u in range(k if groups is None else groups.shape[0] - 1):
            v, last = u, u
            if groups is not None:
                v, last = int(groups[u]), int(groups[u + 1]) - 1
            if present[v] or t[v, v] <= 0.0:
                continue
            count = last - v + 1
            new_base = base + log_factor[v] - (0.5 * math.log(t[v, v]) if has_determinant else 0.0)
            q = -t[k, k] + t[v, k] * t[v, k] / t[v, v]
            if groups is not None and count > 1:
                gain, half = group_gain(t, v, last + 1, corner, x)
                new_base, q = base - (half if has_determinant else 0.0), gain - t[k, k]
                for i in range(v, last + 1):
                    new_base += log_factor[i]
            new_score = new_base + log_size[size + 1] + log_term(noise, q, columns + count)
            if log_columns.shape[0] > 1:
                new_score += log_columns[columns + count]
            if new_score > best_score:
                best, best_score, best_base = u, new_score, new_base
        if best < 0:
            break
        v, last = best, best
        if groups is not None:
            v, last = int(groups[best]), int(groups[best + 1]) - 1
        for i in range(v, last + 1):
            sweep(t, i)
            present[i] = True
            columns += 1
        size += 1
        score, base = best_score, best_base
    return present, score
