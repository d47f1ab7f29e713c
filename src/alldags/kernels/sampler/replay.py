"""Moments of stored parent sets, one after the other."""

from __future__ import annotations

from alldags.kernels.jit import compiled
from alldags.kernels.sampler.chain import (
    Chain,
    Systems,
    load_row,
    noise_mean,
    safe_flip,
    start,
    work_limit,
)
from alldags.kernels.sampler.flip import SETTING, WORK
from alldags.typing import BoolArray, FloatArray, IntArray


@compiled
def replay(
    systems: Systems,
    chain: Chain,
    sets: BoolArray,
    settings: IntArray,
    weights: FloatArray,
    mean: FloatArray,
    second: FloatArray,
    between: FloatArray,
) -> None:
    """Add the posterior moments given each parent set, (D, k), and setting, times its weight, to the last three.

    `mean` has shape (k,), `second` and `between` (k, k). A set is reached from the one before it by the flips in which
    they differ.
    """
    k = sets.shape[1]
    fresh = True
    for d in range(sets.shape[0]):
        weight = weights[d]
        if weight == 0.0:
            continue
        if fresh or settings[d] != chain.counts[SETTING] or chain.counts[WORK] >= work_limit(chain):
            start(systems, chain, sets[d], settings[d])
            fresh = False
        for v in range(k):
            if chain.present[v] != sets[d, v]:
                safe_flip(systems, chain, v)
        variance = 1.0 if systems.known_noise[settings[d]] else noise_mean(systems, chain)
        for i in range(k):
            if chain.present[i]:
                load_row(chain, i)
                mean[i] += weight * chain.linear[i]
                for j in range(k):
                    if chain.present[j]:
                        product = weight * chain.linear[i] * chain.linear[j]
                        between[i, j] += product
                        second[i, j] += product - weight * variance * chain.row[j]
