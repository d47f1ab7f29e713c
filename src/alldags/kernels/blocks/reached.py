"""Which variables of a block a directed path leads to, summed over all acyclic graphs.

The variables that are not reached, C, have parents in C and among earlier variables that are not reached; each reached
one has at least one reached parent. So the graphs in which exactly D, the others, are reached are counted like all
graphs (`kernels.blocks.sums`), on top of those on C, with ``alpha_j(U) - lower_j(C)`` in place of ``alpha_j(U)``: the
parent sets inside U less those without a reached member.
"""

from __future__ import annotations

import math

from alldags.kernels.blocks.scores import IMPOSSIBLE
from alldags.kernels.blocks.sums import CUT, Pairs, Weights
from alldags.kernels.jit import compiled, inner
from alldags.typing import FloatArray


@inner
def list_reached(weights: Weights, level: FloatArray, u: int, pairs: Pairs) -> int:
    """Do what `kernels.blocks.sums.list_pairs` does, with these log weights of the variables outside."""
    b = weights.row.shape[0]
    sets, log_factor, factor = pairs.sets, pairs.log_factor, pairs.factor
    sets[0] = u
    log_factor[0] = 0.0
    factor[0] = -1.0
    count = 1
    base = weights.scale[u]
    for j in range(b):
        if u >> j & 1 or level[j] <= IMPOSSIBLE:
            continue
        added = count
        for i in range(count):
            s = sets[i] | (1 << j)
            value = log_factor[i] + level[j]
            exponent = value + base - weights.scale[s]
            if exponent < CUT or weights.scale[s] <= IMPOSSIBLE:
                continue
            sets[added] = s
            log_factor[added] = value
            factor[added] = math.exp(exponent) if factor[i] < 0.0 else -math.exp(exponent)
            added += 1
        count = added
    return count


@compiled
def fill_reached(
    weights: Weights, lower: FloatArray, without: FloatArray, source: int, pairs: Pairs, work: FloatArray,
    level: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """Write, for each set D, the weight of the graphs in which exactly D is reached.

    Parameters
    ----------
    weights
        `weights.scale` is c; `log_alpha` counts all parent sets.
    lower
        The same without parent sets that hold a reached earlier variable, shape (b, rows).
    without
        Weight of the graphs on each set, counted with `lower`, in units of ``e^c``, shape (2^b,).
    source
        The variable at which paths start; it has no reached parent. -1: paths start outside.
    pairs, work, level
        Working space; `work` has shape (2^b,), `level` (b,).
    out
        Result, shape (2^b,).
    """
    b, sets = weights.row.shape
    full = sets - 1
    for c in range(sets):
        out[full ^ c] = 0.0
        if without[c] == 0.0 or (source >= 0 and c >> source & 1):
            continue
        first = c
        value = without[c]
        if source >= 0:
            first = c | (1 << source)
            own = lower[source, weights.row[source, c]]
            if own <= IMPOSSIBLE or weights.scale[first] <= IMPOSSIBLE:
                continue
            value *= math.exp(weights.scale[c] + own - weights.scale[first])
        rest = full ^ first
        sub = rest
        while sub:
            work[first | sub] = 0.0
            sub = (sub - 1) & rest
        work[first] = value
        sub = 0
        while True:  # subsets of the rest, in increasing order
            u = first | sub
            if work[u] != 0.0 and u != full:
                for j in range(b):
                    if not u >> j & 1:
                        level[j] = difference(weights.log_alpha[j, weights.row[j, u]], lower[j, weights.row[j, c]])
                for i in range(1, list_reached(weights, level, u, pairs)):
                    work[pairs.sets[i]] += pairs.factor[i] * work[u]
            if sub == rest:
                break
            sub = (sub - rest) & rest
        out[full ^ c] = work[full]


@inner
def difference(high: float, low: float) -> float:
    """Return ``log(e^high - e^low)``; impossible if nothing remains."""
    if high <= IMPOSSIBLE:
        return IMPOSSIBLE
    if low <= IMPOSSIBLE:
        return high
    share = math.exp(low - high)
    return high + math.log1p(-share) if share < 1.0 else IMPOSSIBLE
