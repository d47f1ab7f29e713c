"""Sums over all acyclic graphs of a block of b variables, by one signed sum over pairs of sets.

``U`` and ``S`` are sets of variables, numbers whose bit j is variable j. ``alpha_j(U)`` is the weight of all parent
sets of j inside U (`kernels.blocks.scores.average_subsets`). A set is *closed* if no edge enters it from outside. The
graphs on S in which at least the variables of ``R = S - U`` are without children weigh ``prod_R alpha_j(U)`` times
the graphs on U, so that by inclusion and exclusion::

    f(S) = sum_{U < S} (-1)^(|S - U| + 1) prod_{j in S - U} alpha_j(U) f(U)         all graphs on S
    g(U) = sum_{R}     (-1)^(|R| + 1)     prod_{j in R}     alpha_j(U) g(U + R)     all ways to go on from U

Everything is relative to the best order: with ``c(S) = max_j c(S - j) + log alpha_j(S - j)``, ``f(S) / e^c(S)`` lies in
[1, |S|!]; ``d`` does the same for g. Each term is the weight of some graphs, and so at most the sum: the signs are
harmless (docs: "Unknown order").

A number t that is carried along edges, ``t_j = sum_i theta_ij t_i``, such as a total effect, is summed the same way:
when variables R are added to U, all t inside U stay as they are, and those of R are regressions on U.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from alldags.kernels.blocks.scores import IMPOSSIBLE
from alldags.kernels.jit import compiled, inner
from alldags.typing import BoolArray, FloatArray, IntArray

CUT = -60.0  # log of a factor, relative to the best order, below which a term is left out


class Weights(NamedTuple):
    """What the graphs of a block weigh."""

    log_alpha: FloatArray  # (b, rows)
    row: IntArray  # (b, 2^b) row of each node's tables that belongs to a set; -1 if the node is in the set
    scale: FloatArray  # (2^b,) c, or minus d
    keep: BoolArray  # (2^b,) closed sets that carry weight


class Pairs(NamedTuple):
    """Working space: the sets that follow on one closed set, with their signed factors; (2^b,) each."""

    sets: IntArray
    log_factor: FloatArray
    factor: FloatArray


@compiled
def fill_rows(candidates: IntArray, count: IntArray, row: IntArray) -> None:
    """Write which row of a node's table belongs to each set; bit q of a row is the node's q-th candidate."""
    b, sets = row.shape
    for j in range(b):
        for s in range(sets):
            if s >> j & 1:
                row[j, s] = -1
                continue
            value = 0
            for q in range(count[j]):
                value |= (s >> candidates[j, q] & 1) << q
            row[j, s] = value


@compiled
def fill_scales(log_alpha: FloatArray, row: IntArray, c: FloatArray, d: FloatArray) -> None:
    """Write the log weights of the best orders: of the graphs on each set, and of the ways to go on from it."""
    b, sets = row.shape
    for s in range(sets):
        best = 0.0 if s == 0 else IMPOSSIBLE
        for j in range(b):
            if s >> j & 1:
                before = c[s ^ (1 << j)]
                own = log_alpha[j, row[j, s ^ (1 << j)]]
                if before > IMPOSSIBLE and own > IMPOSSIBLE:
                    best = max(best, before + own)
        c[s] = best
    for s in range(sets - 1, -1, -1):
        best = 0.0 if s == sets - 1 else IMPOSSIBLE
        for j in range(b):
            if not s >> j & 1:
                after = d[s | (1 << j)]
                own = log_alpha[j, row[j, s]]
                if after > IMPOSSIBLE and own > IMPOSSIBLE:
                    best = max(best, after + own)
        d[s] = best


@inner
def list_pairs(weights: Weights, u: int, pairs: Pairs) -> int:
    """List the sets U + R with their factors ``(-1)^(|R| + 1) prod_R alpha_j(U)``, scaled; return how many.

    Factors never grow with R, so that sets beyond one that is left out are left out, too. The first entry is U itself,
    with factor -1.
    """
    b = weights.row.shape[0]
    sets, log_factor, factor = pairs.sets, pairs.log_factor, pairs.factor
    sets[0] = u
    log_factor[0] = 0.0
    factor[0] = -1.0
    count = 1
    base = weights.scale[u]
    for j in range(b):
        if u >> j & 1:
            continue
        own = weights.log_alpha[j, weights.row[j, u]]
        if own <= IMPOSSIBLE:
            continue
        added = count
        for i in range(count):
            s = sets[i] | (1 << j)
            if not weights.keep[s]:
                continue
            value = log_factor[i] + own
            exponent = value + base - weights.scale[s]
            if exponent < CUT:
                continue
            sets[added] = s
            log_factor[added] = value
            factor[added] = math.exp(exponent) if factor[i] < 0.0 else -math.exp(exponent)
            added += 1
        count = added
    return count


@compiled
def fill_forward(weights: Weights, pairs: Pairs, f: FloatArray) -> None:
    """Write f(S) / e^c(S); `weights.scale` is c."""
    f[:] = 0.0
    f[0] = 1.0
    for u in range(f.shape[0] - 1):
        if weights.keep[u]:
            for i in range(1, list_pairs(weights, u, pairs)):
                f[pairs.sets[i]] += pairs.factor[i] * f[u]


@compiled
def fill_backward(weights: Weights, pairs: Pairs, g: FloatArray) -> None:
    """Write g(U) / e^d(U); `weights.scale` is minus d."""
    last = g.shape[0] - 1
    g[:] = 0.0
    g[last] = 1.0
    for u in range(last - 1, -1, -1):
        if weights.keep[u]:
            total = 0.0
            for i in range(1, list_pairs(weights, u, pairs)):
                total += pairs.factor[i] * g[pairs.sets[i]]
            g[u] = total


@compiled
def fill_shares(weights: Weights, pairs: Pairs, f: FloatArray, closed: FloatArray, omega: FloatArray) -> None:
    """Write the signed shares ``omega_j(U)`` of the total that fall to j choosing its parents inside U.

    They sum to one over U, for every j.

    Parameters
    ----------
    weights, pairs
        `weights.scale` is c.
    f, closed
        Forward sums, and backward ones times ``e^(c + d)`` over the total, shape (2^b,).
    omega
        Result, shape (b, rows), zero before.
    """
    b = weights.row.shape[0]
    for u in range(f.shape[0] - 1):
        if not weights.keep[u]:
            continue
        for i in range(1, list_pairs(weights, u, pairs)):
            s = pairs.sets[i]
            value = pairs.factor[i] * f[u] * closed[s]
            added = s & ~u
            for j in range(b):
                if added >> j & 1:
                    omega[j, weights.row[j, u]] += value


# -- first moments -----------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """What is carried through a block, for q questions at once."""

    source: IntArray  # (q,) variable at which t is held fixed, or -1
    value: FloatArray  # (q,) where it is held
    earlier: FloatArray  # (q, e) t of the earlier variables
    through: int  # only what passes through this variable counts, or -1


@compiled
def carry_first(
    weights: Weights, pairs: Pairs, mean: FloatArray, entry: Entry, f: FloatArray, own: FloatArray, first: FloatArray
) -> None:
    """Write the sums of t over the graphs on every set.

    Parameters
    ----------
    weights, pairs, f
        As for `fill_forward`.
    mean
        Average coefficients over the parent sets inside each set, shape (b, rows, b + e).
    entry
        The questions.
    own
        Working space, shape (q, b).
    first
        Result, shape (2^b, q, b), zero before.
    """
    b = weights.row.shape[0]
    count, e = entry.earlier.shape
    width = count * b
    flat_own = own.reshape(-1)
    for u in range(f.shape[0] - 1):
        if not weights.keep[u]:
            continue
        passed = entry.through >= 0 and u >> entry.through & 1
        for y in range(b):
            if u >> y & 1:
                for q in range(count):
                    own[q, y] = first[u, q, y]
                continue
            row = mean[y, weights.row[y, u]]
            for q in range(count):
                total = 0.0
                if y == entry.source[q] and not passed:
                    total = entry.value[q] * f[u]
                else:
                    for i in range(b):
                        if u >> i & 1:
                            total += row[i] * first[u, q, i]
                    if not passed:
                        for i in range(e):
                            total += row[b + i] * entry.earlier[q, i] * f[u]
                own[q, y] = total
        found = list_pairs(weights, u, pairs)
        for i in range(1, found):
            s, factor = pairs.sets[i], pairs.factor[i]
            if entry.through >= 0 and not passed and s >> entry.through & 1:
                for q in range(count):
                    first[s, q, entry.through] += factor * own[q, entry.through]
                continue
            target = first[s].reshape(-1)
            for h in range(width):
                target[h] += factor * flat_own[h]
