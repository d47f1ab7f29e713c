"""Flips of a swept matrix relative to a base set, on plain arrays; `chain` says what they mean.

What runs at every flip takes arrays, not a `Chain`, and is compiled without numba's runtime (``_nrt=False``): it
allocates nothing, and must not count references to arrays either, which would cost as much as its short loops.
"""

from __future__ import annotations

from alldags.kernels.jit import tight
from alldags.typing import BoolArray, FloatArray, IntArray

ILL_PIVOT = 1e-8  # a pivot this small, relative to the diagonal of A, asks for an early re-factorisation
TINY = 1e-15  # least pivot and residual, relative to what they started from
PATIENCE = 4  # work on flips before a new base set is worth its factorisation, in units of the latter
MUCH_WORK = 1 << 60  # says that the last flip was almost singular
SIZE, SETTING, MOVED, WORK, FLIPS, SWAPS, JUMPS, SETTING_MOVES, GROUPS = range(9)  # places in Chain.counts
QUADRATIC, LOG_WEIGHT, DRIFT, LEAST_RESIDUAL = range(4)  # places in Chain.numbers


@tight
def _combine(
    row: FloatArray, scale: float, base: FloatArray, moved: IntArray, weights: FloatArray, count: int, own: int
) -> None:
    """Set `row` to ``scale * (sum of weights * base rows in F)``, plus the base row `own` unless it is negative."""
    width = row.shape[0]
    for j in range(width):
        row[j] = base[own, j] if own >= 0 else 0.0
    for i in range(count):
        factor, other = scale * weights[i], moved[i]
        for j in range(width):
            row[j] += factor * base[other, j]


@tight
def _times_inverse(
    weights: FloatArray, inverse: FloatArray, base: FloatArray, moved: IntArray, count: int, v: int
) -> None:
    """Set `weights` to `inverse` times the base row `v` on F, row by row: sums along a row do not vectorise."""
    for i in range(count):
        weights[i] = 0.0
    for j in range(count):
        factor = base[v, moved[j]]
        for i in range(count):
            weights[i] += factor * inverse[j, i]


@tight
def _add_outer(inverse: FloatArray, vector: FloatArray, scale: float, count: int) -> None:
    for i in range(count):
        factor = scale * vector[i]
        for j in range(count):
            inverse[i, j] += factor * vector[j]


@tight
def rank_one(rows: FloatArray, row: FloatArray, v: int, pivot: float, first: int, last: int) -> None:
    """Sweep `row` into rows `first` to `last` - 1."""
    width = row.shape[0]
    for r in range(first, last):
        factor = rows[r, v] * pivot
        for j in range(width):
            rows[r, j] -= factor * row[j]
        rows[r, v] = factor


@tight
def _rank_one_vectors(diagonal: FloatArray, linear: FloatArray, row: FloatArray, pivot: float, step: float) -> None:
    for j in range(row.shape[0]):
        diagonal[j] -= row[j] * row[j] * pivot
        linear[j] -= row[j] * step


@tight
def load_row_arrays(
    base: FloatArray,
    in_base: BoolArray,
    inverse: FloatArray,
    moved: IntArray,
    place: IntArray,
    row: FloatArray,
    weights: FloatArray,
    count: int,
    v: int,
) -> None:
    """Put row `v` of the current T into `row`.

    For a `v` outside F, `weights` gets `inverse` times the column `v` of the base matrix on F.
    """
    r = place[v]
    if r < 0:
        _times_inverse(weights, inverse, base, moved, count, v)
        _combine(row, -1.0, base, moved, weights, count, v)
        for i in range(count):
            row[moved[i]] = -weights[i] if in_base[moved[i]] else weights[i]
    else:
        sign = -1.0 if in_base[v] else 1.0
        for i in range(count):
            weights[i] = inverse[r, i]
        _combine(row, sign, base, moved, weights, count, -1)
        for i in range(count):
            row[moved[i]] = weights[i] * (sign if in_base[moved[i]] else -sign)


@tight
def load_corner_arrays(
    base: FloatArray,
    in_base: BoolArray,
    inverse: FloatArray,
    moved: IntArray,
    place: IntArray,
    weights: FloatArray,
    count: int,
    first: int,
    last: int,
    corner: FloatArray,
) -> None:
    """Put the rows and columns `first` to `last` - 1 of the current T into the upper triangle of a corner."""
    for v in range(first, last):
        r, sign = place[v], -1.0
        if r < 0:
            _times_inverse(weights, inverse, base, moved, count, v)
        else:
            sign = -1.0 if in_base[v] else 1.0
            for i in range(count):
                weights[i] = inverse[r, i]
        for j in range(v, last):
            if place[j] >= 0:
                value = weights[place[j]] * (sign if in_base[j] else -sign)
            else:
                value = base[v, j] if r < 0 else 0.0
                for i in range(count):
                    value += sign * weights[i] * base[moved[i], j]
            corner[v - first, j - first] = value


@tight
def _join(
    inverse: FloatArray, moved: IntArray, place: IntArray, weights: FloatArray, count: int, v: int, pivot: float
) -> None:
    """Put `v` into F; `weights` is as `load_row_arrays` left it."""
    _add_outer(inverse, weights, pivot, count)
    for i in range(count):
        inverse[i, count] = -weights[i] * pivot
        inverse[count, i] = -weights[i] * pivot
    inverse[count, count] = pivot
    moved[count] = v
    place[v] = count


@tight
def _leave(inverse: FloatArray, moved: IntArray, place: IntArray, weights: FloatArray, count: int, v: int) -> None:
    """Take `v` out of F; `weights` is as `load_row_arrays` left it."""
    last = count - 1
    r = place[v]
    for i in range(count):
        inverse[r, i] = inverse[last, i]
    for i in range(count):
        inverse[i, r] = inverse[i, last]
    pivot = -1.0 / weights[r]
    weights[r] = weights[last]
    _add_outer(inverse, weights, pivot, last)
    moved[r] = moved[last]
    place[moved[r]] = r
    place[v] = -1


@tight
def flip_arrays(
    base: FloatArray,
    in_base: BoolArray,
    inverse: FloatArray,
    moved: IntArray,
    place: IntArray,
    present: BoolArray,
    diagonal: FloatArray,
    linear: FloatArray,
    row: FloatArray,
    weights: FloatArray,
    counts: IntArray,
    numbers: FloatArray,
    scale: float,
    v: int,
) -> None:
    """Flip parent `v` of the chain with these arrays; `scale` is ``A_vv``."""
    count = counts[MOVED]
    load_row_arrays(base, in_base, inverse, moved, place, row, weights, count, v)
    if not present[v]:
        row[v] = max(row[v], TINY * scale)
    pivot = 1.0 / row[v]
    ill = (-pivot if present[v] else row[v]) < ILL_PIVOT * scale  # the precision of v given the other parents
    step = linear[v] * pivot
    numbers[QUADRATIC] += step * linear[v]
    counts[WORK] = MUCH_WORK if ill else counts[WORK] + count + 1
    if place[v] < 0:
        _join(inverse, moved, place, weights, count, v, pivot)
        counts[MOVED] = count + 1
    else:
        _leave(inverse, moved, place, weights, count, v)
        counts[MOVED] = count - 1
    _rank_one_vectors(diagonal, linear, row, pivot, step)
    diagonal[v] = -pivot
    linear[v] = -step if present[v] else step
    counts[SIZE] += -1 if present[v] else 1
    present[v] = not present[v]
