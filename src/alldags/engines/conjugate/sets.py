"""Single parent sets out of a long list of weights that comes in pieces: draws, the best ones, sums over subsets.

A piece is an array (rows, lanes) of weights; sets are numbered by ``row * lanes + lane`` through all pieces.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from alldags.typing import FloatArray, IntArray


def locate(pieces: Iterable[FloatArray], targets: FloatArray) -> IntArray:
    """Return the number of the set in which the sum of the weights passes each target; targets ascend."""
    found, passed, first, done = [np.zeros(0, dtype=np.int64)], 0.0, 0, 0
    for weights in pieces:
        running = passed + np.cumsum(weights)
        passed = float(running[-1])
        here = int(np.searchsorted(targets, passed))
        found.append(first + np.searchsorted(running, targets[done:here], side="right"))
        first, done = first + weights.size, here
    return np.concatenate([*found, np.full(len(targets) - done, first - 1)])  # rounding at the very end


def heaviest(pieces: Iterable[FloatArray], size: int) -> tuple[FloatArray, IntArray]:
    """Return weights and numbers of the `size` heaviest sets, heaviest first."""
    value, place, first = np.zeros(0), np.zeros(0, dtype=np.int64), 0
    for weights in pieces:
        flat = weights.reshape(-1)
        new = np.argpartition(-flat, min(size, len(flat) - 1))[:size]
        value, place = np.append(value, flat[new]), np.append(place, first + new)
        kept = np.lexsort((place, -value))[:size]
        value, place, first = value[kept], place[kept], first + weights.size
    return value, place


def sum_over_subsets(table: FloatArray) -> None:
    """Replace entry ``e`` of the last axis by the sum of the entries whose bits are all set in e, in place."""
    step = 1
    while step < table.shape[-1]:
        halves = table.reshape(-1, 2, step)
        halves[:, 1] += halves[:, 0]
        step *= 2
