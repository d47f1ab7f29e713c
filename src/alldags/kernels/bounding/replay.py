"""Single sets again, from the states a certified walk has entered.

Lane ``l`` of a state's block has block variable ``i`` present iff bit ``width - 1 - i`` of ``l`` is set.
"""

from __future__ import annotations

import math

from alldags.kernels.jit import compiled
from alldags.kernels.subsets.block import Block, Weights, eliminate_block, weigh_block
from alldags.typing import BoolArray, FloatArray


@compiled
def weigh_states(
    a: FloatArray,
    b: FloatArray,
    paths: BoolArray,
    heads: BoolArray,
    weights: Weights,
    width: int,
    block: Block,
    work: FloatArray,
    lanes: FloatArray,
) -> None:
    """Write the weights of all sets of some states.

    Parameters
    ----------
    a, b
        The system in the order of branching, shapes (k, k) and (k,).
    paths
        Prefix variables present in each state, shape (states, k - width).
    heads
        Which variables are the first of their group, shape (k,).
    weights, width
        How sets are weighed; the last `width` variables form the block.
    block, work
        Working space; `work` has shape (k + 1, k).
    lanes
        Result, shape (states, 2**width).
    """
    k = b.shape[0]
    prefix = k - width
    for n in range(paths.shape[0]):
        for i in range(k):
            work[k, i] = b[i]
            for j in range(k):
                work[i, j] = a[i, j]
        log_weight, q, size = 0.0, 0.0, 0
        for v in range(prefix):
            if paths[n, v]:
                alpha = work[v, v]
                center = work[k, v] / alpha
                log_weight += weights.log_factor[v] - (0.5 * math.log(alpha) if weights.has_determinant else 0.0)
                q += work[k, v] * center
                size += 1 if heads[v] else 0
                for i in range(v + 1, k):
                    ratio = work[v, i] / alpha
                    work[k, i] -= work[v, i] * center
                    for j in range(v + 1, k):
                        work[i, j] -= ratio * work[v, j]
        for i in range(width):  # to the corner, which is not needed any more
            for j in range(width):
                work[i, j] = work[prefix + i, prefix + j]
            work[k, i] = work[k, prefix + i]
        eliminate_block(block, work, work[k], width)
        weigh_block(block, weights, width, log_weight, q, size, size)
        for lane in range(1 << width):
            lanes[n, lane] = block.w[width % 2, lane]
