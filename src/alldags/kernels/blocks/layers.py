"""Independent draws of acyclic graphs, layer by layer: first the sources; then each has a parent in the last layer.

With U placed so far and R the last layer, the ways to go on in which exactly N of the others have all their parents in
U weigh ``mu(N) = sum_{X >= N} (-1)^|X - N| prod_X alpha_j(U) g(U + X)``, a Moebius transform of the backward sums. Each
of N must have a parent in R: that leaves the share ``1 - alpha_j(U - R) / alpha_j(U)`` of its parent sets.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.blocks.scores import IMPOSSIBLE
from alldags.kernels.jit import compiled, inner
from alldags.typing import FloatArray, IntArray


@compiled
def draw_layers(
    log_alpha: FloatArray, row: IntArray, d: FloatArray, g: FloatArray, placed: IntArray, last: IntArray,
    uniforms: FloatArray, total: FloatArray, share: FloatArray, members: IntArray, layer: IntArray,
) -> None:  # fmt: skip
    """Draw the next layer of each draw; draws in the same state should be neighbours.

    Parameters
    ----------
    log_alpha, row, d, g
        Tables and backward sums of the block, as for `kernels.blocks.sums`.
    placed, last
        Sets U and R of each draw, shape (size,).
    uniforms
        Numbers in [0, 1), shape (size,).
    total, share, members
        Working space, shapes (2^b,), (2^b,) and (b,).
    layer
        Result: the next layer as a set, shape (size,); empty for a draw that is complete.
    """
    sets = row.shape[1]
    count = 0
    for n in range(placed.shape[0]):
        if placed[n] == sets - 1:
            layer[n] = 0
            continue
        if n == 0 or placed[n] != placed[n - 1] or last[n] != last[n - 1]:
            count = weigh_layers(log_alpha, row, d, g, placed[n], last[n], total, share, members)
        size = 1 << count
        chosen = np.searchsorted(total[:size], uniforms[n] * total[size - 1], side="right")
        chosen = min(chosen, size - 1)
        value = 0
        for i in range(count):
            if chosen >> i & 1:
                value |= 1 << members[i]
        layer[n] = value


@inner
def weigh_layers(
    log_alpha: FloatArray, row: IntArray, d: FloatArray, g: FloatArray, u: int, r: int, total: FloatArray,
    share: FloatArray, members: IntArray,
) -> int:  # fmt: skip
    """Write cumulated weights of the sets of variables not placed, counted by themselves; return how many there are."""
    b = row.shape[0]
    count = 0
    for j in range(b):
        if not u >> j & 1:
            members[count] = j
            count += 1
    size = 1 << count
    total[0] = g[u]
    share[0] = 0.0  # first the log of the product of alpha
    for i in range(count):
        own = log_alpha[members[i], row[members[i], u]]
        for x in range(1 << i):
            share[x | 1 << i] = share[x] + own if own > IMPOSSIBLE and share[x] > IMPOSSIBLE else IMPOSSIBLE
    for x in range(1, size):
        s = u
        for i in range(count):
            if x >> i & 1:
                s |= 1 << members[i]
        possible = share[x] > IMPOSSIBLE and d[s] > IMPOSSIBLE
        total[x] = math.exp(max(share[x] + d[s] - d[u], -700.0)) * g[s] if possible else 0.0
    for i in range(count):
        for x in range(size):
            if not x >> i & 1:
                total[x] -= total[x | 1 << i]
    share[0] = 1.0
    for i in range(count):
        j = members[i]
        own = 1.0
        if u != 0:
            high, low = log_alpha[j, row[j, u]], log_alpha[j, row[j, u & ~r]]
            if high <= IMPOSSIBLE:
                own = 0.0
            elif low > IMPOSSIBLE:
                own = max(-math.expm1(low - high), 0.0)
        for x in range(1 << i):
            share[x | 1 << i] = share[x] * own
    cumulated = 0.0
    total[0] = 0.0
    for x in range(1, size):
        cumulated += max(total[x] * share[x], 0.0)
        total[x] = cumulated
    return count


@compiled
def draw_mates(
    score: FloatArray, row: IntArray, variable: int, placed: IntArray, last: IntArray, uniforms: FloatArray,
    total: FloatArray, sets: IntArray, chosen: IntArray,
) -> None:  # fmt: skip
    """Draw the parents inside the block of one variable, among those placed before, with one in the last layer.

    Parameters
    ----------
    score
        Log weights of its parent sets, shape (rows,).
    row, variable
        Which row belongs to a set.
    placed, last, uniforms
        As for `draw_layers`; draws in the same state should be neighbours.
    total, sets
        Working space, shape (rows,) each.
    chosen
        Result: rows of the parent sets, shape (size,).
    """
    count = 0
    for n in range(placed.shape[0]):
        if n == 0 or placed[n] != placed[n - 1] or last[n] != last[n - 1]:
            inside = row[variable, placed[n]]
            below = row[variable, placed[n] & ~last[n]]
            count = weigh_mates(score, inside, inside & ~below, placed[n] != 0, total, sets)
        place = np.searchsorted(total[:count], uniforms[n] * total[count - 1], side="right")
        chosen[n] = sets[min(place, count - 1)]


@inner
def weigh_mates(score: FloatArray, inside: int, needed: int, needs: bool, total: FloatArray, sets: IntArray) -> int:
    """Write cumulated weights of the subsets of a row that meet another one; return how many there are."""
    top = IMPOSSIBLE
    s = inside
    while True:
        if (not needs or s & needed) and score[s] > top:
            top = score[s]
        if s == 0:
            break
        s = (s - 1) & inside
    count = 0
    cumulated = 0.0
    s = inside
    while True:
        if (not needs or s & needed) and score[s] > top - 45.0:
            cumulated += math.exp(score[s] - top)
            total[count] = cumulated
            sets[count] = s
            count += 1
        if s == 0:
            break
        s = (s - 1) & inside
    return count
