"""Walks over ordered partitions of a block: take a variable out, and draw its place among all there are.

An ordered partition stands for all DAGs whose sources are its first layer, whose sources without that layer are its
second one, and so on. A variable ``j`` has parents among those placed before, ``U``, and at least one of them in the
layer just before, ``R``. With ``alpha_j(U)`` the sum of the weights of its parent sets inside ``U``, the partition has
the weight of its DAGs together,

    W = prod_j [alpha_j(U) - alpha_j(U - R)],    alpha_j({}) in the first layer.

Taken out of L layers, a variable may join one of them or be a layer of its own before, between or after: 2L + 1 places.
What each of them weighs follows from sums from the left (layers that do not see the variable) and from the right
(layers that do); only those that it is a candidate of are looked up again.

A set of variables is one word of 62 bits at most. The table of ``j`` is indexed by sets of its own candidates:
``place[j, i]`` is the bit that ``i`` has there, 0 if it is no candidate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.blocks.scores import IMPOSSIBLE
from alldags.kernels.jit import compiled, inner, tight
from alldags.typing import FloatArray, IntArray

LEAST_SHARE = 1e-10  # of alpha_j(U) that needs the layer before; partitions with less weigh nothing: see `share_of`
UNDERFLOW = 1e-150


class Target(NamedTuple):
    """What is sampled: b variables with at most K candidates each."""

    log_sum: FloatArray  # (b, 2^K), log alpha_j; IMPOSSIBLE where no set is allowed
    place: IntArray  # (b, b), bit of the column's variable in the row's table, 0 if it is no candidate


class Walker(NamedTuple):
    """One ordered partition, and what is known of each variable in it; or t of them, stacked."""

    layers: IntArray  # (b + 1,), words; the first `size[0]` are in use
    size: IntArray  # (1,)
    layer: IntArray  # (b,), number of each variable's layer
    inside: IntArray  # (b,), index of U in its table
    without: IntArray  # (b,), index of U - R
    level: FloatArray  # (b,), log alpha_j(U)
    share: FloatArray  # (b,), 1 - alpha_j(U - R) / alpha_j(U); 1 in the first layer


class Space(NamedTuple):
    """Working space for `relocate`; sums over a layer, (b + 2,), for each of four things that may stand before it."""

    level: FloatArray  # (4, b + 2)
    share: FloatArray  # (4, b + 2), products
    left: FloatArray  # (b + 2,)
    right: FloatArray  # (b + 2,)
    before: IntArray  # (b + 2,), what stands before each layer, in the table of the variable that moves
    options: FloatArray  # (2 b + 1,)


ABSENT, PRESENT, JUST_BEFORE, ALONE_BEFORE = 0, 1, 2, 3  # where the moving variable stands, as a layer sees it


def new_walkers(count: int, b: int) -> Walker:
    """Return a stack of uninitialised walkers; `settle` puts each of them on a partition."""
    zeros = [np.zeros((count, b), dtype=np.int64) for _ in range(3)]
    layers, size = np.zeros((count, b + 1), dtype=np.int64), np.zeros((count, 1), dtype=np.int64)
    return Walker(layers, size, zeros[0], zeros[1], zeros[2], np.zeros((count, b)), np.zeros((count, b)))


@compiled
def one_of(walkers: Walker, w: int) -> Walker:
    """Return one walker of a stack."""
    return Walker(
        walkers.layers[w],
        walkers.size[w],
        walkers.layer[w],
        walkers.inside[w],
        walkers.without[w],
        walkers.level[w],
        walkers.share[w],
    )


def new_space(b: int) -> Space:
    """Return working space for b variables."""
    before = np.zeros(b + 2, dtype=np.int64)
    sums = [np.zeros((4, b + 2)), np.zeros((4, b + 2))]
    return Space(sums[0], sums[1], np.zeros(b + 2), np.zeros(b + 2), before, np.zeros(2 * b + 1))


@tight
def share_of(log_sum: FloatArray, j: int, inside: int, without: int) -> float:
    """Return the share of ``alpha_j(U)`` whose sets meet the layer before.

    Below `LEAST_SHARE` it is rounding, and is taken for none. Taking those parents away leads to a DAG that weighs at
    least so much more, and at most L partitions to the same one: together they weigh less than ``b L LEAST_SHARE``.
    """
    above = log_sum[j, inside]
    if above <= IMPOSSIBLE:
        return 0.0
    share = 1.0 - math.exp(log_sum[j, without] - above)
    return share if share > LEAST_SHARE else 0.0


@tight
def look_up(target: Target, walker: Walker, j: int) -> None:
    """Renew level and share of one variable from the sets before it."""
    log_sum = target.log_sum
    walker.level[j] = log_sum[j, walker.inside[j]]
    walker.share[j] = 1.0
    if walker.layer[j] > 0:
        walker.share[j] = share_of(log_sum, j, walker.inside[j], walker.without[j])


@compiled
def settle(target: Target, walker: Walker, layer: IntArray) -> None:
    """Put a walker on the partition in which variable j is in layer ``layer[j]``, shape (b,), none of them empty."""
    b = layer.shape[0]
    walker.size[0] = 0
    for j in range(b + 1):
        walker.layers[j] = 0
    for j in range(b):
        walker.layer[j] = layer[j]
        walker.layers[layer[j]] |= np.int64(1) << j
        walker.size[0] = max(walker.size[0], layer[j] + 1)
    for j in range(b):
        walker.inside[j] = walker.without[j] = 0
        for i in range(b):
            if layer[i] < layer[j]:
                walker.inside[j] |= target.place[j, i]
            if layer[i] + 1 < layer[j]:
                walker.without[j] |= target.place[j, i]
        look_up(target, walker, j)


@compiled
def log_weight(walker: Walker) -> float:
    """Return the log weight of the partition."""
    total = 0.0
    for j in range(walker.layer.shape[0]):
        total += walker.level[j] + (math.log(walker.share[j]) if walker.share[j] > 0.0 else IMPOSSIBLE)
    return total


@tight
def take_out(target: Target, walker: Walker, v: int) -> None:
    """Remove a variable; its layer, if it was alone there, closes up."""
    layers, layer, from_layer = walker.layers, walker.layer, walker.layer[v]
    bit = np.int64(1) << v
    layers[from_layer] &= ~bit
    closes = layers[from_layer] == 0
    if closes:
        walker.size[0] -= 1
        for level in range(from_layer, walker.size[0]):
            layers[level] = layers[level + 1]
        layers[walker.size[0]] = 0
    for j in range(layer.shape[0]):
        if layer[j] <= from_layer or j == v:
            continue
        if closes:
            layer[j] -= 1
        own = target.place[j, v]
        next_up = closes and layer[j] == from_layer
        if own == 0 and not next_up:
            continue
        walker.inside[j] &= ~own
        walker.without[j] &= ~own
        if next_up:  # the layer before is another one now
            walker.without[j] = walker.inside[j]
            if from_layer > 0:
                for i in range(layer.shape[0]):
                    if layers[from_layer - 1] >> i & 1:
                        walker.without[j] &= ~target.place[j, i]
        look_up(target, walker, j)


@tight
def _multiply(space: Space, case: int, layer: int, level: float, share: float) -> None:
    """Add one variable's factor to a layer's."""
    product = space.share[case, layer] * share
    if 0.0 < product < UNDERFLOW:
        level += math.log(product)
        product = 1.0
    space.share[case, layer] = product
    space.level[case, layer] += level


@tight
def weigh_layers(target: Target, walker: Walker, v: int, space: Space) -> None:
    """Write what each layer weighs if `v` is absent, before, in the layer just before, or that layer on its own."""
    log_sum, count = target.log_sum, walker.size[0]
    for case in range(4):
        for layer in range(count):
            space.level[case, layer] = 0.0
            space.share[case, layer] = 1.0
    for j in range(walker.layer.shape[0]):
        if j == v:
            continue
        layer, level, share = walker.layer[j], walker.level[j], walker.share[j]
        _multiply(space, ABSENT, layer, level, share)
        own = target.place[j, v]
        if own == 0:
            _multiply(space, PRESENT, layer, level, share)
            _multiply(space, JUST_BEFORE, layer, level, share)
            space.share[ALONE_BEFORE, layer] = 0.0
            continue
        inside, without = walker.inside[j], walker.without[j]
        level = log_sum[j, inside | own]
        if layer > 0:
            _multiply(space, PRESENT, layer, level, share_of(log_sum, j, inside | own, without | own))
            _multiply(space, JUST_BEFORE, layer, level, share_of(log_sum, j, inside | own, without))
        if space.share[ALONE_BEFORE, layer] > 0.0:
            _multiply(space, ALONE_BEFORE, layer, level, share_of(log_sum, j, inside | own, inside))


@tight
def _layer_weight(space: Space, case: int, layer: int) -> float:
    share = space.share[case, layer]
    return space.level[case, layer] + math.log(share) if share > 0.0 else IMPOSSIBLE


@tight
def weigh_places(target: Target, walker: Walker, v: int, space: Space) -> int:
    """Write the log weights of all places for `v`: L that join a layer, then L + 1 of its own; return their number."""
    weigh_layers(target, walker, v, space)
    count, left, right, before = walker.size[0], space.left, space.right, space.before
    left[0] = right[count] = 0.0
    before[0] = 0
    for layer in range(count):
        before[layer + 1] = 0
        left[layer + 1] = left[layer] + _layer_weight(space, ABSENT, layer)
    for i in range(walker.layer.shape[0]):
        if i != v and target.place[v, i] != 0:
            before[walker.layer[i] + 1] |= target.place[v, i]
    for layer in range(1, count + 1):
        before[layer] |= before[layer - 1]
    for layer in range(count - 1, 0, -1):
        right[layer] = right[layer + 1] + _layer_weight(space, PRESENT, layer)
    for layer in range(count + 1):
        own = target.log_sum[v, before[layer]]
        if layer > 0:
            share = share_of(target.log_sum, v, before[layer], before[layer - 1])
            own += math.log(share) if share > 0.0 else IMPOSSIBLE
        if layer < count:
            joins = left[layer + 1] + own
            if layer + 1 < count:
                joins += _layer_weight(space, JUST_BEFORE, layer + 1) + right[layer + 2]
            space.options[layer] = joins
        alone = left[layer] + own
        if layer < count:
            alone += _layer_weight(space, ALONE_BEFORE, layer) + right[layer + 1]
        space.options[count + layer] = alone
    return 2 * count + 1


@tight
def put_in(target: Target, walker: Walker, v: int, place: int, space: Space) -> None:
    """Put `v` into one of the places that `weigh_places` numbered."""
    layers, layer, count = walker.layers, walker.layer, walker.size[0]
    alone = place >= count
    to = place - count if alone else place
    if alone:
        for level in range(count, to, -1):
            layers[level] = layers[level - 1]
        layers[to] = 0
        walker.size[0] += 1
    layers[to] |= np.int64(1) << v
    for j in range(layer.shape[0]):
        if j == v or layer[j] < to or (layer[j] == to and not alone):
            continue
        if alone:
            layer[j] += 1
        own = target.place[j, v]
        if own == 0:
            continue
        if layer[j] > to + 1:
            walker.without[j] |= own
        elif alone:
            walker.without[j] = walker.inside[j]
        walker.inside[j] |= own
        look_up(target, walker, j)
    layer[v] = to
    walker.inside[v] = space.before[to]
    walker.without[v] = space.before[to - 1] if to > 0 else 0
    look_up(target, walker, v)


@tight
def choose(options: FloatArray, count: int, power: float, uniform: float) -> int:
    """Return a number drawn with log weights `options` times `power`, which are overwritten."""
    top = options[0]
    for place in range(1, count):
        top = max(top, options[place])
    total = 0.0
    for place in range(count):
        options[place] = math.exp(power * (options[place] - top))
        total += options[place]
    left = uniform * total
    for place in range(count):
        left -= options[place]
        if left < 0.0:
            return place
    place = count - 1
    while options[place] == 0.0:
        place -= 1
    return place


@inner
def relocate(target: Target, walker: Walker, v: int, power: float, space: Space, uniform: float) -> None:
    """Draw a new place for one variable from all there are, given all others; weights are taken to a power."""
    take_out(target, walker, v)
    count = weigh_places(target, walker, v, space)
    put_in(target, walker, v, choose(space.options, count, power, uniform), space)


@compiled
def walk(
    target: Target,
    walkers: Walker,
    powers: FloatArray,
    sweeps: int,
    every: int,
    kept: IntArray,
    log_weights: FloatArray,
    space: Space,
    swaps: IntArray,
    generator: np.random.Generator,
) -> None:
    """Run walkers on the target to decreasing powers, the first one to power 1, exchanging neighbours' partitions.

    Parameters
    ----------
    target, walkers, powers, space
        What is sampled, t walkers (stacked), their powers (t,), and working space.
    sweeps, every
        Number of sweeps over all variables, and after how many of them a partition is kept.
    kept, log_weights
        Results: layers (sweeps // every, b) and log weights (sweeps // every,) of the first walker.
    swaps
        Exchanges made between neighbours are added here, shape (t - 1,).
    generator
        Source of randomness.
    """
    b, count = kept.shape[1], powers.shape[0]
    for sweep in range(sweeps):
        for w in range(count):
            walker = one_of(walkers, w)
            for v in range(b):
                relocate(target, walker, v, powers[w], space, generator.random())
        for w in range(sweep % 2, count - 1, 2):
            here, there = one_of(walkers, w), one_of(walkers, w + 1)
            gain = (powers[w] - powers[w + 1]) * (log_weight(there) - log_weight(here))
            if math.log(1.0 - generator.random()) < gain:
                exchange(here, there)
                swaps[w] += 1
        if (sweep + 1) % every == 0:
            row, first = sweep // every, one_of(walkers, 0)
            log_weights[row] = log_weight(first)
            for j in range(b):
                kept[row, j] = first.layer[j]


@tight
def exchange(one: Walker, other: Walker) -> None:
    """Swap the partitions of two walkers."""
    one.size[0], other.size[0] = other.size[0], one.size[0]
    for i in range(one.layers.shape[0]):
        one.layers[i], other.layers[i] = other.layers[i], one.layers[i]
    for j in range(one.layer.shape[0]):
        one.layer[j], other.layer[j] = other.layer[j], one.layer[j]
        one.inside[j], other.inside[j] = other.inside[j], one.inside[j]
        one.without[j], other.without[j] = other.without[j], one.without[j]
        one.level[j], other.level[j] = other.level[j], one.level[j]
        one.share[j], other.share[j] = other.share[j], one.share[j]
