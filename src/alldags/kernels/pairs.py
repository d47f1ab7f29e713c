"""Pairs with correlated errors: the stacked regression of both, and the weight of every set of its doubtful terms.

With ``x = Z pi + u``, ``y = W beta + v``, ``corr(u, v) = rho``, ``t = rho / sqrt(1 - rho^2)`` and ``lam`` the ratio of
what is left of v given u to u (standard deviations), both are one regression with 2n rows and the noise of x::

    [x ; y / lam - t x]  on  [Z ; -t Z] pi  and  [0 ; W / lam] beta

so that cross-products of the table are all that is needed. Columns 0 and 1 of the cross-products are x and y. Rows in
which only one of the two is explained, because the other was set, are single rows of the same regression::

    x  on  Z pi        y / (lam sqrt(1 + t^2))  on  W beta / (lam sqrt(1 + t^2))
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.typing import BoolArray, FloatArray, IntArray

LEARNED_FIRST, WIDE, LEARNED_SECOND, LEARNED_DIRECT = 0, 1, 2, 3  # kinds of slabs


@compiled
def stacked(
    scatter: FloatArray, alone: FloatArray, first: IntArray, second: IntArray, t: float, lam: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return gram (K, K), cross-products with the response (K,) and its square sum.

    Parameters
    ----------
    scatter
        Cross-products of all columns.
    alone
        Those of rows that explain x alone, and of rows that explain y alone, shape (2, columns, columns).
    first, second
        Columns in the regression of x, then those in that of y; K in all.
    t, lam
        As above.
    """
    k, m = first.shape[0], second.shape[0]
    gram, cross = np.empty((k + m, k + m)), np.empty(k + m)
    whole, mixed, own = 1.0 + t * t, -t / lam, 1.0 / lam**2
    single = own / whole
    for i in range(k):
        a = first[i]
        cross[i] = whole * scatter[a, 0] + alone[0, a, 0] + mixed * scatter[a, 1]
        for j in range(k):
            gram[i, j] = whole * scatter[a, first[j]] + alone[0, a, first[j]]
    for i in range(m):
        a = second[i]
        cross[k + i] = own * scatter[a, 1] + single * alone[1, a, 1] + mixed * scatter[a, 0]
        for j in range(k):
            gram[k + i, j] = mixed * scatter[a, first[j]]
            gram[j, k + i] = gram[k + i, j]
        for j in range(m):
            gram[k + i, k + j] = own * scatter[a, second[j]] + single * alone[1, a, second[j]]
    total = whole * scatter[0, 0] + 2.0 * mixed * scatter[0, 1] + own * scatter[1, 1]
    return gram, cross, total + alone[0, 0, 0] + single * alone[1, 1, 1]


@inner
def _log_scales(n: FloatArray, t: float, lam: float) -> float:
    """Return what all rows have as logarithms of scales, in units of the noise of x."""
    return -(n[0] + n[2]) * math.log(lam) - 0.5 * n[2] * math.log(1.0 + t * t)


@inner
def _exponent(n: FloatArray) -> float:
    """Return half the number of rows of the stacked regression."""
    return float(n[0] + 0.5 * (n[1] + n[2]))


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
    alone: FloatArray,
    first: IntArray,
    second: IntArray,
    kinds: IntArray,
    certain: int,
    log_odds: FloatArray,
    counted: IntArray,
    log_size: FloatArray,
    n: FloatArray,
    points: FloatArray,
) -> FloatArray:
    """Return the log weight of each set of doubtful terms at each point, shape (points, 2**m).

    Parameters
    ----------
    scatter, alone, first, second
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
        Rows, less those that the intercept and flat columns take: of both, of x alone, of y alone; shape (3,).
    points
        Shape (points, 6), as for `slab_variances`.

    Bit ``m - 1 - i`` of a set is doubtful term i.
    """
    m = kinds.shape[0] - certain
    out = np.empty((points.shape[0], 1 << m))
    grams, crosses = np.empty((m + 1, m, m)), np.empty((m + 1, m))
    explained, logs, sizes, half = np.empty(m + 1), np.empty(m + 1), np.zeros(m + 1, np.int64), _exponent(n)
    for p in range(points.shape[0]):
        gram, cross, total = stacked(scatter, alone, first, second, points[p, 0], points[p, 1])
        variance = slab_variances(kinds, points[p])
        explained[0], logs[0] = 0.0, _log_scales(n, points[p, 0], points[p, 1])
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
                ahead = m - level
                if (chosen >> (m - 1 - level)) & 1:
                    pivot = grams[level, 0, 0]
                    explained[level + 1] = explained[level] + crosses[level, 0] ** 2 / pivot
                    weight = log_odds[level] - 0.5 * math.log(pivot * variance[certain + level])
                    logs[level + 1] = logs[level] + weight
                    sizes[level + 1] = sizes[level] + counted[level]
                    for r in range(1, ahead):
                        factor = grams[level, r, 0] / pivot
                        crosses[level + 1, r - 1] = crosses[level, r] - factor * crosses[level, 0]
                        for c in range(1, ahead):
                            grams[level + 1, r - 1, c - 1] = grams[level, r, c] - factor * grams[level, 0, c]
                else:
                    explained[level + 1], logs[level + 1] = explained[level], logs[level]
                    sizes[level + 1] = sizes[level]
                    for r in range(1, ahead):
                        crosses[level + 1, r - 1] = crosses[level, r]
                        for c in range(1, ahead):
                            grams[level + 1, r - 1, c - 1] = grams[level, r, c]
            left = max(total - explained[m], 1e-15 * total)
            out[p, chosen] = logs[m] + log_size[sizes[m]] - half * math.log(left)
    return out


@compiled
def log_target(
    scatter: FloatArray,
    alone: FloatArray,
    first: IntArray,
    second: IntArray,
    kinds: IntArray,
    n: FloatArray,
    point: FloatArray,
) -> float:
    """Return the log evidence of the stacked regression with exactly these terms, at one point."""
    gram, cross, total = stacked(scatter, alone, first, second, point[0], point[1])
    variance = slab_variances(kinds, point)
    out, left = _log_scales(n, point[0], point[1]), total
    for i in range(kinds.shape[0]):
        gram[i, i] += 1.0 / variance[i]
    for i in range(kinds.shape[0]):
        out -= 0.5 * math.log(gram[i, i] * variance[i])
        left -= _eliminate(gram, cross, i)
    return out - _exponent(n) * math.log(max(left, 1e-15 * total))


@inner
def _chosen(second: IntArray, kinds: IntArray, k: int, present: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the columns of y's regression that are there, and the slabs of all terms that are."""
    here = np.ones(kinds.shape[0], np.bool_)
    here[kinds.shape[0] - present.shape[0] :] = present
    return second[here[k:]], kinds[here]


@compiled
def walk(
    scatter: FloatArray,
    alone: FloatArray,
    first: IntArray,
    second: IntArray,
    kinds: IntArray,
    log_odds: FloatArray,
    counted: IntArray,
    log_size: FloatArray,
    n: FloatArray,
    slabs: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    shape: float,
    norm: float,
    ends: tuple[float, float],
    hidden: float,
    log_ratio: float,
    uniform: FloatArray,
    normal: FloatArray,
    start: BoolArray,
) -> tuple[FloatArray, BoolArray]:
    """Walk through sets, correlations, ratios of scales and slabs; coefficients and noise are summed out.

    Parameters
    ----------
    scatter, alone, first, second, kinds, log_odds, counted, log_size, n
        As for `set_weights`.
    slabs
        Variances that each kind of slab may have.
    shape, norm, ends, hidden
        Prior of the correlation: its shape, the logarithm of what makes it a density, where its inverse hyperbolic
        tangent ends, and the probability of one.
    log_ratio
        Where the logarithm of the ratio of scales is about.
    uniform, normal
        Random numbers, shape (steps, moves, 4) and (steps, moves).
    start
        Doubtful terms that are there at first, shape (m,).

    Returns
    -------
    points, sets
        After each step: tangent, ratio and slabs with the inverse hyperbolic tangent last, shape (steps, 7), nan for no
        correlation; doubtful terms that are there, shape (steps, m).
    """
    steps, moves, m, k = uniform.shape[0], uniform.shape[1], start.shape[0], first.shape[0]
    points, sets = np.empty((steps, 7)), np.empty((steps, m), np.bool_)
    present, zeta, log_lam, there = start.copy(), 0.0, log_ratio, True
    places = np.zeros(4, np.int64)
    point = np.empty(6)
    point[0], point[1] = 0.0, math.exp(log_lam)
    for i in range(4):
        places[i] = slabs[i].shape[0] // 2
        point[2 + i] = slabs[i][places[i]]
    columns, own = _chosen(second, kinds, k, present)
    now = log_target(scatter, alone, first, columns, own, n, point)
    for s in range(steps):
        for move in range(moves):
            u = uniform[s, move]
            other, new, lam, is_there = present.copy(), zeta, log_lam, there
            spots, extra = places.copy(), 0.0
            if move % 2 == 0 and m > 0:
                j = min(int(u[0] * m), m - 1)
                other[j] = not other[j]
                i = min(int(u[1] * m), m - 1)
                if u[2] < 0.4 and present[i] != present[j]:
                    other[i] = present[j]
            elif u[0] < 0.45:
                new = zeta + normal[s, move] * (0.1 if u[1] < 0.4 else 0.6)
            elif u[0] < 0.65:
                lam = log_lam + 1.5 * normal[s, move] / math.sqrt(n[0])
            elif u[0] < 0.85 or hidden >= 1.0:
                kind = min(int(u[1] * 4), 3)
                spots[kind] += 1 if u[2] < 0.5 else -1
            else:
                is_there = not there
                new = math.atanh(max(min(normal[s, move] * 0.4, 0.999), -0.999)) if is_there else 0.0
                # the proposal is a normal in the correlation, with density zero outside of (-1, 1)
                rho = math.tanh(new) if is_there else math.tanh(zeta)
                proposal = -0.5 * (rho / 0.4) ** 2 - math.log(0.4 * math.sqrt(2.0 * math.pi)) + math.log(1.0 - rho**2)
                extra = -proposal if is_there else proposal
            if not there and new != 0.0 and is_there == there:
                continue
            if new < ends[0] or new > ends[1] or (is_there and abs(math.tanh(new)) >= 0.999):
                continue
            if min(spots) < 0 or spots[0] >= slabs[0].shape[0] or spots[1] >= slabs[1].shape[0]:
                continue
            if spots[2] >= slabs[2].shape[0] or spots[3] >= slabs[3].shape[0]:
                continue
            point[0], point[1] = math.sinh(new), math.exp(lam)
            for i in range(4):
                point[2 + i] = slabs[i][spots[i]]
            columns, own = _chosen(second, kinds, k, other)
            value = log_target(scatter, alone, first, columns, own, n, point)
            gain = value - now + extra + _log_correlation(new, is_there, shape, norm, hidden)
            gain += _log_set(other, log_odds, counted, log_size) - _log_set(present, log_odds, counted, log_size)
            gain -= _log_correlation(zeta, there, shape, norm, hidden)
            if math.log(u[3]) < gain:
                present, zeta, log_lam, there, places, now = other, new, lam, is_there, spots, value
        points[s, 0], points[s, 1] = math.sinh(zeta), math.exp(log_lam)
        for i in range(4):
            points[s, 2 + i] = slabs[i][places[i]]
        points[s, 6] = zeta if there else math.nan
        sets[s] = present
    return points, sets


@inner
def _log_set(present: BoolArray, log_odds: FloatArray, counted: IntArray, log_size: FloatArray) -> float:
    out, size = 0.0, 0
    for i in range(present.shape[0]):
        if present[i]:
            out += log_odds[i]
            size += counted[i]
    return float(out + log_size[size])


@inner
def _log_correlation(zeta: float, there: bool, shape: float, norm: float, hidden: float) -> float:
    """Return the log prior density of the inverse hyperbolic tangent of a correlation, or of none."""
    if not there:
        return math.log1p(-hidden)
    return math.log(hidden) - 2.0 * shape * math.log(math.cosh(zeta)) + norm
