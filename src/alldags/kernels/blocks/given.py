"""What an ordered partition says: given it variables are independent, and today's recursions hold.

Inside a partition the parents of ``j`` are drawn from the subsets of ``U`` that meet the layer before, ``R``. So the
average of anything over its parent sets is a difference of averages over subsets,

    [a(U) - r a(U - R)] / (1 - r),    r = alpha(U - R) / alpha(U),

and total effects have the moments of a known order (`alldags.effects.total`), partition by partition.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.blocks.partition import IMPOSSIBLE, Target
from alldags.kernels.jit import compiled, inner, tight
from alldags.typing import FloatArray, IntArray


@compiled
def sum_subsets(log_weight: FloatArray, columns: FloatArray) -> None:
    """Turn log weights of sets (2^K,) into logs of sums over subsets, and columns (2^K, C) into averages, in place."""
    size, width = columns.shape
    bit = 1
    while bit < size:
        for s in range(size):
            if not s & bit:
                continue
            low, high = log_weight[s ^ bit], log_weight[s]
            top = max(low, high)
            if top <= IMPOSSIBLE:
                continue
            first, second = math.exp(low - top), math.exp(high - top)
            total = first + second
            log_weight[s] = top + math.log(total)
            first, second = first / total, second / total
            for c in range(width):
                columns[s, c] = first * columns[s ^ bit, c] + second * columns[s, c]
        bit <<= 1


@tight
def sets_before(target: Target, layer: IntArray, j: int) -> tuple[int, int]:
    """Return the indices of U and of U - R in the table of one variable."""
    inside, without = 0, 0
    for i in range(layer.shape[0]):
        if layer[i] < layer[j]:
            inside |= target.place[j, i]
            if layer[i] + 1 < layer[j]:
                without |= target.place[j, i]
    return inside, without


@inner
def average(target: Target, table: FloatArray, layer: IntArray, j: int, out: FloatArray) -> None:
    """Write the averages of a table's columns (b, 2^K, C) over the parent sets of one variable, shape (C,)."""
    inside, without = sets_before(target, layer, j)
    if layer[j] == 0:
        for c in range(out.shape[0]):
            out[c] = table[j, 0, c]
        return
    rest = math.exp(target.log_sum[j, without] - target.log_sum[j, inside])
    for c in range(out.shape[0]):
        value = table[j, inside, c]
        out[c] = (value - rest * table[j, without, c]) / (1.0 - rest) if rest > 0.0 else value


@inner
def causes_first(layer: IntArray, order: IntArray) -> None:
    """Write the variables sorted by layer, shape (b,)."""
    count = 0
    for level in range(layer.shape[0]):
        for j in range(layer.shape[0]):
            if layer[j] == level:
                order[count] = j
                count += 1


@compiled
def average_columns(target: Target, table: FloatArray, layers: IntArray, out: FloatArray) -> None:
    """Write averages of a table's columns (b, 2^K, C) given each partition (N, b), shape (N, b, C)."""
    for row in range(layers.shape[0]):
        for j in range(layers.shape[1]):
            average(target, table, layers[row], j, out[row, j])


@compiled
def first_moments(
    target: Target, mean: FloatArray, where: IntArray, layers: IntArray, start: FloatArray, source: int, out: FloatArray
) -> None:
    """Write the mean effects on the b variables of the block given each partition.

    Parameters
    ----------
    target, mean
        Tables; averages over subsets of the coefficients, shape (b, 2^K, C).
    where
        For each column of `mean` the position of its variable in a vector of e earlier variables and then the block,
        shape (b, C); -1 for none.
    layers
        Partitions, shape (N, b).
    start
        Mean effects on the earlier variables, shape (e,).
    source
        Variable of the block whose effects are meant; -1 if it is an earlier one.
    out
        Result, shape (N, b).
    """
    b, e, width = layers.shape[1], start.shape[0], mean.shape[2]
    effect, own, order = np.zeros(e + b), np.zeros(width), np.zeros(b, dtype=np.int64)
    effect[:e] = start
    for row in range(layers.shape[0]):
        layer = layers[row]
        causes_first(layer, order)
        for place in range(b):
            j = order[place]
            average(target, mean, layer, j, own)
            total = 0.0
            for c in range(width):
                if where[j, c] >= 0 and (where[j, c] < e or layer[where[j, c] - e] < layer[j]):
                    total += own[c] * effect[where[j, c]]
            effect[e + j] = 1.0 if j == source else total
        for j in range(b):
            out[row, j] = effect[e + j]


@compiled
def second_moments(
    target: Target,
    mean: FloatArray,
    second: FloatArray,
    where: IntArray,
    layers: IntArray,
    start: FloatArray,
    source: int,
    out: FloatArray,
    squares: FloatArray,
) -> None:
    """Write the second moments of the effects given each partition; see `first_moments`.

    Parameters
    ----------
    second
        Averages over subsets of the coefficients' second moments, lower triangles, shape (b, 2^K, C (C + 1) / 2).
    start
        Second moments of the effects on the earlier variables, shape (e, e).
    out
        Result: the average over all partitions of the second moments, shape (e + b, e + b).
    squares
        Result: the second moment of each effect given each partition, shape (N, b).
    """
    b, e, width = layers.shape[1], start.shape[0], mean.shape[2]
    now, own, products = np.zeros((e + b, e + b)), np.zeros(width), np.zeros(second.shape[2])
    order, columns, places = np.zeros(b, dtype=np.int64), np.zeros(width, np.int64), np.zeros(width, np.int64)
    now[:e, :e] = start
    for row in range(layers.shape[0]):
        layer = layers[row]
        causes_first(layer, order)
        for place in range(b):
            j = order[place]
            average(target, mean, layer, j, own)
            average(target, second, layer, j, products)
            used = 0
            for c in range(width):
                if where[j, c] >= 0 and (where[j, c] < e or layer[where[j, c] - e] < layer[j]):
                    columns[used], places[used] = c, where[j, c]
                    used += 1
            for k in range(e + place):  # all that stand before, and those of its own layer that are done
                a = k if k < e else e + order[k - e]
                total = 0.0
                for c in range(used):
                    total += own[columns[c]] * now[places[c], a]
                now[e + j, a] = total
                now[a, e + j] = total
            total = 0.0
            for c in range(used):
                base = columns[c] * (columns[c] + 1) // 2
                for d in range(c):
                    total += 2.0 * products[base + columns[d]] * now[places[c], places[d]]
                total += products[base + columns[c]] * now[places[c], places[c]]
            now[e + j, e + j] = total
            if j == source:
                _override(now, e + j, e, place, order)
            squares[row, j] = now[e + j, e + j]
        out += now
    out /= layers.shape[0]


@tight
def _override(now: FloatArray, own: int, e: int, place: int, order: IntArray) -> None:
    """The effect of the source on itself is one, whatever comes before it."""
    for k in range(e + place):
        a = k if k < e else e + order[k - e]
        now[own, a] = 0.0  # what stands before the source is not moved by it
        now[a, own] = 0.0
    now[own, own] = 1.0


@compiled
def draw_parents(
    target: Target, log_weight: FloatArray, layers: IntArray, uniforms: FloatArray, sets: IntArray
) -> None:
    """Draw the parents of every variable given partitions.

    Parameters
    ----------
    target, log_weight
        Tables; log weights of the sets themselves, shape (b, 2^K).
    layers, uniforms
        Partitions (N, b) and uniform random numbers (N, b).
    sets
        Result: indices of the sets in each variable's table, shape (N, b).
    """
    for row in range(layers.shape[0]):
        layer = layers[row]
        for j in range(layer.shape[0]):
            inside, without = sets_before(target, layer, j)
            sets[row, j] = draw_set(target.log_sum[j], log_weight[j], inside, without, layer[j] > 0, uniforms[row, j])


@tight
def draw_set(
    log_sum: FloatArray, log_weight: FloatArray, inside: int, without: int, meets: bool, uniform: float
) -> int:
    """Draw a subset of `inside` by its weight; if it must meet what stands just before, not one of `without`."""
    level = log_sum[inside]
    left = uniform * (1.0 - math.exp(log_sum[without] - level) if meets else 1.0)
    chosen, best, s = inside, IMPOSSIBLE, inside
    while True:
        if log_weight[s] > IMPOSSIBLE and not (meets and (s & ~without) == 0):
            if log_weight[s] > best:
                best, chosen = log_weight[s], s
            left -= math.exp(log_weight[s] - level)
            if left < 0.0:
                return s
        if s == 0:
            break
        s = (s - 1) & inside
    return chosen  # rounding left nothing over: the most probable one
