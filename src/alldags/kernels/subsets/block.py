"""A block: all subsets of up to ten parents side by side, one per lane.

Level ``d`` of a block of `width` variables holds ``2**d`` partly eliminated systems; eliminating variable
``v = width - 1 - d`` doubles them: absent, the leading part of ``A, b`` stays; present, it becomes the Schur
complement. Every inner loop runs over lanes, so that it vectorises.

Layout. Symmetric matrices are packed, entry ``(i, j <= i)`` at row ``i (i + 1) / 2 + j``, and each row holds the lanes
of its level: ``offset[d] + row * 2**d + lane``. Lane bit ``d`` is set iff variable ``width - 1 - d`` is present. Sums
are weighted: ``w``, ``sum w E[theta]``, ``sum w E[theta] E[theta]'``, ``sum w Cov[theta]``.

``A`` must have a unit diagonal, so that pivots lie in (0, 1] and products of a block's pivots cannot overflow.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from alldags.kernels.fastmath import fast_exp, fast_log
from alldags.kernels.jit import inlined, vector, vector_sum
from alldags.kernels.noise import TINY, NoiseTerm, shape_of
from alldags.typing import FloatArray, IntArray

WIDTH = 10  # variables per block; wider blocks leave the second-level cache, narrower ones waste vector lanes


class Weights(NamedTuple):
    """What turns an eliminated system into a weight; see `alldags.engines.conjugate.system.ConjugateSystem`."""

    log_factor: FloatArray
    log_size: FloatArray  # by the number of groups present; shape (1,) if there is no such prior
    log_columns: FloatArray  # by the number of their columns, where it is another one; else of shape (1,)
    has_determinant: bool
    noise: NoiseTerm
    reference: float  # log weight that counts as 1


class Block(NamedTuple):
    """Working space of a block, written anew for every prefix."""

    a: FloatArray  # packed matrices, level d at offset_a[d]
    b: FloatArray  # shifts, level d at offset_b[d]
    ratio: FloatArray  # a_vi / a_vv, laid out like b
    inverse: FloatArray  # 1 / a_vv, level d at 2**d
    center: FloatArray  # b_v / a_vv, level d at 2**d
    q: FloatArray  # quadratic form per lane
    pivots: FloatArray  # product of pivots per lane
    w: FloatArray  # (2, lanes) weights, then their sums; level d in row d % 2, like all sums below
    noise: FloatArray  # (2, lanes) weight times noise variance
    mean: FloatArray  # (2, ...) sums of the means
    between: FloatArray  # (2, ...) sums of outer products of the means
    within: FloatArray  # (2, ...) sums of the covariances
    scratch: FloatArray  # (lanes,)
    lane_factor: FloatArray  # log_factor summed over the variables present in a lane
    lane_size: IntArray  # number of variables present in a lane
    lane_count: FloatArray  # the same as a float, for loops that become vector instructions
    offset_a: IntArray
    offset_b: IntArray


class Sums(NamedTuple):
    """Result: sums over subsets, relative to the reference weight."""

    w: FloatArray  # (1,)
    noise: FloatArray  # (1,) weight times noise variance
    inclusion: FloatArray  # (f,)
    mean: FloatArray  # (f,)
    between: FloatArray  # (f, f)
    within: FloatArray  # (f, f)


def make_block(width: int, log_factor: FloatArray) -> Block:
    """Allocate a block's working space; `log_factor` is that of the block's variables.

    By the caller of a kernel, not inside: numba takes long to compile allocations.
    """
    lanes = 1 << width
    present, lane_size, lane_count, offset_a, offset_b = _layout(width)
    pairs, singles = offset_a[-1], offset_b[-1]
    return Block(
        np.empty(pairs), np.empty(singles), np.empty(singles), np.empty(2 * lanes), np.empty(2 * lanes),
        np.empty(lanes), np.empty(lanes), np.empty((2, lanes)), np.empty((2, lanes)),
        np.empty((2, singles + 1)), np.empty((2, pairs + 1)), np.empty((2, pairs + 1)), np.empty(lanes),
        present @ log_factor[:width], lane_size, lane_count, offset_a, offset_b,
    )  # fmt: skip


@lru_cache(maxsize=WIDTH + 8)
def _layout(width: int) -> tuple[FloatArray, IntArray, FloatArray, IntArray, IntArray]:
    """Return which variables are present in each lane (lanes, width), how many (twice), and the offsets of levels."""
    rest, levels = width - np.arange(width + 1), np.arange(width + 1)
    present = np.arange(1 << width)[:, None] >> np.arange(width - 1, -1, -1) & 1
    size = present.sum(axis=1)
    offset_a = np.concatenate([[0], np.cumsum(rest * (rest + 1) // 2 << levels)])
    offset_b = np.concatenate([[0], np.cumsum(rest << levels)])
    return present.astype(float), size, size.astype(float), offset_a, offset_b


def make_sums(f: int, second: bool) -> Sums:
    """Allocate a result of zeros."""
    square = (f, f) if second else (0, 0)
    return Sums(np.zeros(1), np.zeros(1), np.zeros(f), np.zeros(f), np.zeros(square), np.zeros(square))


# -- loops over lanes ------------------------------------------------------------------------------------------------
#
# Offsets are unsigned, here and only here: numba then need not test for negative indices, and the loops over lanes
# become vector instructions (three times faster).


@vector
def eliminate_block(block: Block, a: FloatArray, b: FloatArray, width: int) -> None:
    """Eliminate the block's variables, doubling the lanes at every level; leaves q and the pivot products."""
    packed, shift, ratio, inverse, center = block.a, block.b, block.ratio, block.inverse, block.center
    q, pivots = block.q, block.pivots
    for i in range(width):
        shift[i] = b[i]
        for j in range(i + 1):
            packed[i * (i + 1) // 2 + j] = a[i, j]
    q[0] = 0.0
    pivots[0] = 1.0
    for d in range(width):
        v = width - 1 - d
        here_a, next_a = block.offset_a[d], block.offset_a[d + 1]
        here_b, next_b = block.offset_b[d], block.offset_b[d + 1]
        last = here_a + (v * (v + 1) // 2 << d)
        lanes = np.uint64(1 << d)
        pivot_at, shift_at = np.uint64(last + (v << d)), np.uint64(here_b + (v << d))
        for lane in range(lanes):
            inverse[lanes + lane] = 1.0 / packed[pivot_at + lane]
            center[lanes + lane] = shift[shift_at + lane] * inverse[lanes + lane]
            q[lanes + lane] = q[lane] + shift[shift_at + lane] * center[lanes + lane]
            pivots[lanes + lane] = pivots[lane] * packed[pivot_at + lane]
        for i in range(v):
            cross, own = np.uint64(last + (i << d)), np.uint64(here_b + (i << d))
            absent = np.uint64(next_b + (i << d + 1))
            present = absent + lanes
            for lane in range(lanes):
                value = shift[own + lane]
                ratio[own + lane] = packed[cross + lane] * inverse[lanes + lane]
                shift[absent + lane] = value
                shift[present + lane] = value - packed[cross + lane] * center[lanes + lane]
            for j in range(i + 1):
                row = i * (i + 1) // 2 + j
                other, source = np.uint64(last + (j << d)), np.uint64(here_a + (row << d))
                absent = np.uint64(next_a + (row << d + 1))
                present = absent + lanes
                for lane in range(lanes):
                    value = packed[source + lane]
                    packed[absent + lane] = value
                    packed[present + lane] = value - ratio[own + lane] * packed[other + lane]


@inlined
def weigh_block(
    block: Block, weights: Weights, width: int, log_weight: float, q: float, size: int, columns: int
) -> float:
    """Write the weight of every lane, and its product with the noise variance; return the sum of weights."""
    write_exponents(block, weights, width, log_weight - weights.reference, q, size, columns)
    total = exponentiate(block, weights.has_determinant, width)
    weigh_noise(block, weights.noise, width, columns)
    return total


@vector
def write_exponents(block: Block, weights: Weights, width: int, base: float, q: float, size: int, columns: int) -> None:
    """Write to `scratch` the log weight of every lane without its determinant, and to `noise` an unknown noise's rate.

    `base`, `q`, `size` (in groups) and `columns` are what the variables outside the block contribute.
    """
    lanes = 1 << width
    noise, exponent = block.noise[width % 2], block.scratch
    if weights.log_size.shape[0] > 1:
        for lane in range(lanes):
            exponent[lane] = base + block.lane_factor[lane] + weights.log_size[size + block.lane_size[lane]]
    else:
        for lane in range(lanes):
            exponent[lane] = base + block.lane_factor[lane]
    if weights.log_columns.shape[0] > 1:
        for lane in range(lanes):
            exponent[lane] += weights.log_columns[columns + block.lane_size[lane]]
    if weights.noise.known:
        for lane in range(lanes):
            exponent[lane] += 0.5 * (q + block.q[lane])
    else:  # `noise.log_term`, with a logarithm that becomes vector instructions
        whole, shape, step = weights.noise.whole, shape_of(weights.noise, columns), weights.noise.shape_per_parent
        floor = TINY * whole
        for lane in range(lanes):
            noise[lane] = max(whole - 0.5 * (q + block.q[lane]), floor)
            exponent[lane] -= (shape + step * block.lane_count[lane]) * fast_log(noise[lane])


@vector
def exponentiate(block: Block, has_determinant: bool, width: int) -> float:
    """Turn the log weights in `scratch` into weights; return their sum."""
    lanes = 1 << width
    w, exponent = block.w[width % 2], block.scratch
    for lane in range(lanes):
        w[lane] = fast_exp(exponent[lane])
    if has_determinant:
        for lane in range(lanes):
            w[lane] /= math.sqrt(block.pivots[lane])
    return sum_lanes(w, lanes - lanes, lanes)  # a literal 0 would be compiled anew


@vector
def weigh_noise(block: Block, term: NoiseTerm, width: int, columns: int) -> None:
    """Turn the rates in `noise` into products of weight and noise variance, in units of the latter if it is known."""
    w, noise = block.w[width % 2], block.noise[width % 2]
    if term.known:
        for lane in range(1 << width):
            noise[lane] = w[lane]
    elif term.shape_per_parent == 0.0:
        scale = 1.0 / (term.shape - 1.0) if term.shape > 1.0 else 0.0
        for lane in range(1 << width):
            noise[lane] = w[lane] * noise[lane] * scale
    else:
        less = shape_of(term, columns) - 1.0
        for lane in range(1 << width):
            part = less + term.shape_per_parent * block.lane_count[lane]
            noise[lane] = w[lane] * noise[lane] / part if part > 0.0 else 0.0


@vector_sum
def sum_lanes(values: FloatArray, first: int, count: int) -> float:
    """Sum a run of lanes, in the order that suits vector registers."""
    total = 0.0
    for lane in range(np.uint64(first), np.uint64(first + count)):
        total += values[lane]
    return total


@vector
def collect_means(block: Block, sums: Sums, width: int) -> None:
    """Sum weights, inclusions and means over the lanes, from the last eliminated variable back to the first."""
    all_ratio, center = block.ratio, block.center
    for d in range(width - 1, -1, -1):
        v = width - 1 - d
        w, w_out = block.w[(d + 1) % 2], block.w[d % 2]
        noise, noise_out = block.noise[(d + 1) % 2], block.noise[d % 2]
        mean, mean_out = block.mean[(d + 1) % 2], block.mean[d % 2]
        lanes, own = np.uint64(1 << d), np.uint64(v << d)
        for lane in range(lanes):
            w_out[lane] = w[lane] + w[lanes + lane]
            noise_out[lane] = noise[lane] + noise[lanes + lane]
            mean_out[own + lane] = center[lanes + lane] * w[lanes + lane]
        sums.inclusion[v] += sum_lanes(w, 1 << d, 1 << d)
        for i in range(v):
            absent, target, ratio = np.uint64(i << d + 1), np.uint64(i << d), np.uint64(block.offset_b[d] + (i << d))
            inside = absent + lanes
            for lane in range(lanes):
                mean_out[target + lane] = mean[absent + lane] + mean[inside + lane]
                mean_out[own + lane] -= all_ratio[ratio + lane] * mean[inside + lane]
    sums.w[0] = block.w[0, 0]
    sums.noise[0] = block.noise[0, 0]
    for i in range(width):
        sums.mean[i] = block.mean[0, i]


@vector
def collect_seconds(block: Block, sums: Sums, width: int) -> None:
    """Do what `collect_means` does, and sum second moments too."""
    all_ratio, center, inverse = block.ratio, block.center, block.inverse
    for d in range(width - 1, -1, -1):
        v = width - 1 - d
        w, w_out = block.w[(d + 1) % 2], block.w[d % 2]
        noise, noise_out = block.noise[(d + 1) % 2], block.noise[d % 2]
        mean, mean_out = block.mean[(d + 1) % 2], block.mean[d % 2]
        between, between_out = block.between[(d + 1) % 2], block.between[d % 2]
        within, within_out = block.within[(d + 1) % 2], block.within[d % 2]
        here_b, last = block.offset_b[d], v * (v + 1) // 2 << d
        lanes, own, corner = np.uint64(1 << d), np.uint64(v << d), np.uint64(last + (v << d))
        for i in range(v):  # row v: minus ratio' times the second moments, for the present half only
            side = np.uint64(last + (i << d))
            for lane in range(lanes):
                between_out[side + lane] = 0.0
                within_out[side + lane] = 0.0
            for j in range(v):
                row = i * (i + 1) // 2 + j if j <= i else j * (j + 1) // 2 + i
                inside, ratio = np.uint64(row << d + 1) + lanes, np.uint64(here_b + (j << d))
                for lane in range(lanes):
                    between_out[side + lane] -= all_ratio[ratio + lane] * between[inside + lane]
                    within_out[side + lane] -= all_ratio[ratio + lane] * within[inside + lane]
        for lane in range(lanes):
            w_out[lane] = w[lane] + w[lanes + lane]
            noise_out[lane] = noise[lane] + noise[lanes + lane]
            mean_out[own + lane] = center[lanes + lane] * w[lanes + lane]
            between_out[corner + lane] = center[lanes + lane] * mean_out[own + lane]
            within_out[corner + lane] = inverse[lanes + lane] * noise[lanes + lane]
        sums.inclusion[v] += sum_lanes(w, 1 << d, 1 << d)
        for i in range(v):
            absent, target, ratio = np.uint64(i << d + 1), np.uint64(i << d), np.uint64(here_b + (i << d))
            inside, side = absent + lanes, np.uint64(last + (i << d))
            for lane in range(lanes):
                share, value = all_ratio[ratio + lane], mean[inside + lane]
                pull = center[lanes + lane] * value
                mean_out[target + lane] = mean[absent + lane] + value
                mean_out[own + lane] -= share * value
                between_out[corner + lane] -= share * (2.0 * pull + between_out[side + lane])
                within_out[corner + lane] -= share * within_out[side + lane]
                between_out[side + lane] += pull
            for j in range(i + 1):
                row = i * (i + 1) // 2 + j
                absent, target = np.uint64(row << d + 1), np.uint64(row << d)
                inside = absent + lanes
                for lane in range(lanes):
                    between_out[target + lane] = between[absent + lane] + between[inside + lane]
                    within_out[target + lane] = within[absent + lane] + within[inside + lane]
    sums.w[0] = block.w[0, 0]
    sums.noise[0] = block.noise[0, 0]
    for i in range(width):
        sums.mean[i] = block.mean[0, i]
        for j in range(i + 1):
            row = i * (i + 1) // 2 + j
            sums.between[i, j] = block.between[0, row]
            sums.between[j, i] = sums.between[i, j]
            sums.within[i, j] = block.within[0, row]
            sums.within[j, i] = sums.within[i, j]
