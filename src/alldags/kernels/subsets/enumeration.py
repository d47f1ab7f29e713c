"""All subsets of k parents at constant cost each.

The recursion (docs: "The factorisation") eliminates the last variable of those that remain, absent or present. Here it
is unrolled: the first `width` variables form a block (`kernels.subsets.block`); the others, the *prefix*, come in ``t``
groups that are counted through in binary. Prefix ``p`` has group ``h`` present iff bit ``h`` of ``p`` is set, and going
from ``p - 1`` to ``p`` rebuilds only the levels whose bits changed.

A group of one variable is the usual case. Level ``h`` eliminates the m variables of its group one after the other; it
is rebuilt once in ``2**h`` steps, so that the cost per set stays constant.

There is one walk, not one for sums and others for single sets, and its memory is allocated by the caller: both are for
the sake of the time it takes to compile.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.fastmath import fast_exp
from alldags.kernels.jit import inlined, tight_callable
from alldags.kernels.noise import log_term, residual_rate, variance_factor
from alldags.kernels.subsets.block import (
    WIDTH,
    Block,
    Sums,
    Weights,
    collect_means,
    collect_seconds,
    eliminate_block,
    weigh_block,
)
from alldags.typing import FloatArray, IntArray

__all__ = ["WIDTH", "Stack", "Sums", "Weights", "make_stack", "walk_subsets"]


class Stack(NamedTuple):
    """Partly eliminated systems and partial sums along a prefix; entry h belongs to group h."""

    first: IntArray  # (t + 1,) first variable of each group; the last is f
    a: FloatArray  # (t + 1, f, f)
    b: FloatArray  # (t + 1, f)
    slot: IntArray  # (t + 1,) which entry of a and b holds level h
    log_weight: FloatArray  # (t + 1,)
    q: FloatArray  # (t + 1,)
    size: IntArray  # (t + 1,) groups present
    columns: IntArray  # (t + 1,) their variables
    w: FloatArray  # (t,) sums of the finished absent branch
    noise: FloatArray
    mean: FloatArray  # (t, f)
    between: FloatArray  # (t, f, f)
    within: FloatArray  # (t, f, f)


def make_stack(a: FloatArray, b: FloatArray, first: IntArray, second: bool) -> Stack:
    """Allocate the prefix stack for f variables, with the whole system on top.

    `first` (t + 1,) says where the groups of the prefix begin, and ends with f.
    """
    f, t = len(b), len(first) - 1
    square = f if second else 0
    systems, shifts = np.empty((t + 1, f, f)), np.empty((t + 1, f))
    systems[t], shifts[t] = a, b
    return Stack(
        first, systems, shifts, np.full(t + 1, t), np.zeros(t + 1), np.zeros(t + 1),
        np.zeros(t + 1, dtype=np.int64), np.zeros(t + 1, dtype=np.int64),
        np.zeros(t), np.zeros(t), np.zeros((t, f)), np.zeros((t, square, square)), np.zeros((t, square, square)),
    )  # fmt: skip


# -- the prefix ------------------------------------------------------------------------------------------------------


@inlined
def descend(stack: Stack, weights: Weights, prefix: int, top: int) -> None:
    """Rebuild levels top - 1, ..., 0 of the stack for a prefix; level h has variables 0 .. first[h] - 1 left."""
    for h in range(top - 1, -1, -1):
        source = stack.slot[h + 1]
        stack.slot[h] = source
        stack.log_weight[h] = stack.log_weight[h + 1]
        stack.q[h] = stack.q[h + 1]
        stack.size[h] = stack.size[h + 1]
        stack.columns[h] = stack.columns[h + 1]
        if not prefix >> h & 1:
            continue
        stack.slot[h] = h
        stack.size[h] += 1
        for v in range(stack.first[h + 1] - 1, stack.first[h] - 1, -1):
            eliminate(stack, weights, source, h, v)
            source = h  # the first variable comes from the level above, the others of its group follow in place


@inlined
def eliminate(stack: Stack, weights: Weights, source: int, h: int, v: int) -> None:
    """Write the system `source` with variable v eliminated to level h; its row v stays what it was in `source`."""
    a, b = stack.a[source], stack.b[source]
    new_a, new_b = stack.a[h], stack.b[h]
    inverse = 1.0 / a[v, v]
    center = b[v] * inverse
    for i in range(v):
        factor = a[v, i] * inverse
        new_b[i] = b[i] - a[v, i] * center
        for j in range(i + 1):
            new_a[i, j] = a[i, j] - factor * a[v, j]
    determinant = 0.5 * math.log(a[v, v]) if weights.has_determinant else 0.0
    stack.log_weight[h] = stack.log_weight[h] + weights.log_factor[v] - determinant
    stack.q[h] += b[v] * center
    stack.columns[h] += 1


@inlined
def absorb_present(stack: Stack, sums: Sums, h: int) -> None:
    """Turn sums over subsets of the variables below group h, given it present, into sums that include it."""
    last = stack.first[h + 1] - 1
    for v in range(stack.first[h], last + 1):
        absorb_variable(stack, sums, stack.slot[h + 1] if v == last else h, v)


@inlined
def absorb_variable(stack: Stack, sums: Sums, source: int, v: int) -> None:
    """Extend sums over the variables below v, given v present, by v, which was eliminated from the system `source`."""
    a, b = stack.a[source], stack.b[source]
    inverse = 1.0 / a[v, v]
    center = b[v] * inverse
    w = sums.w[0]
    along = 0.0
    for i in range(v):
        along += a[v, i] * sums.mean[i]
    along *= inverse
    if sums.between.shape[0] > 0:
        spread, pull = 0.0, 0.0
        for i in range(v):
            g, c = 0.0, 0.0
            for j in range(v):
                g += a[v, j] * sums.between[i, j]
                c += a[v, j] * sums.within[i, j]
            spread += a[v, i] * inverse * (c * inverse)
            pull += a[v, i] * inverse * (g * inverse)
            sums.between[v, i] = center * sums.mean[i] - g * inverse
            sums.within[v, i] = -c * inverse
            sums.between[i, v] = sums.between[v, i]
            sums.within[i, v] = sums.within[v, i]
        sums.between[v, v] = center * (center * w - 2.0 * along) + pull
        sums.within[v, v] = inverse * sums.noise[0] + spread
    sums.mean[v] = center * w - along
    sums.inclusion[v] += w


@inlined
def absorb_absent(sums: Sums, v: int) -> None:
    """Extend sums by a variable that is absent throughout."""
    sums.mean[v] = 0.0
    if sums.between.shape[0] > 0:
        for i in range(v + 1):
            sums.between[v, i] = 0.0
            sums.between[i, v] = 0.0
            sums.within[v, i] = 0.0
            sums.within[i, v] = 0.0


@inlined
def exchange_branch(stack: Stack, sums: Sums, h: int, share: float) -> None:
    """Put the sums of the finished absent branch of level h aside (`share` 0), or add those put aside (`share` 1)."""
    seconds, below = sums.between.shape[0] > 0, stack.first[h]
    for i in range(below):
        value = sums.mean[i] + share * stack.mean[h, i]
        sums.mean[i] = value
        stack.mean[h, i] = value
        if seconds:
            for j in range(below):
                between = sums.between[i, j] + share * stack.between[h, i, j]
                within = sums.within[i, j] + share * stack.within[h, i, j]
                sums.between[i, j], stack.between[h, i, j] = between, between
                sums.within[i, j], stack.within[h, i, j] = within, within
    sums.w[0] += share * stack.w[h]
    sums.noise[0] += share * stack.noise[h]
    stack.w[h] = sums.w[0]
    stack.noise[h] = sums.noise[0]


@inlined
def weigh_set(stack: Stack, weights: Weights, sums: Sums) -> None:
    """Start the sums with the one set of a prefix that no block follows: all groups have several variables.

    `kernels.subsets.block.weigh_block` would do, but for one lane most of its time goes into being called.
    """
    noise, columns = weights.noise, stack.columns[0]
    exponent = stack.log_weight[0] - weights.reference + log_term(noise, stack.q[0], columns)
    if weights.log_size.shape[0] > 1:
        exponent += weights.log_size[stack.size[0]]
    if weights.log_columns.shape[0] > 1:
        exponent += weights.log_columns[columns]
    w, variance = fast_exp(exponent), 1.0
    if not noise.known:
        factor = variance_factor(noise, columns)
        variance = residual_rate(noise, stack.q[0]) * factor if factor < math.inf else 0.0
    sums.w[0] = w
    sums.noise[0] = w * variance


# -- the walk --------------------------------------------------------------------------------------------------------


@tight_callable
def walk_subsets(
    weights: Weights,
    width: int,
    first: int,
    count: int,
    block: Block,
    stack: Stack,
    sums: Sums,
    lanes: FloatArray,
) -> None:
    """Visit the subsets with the prefixes asked for.

    Parameters
    ----------
    weights, width
        How a set is weighed; the first `width` variables form a block.
    first, count
        Prefixes in [first, first + count) are visited; `count` is a power of two that divides `first`.
    block, stack
        Working space; the top of the stack is the system of the f uncertain variables, with unit diagonal.
    sums
        Zero before; sums over the subsets after. Second moments are summed if there is room for them.
    lanes
        Shape (count, 2**width): filled with the weight of every set, and nothing is summed; or (0, 0).
    """
    t = stack.slot.shape[0] - 1
    last = first + count - 1
    for prefix in range(first, first + count):
        changed = t
        if prefix > first:
            changed = 1
            while not prefix >> (changed - 1) & 1:
                changed += 1
        descend(stack, weights, prefix, changed)
        if width == 0:
            weigh_set(stack, weights, sums)
            if lanes.shape[0] > 0:
                lanes[prefix - first, 0] = sums.w[0]
                continue
        else:
            slot = stack.slot[0]
            eliminate_block(block, stack.a[slot], stack.b[slot], width)
            weigh_block(block, weights, width, stack.log_weight[0], stack.q[0], stack.size[0], stack.columns[0])
            if lanes.shape[0] > 0:
                for lane in range(1 << width):
                    lanes[prefix - first, lane] = block.w[width % 2, lane]
                continue
            if sums.between.shape[0] > 0:
                collect_seconds(block, sums, width)
            else:
                collect_means(block, sums, width)
        for h in range(t):
            present, both = prefix >> h & 1, count >> h > 1  # both: the two branches of this level are in the range
            if not both and prefix < last:
                break
            if present:
                absorb_present(stack, sums, h)
            if both:
                exchange_branch(stack, sums, h, float(present))
                if not present:
                    break
            elif not present:
                for v in range(stack.first[h], stack.first[h + 1]):
                    absorb_absent(sums, v)
