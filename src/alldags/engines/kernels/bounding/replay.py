"""Single sets again, from the states a certified walk has entered: draws, the best sets, sets disjoint from others.

Lane ``l`` of a state's block has block variable ``i`` present iff bit ``width - 1 - i`` of ``l`` is set.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.engines.kernels.jit import compiled, inner
from alldags.engines.kernels.subsets.block import Block, Weights, eliminate_block, make_block, weigh_block
from alldags.typing import BoolArray, FloatArray, IntArray


@inner
def weigh_state(
    a: FloatArray,
    b: FloatArray,
    path: BoolArray,
    weights: Weights,
    width: int,
    block: Block,
    work: FloatArray,
    shift: FloatArray,
) -> FloatArray:
    """Return the weights of all lanes of one state, shape (2**width,): a view that the next call overwrites."""
    k = b.shape[0]
    work[:] = a
    shift[:] = b
    log_weight, q, size = 0.0, 0.0, 0
    for v in range(k - width):
        if path[v]:
            alpha = work[v, v]
            center = shift[v] / alpha
            log_weight += weights.log_factor[v] - (0.5 * math.log(alpha) if weights.has_determinant else 0.0)
            q += shift[v] * center
            size += 1
            for i in range(v + 1, k):
                ratio = work[v, i] / alpha
                shift[i] -= work[v, i] * center
                for j in range(v + 1, k):
                    work[i, j] -= ratio * work[v, j]
    eliminate_block(block, work[k - width :, k - width :].copy(), shift[k - width :].copy(), width)
    weigh_block(block, weights, width, log_weight, q, size)
    return block.w[width % 2]


@compiled
def locate_lanes(
    a: FloatArray,
    b: FloatArray,
    paths: BoolArray,
    weights: Weights,
    width: int,
    states: IntArray,
    uniforms: FloatArray,
) -> IntArray:
    """Draw one lane for each entry of `states` (sorted) with the uniforms given, shape (size,)."""
    k = b.shape[0]
    block = make_block(width, weights.log_factor[k - width :])
    work, shift = np.empty((k, k)), np.empty(k)
    lanes = np.zeros(states.shape[0], dtype=np.int64)
    running = np.zeros(1 << width)
    for n in range(states.shape[0]):
        if n == 0 or states[n] != states[n - 1]:
            running[:] = np.cumsum(weigh_state(a, b, paths[states[n]], weights, width, block, work, shift))
        lane = np.searchsorted(running, uniforms[n] * running[-1], side="right")
        lanes[n] = min(lane, running.shape[0] - 1)
    return lanes


@compiled
def best_lanes(
    a: FloatArray,
    b: FloatArray,
    paths: BoolArray,
    values: FloatArray,
    weights: Weights,
    width: int,
    size: int,
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return weights, states and lanes of the `size` heaviest sets; states come in falling order of `values`."""
    k = b.shape[0]
    block = make_block(width, weights.log_factor[k - width :])
    work, shift = np.empty((k, k)), np.empty(k)
    best = np.zeros(size)
    states, lanes = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for n in range(values.shape[0]):
        if values[n] <= best[size - 1]:
            break
        w = weigh_state(a, b, paths[n], weights, width, block, work, shift)
        for lane in range(w.shape[0]):
            if w[lane] > best[size - 1]:
                at = size - 1
                while at > 0 and best[at - 1] < w[lane]:
                    best[at], states[at], lanes[at] = best[at - 1], states[at - 1], lanes[at - 1]
                    at -= 1
                best[at], states[at], lanes[at] = w[lane], n, lane
    return best, states, lanes


@compiled
def disjoint_weights(
    a: FloatArray,
    b: FloatArray,
    paths: BoolArray,
    weights: Weights,
    width: int,
    prefix_masks: BoolArray,
    allowed: IntArray,
) -> FloatArray:
    """Return, per mask, the weight of all sets without its prefix variables and with lanes inside `allowed`."""
    k = b.shape[0]
    block = make_block(width, weights.log_factor[k - width :])
    work, shift = np.empty((k, k)), np.empty(k)
    out = np.zeros(allowed.shape[0])
    for n in range(paths.shape[0]):
        w = weigh_state(a, b, paths[n], weights, width, block, work, shift)
        for bit in range(width):  # w[l] becomes the sum over all lanes inside l
            for lane in range(w.shape[0]):
                if lane >> bit & 1:
                    w[lane] += w[lane ^ (1 << bit)]
        for m in range(out.shape[0]):
            free = True
            for v in range(k - width):
                if paths[n, v] and prefix_masks[m, v]:
                    free = False
                    break
            if free:
                out[m] += w[allowed[m]]
    return out
