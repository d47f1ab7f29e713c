"""Cholesky: one factorisation, its two triangular solves and the inverse, for all kernels.

``A = U'U`` with ``U`` upper triangular, in place of the upper triangle of ``A``; what lies below the diagonal is
neither read nor written. All inner loops run along rows, so that they become vector instructions, and nothing is
allocated. Every function takes the part ``first`` to ``last - 1`` of larger arrays.
"""

from __future__ import annotations

import math

from alldags.kernels.jit import tight_callable
from alldags.typing import FloatArray


@tight_callable
def factorise(a: FloatArray, first: int, last: int, floor: float) -> bool:
    """Replace the upper triangle of a symmetric matrix by ``U``; return whether all pivots were positive.

    A pivot that elimination has left below `floor` times its diagonal entry is raised to that. One that is not positive
    then makes ``U`` nan from there on.
    """
    first = max(first, 0)  # tells the compiler that no index is negative
    good = True
    for j in range(first, last):
        row = a[j]
        least = floor * row[j]
        for i in range(first, j):
            other, factor = a[i], a[i, j]
            for h in range(j, last):
                row[h] -= factor * other[h]
        pivot = row[j]
        if floor > 0.0:
            pivot = max(pivot, least)
        if not pivot > 0.0:
            good = False
            pivot = math.nan
        scale = 1.0 / math.sqrt(pivot)
        row[j] = pivot
        for h in range(j, last):
            row[h] *= scale
    return good


@tight_callable
def solve_forward(upper: FloatArray, first: int, last: int, x: FloatArray) -> None:
    """Replace ``x`` by the solution of ``U' z = x``."""
    first = max(first, 0)
    for j in range(first, last):
        row = upper[j]
        x[j] /= row[j]
        factor = x[j]
        for h in range(j + 1, last):
            x[h] -= row[h] * factor


@tight_callable
def solve_backward(upper: FloatArray, first: int, last: int, x: FloatArray) -> None:
    """Replace ``x`` by the solution of ``U z = x``."""
    first = max(first, 0)
    for j in range(last - 1, first - 1, -1):
        value = x[j]
        for h in range(j + 1, last):
            value -= upper[j, h] * x[h]
        x[j] = value / upper[j, j]


@tight_callable
def solve(upper: FloatArray, first: int, last: int, x: FloatArray) -> None:
    """Replace ``x`` by the solution of ``U'U z = x``."""
    solve_forward(upper, first, last, x)
    solve_backward(upper, first, last, x)


@tight_callable
def invert(upper: FloatArray, first: int, last: int, inverse: FloatArray, work: FloatArray) -> None:
    """Write the inverse of ``U'U``, both halves; `work` is overwritten.

    First ``M``, the inverse of ``U'``, row by row; then ``M'M``.
    """
    first = max(first, 0)
    for i in range(first, last):
        row = work[i]
        for h in range(first, i):
            row[h] = 0.0
        row[i] = 1.0
        for j in range(first, i):
            factor, other = upper[j, i], work[j]
            for h in range(first, j + 1):
                row[h] -= factor * other[h]
        scale = 1.0 / upper[i, i]
        for h in range(first, i + 1):
            row[h] *= scale
    for i in range(first, last):
        for h in range(first, i + 1):
            inverse[i, h] = 0.0
    for j in range(first, last):
        other = work[j]
        for i in range(first, j + 1):
            factor, row = other[i], inverse[i]
            for h in range(first, i + 1):
                row[h] += factor * other[h]
    for i in range(first, last):
        for h in range(first, i):
            inverse[h, i] = inverse[i, h]


@tight_callable
def half_log_determinant(upper: FloatArray, first: int, last: int) -> float:
    """Return half the log determinant of ``U'U``."""
    total = 0.0
    for j in range(first, last):
        total += math.log(upper[j, j])
    return total
