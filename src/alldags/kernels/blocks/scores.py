"""The parent sets of one node of a block: what each set of mates weighs, and the coefficients' moments given it.

Mates, the candidate parents inside the block, come first; a set of mates is a number whose bit ``i`` is the ``i``-th
mate. Mates are branched on by sweeps, one for every set. At each leaf the earlier candidates are summed over by the
recursion for single nodes (`kernels.subsets`), with the mates in the set, and certain earlier parents, eliminated;
earlier candidates may come in groups that enter and leave as one, mates never do::

    s(P) = sum_Q weight(P + Q),     averages over Q given P

With ``theta_M`` the coefficients of the eliminated parents, ``theta_M = offset - coupling theta_Q + noise``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.fastmath import fast_exp
from alldags.kernels.jit import compiled, inner
from alldags.kernels.noise import NoiseTerm, log_term, residual_rate, variance_factor
from alldags.kernels.subsets.block import Block, make_block, make_sums
from alldags.kernels.subsets.enumeration import Stack, Sums, Weights, make_stack, walk_subsets
from alldags.typing import BoolArray, FloatArray, IntArray

IMPOSSIBLE = -1e300
_OVERFLOW = 1e250


class Node(NamedTuple):
    """The system of one node: k candidates, of which the first are mates, then the earlier ones."""

    precision: FloatArray  # (k, k)
    shift: FloatArray  # (k,)
    log_factor: FloatArray  # (k,)
    log_size: FloatArray  # (uncertain groups + 1,)
    log_columns: FloatArray  # (uncertain columns + 1,), or (1,) where log_size holds it
    log_constant: float
    noise: NoiseTerm
    certain: BoolArray  # (k,)
    column: IntArray  # (k,) column of each candidate in the results
    mates: int
    free: IntArray  # (f,) the uncertain earlier candidates, those alone first, then group by group
    first: IntArray  # (t + 1,) where the groups of the walk's prefix begin among them; the last is f


class Space(NamedTuple):
    """Working space: swept systems along a branch, and that of the recursion over f earlier candidates."""

    swept: FloatArray  # (mates + 1, k + 1, k + 1); the last row belongs to the child, its corner is twice the rate
    members: IntArray  # (k,) what is eliminated
    following: IntArray  # (mates + 1,)
    log_weight: FloatArray  # (mates + 1,)
    scale: FloatArray  # (f,)
    log_factor: FloatArray  # (f,)
    full: FloatArray  # (f, f + 1)
    block: Block
    stack: Stack
    sums: Sums
    across: FloatArray  # (k, f)


class Results(NamedTuple):
    """One row for every set of mates; an array without rows is not wanted. Columns are causes, or packed pairs."""

    score: FloatArray  # (sets,) log weight
    mean: FloatArray  # (sets, c)
    inclusion: FloatArray  # (sets, c)
    noise: FloatArray  # (sets,) mean noise variance
    square: FloatArray  # (sets, c) of each coefficient
    second: FloatArray  # (sets, c (c + 1) / 2), entry (i, j <= i) at i (i + 1) / 2 + j
    between: FloatArray  # the same of the conditional means


def make_space(node: Node, second: bool) -> Space:
    """Allocate working space."""
    k, f = len(node.shift), len(node.free)
    width = int(node.first[0])
    mates = node.mates
    return Space(
        np.empty((mates + 1, k + 1, k + 1)), np.zeros(k, dtype=np.int64), np.zeros(mates + 1, dtype=np.int64),
        np.zeros(mates + 1), np.empty(f), np.empty(f), np.empty((f, f + 1)), make_block(width, np.zeros(f)),
        make_stack(np.zeros((f, f)), np.zeros(f), node.first, second), make_sums(f, second),
        np.empty((k, f)),
    )  # fmt: skip


# -- branching on mates ------------------------------------------------------------------------------------------------


@inner
def sweep(source: FloatArray, target: FloatArray, v: int) -> float:
    """Write the system with variable v eliminated; return half the log of its pivot."""
    size = source.shape[0]
    pivot = source[v, v]
    inverse = 1.0 / pivot
    for i in range(size):
        factor = source[i, v] * inverse
        for j in range(size):
            target[i, j] = source[i, j] - factor * source[v, j]
    for i in range(size):
        target[i, v] = source[i, v] * inverse
        target[v, i] = target[i, v]
    target[v, v] = -inverse
    return 0.5 * math.log(pivot)


@inner
def begin(node: Node, space: Space) -> int:
    """Write the system in which certain earlier parents are eliminated to the bottom; return how many there are."""
    k = node.shift.shape[0]
    bottom = space.swept[0]
    for i in range(k):
        for j in range(k):
            bottom[i, j] = node.precision[i, j]
        bottom[i, k] = node.shift[i]
        bottom[k, i] = node.shift[i]
    bottom[k, k] = 2.0 * node.noise.whole
    space.log_weight[0] = node.log_constant
    count = 0
    for v in range(node.mates, k):
        if node.certain[v]:
            space.log_weight[0] += node.log_factor[v] - sweep_in_place(bottom, v)
            space.members[count] = v
            count += 1
    return count


@inner
def sweep_in_place(system: FloatArray, v: int) -> float:
    """Do what `sweep` does, in place."""
    size = system.shape[0]
    pivot = system[v, v]
    inverse = 1.0 / pivot
    for i in range(size):
        if i != v:
            factor = system[i, v] * inverse
            for j in range(size):
                if j != v:
                    system[i, j] -= factor * system[v, j]
    for i in range(size):
        if i != v:
            system[i, v] *= inverse
            system[v, i] = system[i, v]
    system[v, v] = -inverse
    return 0.5 * math.log(pivot)


@compiled
def tabulate(node: Node, space: Space, results: Results) -> None:
    """Fill one row of the results for every set of mates."""
    always = begin(node, space)
    depth, mates = 0, 0
    needed = 0
    for v in range(node.mates):
        if node.certain[v]:
            needed |= 1 << v
    space.following[0] = 0
    entering = True
    while True:
        if entering:
            if mates & needed == needed:
                leaf(node, space, results, mates, depth, always + depth)
            else:
                results.score[mates] = IMPOSSIBLE
            entering = False
        v = space.following[depth]
        if v >= node.mates:
            if depth == 0:
                break
            depth -= 1
            mates ^= 1 << space.members[always + depth]
            continue
        space.following[depth] = v + 1
        half = sweep(space.swept[depth], space.swept[depth + 1], v)
        space.log_weight[depth + 1] = space.log_weight[depth] + node.log_factor[v] - half
        space.members[always + depth] = v
        mates |= 1 << v
        depth += 1
        space.following[depth] = v + 1
        entering = True


@inner
def uncertain(node: Node, space: Space, count: int) -> int:
    """Return how many of the eliminated parents are uncertain."""
    size = 0
    for u in range(count):
        if not node.certain[space.members[u]]:
            size += 1
    return size


@inner
def given_mates(node: Node, q: float, size: int) -> NoiseTerm:
    """Return the noise function of the earlier candidates, where what is eliminated explains q."""
    whole = node.noise.whole if node.noise.known else residual_rate(node.noise, q)
    step = node.noise.shape_per_parent
    return NoiseTerm(node.noise.known, whole, node.noise.shape + step * size, step)


@inner
def leaf(node: Node, space: Space, results: Results, row: int, depth: int, count: int) -> None:
    """Write the results of one set of mates; `count` parents are eliminated."""
    k = node.shift.shape[0]
    system = space.swept[depth]
    q = 2.0 * node.noise.whole - system[k, k]
    size = uncertain(node, space, count)
    if node.free.shape[0] > 0:
        term = given_mates(node, q, size)
        base = space.log_weight[depth] + (0.5 * q if node.noise.known else 0.0)
        results.score[row] = base + sum_earlier(node, space, system, term, size)
    else:
        results.score[row] = space.log_weight[depth] + node.log_size[size] + log_term(node.noise, q, size)
        rate = residual_rate(node.noise, q)
        space.sums.noise[0] = 1.0 if node.noise.known else rate * variance_factor(node.noise, size)
    if results.mean.shape[0] > 0:
        write_first(node, space, results, row, system, count)
    if results.square.shape[0] > 0 or results.second.shape[0] > 0:
        write_second(node, space, results, row, system, count)


# -- earlier candidates ------------------------------------------------------------------------------------------------


@inner
def sum_earlier(node: Node, space: Space, system: FloatArray, term: NoiseTerm, size: int) -> float:
    """Sum over all sets of uncertain earlier parents; return the log of the total weight, leave averages in `sums`."""
    reference = prepare_earlier(node, space, system, term, size)
    weights = Weights(space.log_factor, node.log_size[size:], columns_from(node, size), True, term, reference)
    sums = space.sums
    width = node.first[0]
    prefixes = 1 << (node.first.shape[0] - 1)
    empty = np.empty((0, 0))
    step = 500.0
    while True:
        clear(sums)
        walk_subsets(weights, width, 0, prefixes, space.block, space.stack, sums, empty)
        total = sums.w[0]
        if total < _OVERFLOW:
            break
        reference += step
        weights = Weights(weights.log_factor, weights.log_size, weights.log_columns, True, term, reference)
        step *= 1.5
    average(sums, total)
    return weights.reference + math.log(total)


@inner
def columns_from(node: Node, size: int) -> FloatArray:
    """Return what the number of columns beyond `size` adds to the log weight; of shape (1,) where that is nothing."""
    return node.log_columns[size:] if node.log_columns.shape[0] > 1 else node.log_columns[:1]


@inner
def clear(sums: Sums) -> None:
    """Set all sums to zero."""
    sums.w[0] = 0.0
    sums.noise[0] = 0.0
    sums.inclusion[:] = 0.0
    sums.mean[:] = 0.0
    sums.between[:] = 0.0
    sums.within[:] = 0.0


@inner
def average(sums: Sums, total: float) -> None:
    """Turn sums into averages."""
    inverse = 1.0 / total
    sums.w[0] = 1.0
    sums.noise[0] *= inverse
    f = sums.mean.shape[0]
    for i in range(f):
        sums.inclusion[i] *= inverse
        sums.mean[i] *= inverse
    for i in range(sums.between.shape[0]):
        for j in range(f):
            sums.between[i, j] *= inverse
            sums.within[i, j] *= inverse


@inner
def prepare_earlier(node: Node, space: Space, system: FloatArray, term: NoiseTerm, size: int) -> float:
    """Scale the earlier candidates' system to a unit diagonal, as the recursion needs it; return a reference weight.

    That is the log weight of the set with none of them, or with all, whichever is larger.
    """
    f, k = node.free.shape[0], node.shift.shape[0]
    top = space.stack.slot.shape[0] - 1
    a, b = space.stack.a[top], space.stack.b[top]
    for i in range(f):
        v = node.free[i]
        space.scale[i] = 1.0 / math.sqrt(system[v, v])
        space.log_factor[i] = node.log_factor[v] + math.log(space.scale[i])
        b[i] = system[v, k] * space.scale[i]
    for i in range(f):
        for j in range(f):
            a[i, j] = system[node.free[i], node.free[j]] * space.scale[i] * space.scale[j]
            space.full[i, j] = a[i, j]
        a[i, i] = 1.0
        space.full[i, f] = b[i]
    width = node.first[0]
    for lane in range(1 << width):
        total = 0.0
        for i in range(width):
            if lane >> (width - 1 - i) & 1:
                total += space.log_factor[i]
        space.block.lane_factor[lane] = total
    none = node.log_size[size] + columns_from(node, size)[0] + log_term(term, 0.0, 0)
    return max(none, all_earlier(node, space, term, size))


@inner
def all_earlier(node: Node, space: Space, term: NoiseTerm, size: int) -> float:
    """Return the log weight of the set with all uncertain earlier parents; very small if that cannot be had."""
    f, full = node.free.shape[0], space.full
    groups, columns = node.first[0] + node.first.shape[0] - 1, columns_from(node, size)
    value, q = node.log_size[size + groups] + columns[columns.shape[0] - 1], 0.0
    for v in range(f):
        pivot = full[v, v]
        if not pivot > 1e-14:
            return IMPOSSIBLE
        q += full[v, f] * full[v, f] / pivot
        value += space.log_factor[v] - 0.5 * math.log(pivot)
        for i in range(v + 1, f):
            factor = full[i, v] / pivot
            for j in range(v + 1, f + 1):
                full[i, j] -= factor * full[v, j]
    return value + log_term(term, q, f)


# -- moments -----------------------------------------------------------------------------------------------------------


@inner
def write_first(node: Node, space: Space, results: Results, row: int, system: FloatArray, count: int) -> None:
    """Write means, inclusions and the noise variance of one set of mates."""
    k, sums = node.shift.shape[0], space.sums
    mean, present = results.mean[row], results.inclusion[row]
    for i in range(node.free.shape[0]):
        column = node.column[node.free[i]]
        mean[column] = sums.mean[i] * space.scale[i]
        present[column] = sums.inclusion[i]
    for u in range(count):
        v = space.members[u]
        value = system[v, k]
        for i in range(node.free.shape[0]):
            value -= system[v, node.free[i]] * sums.mean[i] * space.scale[i]
        mean[node.column[v]] = value
        present[node.column[v]] = 1.0
    if results.noise.shape[0] > 0:
        results.noise[row] = sums.noise[0]


@inner
def write_second(node: Node, space: Space, results: Results, row: int, system: FloatArray, count: int) -> None:
    """Write second moments of one set of mates: of the earlier parents, across, and of the eliminated ones."""
    f = node.free.shape[0]
    for kind in range(2):  # all moments, then those of conditional means
        if kind == 1 and results.between.shape[0] == 0:
            break
        for i in range(f):
            for j in range(i + 1):
                value = space.sums.between[i, j]
                if kind == 0:
                    value += space.sums.within[i, j]
                value *= space.scale[i] * space.scale[j]
                space.full[i, j] = value
                space.full[j, i] = value
                put(results, row, kind, node.column[node.free[i]], node.column[node.free[j]], value)
        write_members(node, space, results, row, system, count, kind)


@inner
def write_members(
    node: Node, space: Space, results: Results, row: int, system: FloatArray, count: int, kind: int
) -> None:
    """Write the second moments that involve eliminated parents."""
    f, k = node.free.shape[0], node.shift.shape[0]
    noise = space.sums.noise[0] if kind == 0 else 0.0
    for u in range(count):
        v = space.members[u]
        for i in range(f):
            value = system[v, k] * space.sums.mean[i] * space.scale[i]
            for j in range(f):
                value -= system[v, node.free[j]] * space.full[j, i]
            space.across[u, i] = value
            put(results, row, kind, node.column[v], node.column[node.free[i]], value)
    for u in range(count):
        v = space.members[u]
        center = system[v, k]
        for i in range(f):
            center -= system[v, node.free[i]] * space.sums.mean[i] * space.scale[i]
        for w in range(u + 1):
            h = space.members[w]
            value = center * system[h, k] - noise * system[v, h]
            for i in range(f):
                value -= space.across[u, i] * system[h, node.free[i]]
            put(results, row, kind, node.column[v], node.column[h], value)


@inner
def put(results: Results, row: int, kind: int, i: int, j: int, value: float) -> None:
    """Write one second moment where it is wanted."""
    if kind == 0 and i == j and results.square.shape[0] > 0:
        results.square[row, i] = value
    high, low = max(i, j), min(i, j)
    place = high * (high + 1) // 2 + low
    if kind == 0 and results.second.shape[0] > 0:
        results.second[row, place] = value
    elif kind == 1:
        results.between[row, place] = value


# -- one set of mates: which earlier parents go with it ----------------------------------------------------------------


@compiled
def draw_earlier(
    node: Node, space: Space, mates: IntArray, uniforms: FloatArray, lanes: FloatArray, chosen: IntArray
) -> None:
    """Draw the earlier parents given each set of mates; equal sets should be neighbours.

    Parameters
    ----------
    node, space
        The node, and working space.
    mates, uniforms
        Sets of mates, and numbers in [0, 1), shape (size,) each.
    lanes
        Working space, shape (prefixes, 2**width).
    chosen
        Result: numbers of sets of earlier parents, as the recursion counts them; shape (size,).
    """
    k, width = node.shift.shape[0], node.first[0]
    prefixes = 1 << (node.first.shape[0] - 1)
    total = 0.0
    flat = lanes.reshape(-1)
    for d in range(mates.shape[0]):
        if d == 0 or mates[d] != mates[d - 1]:
            count = begin(node, space)
            system = space.swept[0]
            for v in range(node.mates):
                if mates[d] >> v & 1:
                    sweep_in_place(system, v)
                    space.members[count] = v
                    count += 1
            size = uncertain(node, space, count)
            term = given_mates(node, 2.0 * node.noise.whole - system[k, k], size)
            log_total = sum_earlier(node, space, system, term, size)
            weights = Weights(space.log_factor, node.log_size[size:], columns_from(node, size), True, term, log_total)
            walk_subsets(weights, width, 0, prefixes, space.block, space.stack, space.sums, lanes)
            total = 0.0
            for i in range(flat.shape[0]):
                total += flat[i]
                flat[i] = total
        chosen[d] = min(np.searchsorted(flat, uniforms[d] * total, side="right"), flat.shape[0] - 1)


# -- sums over subsets -------------------------------------------------------------------------------------------------


@compiled
def average_subsets(score: FloatArray, columns: FloatArray) -> None:
    """Replace log weights by those of all subsets together, and values by their averages over the subsets, in place.

    Two halves are combined at a time: weights are added in the log domain, averages mixed, so that nothing over- or
    underflows. `columns` has shape (sets, any).
    """
    sets, count = columns.shape
    bit = 1
    while bit < sets:
        for s in range(sets):
            if s & bit:
                low, high = score[s ^ bit], score[s]
                if low <= IMPOSSIBLE:
                    continue
                top = max(low, high)
                share_low, share_high = fast_exp(low - top), fast_exp(high - top)
                if high <= IMPOSSIBLE:
                    share_high = 0.0
                total = share_low + share_high
                score[s] = top + math.log(total)
                share_low /= total
                share_high /= total
                below, own = columns[s ^ bit], columns[s]
                for i in range(count):
                    own[i] = share_low * below[i] + share_high * own[i]
        bit <<= 1
