"""Branch and bound over parent sets, with the bounds of `bounding.bounds` added up where it cuts.

The last `width` variables of a fixed order form a block (`kernels.subsets.block`); the others are the *prefix*.
A state of the walk is a set P of prefix variables with all subsets of the block, which are summed at constant cost per
set. Its children add one prefix variable, or a group of several, and keep the later ones. The bound of a state is a
product over the variables that may still join, so it bounds each child's subtree at once, in O(1); as every single set
is bounded by the product over its variables, a group counts with the product of theirs. A child whose bound is below
the threshold is left out and its bound added to the account; any other is entered, at the cost of one Schur complement
for each of its variables. A state's own block is left out in the same way. Sums are combined on the way back, as in the
exact recursion.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.bounding.bounds import log_ratios, residual_shift, tighten
from alldags.kernels.bounding.stack import Stack, absorb_child, extend_child
from alldags.kernels.fastmath import fast_exp
from alldags.kernels.jit import compiled, inner
from alldags.kernels.noise import NoiseTerm, log_term
from alldags.kernels.subsets.block import (
    Block,
    Sums,
    Weights,
    collect_means,
    collect_seconds,
    eliminate_block,
    weigh_block,
)
from alldags.typing import BoolArray, FloatArray

_HUGE = 60.0  # above this log ratio, x and 1 + x are the same number
_LOG_1E30 = 30.0 * math.log(10.0)
_TIGHTEN_FROM = 3  # variables; smaller blocks keep the bound they inherit


class Limits(NamedTuple):
    """Where the walk cuts."""

    threshold: float  # a subtree whose bound is below this is left out
    tighten: float  # a subtree whose bound is above this gets a bound of its own
    budget: int  # work to spend, in parent sets; what remains is then left out


class Walk(NamedTuple):
    """What a walk returns; weights are relative to the reference."""

    w: float
    noise: float
    inclusion: FloatArray
    mean: FloatArray
    between: FloatArray
    within: FloatArray
    left_out: float  # upper bound of the weight of all other sets
    states: int
    work: int  # in parent sets that could have been summed instead
    finished: bool  # False if the budget ran out


@compiled
def chord(noise: NoiseTerm, q: float, reach: float) -> float:
    """Return the slope of a line through ``(q, f(q))`` above f on [q, q + reach]: f is convex, so a chord does.

    Here and in `spread` f must not depend on the number of parents.
    """
    if noise.known:
        return 0.5
    reach = max(reach, 1e-12 * noise.whole)
    nobody = np.int64(0)  # not a literal, for which numba would compile what is called a second time
    return (log_term(noise, q + reach, nobody) - log_term(noise, q, nobody)) / reach


@inner
def size_weight(weights: Weights, size: int) -> float:
    """Return the prior weight of the number of parents; `log_size` has length 1 for independent edges."""
    return 1.0 if weights.log_size.shape[0] == 1 else fast_exp(weights.log_size[size])


@compiled
def spread_bound(s: Stack, d: int, prefix: int, log_base: float) -> None:
    """Write `child` and `tail` from the log ratios in ``s.log_x``, which are added up by groups."""
    k = s.b.shape[1]
    offset = log_base
    product = 1.0
    s.tail[d, prefix] = 0.0
    s.own[d] = fast_exp(max(min(offset, 600.0), -690.0))
    for c in range(k - 1, s.first[d] - 1, -1):
        if s.leader[c] < c:
            s.log_x[c - 1] += s.log_x[c]
            continue
        log_x = s.log_x[c]
        if c < prefix:
            s.child[d, c] = product * fast_exp(max(min(offset + log_x, 600.0), -690.0))
            s.tail[d, c] = s.tail[d, s.stop[c]] + s.child[d, c]
        if log_x <= _HUGE:
            product *= 1.0 + fast_exp(log_x)
        else:
            offset += log_x
        if product > 1e30:
            product *= 1e-30
            offset += _LOG_1E30
        if c == prefix:
            s.own[d] = product * fast_exp(max(min(offset, 600.0), -690.0))


@compiled
def spread_bound_by_size(s: Stack, d: int, prefix: int, weights: Weights, log_base: float) -> None:
    """Like `spread_bound`, with a prior on the number of parents: elementary symmetric polynomials, exactly."""
    k, later = s.b.shape[1], np.int64(-1)  # groups after c
    offset = log_base
    s.tail[d, prefix] = 0.0
    s.poly[0] = 1.0
    s.own[d] = size_weight(weights, s.size[d]) * fast_exp(max(min(offset, 600.0), -690.0))
    for c in range(k - 1, s.first[d] - 1, -1):
        if s.leader[c] < c:
            s.log_x[c - 1] += s.log_x[c]
            continue
        later += 1
        log_x = s.log_x[c]
        if c < prefix:
            total = 0.0
            for i in range(later + 1):
                total += s.poly[i] * size_weight(weights, s.size[d] + 1 + i)
            s.child[d, c] = total * fast_exp(max(min(offset + log_x, 600.0), -690.0))
            s.tail[d, c] = s.tail[d, s.stop[c]] + s.child[d, c]
        up, keep = 1.0, 1.0
        if log_x <= _HUGE:
            up = fast_exp(log_x)
        else:
            keep = fast_exp(max(-log_x, -690.0))
            offset += log_x
        s.poly[later + 1] = up * s.poly[later]
        for i in range(later, 0, -1):
            s.poly[i] = keep * s.poly[i] + up * s.poly[i - 1]
        s.poly[0] *= keep
        offset += _renormalise(s.poly, later + 2)
        if c == prefix:
            s.own[d] = size_total(s, d, weights, later + 2) * fast_exp(max(min(offset, 600.0), -690.0))


@inner
def size_total(s: Stack, d: int, weights: Weights, count: int) -> float:
    """Return the sum of the polynomial's coefficients, each with the weight of its number of parents."""
    total = 0.0
    for i in range(count):
        total += s.poly[i] * size_weight(weights, s.size[d] + i)
    return total


@inner
def _renormalise(poly: FloatArray, count: int) -> float:
    """Divide by the largest and return its logarithm."""
    largest = 0.0
    for i in range(count):
        largest = max(largest, poly[i])
    for i in range(count):
        poly[i] /= largest
    return math.log(largest)


@compiled
def spread(s: Stack, d: int, prefix: int, weights: Weights, slope: float) -> None:
    """Bound all children of the state at depth `d` with its present `lam` and `t`."""
    base = s.log_weight[d] + log_term(weights.noise, s.q[d], np.int64(0)) - weights.reference
    residual_shift(s.a[d], s.b[d], s.first[d], s.t[d], s.g)
    base += log_ratios(s.b[d], s.first[d], s.log_odds[d], slope, s.lam[d], s.t[d], s.g, s.log_x)
    if weights.log_size.shape[0] == 1:
        spread_bound(s, d, prefix, base)
    else:
        spread_bound_by_size(s, d, prefix, weights, base)


@inner
def bound_state(s: Stack, d: int, prefix: int, weights: Weights, limits: Limits) -> int:
    """Bound all children of the state at depth `d`, whose `lam` and `t` are still those of its parent.

    Returns the work; -1 if the root has no bound because the system is numerically singular.
    """
    first, k = s.first[d], s.b.shape[1]
    little = (k - first) ** 2 // 8  # measured: what entering and bounding takes, and below what tightening takes
    slope = chord(weights.noise, s.q[d], s.reach[d])
    if d > 0:
        spread(s, d, prefix, weights, slope)
        if first >= prefix or s.tail[d, first] <= limits.tighten or k - first < _TIGHTEN_FROM:
            return little
        if s.child[d, first] > 0.99 * s.tail[d, first]:
            return little  # the next variable is all but certain: tighten once it has joined
    inherited = s.tail[d, first]
    for c in range(first, k):  # kept in case tightening fails or does not help
        s.kept[0, c], s.kept[1, c], s.kept[2, c] = s.lam[d, c], s.t[d, c], s.log_odds[d, c]
    ok = tighten(
        s.a[d], s.b[d], first, weights.log_factor, weights.has_determinant, slope,
        s.log_odds[d], s.lam[d], s.t[d], s.g, s.log_x, s.matrices, s.vectors,
    )  # fmt: skip
    if ok:
        spread(s, d, prefix, weights, slope)
    if d == 0 and not ok:
        return -1
    if d > 0 and (not ok or s.tail[d, first] > inherited):
        for c in range(first, k):
            s.lam[d, c], s.t[d, c], s.log_odds[d, c] = s.kept[0, c], s.kept[1, c], s.kept[2, c]
        spread(s, d, prefix, weights, slope)
    return (k - first) ** 3


@inner
def enter_child(s: Stack, d: int, v: int, weights: Weights) -> None:
    """Write the state that adds the group of `v`, its first variable, at depth ``d + 1``.

    The first variable is eliminated from the state above, the others of its group in place; row u of ``s.a[d + 1]``
    stays what it was when u was eliminated.
    """
    k, source, e, stop = s.b.shape[1], d, d + 1, s.stop[v]
    for u in range(v, stop):
        alpha, shift = s.a[source, u, u], s.b[source, u]
        gain = shift * shift / alpha
        s.log_weight[e] = s.log_weight[source] + weights.log_factor[u]
        if weights.has_determinant:
            s.log_weight[e] -= 0.5 * math.log(alpha)
        s.q[e] = s.q[source] + gain
        s.reach[e] = max(s.reach[source] - gain, 0.0)
        for i in range(u + 1, k):
            ratio = s.a[source, u, i] / alpha
            for j in range(u + 1, k):
                s.a[e, i, j] = s.a[source, i, j] - ratio * s.a[source, u, j]
            s.b[e, i] = s.b[source, i] - ratio * shift
        source = e
    s.size[e] = s.size[d] + 1
    s.first[e] = stop
    s.next[e] = stop
    for i in range(stop, k):
        s.lam[e, i] = s.lam[d, i]
        s.t[e, i] = s.t[d, i]
        s.log_odds[e, i] = s.log_odds[d, i]


@inner
def clear_sums(s: Stack, d: int, second: bool) -> None:
    """Start the sums of a state with nothing."""
    s.w[d] = 0.0
    s.noise[d] = 0.0
    for i in range(s.first[d], s.b.shape[1]):  # loops, not slices, whose error messages take long to compile
        s.inclusion[d, i] = 0.0
        s.mean[d, i] = 0.0
        if second:
            for j in range(s.first[d], s.b.shape[1]):
                s.between[d, i, j] = 0.0
                s.within[d, i, j] = 0.0


@inner
def sum_block(s: Stack, d: int, prefix: int, weights: Weights, block: Block, sums: Sums, second: bool) -> None:
    """Start the sums of a state with all subsets of the block."""
    k = s.b.shape[1]
    width = k - prefix
    for i in range(width):
        s.block_b[i] = s.b[d, prefix + i]
        for j in range(i + 1):
            s.block_a[i, j] = s.a[d, prefix + i, prefix + j]
    eliminate_block(block, s.block_a, s.block_b, width)
    weigh_block(block, weights, width, s.log_weight[d], s.q[d], s.size[d], s.size[d])
    for i in range(width):
        sums.inclusion[i] = 0.0
    if second:
        collect_seconds(block, sums, width)
    else:
        collect_means(block, sums, width)
    s.w[d] = sums.w[0]
    s.noise[d] = sums.noise[0]
    for i in range(width):
        s.inclusion[d, prefix + i] = sums.inclusion[i]
        s.mean[d, prefix + i] = sums.mean[i]
        if second:
            for j in range(width):
                s.between[d, prefix + i, prefix + j] = sums.between[i, j]
                s.within[d, prefix + i, prefix + j] = sums.within[i, j]


@compiled
def walk(
    s: Stack,
    block: Block,
    sums: Sums,
    width: int,
    weights: Weights,
    limits: Limits,
    path: BoolArray,
    paths: BoolArray,
    values: FloatArray,
    heads: BoolArray | None,
) -> Walk:
    """Sum over the parent sets that matter and bound the rest.

    Parameters
    ----------
    s, block, sums
        Memory, with the system in the order of branching at depth 0 of the stack; second moments are summed if there is
        room for them.
    width
        The last `width` variables form the block.
    weights, limits
        How sets are weighed and where the walk cuts.
    path
        Working space, shape (prefix,); False before.
    paths, values
        Filled with the prefix variables present in each state whose block was summed, shape (count, prefix), and the
        weight of that block, shape (count,); count may be 0.
    heads
        Which variables are the first of their group, as the stack was made with, shape (k,). None: each is alone, and
        numba leaves out what is done with groups.
    """
    k = s.b.shape[1]
    prefix = k - width
    second = s.between.shape[1] > 0
    states, work, left_out, finished = 0, 0, 0.0, True
    d = np.int64(0)  # not a literal, for which numba would compile everything a second time
    entering = True
    while d >= 0:
        if entering:
            entering = False
            if prefix > 0:
                cost = bound_state(s, d, prefix, weights, limits)
                if cost < 0:
                    left_out, finished = math.inf, False
                    break
                work += cost
            clear_sums(s, d, second)
            if prefix > 0 and s.own[d] <= limits.threshold:
                left_out += s.own[d]
            else:
                sum_block(s, d, prefix, weights, block, sums, second)
                if states < values.shape[0]:
                    for i in range(prefix):
                        paths[states, i] = path[i]
                    values[states] = s.w[d]
                states += 1
                work += 1 << width
        v = s.next[d]
        if v == prefix or s.tail[d, v] <= limits.threshold or work >= limits.budget:
            if v < prefix:
                left_out += s.tail[d, v]
                finished = finished and s.tail[d, v] <= limits.threshold
            d -= 1
            if d >= 0:
                v = s.leader[s.next[d] - 1]
                for i in range(v, s.next[d]):
                    path[i] = False
                if heads is not None:
                    for i in range(s.next[d] - 1, v, -1):
                        extend_child(s, d + 1, i, second)
                absorb_child(s, d, v, second)
            continue
        s.next[d] = s.stop[v]
        if s.child[d, v] <= limits.threshold:
            left_out += s.child[d, v]
            continue
        enter_child(s, d, v, weights)
        for i in range(v, s.stop[v]):
            path[i] = True
        d += 1
        entering = True
    return Walk(
        s.w[0], s.noise[0], s.inclusion[0], s.mean[0], s.between[0], s.within[0], left_out, states, work, finished
    )  # fmt: skip
