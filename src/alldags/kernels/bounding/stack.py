"""The memory of the certified walk, and how sums are combined on the way back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alldags.kernels.jit import inner
from alldags.typing import BoolArray, FloatArray, IntArray


class Stack(NamedTuple):
    """One row per state on the current path; every array but the first two is indexed by depth first.

    A group of variables that join together is known by its first one.
    """

    leader: IntArray  # (k,) first variable of each one's group
    stop: IntArray  # (k,) first variable after each one's group
    a: FloatArray  # (depth, k, k)
    b: FloatArray  # (depth, k)
    lam: FloatArray  # (depth, k) of the bound, like t and log_odds
    t: FloatArray
    log_odds: FloatArray
    child: FloatArray  # (depth, k) bound of the subtree that adds the group of c
    tail: FloatArray  # (depth, k + 1) sums of child from c on
    own: FloatArray  # (depth,) bound of the state's own block
    log_weight: FloatArray  # (depth,) prior and determinant part
    q: FloatArray  # (depth,) quadratic form of the prefix set
    reach: FloatArray  # (depth,) upper bound of what the later variables can add to it
    size: IntArray  # (depth,) groups
    first: IntArray  # (depth,) first variable that may still join
    next: IntArray  # (depth,) next child
    w: FloatArray  # (depth,) sums of the weights, and so on
    noise: FloatArray  # (depth,)
    inclusion: FloatArray  # (depth, k)
    mean: FloatArray  # (depth, k)
    between: FloatArray  # (depth, k, k) or (depth, 0, 0)
    within: FloatArray
    g: FloatArray  # (k,) working space
    log_x: FloatArray  # (k,)
    poly: FloatArray  # (k + 2,)
    matrices: FloatArray  # (3, k, k)
    vectors: FloatArray  # (4, k)
    kept: FloatArray  # (3, k) the bound a state inherited
    block_a: FloatArray  # (width, width)
    block_b: FloatArray  # (width,)


def make_stack(a: FloatArray, b: FloatArray, heads: BoolArray, reach: float, width: int, second: bool) -> Stack:
    """Allocate the walk's memory, with the whole system at depth 0; `heads` (k,) are the first of each group."""
    k = len(b)
    starts = np.append(np.flatnonzero(heads), k)
    place = np.cumsum(heads) - 1
    depth = len(starts)
    m = k if second else 0
    stack = Stack(
        starts[place], starts[place + 1],
        np.zeros((depth, k, k)), np.zeros((depth, k)), np.zeros((depth, k)), np.zeros((depth, k)),
        np.zeros((depth, k)), np.zeros((depth, k)), np.zeros((depth, k + 1)), np.zeros(depth),
        np.zeros(depth), np.zeros(depth), np.zeros(depth), np.zeros(depth, dtype=np.int64),
        np.zeros(depth, dtype=np.int64), np.zeros(depth, dtype=np.int64),
        np.zeros(depth), np.zeros(depth), np.zeros((depth, k)), np.zeros((depth, k)),
        np.zeros((depth, m, m)), np.zeros((depth, m, m)),
        np.zeros(k), np.zeros(k), np.zeros(k + 2), np.zeros((3, k, k)), np.zeros((4, k)),
        np.zeros((3, k)), np.zeros((width, width)), np.zeros(width),
    )  # fmt: skip
    stack.a[0], stack.b[0], stack.reach[0] = a, b, reach
    return stack


@inner
def extend_child(s: Stack, e: int, v: int, second: bool) -> None:
    """Extend the sums of the state at depth `e` by a variable of the group that led there, but for its first one.

    The system from which it was eliminated is still in its row.
    """
    k = s.b.shape[1]
    alpha, shift = s.a[e, v, v], s.b[e, v]
    value, own_between, own_within = shift * s.w[e], shift * shift * s.w[e], alpha * s.noise[e]
    for c in range(v + 1, k):
        value -= s.a[e, v, c] * s.mean[e, c]
        if second:
            across_between, across_within = shift * s.mean[e, c], 0.0
            for j in range(v + 1, k):
                across_between -= s.between[e, c, j] * s.a[e, v, j]
                across_within -= s.within[e, c, j] * s.a[e, v, j]
            own_between -= s.a[e, v, c] * (shift * s.mean[e, c] + across_between)
            own_within -= s.a[e, v, c] * across_within
            s.between[e, v, c] = s.between[e, c, v] = across_between / alpha
            s.within[e, v, c] = s.within[e, c, v] = across_within / alpha
    s.inclusion[e, v] = s.w[e]
    s.mean[e, v] = value / alpha
    if second:
        s.between[e, v, v] = own_between / (alpha * alpha)
        s.within[e, v, v] = own_within / (alpha * alpha)


@inner
def absorb_child(s: Stack, d: int, v: int, second: bool) -> None:
    """Add the sums of the child that added `v` to those of its parent at depth `d`."""
    k = s.b.shape[1]
    alpha, shift = s.a[d, v, v], s.b[d, v]
    e = d + 1
    value = shift * s.w[e]
    for c in range(v + 1, k):
        value -= s.a[d, v, c] * s.mean[e, c]
        s.inclusion[d, c] += s.inclusion[e, c]
        s.mean[d, c] += s.mean[e, c]
    if second:
        absorb_seconds(s, d, v)
    s.w[d] += s.w[e]
    s.noise[d] += s.noise[e]
    s.inclusion[d, v] += s.w[e]
    s.mean[d, v] += value / alpha


@inner
def absorb_seconds(s: Stack, d: int, v: int) -> None:
    """Second moments of `absorb_child`: the coefficient of `v` is linear in the later ones."""
    k = s.b.shape[1]
    alpha, shift = s.a[d, v, v], s.b[d, v]
    e = d + 1
    own_between, own_within = shift * shift * s.w[e], alpha * s.noise[e]
    for c in range(v + 1, k):
        across_between, across_within = shift * s.mean[e, c], 0.0
        for j in range(v + 1, k):
            across_between -= s.between[e, c, j] * s.a[d, v, j]
            across_within -= s.within[e, c, j] * s.a[d, v, j]
            s.between[d, c, j] += s.between[e, c, j]
            s.within[d, c, j] += s.within[e, c, j]
        own_between -= s.a[d, v, c] * (shift * s.mean[e, c] + across_between)
        own_within -= s.a[d, v, c] * across_within
        s.between[d, v, c] += across_between / alpha
        s.between[d, c, v] += across_between / alpha
        s.within[d, v, c] += across_within / alpha
        s.within[d, c, v] += across_within / alpha
    s.between[d, v, v] += own_between / (alpha * alpha)
    s.within[d, v, v] += own_within / (alpha * alpha)
