"""Walks inside Markov classes: turn covered edges around."""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled
from alldags.typing import BoolArray, FloatArray, IntArray


@compiled
def walk_classes(
    parents: IntArray,
    tied: BoolArray,
    sizes: IntArray,
    log_odds: FloatArray,
    log_size: FloatArray,
    tries: IntArray,
    pairs: IntArray,
    generator: np.random.Generator,
) -> None:
    """Replace graphs by other members of their Markov classes, drawn by a walk with the right weights.

    An edge is picked, and if it is covered, its direction is drawn by the prior weights of the two: all else is the
    same for both. The number of edges never changes, so that every step is as likely as its reverse.

    Parameters
    ----------
    parents
        Words of the parents inside the block, shape (N, b); replaced.
    tied
        Pairs that have the same parents from outside, and the same rows, shape (N, b, b).
    sizes
        Numbers of uncertain parents, from outside, too, shape (N, b); replaced.
    log_odds
        Log prior odds of an edge, row = cause, shape (b, b).
    log_size
        Log prior weight of the number of uncertain parents, shape (b, most + 1).
    tries
        Number of edges picked for each graph, shape (N,).
    pairs
        Working space, shape (b (b - 1) / 2, 2).
    generator
        Source of randomness.
    """
    b = parents.shape[1]
    for row in range(parents.shape[0]):
        now, size = parents[row], sizes[row]
        count = 0
        for j in range(b):
            for i in range(b):
                if now[j] >> i & 1:
                    pairs[count, 0], pairs[count, 1] = i, j
                    count += 1
        for _ in range(tries[row] if count > 0 else 0):
            picked = int(count * generator.random())
            i, j = pairs[picked]
            if now[i] >> j & 1:
                i, j = j, i
            one = np.int64(1)
            if not tied[row, i, j] or now[j] != (now[i] | one << i):
                continue
            gain = log_odds[j, i] - log_odds[i, j]
            gain += log_size[i, size[i] + 1] + log_size[j, size[j] - 1] - log_size[i, size[i]] - log_size[j, size[j]]
            if generator.random() * (1.0 + math.exp(-gain)) < 1.0:
                now[j] &= ~(one << i)
                now[i] |= one << j
                size[j] -= 1
                size[i] += 1
