"""What an ordered partition says: given it variables are independent, and the recursions of a known order hold.

Inside a partition the parents of ``j`` are drawn from the subsets of ``U`` that meet the layer before, ``R``. So the
average of anything over its parent sets is a difference of averages over subsets,

    [a(U) - r a(U - R)] / (1 - r),    r = alpha(U - R) / alpha(U),

and total effects have the moments of a known order (`alldags.effects.total`), partition by partition. Vectors have an
entry for each cause: the b variables of the block, then e earlier ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.blocks.partition import Target
from alldags.kernels.blocks.scores import IMPOSSIBLE
from alldags.kernels.jit import compiled, tight
from alldags.typing import FloatArray, IntArray


class Given(NamedTuple):
    """N ordered partitions of b variables, as seen from the tables."""

    layers: IntArray  # (N, b)
    order: IntArray  # (N, b), variables sorted by layer
    inside: IntArray  # (N, b), index of U in each variable's table
    without: IntArray  # (N, b), index of U - R; of U in the first layer
    rest: FloatArray  # (N, b), r; 0 in the first layer


class Tables(NamedTuple):
    """Averages over subsets; a node has C columns, one for each of its candidates."""

    mean: FloatArray  # (b, 2^K, C)
    where: IntArray  # (b, C), the cause that each column belongs to; -1 for a column that is not used


@compiled
def read_partitions(target: Target, given: Given) -> None:
    """Fill in what follows from the layers."""
    b = given.layers.shape[1]
    for row in range(given.layers.shape[0]):
        layer = given.layers[row]
        count = 0
        for level in range(b):
            for j in range(b):
                if layer[j] == level:
                    given.order[row, count] = j
                    count += 1
        for j in range(b):
            inside, without = 0, 0
            for i in range(b):
                if layer[i] < layer[j]:
                    inside |= target.place[j, i]
                    if layer[i] + 1 < layer[j]:
                        without |= target.place[j, i]
            given.inside[row, j], given.without[row, j], given.rest[row, j] = inside, without, 0.0
            if layer[j] > 0:
                given.rest[row, j] = math.exp(target.log_sum[j, without] - target.log_sum[j, inside])


@tight
def average(given: Given, row: int, j: int, table: FloatArray, out: FloatArray) -> None:
    """Write the averages of a node's table (2^K, C) over its parent sets in one partition, shape (C,)."""
    inside, without, rest = given.inside[row, j], given.without[row, j], given.rest[row, j]
    for c in range(out.shape[0]):
        out[c] = (table[inside, c] - rest * table[without, c]) / (1.0 - rest)


@tight
def used_columns(given: Given, row: int, j: int, where: IntArray, columns: IntArray) -> int:
    """Write the columns of a node that belong to causes standing before it; return their number."""
    b, count = given.layers.shape[1], 0
    for c in range(where.shape[1]):
        cause = where[j, c]
        if cause >= b or (cause >= 0 and given.layers[row, cause] < given.layers[row, j]):
            columns[count] = c
            count += 1
    return count


@compiled
def first_moments(
    tables: Tables, given: Given, earlier: FloatArray, source: int, value: float, out: FloatArray
) -> None:
    """Write E[t] of the block given each partition.

    Parameters
    ----------
    tables, given
        Averages, and N partitions.
    earlier
        E[t] of the earlier variables, shape (e,).
    source, value
        Variable of the block at which t is held, -1 for none, and where.
    out
        Result, shape (N, b).
    """
    b, width = given.layers.shape[1], tables.mean.shape[2]
    t, own, columns = np.zeros(b + earlier.shape[0]), np.zeros(width), np.zeros(width, dtype=np.int64)
    t[b:] = earlier
    for row in range(given.layers.shape[0]):
        for place in range(b):
            j = given.order[row, place]
            average(given, row, j, tables.mean[j], own)
            total = 0.0
            for c in range(used_columns(given, row, j, tables.where, columns)):
                total += own[columns[c]] * t[tables.where[j, columns[c]]]
            t[j] = value if j == source else total
            out[row, j] = t[j]


@compiled
def all_effects(tables: Tables, given: Given, count: int, out: FloatArray) -> None:
    """Write sums, and sums of squares, of the mean effects of every cause given a partition, over runs of partitions.

    Parameters
    ----------
    tables, given
        Averages, and N partitions.
    count
        Partitions in each run.
    out
        Result, zero before, shape (N // count, 2, b + e, b).
    """
    b, width, causes = given.layers.shape[1], tables.mean.shape[2], out.shape[2]
    own, columns = np.zeros((b, width)), np.zeros((b, width), dtype=np.int64)
    used, t = np.zeros(b, dtype=np.int64), np.zeros(causes)
    for row in range(out.shape[0] * count):
        for j in range(b):
            average(given, row, j, tables.mean[j], own[j])
            used[j] = used_columns(given, row, j, tables.where, columns[j])
        sums = out[row // count]
        for source in range(causes):
            t[:] = 0.0
            t[source] = 1.0
            for place in range(b):
                j = given.order[row, place]
                if j != source:
                    total = 0.0
                    for c in range(used[j]):
                        total += own[j, columns[j, c]] * t[tables.where[j, columns[j, c]]]
                    t[j] = total
                sums[0, source, j] += t[j]
                sums[1, source, j] += t[j] * t[j]


class Entry(NamedTuple):
    """What comes into a block, for second moments."""

    mean: FloatArray  # (e,), E[t] of the earlier variables
    square: FloatArray  # (e, e), E[t t']
    source: int  # variable at which t is held, -1 for none
    value: float  # where


@compiled
def second_moments(
    tables: Tables,
    second: FloatArray,
    noise: FloatArray,
    given: Given,
    entry: Entry,
    weights: FloatArray,
    out: FloatArray,
    squares: FloatArray,
) -> None:
    """Write E[t t'] of the block.

    Parameters
    ----------
    tables, given, entry
        Averages, N partitions, and what comes in.
    second
        Averages over subsets of the coefficients' second moments, lower triangles, shape (b, 2^K, C (C + 1) / 2).
    noise
        Averages of the variance that a variable's own noise adds, shape (b, 2^K, 1).
    weights
        Of the partitions in the result, shape (N,).
    out, squares
        Results: the weighted sum over partitions, shape (b, b), zero before; E[t^2] given each partition, (N, b).
    """
    b, e, width = given.layers.shape[1], entry.mean.shape[0], tables.mean.shape[2]
    now, t = np.zeros((b + e, b + e)), np.zeros(b + e)
    own, products, extra = np.zeros(width), np.zeros(second.shape[2]), np.zeros(1)
    columns = np.zeros(width, dtype=np.int64)
    now[b:, b:] = entry.square
    t[b:] = entry.mean
    for row in range(given.layers.shape[0]):
        for place in range(b):
            j = given.order[row, place]
            average(given, row, j, tables.mean[j], own)
            average(given, row, j, second[j], products)
            average(given, row, j, noise[j], extra)
            used = used_columns(given, row, j, tables.where, columns)
            _next_second(now, t, tables.where[j], own, products, columns, used, j, given.order[row], place)
            now[j, j] += extra[0]
            if j == entry.source:
                _hold(now, t, j, entry.value, given.order[row], place)
            squares[row, j] = now[j, j]
        for j in range(b):
            for k in range(b):
                out[j, k] += weights[row] * now[j, k]


@tight
def _next_second(
    now: FloatArray,
    t: FloatArray,
    where: IntArray,
    own: FloatArray,
    products: FloatArray,
    columns: IntArray,
    used: int,
    j: int,
    order: IntArray,
    place: int,
) -> None:
    """Write the moments of variable `j` with all that stand before, and with those of its own layer that are done."""
    b, total = order.shape[0], 0.0
    for c in range(used):
        total += own[columns[c]] * t[where[columns[c]]]
    t[j] = total
    for k in range(place + now.shape[0] - b):
        a = order[k] if k < place else b + k - place
        total = 0.0
        for c in range(used):
            total += own[columns[c]] * now[where[columns[c]], a]
        now[j, a] = total
        now[a, j] = total
    total = 0.0
    for c in range(used):
        base, first = columns[c] * (columns[c] + 1) // 2, where[columns[c]]
        for d in range(c):
            total += 2.0 * products[base + columns[d]] * now[first, where[columns[d]]]
        total += products[base + columns[c]] * now[first, first]
    now[j, j] = total


@tight
def _hold(now: FloatArray, t: FloatArray, j: int, value: float, order: IntArray, place: int) -> None:
    """Hold t at a value: nothing before has to do with it any more."""
    b = order.shape[0]
    t[j] = value
    for k in range(place + now.shape[0] - b):
        a = order[k] if k < place else b + k - place
        now[j, a] = value * t[a]
        now[a, j] = value * t[a]
    now[j, j] = value * value


@compiled
def draw_mates(
    log_sum: FloatArray, score: FloatArray, given: Given, chosen: IntArray, uniforms: FloatArray, sets: IntArray
) -> None:
    """Draw the parents inside the block of every variable.

    Parameters
    ----------
    log_sum, score
        Log weights of all subsets together, and of the sets themselves, shape (b, 2^K) each.
    given, chosen
        N partitions, and which of them each draw belongs to, shape (size,).
    uniforms
        Numbers in [0, 1), shape (size, b).
    sets
        Result: indices of the sets in each variable's table, shape (size, b).
    """
    for n in range(chosen.shape[0]):
        row = chosen[n]
        for j in range(uniforms.shape[1]):
            meets = given.layers[row, j] > 0
            inside, without = given.inside[row, j], given.without[row, j]
            sets[n, j] = draw_set(log_sum[j], score[j], inside, without, meets, uniforms[n, j])


@tight
def draw_set(log_sum: FloatArray, score: FloatArray, inside: int, without: int, meets: bool, uniform: float) -> int:
    """Draw a subset of `inside` by its weight; if it must meet what stands just before, none of `without`."""
    level = log_sum[inside]
    left = uniform * (1.0 - math.exp(log_sum[without] - level) if meets else 1.0)
    chosen, best, s = inside, IMPOSSIBLE, inside
    while True:
        if score[s] > IMPOSSIBLE and not (meets and (s & ~without) == 0):
            if score[s] > best:
                best, chosen = score[s], s
            left -= math.exp(score[s] - level)
            if left < 0.0:
                return s
        if s == 0:
            return chosen  # rounding left nothing over: the most probable one
        s = (s - 1) & inside


@compiled
def draw_start(target: Target, score: FloatArray, generator: np.random.Generator, layer: IntArray) -> None:
    """Write the layers (b,) of a graph drawn given a random order: a partition that weighs something, far from others.

    Each variable draws its parents from those before it. An order that a certain edge forbids is not drawn.
    """
    b = layer.shape[0]
    before = np.zeros(b, dtype=np.int64)
    layer[:] = -1
    for _ in range(b):
        count, picked = 0, -1
        for j in range(b):
            if layer[j] < 0 and target.log_sum[j, before[j]] > IMPOSSIBLE:
                count += 1
                if generator.random() * count < 1.0:
                    picked = j
        chosen = draw_set(target.log_sum[picked], score[picked], before[picked], 0, False, generator.random())
        layer[picked] = 0
        for i in range(b):
            if chosen & target.place[picked, i]:
                layer[picked] = max(layer[picked], layer[i] + 1)
        for j in range(b):
            before[j] |= target.place[j, picked]
