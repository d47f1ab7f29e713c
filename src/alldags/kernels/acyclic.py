r"""Sums over all acyclic graphs of a block, weighted by the odds of their edges.

A graph on the b variables of a block weighs the product of the odds of its edges. With U and R disjoint sets of
variables, as bit masks, and

    alpha_j(U)  the weight of all parent sets of j inside U: the product of 1 + odds[i, j] over i in U, and 0 if a
                certain parent of j is outside
    f(S)        the weight of all acyclic graphs on S, whose parents are all in S
    g(U)        the weight of all ways to add the other variables to U

inclusion and exclusion over the variables R without children gives sums of 3^b terms (Robinson's),

    f(S) = sum over U + R = S of (-1)^(\|R\| + 1) prod_{j in R} alpha_j(U) f(U),    g(U) = the same with g(U + R).

Everything is kept relative to ``exp(best(S))``, the weight of the best order of S: then f is between 1 and b!, the
factor of f(U) is between 0 and 1, and no term exceeds the sum, so that the signs do no harm.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.typing import FloatArray, IntArray


@compiled
def log_weight(odds: FloatArray, required: IntArray) -> float:
    """Return the log of the weight of all acyclic graphs.

    Parameters
    ----------
    odds
        Of each edge, row = cause, shape (b, b); 0 where it is impossible or certain.
    required
        The certain parents of each variable as a bit mask, shape (b,).
    """
    alpha, fall, best = _tables(odds, required)
    full = best.size - 1
    f = np.zeros(full + 1)
    f[0] = 1.0
    weight, union, members = _rooms(odds.shape[0])
    for u in range(full):
        if f[u] != 0.0:
            count, _ = _extensions(u, alpha, fall, weight, union, members)
            for r in range(1, count):
                f[union[r]] += weight[r] * f[u]
    return best[full] + math.log(f[full])


@compiled
def edge_shares(odds: FloatArray, required: IntArray) -> tuple[float, FloatArray]:
    """Return the log of the weight of all acyclic graphs, and the share of those in which the cause comes first.

    Parameters
    ----------
    odds, required
        See `log_weight`.

    Returns
    -------
    log_weight
        Of all acyclic graphs.
    share
        Shape (b, b). The probability of the edge i -> j is ``share[i, j] * odds[i, j] / (1 + odds[i, j])``: given that
        j chooses among parents with i allowed, i is one of them with that last probability.
    """
    b = odds.shape[0]
    alpha, fall, best = _tables(odds, required)
    full = best.size - 1
    weight, union, members = _rooms(b)
    g = np.zeros(full + 1)
    g[full] = 1.0
    for u in range(full - 1, -1, -1):
        if best[u] > -np.inf:
            count, _ = _extensions(u, alpha, fall, weight, union, members)
            total = 0.0
            for r in range(1, count):
                total += weight[r] * g[union[r]]
            g[u] = total
    f = np.zeros(full + 1)
    f[0] = 1.0
    share = np.zeros((b, b))
    for u in range(full):
        if f[u] != 0.0:
            count, k = _extensions(u, alpha, fall, weight, union, members)
            for r in range(1, count):
                pushed = weight[r] * f[u]
                f[union[r]] += pushed
                weight[r] = pushed * g[union[r]]
            weight[0] = 0.0
            _add_shares(share, u, weight, members, k)
    return best[full] + math.log(f[full]), share / f[full]


@inner
def _tables(odds: FloatArray, required: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return alpha (b, 2^b), ``exp(best(S) - best(S + j))`` (b, 2^b), and best (2^b), -inf where S cannot be closed."""
    b = odds.shape[0]
    full = (1 << b) - 1
    alpha = np.ones((b, full + 1))
    for j in range(b):
        for i in range(b):
            bit = 1 << i
            for u in range(bit):
                alpha[j, bit + u] = alpha[j, u] * (1.0 + odds[i, j])
        for u in range(full + 1):
            if required[j] & ~u != 0:
                alpha[j, u] = 0.0
    best = np.full(full + 1, -np.inf)
    best[0] = 0.0
    for s in range(1, full + 1):
        for j in range(b):
            before = s & ~(1 << j)
            if before != s and alpha[j, before] > 0.0:
                best[s] = max(best[s], best[before] + math.log(alpha[j, before]))
    fall = np.zeros((b, full + 1))
    for j in range(b):
        for s in range(full + 1):
            after = s | 1 << j
            if after != s and best[s] > -np.inf and best[after] > -np.inf:
                fall[j, s] = math.exp(best[s] - best[after])
    return alpha, fall, best


@inner
def _rooms(b: int) -> tuple[FloatArray, IntArray, IntArray]:
    return np.empty(1 << b), np.empty(1 << b, np.int64), np.empty(b, np.int64)


@inner
def _extensions(
    u: int, alpha: FloatArray, fall: FloatArray, weight: FloatArray, union: IntArray, members: IntArray
) -> tuple[int, int]:
    """List all sets R that may be added to U without edges among them; return how many, and from how many variables.

    Writes the signed factors of f(U) into `weight`, the unions of U and R into `union`, and the variables into
    `members`; R number r holds members[k] if r has bit k.
    """
    weight[0] = -1.0
    union[0] = u
    count, k = 1, 0
    for j in range(alpha.shape[0]):
        if u & 1 << j == 0 and alpha[j, u] > 0.0:
            for r in range(count):
                union[count + r] = union[r] | 1 << j
                weight[count + r] = -weight[r] * (alpha[j, u] * fall[j, union[r]])
            members[k] = j
            count, k = 2 * count, k + 1
    return count, k


@inner
def _add_shares(share: FloatArray, u: int, terms: FloatArray, members: IntArray, k: int) -> None:
    """Add to share[i, j], for i in U, the sum of the terms of all sets R that hold j; overwrites `terms`."""
    for position in range(k - 1, -1, -1):
        half = 1 << position
        total = 0.0
        for r in range(half):
            total += terms[half + r]
            terms[r] += terms[half + r]
        for i in range(share.shape[0]):
            if u >> i & 1:
                share[i, members[position]] += total
