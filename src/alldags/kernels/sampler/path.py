"""The greedy way from one parent set to another."""

from __future__ import annotations

import numpy as np

from alldags.kernels.jit import compiled
from alldags.kernels.sampler.chain import Chain, Systems, log_odds_of, refresh, safe_flip, start, work_limit
from alldags.kernels.sampler.flip import LOG_WEIGHT, WORK
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
    """From a parent set, flip each of the uncertain parents `left` once, always the one that gives the heaviest set.

    `path` (k,) gets the order and `weights` (k + 1,) the log weights from the start on. Returns the number of flips; it
    ends early if the last `patience` sets were no heavier than one before. `left` is overwritten.
    """
    start(systems, chain, present, setting)
    weights[0] = chain.numbers[LOG_WEIGHT]
    heaviest, steps = 0, 0
    while steps - heaviest < patience:
        best, chosen = -np.inf, np.int64(-1)
        for v in range(left.shape[0]):
            if left[v] and not systems.certain[v]:
                log_odds = log_odds_of(systems, chain, v)
                change = -log_odds if chain.present[v] else log_odds
                if chosen < 0 or change > best:
                    best, chosen = change, np.int64(v)
        if chosen < 0:
            break
        left[chosen] = False
        safe_flip(systems, chain, chosen)
        if chain.counts[WORK] >= work_limit(chain):
            refresh(systems, chain)
        path[steps] = chosen
        steps += 1
        weights[steps] = weights[steps - 1] + best
        if weights[steps] > weights[heaviest]:
            heaviest = steps
    return steps
