"""Pairs with correlated errors: the stacked regression of both, and the weight of every set of its doubtful terms.

With ``x = Z pi + u``, ``y = W beta + v``, ``corr(u, v) = rho``, ``t = rho / sqrt(1 - rho^2)`` and ``lam`` the ratio of
what is left of v given u to u (standard deviations), both are one regression with 2n rows and the noise of x::

    [x ; y / lam - t x]  on  [Z ; -t Z] pi  and  [0 ; W / lam] beta

so that cross-products of the table are all that is needed. Columns 0 and 1 of the cross-products are x and y.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.typing import FloatArray, IntArray

LEARNED_FIRST, WIDE, LEARNED_SECOND, LEARNED_DIRECT = 0, 1, 2, 3  # kinds of slabs


@compiled
def stacked(
    scatter: FloatArray, first: IntArray, second: IntArray, t: float, lam: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return gram (K, K), cross-products with the response (K,) and its square sum.

    Parameters
    ----------
    scatter
        Cross-products of all columns.
    first, second
        Columns in the regression of x, then those in that of y; K in all.
    t, lam
        As above.
    """
    k, m = first.shape[0], second.shape[0]
    gram, cross = np.empty((k + m, k + m)), np.empty(k + m)
    whole, mixed, own = 1.0 + t * t, -t / lam, 1.0 / lam**2
    for i in range(k):
        cross[i] = whole * scatter[first[i], 0] + mixed * scatter[first[i], 1]
        for j in range(k):
            gram[i, j] = whole * scatter[first[i], first[j]]
    for i in range(m):
        cross[k + i] = own * scatter[second[i], 1] + mixed * scatter[second[i], 0]
        for j in range(k):
            gram[k + i, j] = mixed * scatter[second[i], first[j]]
            gram[j, k + i] = gram[k + i, j]
        for j in range(m):
            gram[k + i, k + j] = own * scatter[second[i], second[j]]
    total = whole * scatter[0, 0] + 2.0 * mixed * scatter[0, 1] + own * scatter[1, 1]
    return gram, cross, total


@compiled
def slab_variances(kinds: IntArray, point: FloatArray) -> FloatArray:
    """Return the prior variance of each coefficient in units of the noise of x, shape (K,).

    A point is t, lam, and the variances of the slabs: of x's terms, wide, learned of y's, learned of the asked edge.
    """
    out = np.empty(kinds.shape[0])
    for i in range(kinds.shape[0]):
        unit = 1.0 if kinds[i] == LEARNED_FIRST else point[1] ** 2
        out[i] = point[2 + kinds[i]] * unit
    return out


@inner
def _eliminate(gram: FloatArray, cross: FloatArray, place: int) -> float:
    """Take one present term out of those after it, in place; return what it explains."""
    pivot = gram[place, place]
    for r in range(place + 1, gram.shape[0]):
        factor = gram[r, place] / pivot
        cross[r] -= factor * cross[place]
        for c in range(place + 1, gram.shape[0]):
            gram[r, c] -= factor * gram[place, c]
    return float(cross[place] ** 2 / pivot)


@compiled
def set_weights(
    scatter: FloatArray,
    first: IntArray,
    second: IntArray,
    kinds: IntArray,
    certain: int,
    log_odds: FloatArray,
    counted: IntArray,
    log_size: FloatArray,
    n: float,
    points: FloatArray,
) -> FloatArray:
    """Return the log weight of each set of doubtful terms at each point, shape (points, 2**m).

    Parameters
    ----------
    scatter, first, second
        As for `stacked`.
    kinds
        Slab of each term, shape (K,).
    certain
        How many terms are always present; the others, m of them, come last.
    log_odds
        Of the doubtful terms, shape (m,).
    counted
        Whether a doubtful term is one of those whose number has a prior of its own, shape (m,).
    log_size
        Log prior of each set of so many of those, shape (counted + 1,).
    n
        Rows, less those that the intercept and flat columns take.
    points
        Shape (points, 6), as for `slab_variances`.

    Bit ``m - 1 - i`` of a set is doubtful term i.
    """
    m = kinds.shape[0] - certain
    out = np.empty((points.shape[0], 1 << m))
    grams, crosses = np.empty((m + 1, m, m)), np.empty((m + 1, m))
    explained, logs, sizes = np.empty(m + 1), np.empty(m + 1), np.zeros(m + 1, np.int64)
    for p in range(points.shape[0]):
        gram, cross, total = stacked(scatter, first, second, points[p, 0], points[p, 1])
        variance = slab_variances(kinds, points[p])
        explained[0], logs[0] = 0.0, -n * math.log(points[p, 1])
        for i in range(kinds.shape[0]):
            gram[i, i] += 1.0 / variance[i]
        for i in range(certain):
            logs[0] -= 0.5 * math.log(gram[i, i] * variance[i])
            explained[0] += _eliminate(gram, cross, i)
        crosses[0], grams[0] = cross[certain:], gram[certain:, certain:]
        before = np.int64(0)
        for chosen in range(1 << m):
            start = 0
            if chosen > 0:
                changed, start = chosen ^ before, m
                while changed > 0:
                    changed >>= 1
                    start -= 1
            before = np.int64(chosen)
            for level in range(start, m):  # decides doubtful term `level`, the first of those left
                left = m - level
                if (chosen >> (m - 1 - level)) & 1:
                    pivot = grams[level, 0, 0]
                    explained[level + 1] = explained[level] + crosses[level, 0] ** 2 / pivot
                    weight = log_odds[level] - 0.5 * math.log(pivot * variance[certain + level])
                    logs[level + 1] = logs[level] + weight
                    sizes[level + 1] = sizes[level] + counted[level]
                    for r in range(1, left):
                        factor = grams[level, r, 0] / pivot
                        crosses[level + 1, r - 1] = crosses[level, r] - factor * crosses[level, 0]
                        for c in range(1, left):
                            grams[level + 1, r - 1, c - 1] = grams[level, r, c] - factor * grams[level, 0, c]
                else:
                    explained[level + 1], logs[level + 1] = explained[level], logs[level]
                    sizes[level + 1] = sizes[level]
                    for r in range(1, left):
                        crosses[level + 1, r - 1] = crosses[level, r]
                        for c in range(1, left):
                            grams[level + 1, r - 1, c - 1] = grams[level, r, c]
            out[p, chosen] = logs[m] + log_size[sizes[m]] - n * math.log(max(total - explained[m], 1e-15 * total))
    return out
