"""The probability that no directed path leads from source to target, exactly where the graph is not too wide."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from alldags.effects.total import TotalEffect
from alldags.models.blocks import NodeBlock, parent_places
from alldags.models.order_block import OrderBlock
from alldags.nodes.posterior import NodePosterior
from alldags.typing import BoolArray, FloatArray

MAX_STATES = 100_000

_WORD = np.dtype("<u8")  # sets of reached variables are rows of words, variable i is bit i % 64 of word i // 64
Words = NDArray[np.uint64]


def probability_no_effect(total: TotalEffect, max_states: int = MAX_STATES) -> float | None:
    """Return P(no directed path | data), or None if it cannot be had exactly.

    Goes through the blocks in order with a table over sets of reached nodes. A node stays unreached with the
    probability that its parent set is disjoint from the reached set; a block of unknown order is asked itself. Reached
    nodes that no later node may have as a parent are forgotten, and equal sets merged.
    """
    count = len(total.span)
    if not count:
        return 1.0
    last_use = _last_uses(total)
    if _surely_wider(total, last_use, max_states):
        return None
    reached, weight, missed = _words(np.arange(count)[None, :] == 0), np.ones(1), 1.0
    for block in total.blocks:
        if isinstance(block, OrderBlock):
            found = _through_block(total, block, reached, weight, last_use)
        else:
            found = _through_node(total, block, reached, weight, last_use)
        if found is None:
            return None
        states, chances, missed = found
        reached, weight = _merge(states, chances)
        if len(weight) > max_states:
            return None
    return min(max(missed, 0.0), 1.0)


Step: TypeAlias = tuple[Words, FloatArray, float] | None
"""States after a block, their weights, and the probability that its last variable is not reached."""


def _through_node(total: TotalEffect, block: NodeBlock, reached: Words, weight: FloatArray, last: FloatArray) -> Step:
    """Reach one more node, or not."""
    unreached = _unreached(total, block.child, reached)
    if unreached is None:
        return None
    j, places = total.span.places[block.child], np.arange(len(total.span))
    states = np.concatenate([reached, reached | _words(places == j)]) & _words(last > j)
    chances = np.concatenate([weight * unreached, weight * (1 - unreached)])
    return states, chances, float(weight @ unreached)


def _through_block(total: TotalEffect, block: OrderBlock, reached: Words, weight: FloatArray, last: FloatArray) -> Step:
    """Reach some variables of a block."""
    own = [total.span.places[name] for name in block.variables]
    table = _reached_inside(total, block, reached)
    found = None if table is None else _after_block(reached, weight, table, own, last > max(own))
    if table is None or found is None:
        return None
    out = np.arange(table.shape[1]) >> own.index(max(own)) & 1 == 0
    return *found, float(weight @ table[:, out].sum(axis=1))


def _last_uses(total: TotalEffect) -> FloatArray:
    """Return the position of each variable's last candidate child."""
    last = np.zeros(len(total.span))
    for j, child in enumerate(total.span.variables):
        last[[total.span.places[name] for name in total.model.graph.parents(child) if name in total.span.places]] = j
    return last


# -- before it is begun ------------------------------------------------------------------------------------------------


def _surely_wider(total: TotalEffect, last_use: FloatArray, max_states: int) -> bool:
    """Say whether there will surely be more than so many sets, from the number of variables that are needed at once.

    Once some variable is reached, its candidate children may each be reached or not, whatever the others are: where
    so many are needed at the same time, all their subsets occur.
    """
    open_to = np.zeros((len(total.span), len(total.span)), dtype=bool)
    for node in total.nodes():
        j = total.span.places[node.problem.child]
        open_to[:, j] = _may_go_either_way(node, total.span.places, len(total.span))
    places = np.arange(len(total.span))
    needed = (places[:, None] <= places) & (last_use[:, None] > places)  # variable by moment
    return bool(2.0 ** (open_to.astype(float) @ needed).max() > max_states)


def _may_go_either_way(node: NodePosterior, places: dict[str, int], count: int) -> BoolArray:
    """Return whether the node may be reached or not when a parent is reached, by that parent's place."""
    found = np.zeros(count, dtype=bool)
    own, others = parent_places(node, places)
    if node.inclusion is not None and own and node.inclusion[own].max() < 1.0:
        found[others] = node.inclusion[own] > 0.0
    return found


# -- sets of reached variables -----------------------------------------------------------------------------------------


def _unreached(total: TotalEffect, child: str, reached: Words) -> FloatArray | None:
    """Return the probability that `child` has no reached parent, for each state."""
    node = total.model.node(child)
    own, others = parent_places(node, total.span.places)
    distinct, place = _distinct(reached & _words(np.isin(np.arange(len(total.span)), others)))
    masks = np.zeros((len(distinct), len(node.parents)), dtype=bool)
    masks[:, own] = np.unpackbits(distinct.view(np.uint8), axis=1, bitorder="little")[:, others]
    probability = node.probability_disjoint(masks)
    return None if probability is None else probability[place]


_MOST_COMBINED = 2_000_000  # states before equal ones are merged


def _reached_inside(total: TotalEffect, block: OrderBlock, reached: Words) -> FloatArray | None:
    """Return the probability that exactly each set of a block's variables is reached, shape (states, 2^b)."""
    source = block.source(total.span.places)
    e = len(block.problem.earlier)
    if source is not None:
        inside = block.posterior.reached(source, np.zeros((1, e), dtype=bool))
        return None if inside is None else np.broadcast_to(inside, (len(reached), inside.shape[1]))
    pairs = list(block.before(total.span.places))
    others = [place for _, place in pairs]
    distinct, place = _distinct(reached & _words(np.isin(np.arange(len(total.span)), others)))
    masks = np.zeros((len(distinct), e), dtype=bool)
    masks[:, [i for i, _ in pairs]] = np.unpackbits(distinct.view(np.uint8), axis=1, bitorder="little")[:, others]
    inside = block.posterior.reached(None, masks)
    return None if inside is None else inside[place]


def _after_block(
    reached: Words, weight: FloatArray, table: FloatArray, own: list[int], needed: BoolArray
) -> tuple[Words, FloatArray] | None:
    """Return the states after a block, with those of its variables that later nodes need, and their weights."""
    kept = [(bit, place) for bit, place in enumerate(own) if needed[place]]
    sets = np.arange(table.shape[1])
    code = sum(((sets >> bit & 1) << i for i, (bit, _) in enumerate(kept)), start=np.zeros_like(sets))
    if len(weight) << len(kept) > _MOST_COMBINED:
        return None
    chances = np.zeros((1 << len(kept), len(weight)))
    np.add.at(chances, code, table.T)
    members = np.zeros((1 << len(kept), len(needed)), dtype=bool)
    for i, (_, place) in enumerate(kept):
        members[:, place] = np.arange(1 << len(kept)) >> i & 1
    states = (reached[None, :, :] | _words(members)[:, None, :]) & _words(needed)
    return states.reshape(-1, reached.shape[1]), (chances * weight).reshape(-1)


def _merge(states: Words, weight: FloatArray) -> tuple[Words, FloatArray]:
    """Add up the weights of equal states and drop impossible ones."""
    possible = weight > 0
    distinct, place = _distinct(states[possible])
    merged = np.bincount(place, weights=weight[possible], minlength=len(distinct))
    return distinct, np.asarray(merged, dtype=np.float64)


def _words(members: BoolArray) -> Words:
    """Pack sets, shape (..., variables), into words, shape (..., words)."""
    packed = np.packbits(members, axis=-1, bitorder="little")
    room = -packed.shape[-1] % _WORD.itemsize
    padded = np.pad(packed, [(0, 0)] * (packed.ndim - 1) + [(0, room)])
    return np.ascontiguousarray(padded).view(_WORD)


def _distinct(states: Words) -> tuple[Words, NDArray[np.intp]]:
    """Return the distinct rows, and for each row which one it is."""
    order = np.lexsort(states.T)
    ranked = states[order]
    new = np.ones(len(states), dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    place = np.empty(len(states), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return ranked[new], place
