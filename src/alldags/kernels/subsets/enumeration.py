"""All subsets of k parents at constant cost each.

The recursion (docs: "The factorisation") eliminates the last variable of those that remain, absent or present. Here it
is unrolled: the first `width` variables form a block (`kernels.subsets.block`); the other ``t`` variables, the
*prefix*, are counted through in binary. Prefix ``p`` has variable ``width + h`` present iff bit ``h`` of ``p`` is set,
and going from ``p - 1`` to ``p`` rebuilds only the levels whose bits changed.

There is one walk, not one for sums and others for single sets, and its memory is allocated by the caller: both are for
the sake of the time it takes to compile.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.jit import compiled, inner
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
    """Partly eliminated systems and partial sums along a prefix; entry h belongs to variable width + h."""

    a: FloatArray  # (t + 1, f, f)
    b: FloatArray  # (t + 1, f)
    slot: IntArray  # (t + 1,) which entry of a and b holds level h
    log_weight: FloatArray  # (t + 1,)
    q: FloatArray  # (t + 1,)
    size: IntArray  # (t + 1,)
    w: FloatArray  # (t,) sums of the finished absent branch
    noise: FloatArray
    mean: FloatArray  # (t, f)
    between: FloatArray  # (t, f, f)
    within: FloatArray  # (t, f, f)


def make_stack(a: FloatArray, b: FloatArray, t: int, second: bool) -> Stack:
    """Allocate the prefix stack for f variables of which t are in the prefix, with the whole system on top."""
    f = len(b)
    square = f if second else 0
    systems, shifts = np.empty((t + 1, f, f)), np.empty((t + 1, f))
    systems[t], shifts[t] = a, b
    return Stack(
        systems, shifts, np.full(t + 1, t), np.zeros(t + 1), np.zeros(t + 1), np.zeros(t + 1, dtype=np.int64),
        np.zeros(t), np.zeros(t), np.zeros((t, f)), np.zeros((t, square, square)), np.zeros((t, square, square)),
    )  # fmt: skip


# -- the prefix ------------------------------------------------------------------------------------------------------


@inner
def descend(stack: Stack, weights: Weights, width: int, prefix: int, top: int) -> None:
    """Rebuild levels top - 1, ..., 0 of the stack for a prefix; level h has variables 0 .. width + h - 1 left."""
    for h in range(top - 1, -1, -1):
        source = stack.slot[h + 1]
        v = width + h
        if not prefix >> h & 1:
            stack.slot[h] = source
            stack.log_weight[h] = stack.log_weight[h + 1]
            stack.q[h] = stack.q[h + 1]
            stack.size[h] = stack.size[h + 1]
            continue
        a, b = stack.a[source], stack.b[source]
        new_a, new_b = stack.a[h], stack.b[h]
        inverse = 1.0 / a[v, v]
        center = b[v] * inverse
        for i in range(v):
            factor = a[v, i] * inverse
            new_b[i] = b[i] - a[v, i] * center
            for j in range(i + 1):
                new_a[i, j] = a[i, j] - factor * a[v, j]
        stack.slot[h] = h
        determinant = 0.5 * math.log(a[v, v]) if weights.has_determinant else 0.0
        stack.log_weight[h] = stack.log_weight[h + 1] + weights.log_factor[v] - determinant
        stack.q[h] = stack.q[h + 1] + b[v] * center
        stack.size[h] = stack.size[h + 1] + 1


@inner
def absorb_present(stack: Stack, sums: Sums, width: int, h: int) -> None:
    """Turn sums over subsets of the variables below v = width + h, given v present, into sums that include v."""
    v = width + h
    a, b = stack.a[stack.slot[h + 1]], stack.b[stack.slot[h + 1]]
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


@inner
def absorb_absent(sums: Sums, v: int) -> None:
    """Extend sums by a variable that is absent throughout."""
    sums.mean[v] = 0.0
    if sums.between.shape[0] > 0:
        for i in range(v + 1):
            sums.between[v, i] = 0.0
            sums.between[i, v] = 0.0
            sums.within[v, i] = 0.0
            sums.within[i, v] = 0.0


@inner
def exchange_branch(stack: Stack, sums: Sums, width: int, h: int, share: float) -> None:
    """Put the sums of the finished absent branch of level h aside (`share` 0), or add those put aside (`share` 1)."""
    seconds = sums.between.shape[0] > 0
    for i in range(width + h):
        value = sums.mean[i] + share * stack.mean[h, i]
        sums.mean[i] = value
        stack.mean[h, i] = value
        if seconds:
            for j in range(width + h):
                between = sums.between[i, j] + share * stack.between[h, i, j]
                within = sums.within[i, j] + share * stack.within[h, i, j]
                sums.between[i, j], stack.between[h, i, j] = between, between
                sums.within[i, j], stack.within[h, i, j] = within, within
    sums.w[0] += share * stack.w[h]
    sums.noise[0] += share * stack.noise[h]
    stack.w[h] = sums.w[0]
    stack.noise[h] = sums.noise[0]


# -- the walk --------------------------------------------------------------------------------------------------------


@compiled
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
        descend(stack, weights, width, prefix, changed)
        slot = stack.slot[0]
        eliminate_block(block, stack.a[slot], stack.b[slot], width)
        weigh_block(block, weights, width, stack.log_weight[0], stack.q[0], stack.size[0])
        if lanes.shape[0] > 0:
            for lane in range(1 << width):
                lanes[prefix - first, lane] = block.w[width % 2, lane]
            continue
        if sums.between.shape[0] > 0:
            collect_seconds(block, sums, width)
        else:
            collect_means(block, sums, width)
        for h in range(t):
            present = prefix >> h & 1
            if count >> h > 1:  # both branches of this level belong to the range
                if present:
                    absorb_present(stack, sums, width, h)
                exchange_branch(stack, sums, width, h, float(present))
                if not present:
                    break
            elif prefix == last:
                if present:
                    absorb_present(stack, sums, width, h)
                else:
                    absorb_absent(sums, width + h)
