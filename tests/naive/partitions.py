"""Slow twin of walks over ordered partitions: every partition, every place, every weight from scratch."""

from __future__ import annotations

import itertools
import math

import numpy as np

NEVER = -1e299


def all_partitions(b):
    """Yield the layer of each of b variables in every ordered partition."""
    for layer in itertools.product(range(b), repeat=b):
        if set(layer) == set(range(max(layer) + 1)):
            yield layer


def layers_of(parents):
    """Layers of a graph: its sources, the sources of what is left, and so on; `parents` is one set per variable."""
    layer, level = {}, 0
    while len(layer) < len(parents):
        free = [j for j, own in enumerate(parents) if j not in layer and own <= layer.keys()]
        layer |= dict.fromkeys(free, level)
        level += 1
    return tuple(layer[j] for j in range(len(parents)))


def subset_sum(score, mates, allowed):
    """Sum of the weights of a node's parent sets inside `allowed`; bit k of a set is the k-th mate."""
    total = 0.0
    for s, value in enumerate(score):
        inside = {mates[k] for k in range(len(mates)) if s >> k & 1}
        if inside <= allowed and value > NEVER:
            total += math.exp(value)
    return total


def log_weight(scores, mates, layer):
    """Log weight of a partition: of all graphs that have its layers."""
    total = 0.0
    for j, level in enumerate(layer):
        before = {i for i, other in enumerate(layer) if other < level}
        two_before = {i for i, other in enumerate(layer) if other < level - 1}
        value = subset_sum(scores[j], mates[j], before)
        if level > 0:
            value -= subset_sum(scores[j], mates[j], two_before)
        if value <= 0.0:
            return -math.inf
        total += math.log(value)
    return total


def places(layer, v):
    """Every partition that putting `v` somewhere else leads to: L that join a layer, then L + 1 of its own."""
    others = sorted({level for j, level in enumerate(layer) if j != v})
    number = {level: i for i, level in enumerate(others)}
    rest = [None if j == v else number[level] for j, level in enumerate(layer)]
    joined = [[at if level is None else level for level in rest] for at in range(len(others))]
    alone = [[at if level is None else level + (level >= at) for level in rest] for at in range(len(others) + 1)]
    return [tuple(one) for one in joined + alone]


def random_tables(rng, b, width, spread=2.0, never=0.0):
    """Random log weights of parent sets (b, 2^width), the mates of each variable, and some sets that cannot be."""
    mates = [sorted(rng.choice([i for i in range(b) if i != j], width, replace=False).tolist()) for j in range(b)]
    scores = spread * rng.normal(size=(b, 1 << width))
    scores[rng.random(scores.shape) < never] = -1e300
    scores[:, 0] = np.maximum(scores[:, 0], -spread)  # no parents is always possible
    return scores, mates
