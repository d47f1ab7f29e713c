"""The greedy way from one parent set to another."""

from __future__ import annotations

import numpy as np

from alldags.kernels.jit import compiled
from alldags.kernels.sampler.chain import Chain, Systems, refresh, start, work_limit
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
    patience: int,
    path: IntArray,
    weights: FloatArray,
) -> int:
    """From a parent set, flip each of the uncertain groups `left` once, always the one that gives the heaviest set.

    `left` and `path` (k,) name a group by its first column. `path` gets the order and `weights` (k + 1,) the log
    weights from the start on. Returns the number of flips; it ends early if the last `patience` sets were no heavier
    than one before. `left` is overwritten.
    """
    start(systems, chain, present, setting)
    weights[0] = chain.numbers[LOG_WEIGHT]
    heaviest, steps = 0, 0
    while steps - heaviest < patience:
        best, chosen = -np.inf, np.int64(-1)
        for u in range(systems.starts.shape[0] - 1):
            v = systems.starts[u]
            if left[v] and not systems.certain[v]:
                log_odds = log_odds_of_group(systems, chain, v, systems.starts[u + 1])
                change = -log_odds if chain.present[v] else log_odds
                if chosen < 0 or change > best:
                    best, chosen = change, np.int64(u)
        if chosen < 0:
            break
        first = systems.starts[chosen]
        left[first] = False
        flip_group(systems, chain, first, systems.starts[chosen + 1])
        if chain.counts[WORK] >= work_limit(chain):
            refresh(systems, chain)
        path[steps] = first
        steps += 1
        weights[steps] = weights[steps - 1] + best
        if weights[steps] > weights[heaviest]:
            heaviest = steps
    return steps
