"""The greedy way from one parent set to another."""

from __future__ import annotations

import numpy as np

from alldags.kernels.jit import compiled
from alldags.kernels.sampler.chain import Chain, Systems, log_odds_of, refresh, safe_flip, start, work_limit
from alldags.kernels.sampler.flip import LOG_WEIGHT, WORK
from alldags.kernels.sampler.groups import flip_group, log_odds_of_group
from alldags.typing import BoolArray, FloatArray, IntArray


@compiled
def greedy_path(
    systems: Systems,
    chain: Chain,
    present: BoolArray,
    setting: int,
    left: BoolArray,
    groups: IntArray | None,
    patience: int,
    path: IntArray,
    weights: FloatArray,
) -> int:
    """From a parent set, flip each of the uncertain groups `left` once, always the one that gives the heaviest set.

    They begin at `groups`, or are single columns if that is None. `left` and `path` (k,) name one by its first column.
    `path` gets the order and `weights` (k + 1,) the log weights from the start on. Returns the number of flips; it ends
    early if the last `patience` sets were no heavier than one before. `left` is overwritten.
    """
    start(systems, chain, present, setting)
    weights[0] = chain.numbers[LOG_WEIGHT]
    heaviest, steps = 0, 0
    count = left.shape[0] if groups is None else groups.shape[0] - 1
    while steps - heaviest < patience:
        best, chosen = -np.inf, np.int64(-1)
        for u in range(count):
            v = np.int64(u) if groups is None else groups[u]
            if left[v] and not systems.certain[v]:
                if groups is None:
                    log_odds = log_odds_of(systems, chain, v)
                else:
                    log_odds = log_odds_of_group(systems, chain, v, groups[u + 1])
                change = -log_odds if chain.present[v] else log_odds
                if chosen < 0 or change > best:
                    best, chosen = change, np.int64(u)
        if chosen < 0:
            break
        first = chosen if groups is None else groups[chosen]
        left[first] = False
        if groups is None:
            safe_flip(systems, chain, first)
        else:
            flip_group(systems, chain, first, groups[chosen + 1])
        if chain.counts[WORK] >= work_limit(chain):
            refresh(systems, chain)
        path[steps] = first
        steps += 1
        weights[steps] = weights[steps - 1] + best
        if weights[steps] > weights[heaviest]:
            heaviest = steps
    return steps
