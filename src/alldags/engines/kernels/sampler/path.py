"""The greedy way from one parent set to another."""

from __future__ import annotations

import numpy as np

from alldags.engines.kernels.jit import compiled
from alldags.engines.kernels.sampler.chain import Chain, Systems, refresh, residual_rate, safe_flip, work_limit
from alldags.engines.kernels.sampler.flip import LOG_WEIGHT, SETTING, SIZE, TINY, WORK
from alldags.engines.kernels.sampler.odds import conditional
from alldags.typing import BoolArray, FloatArray, IntArray


@compiled
def greedy_path(
    systems: Systems, chain: Chain, left: BoolArray, patience: int, path: IntArray, weights: FloatArray
) -> int:
    """Flip each of the uncertain parents `left`, (k,), once, always the one that gives the heaviest set.

    `path` (k,) gets the order and `weights` (k + 1,) the log weights from the start on. Returns the number of flips; it
    ends early if the last `patience` sets were no heavier than one before. `left` is overwritten.
    """
    k, setting = chain.present.shape[0], chain.counts[SETTING]
    certain_count = k - (systems.log_size.shape[0] - 1)
    weights[0] = chain.numbers[LOG_WEIGHT]
    heaviest, steps = 0, 0
    while steps - heaviest < patience:
        residual = residual_rate(systems, chain)
        free = chain.counts[SIZE] - certain_count
        best, chosen = -np.inf, -1
        for v in range(k):
            if left[v] and not systems.certain[v]:
                inside = chain.present[v]
                others = free - 1 if inside else free
                log_odds = conditional(
                    inside,
                    chain.diagonal[v],
                    chain.linear[v],
                    TINY * systems.scale[setting, v],
                    systems.log_factor[setting, v] + systems.log_size[others + 1] - systems.log_size[others],
                    residual,
                    systems.known_noise[setting],
                    systems.shape[setting],
                    systems.has_determinant[setting],
                )[0]
                change = -log_odds if inside else log_odds
                if chosen < 0 or change > best:
                    best, chosen = change, v
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
