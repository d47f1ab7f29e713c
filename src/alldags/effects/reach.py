"""The probability that no directed path leads from source to target, exactly where the graph is not too wide."""

from __future__ import annotations

import numpy as np

from alldags.effects.total import TotalEffect
from alldags.models.blocks import parent_places
from alldags.typing import BoolArray, FloatArray

MAX_STATES = 100_000


def probability_no_path(total: TotalEffect, max_states: int = MAX_STATES) -> float | None:
    """Return P(no directed path | data), or None if it cannot be had exactly.

    Goes through the nodes in order with a table over sets of reached nodes. A node stays unreached with the probability
    that its parent set is disjoint from the reached set. Reached nodes that no later node may have as a parent are
    forgotten, and equal sets merged.
    """
    variables = total.span.variables
    if not variables:
        return 1.0
    last_use = _last_uses(total)
    reached: BoolArray = np.zeros((1, len(variables)), dtype=bool)
    reached[0, 0] = True
    weight = np.ones(1)
    for j, child in enumerate(variables[1:], start=1):
        unreached = _unreached(total, child, reached)
        if unreached is None:
            return None
        if j == len(variables) - 1:
            return min(max(float(weight @ unreached), 0.0), 1.0)
        with_child = reached.copy()
        with_child[:, j] = True
        states = np.concatenate([reached, with_child])
        states[:, last_use <= j] = False
        reached, weight = _merge(states, np.concatenate([weight * unreached, weight * (1 - unreached)]))
        if len(weight) > max_states:
            return None
    return None  # pragma: no cover - the loop returns at the target


def _last_uses(total: TotalEffect) -> FloatArray:
    """Return the position of each variable's last candidate child."""
    last = np.zeros(len(total.span))
    for j, child in enumerate(total.span.variables):
        last[[total.span.places[name] for name in total.model.graph.parents(child) if name in total.span.places]] = j
    return last


def _unreached(total: TotalEffect, child: str, reached: BoolArray) -> FloatArray | None:
    """Return the probability that `child` has no reached parent, for each state."""
    node = total.model.node(child)
    own, others = parent_places(node, total.span.places)
    masks = np.zeros((len(reached), len(node.parents)), dtype=bool)
    masks[:, own] = reached[:, others]
    distinct, place = np.unique(masks, axis=0, return_inverse=True)
    probability = node.probability_disjoint(distinct)
    return None if probability is None else probability[place.reshape(-1)]


def _merge(states: BoolArray, weight: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Add up the weights of equal states and drop impossible ones."""
    possible = weight > 0
    distinct, place = np.unique(states[possible], axis=0, return_inverse=True)
    merged = np.bincount(place.reshape(-1), weights=weight[possible], minlength=len(distinct))
    return distinct, np.asarray(merged, dtype=np.float64)
