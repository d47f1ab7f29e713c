"""All subsets of k parents at constant cost each.

The recursion (docs: "The factorisation") eliminates the last variable of those that remain, absent or present. Here it
is unrolled: the first `width` variables form a block (`kernels.subsets.block`); the other ``t`` variables, the
*prefix*, are counted through in binary. Prefix ``p`` has variable ``width + h`` present iff bit ``h`` of ``p`` is set,
and going from ``p - 1`` to ``p`` rebuilds only the levels whose bits changed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.engines.kernels.jit import compiled, inner
from alldags.engines.kernels.subsets.block import (
    WIDTH,
    Block,
    Sums,
    Weights,
    collect_means,
    collect_seconds,
    eliminate_block,
    make_block,
    make_sums,
    weigh_block,
)
from alldags.typing import FloatArray, IntArray

__all__ = ["WIDTH", "Sums", "Weights", "best_subsets", "locate_subsets", "sum_subsets", "tabulate_subsets"]


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


@inner
def make_stack(f: int, t: int, second: bool) -> Stack:
    """Allocate the prefix stack for f variables of which t are in the prefix."""
    square = f if second else 0
    return Stack(
        np.empty((t + 1, f, f)), np.empty((t + 1, f)), np.zeros(t + 1, dtype=np.int64), np.zeros(t + 1),
        np.zeros(t + 1), np.zeros(t + 1, dtype=np.int64), np.zeros(t), np.zeros(t), np.zeros((t, f)),
        np.zeros((t, square, square)), np.zeros((t, square, square)),
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
def start(stack: Stack, weights: Weights, a: FloatArray, b: FloatArray, width: int, prefix: int) -> None:
    """Put the whole system on top of the stack and descend to the first prefix."""
    t = stack.slot.shape[0] - 1
    for i in range(b.shape[0]):
        stack.b[t, i] = b[i]
        for j in range(b.shape[0]):
            stack.a[t, i, j] = a[i, j]
    stack.slot[t] = t
    stack.log_weight[t] = 0.0
    stack.q[t] = 0.0
    stack.size[t] = 0
    descend(stack, weights, width, prefix, t)


@inner
def changed_levels(prefix: int) -> int:
    """Return how many low bits differ between `prefix - 1` and `prefix`."""
    count = 1
    while not prefix & 1:
        prefix >>= 1
        count += 1
    return count


@inner
def visit(block: Block, stack: Stack, weights: Weights, width: int, prefix: int, first: int) -> float:
    """Weigh all subsets with this prefix, which follows the one before unless it is the first; return their sum."""
    if prefix > first:
        descend(stack, weights, width, prefix, changed_levels(prefix))
    slot = stack.slot[0]
    eliminate_block(block, stack.a[slot], stack.b[slot], width)
    return weigh_block(block, weights, width, stack.log_weight[0], stack.q[0], stack.size[0])


@inner
def absorb_present(stack: Stack, sums: Sums, width: int, h: int, second: bool) -> None:
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
    if second:
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
def absorb_absent(sums: Sums, v: int, second: bool) -> None:
    """Extend sums by a variable that is absent throughout."""
    sums.mean[v] = 0.0
    if second:
        for i in range(v + 1):
            sums.between[v, i] = 0.0
            sums.between[i, v] = 0.0
            sums.within[v, i] = 0.0
            sums.within[i, v] = 0.0


@inner
def store_branch(stack: Stack, sums: Sums, width: int, h: int, second: bool) -> None:
    """Put the sums of the finished absent branch of level h aside."""
    stack.w[h] = sums.w[0]
    stack.noise[h] = sums.noise[0]
    for i in range(width + h):
        stack.mean[h, i] = sums.mean[i]
        if second:
            for j in range(width + h):
                stack.between[h, i, j] = sums.between[i, j]
                stack.within[h, i, j] = sums.within[i, j]


@inner
def add_branch(stack: Stack, sums: Sums, width: int, h: int, second: bool) -> None:
    """Add the sums put aside at level h."""
    sums.w[0] += stack.w[h]
    sums.noise[0] += stack.noise[h]
    for i in range(width + h):
        sums.mean[i] += stack.mean[h, i]
        if second:
            for j in range(width + h):
                sums.between[i, j] += stack.between[h, i, j]
                sums.within[i, j] += stack.within[h, i, j]


# -- walks over all subsets ------------------------------------------------------------------------------------------


@compiled
def sum_subsets(
    a: FloatArray, b: FloatArray, weights: Weights, width: int, first: int, count: int, second: bool
) -> Sums:
    """Sum over the subsets whose prefix lies in [first, first + count), `count` a power of two that divides `first`.

    `a` (f, f) with unit diagonal and `b` (f,) are precision and shift of the f uncertain variables, of which the first
    `width` form a block; `second` asks for second moments.
    """
    f = b.shape[0]
    t = f - width
    sums = make_sums(f, second)
    block = make_block(width, weights.log_factor)
    stack = make_stack(f, t, second)
    start(stack, weights, a, b, width, first)
    last = first + count - 1
    for prefix in range(first, first + count):
        visit(block, stack, weights, width, prefix, first)
        if second:
            collect_seconds(block, sums, width)
        else:
            collect_means(block, sums, width)
        for h in range(t):
            if count >> h > 1:  # both branches of this level belong to the range
                if not prefix >> h & 1:
                    store_branch(stack, sums, width, h, second)
                    break
                absorb_present(stack, sums, width, h, second)
                add_branch(stack, sums, width, h, second)
            elif prefix == last:
                if prefix >> h & 1:
                    absorb_present(stack, sums, width, h, second)
                else:
                    absorb_absent(sums, width + h, second)
    return sums


@compiled
def locate_subsets(
    a: FloatArray, b: FloatArray, weights: Weights, width: int, targets: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return prefix and lane of the subset in which the cumulative weight passes each target, shape (size,) each.

    Targets must ascend and lie within [0, total weight).
    """
    f = b.shape[0]
    t = f - width
    size = targets.shape[0]
    prefixes, lanes = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    block = make_block(width, weights.log_factor)
    stack = make_stack(f, t, False)
    start(stack, weights, a, b, width, 0)
    leaf = width % 2
    done, passed = 0, 0.0
    for prefix in range(1 << t):
        if done == size:
            break
        total = visit(block, stack, weights, width, prefix, 0)
        if targets[done] < passed + total:
            reached = passed
            for lane in range(1 << width):
                reached += block.w[leaf, lane]
                while done < size and targets[done] < reached:
                    prefixes[done], lanes[done] = prefix, lane
                    done += 1
        passed += total
    for rest in range(max(done, 1), size):  # rounding left a target beyond the very end: it joins the one before
        prefixes[rest], lanes[rest] = prefixes[rest - 1], lanes[rest - 1]
    return prefixes, lanes


@compiled
def best_subsets(
    a: FloatArray, b: FloatArray, weights: Weights, width: int, size: int
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return weight, prefix and lane of the `size` heaviest subsets, heaviest first."""
    f = b.shape[0]
    t = f - width
    best = np.zeros(size)
    prefixes, lanes = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    block = make_block(width, weights.log_factor)
    stack = make_stack(f, t, False)
    start(stack, weights, a, b, width, 0)
    leaf = width % 2
    for prefix in range(1 << t):
        visit(block, stack, weights, width, prefix, 0)
        for lane in range(1 << width):
            value = block.w[leaf, lane]
            if value > best[size - 1]:
                place = size - 1
                while place > 0 and best[place - 1] < value:
                    best[place], prefixes[place], lanes[place] = best[place - 1], prefixes[place - 1], lanes[place - 1]
                    place -= 1
                best[place], prefixes[place], lanes[place] = value, prefix, lane
    return best, prefixes, lanes


@compiled
def tabulate_subsets(a: FloatArray, b: FloatArray, weights: Weights, width: int, listed: IntArray) -> FloatArray:
    """Return the total weight by which of the `listed` variables are present, shape (2**len(listed),).

    Entry ``e`` sums the subsets in which ``listed[i]`` is present iff bit i of e is set.
    """
    f = b.shape[0]
    t = f - width
    table = np.zeros(1 << listed.shape[0])
    lane_entry = np.zeros(1 << width, dtype=np.int64)
    for lane in range(1 << width):
        for i in range(listed.shape[0]):
            if listed[i] < width and lane >> (width - 1 - listed[i]) & 1:
                lane_entry[lane] |= 1 << i
    block = make_block(width, weights.log_factor)
    stack = make_stack(f, t, False)
    start(stack, weights, a, b, width, 0)
    leaf = width % 2
    for prefix in range(1 << t):
        visit(block, stack, weights, width, prefix, 0)
        entry = 0
        for i in range(listed.shape[0]):
            if listed[i] >= width and prefix >> (listed[i] - width) & 1:
                entry |= 1 << i
        for lane in range(1 << width):
            table[entry | lane_entry[lane]] += block.w[leaf, lane]
    return table
