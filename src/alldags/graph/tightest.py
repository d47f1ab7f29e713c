"""The cycle whose edges are the most probable together: no acyclic graph holds all of them."""

from __future__ import annotations

import numpy as np

from alldags.typing import FloatArray


def tightest_cycle(stated: FloatArray) -> tuple[list[int], float]:
    """Return positions along the cycle with the least sum of ``1 - probability``, first = last, and that sum.

    In every acyclic graph at least one edge of the cycle is absent, so the sum cannot be below 1.

    Parameters
    ----------
    stated
        Probability of each edge, row = cause, shape (b, b); 0 means that there is none. A cycle must exist.
    """
    b = len(stated)
    distance = np.where(stated > 0.0, 1.0 - stated, np.inf)
    following = np.tile(np.arange(b), (b, 1))  # the next stop on the way from i to j
    for middle in range(b):
        through = distance[:, [middle]] + distance[[middle], :]
        shorter = through < distance
        distance = np.where(shorter, through, distance)
        following = np.where(shorter, following[:, [middle]], following)
    start = int(np.argmin(np.diag(distance)))
    walk = [start]
    while len(walk) == 1 or walk[-1] != start:
        walk.append(int(following[walk[-1], start]))
    return walk, float(distance[start, start])
