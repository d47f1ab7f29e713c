"""Moves of the sampler of parent sets: Gibbs sweeps, swaps, and changes of the hyperparameter setting."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from alldags.engines.kernels.gibbs import (
    Chain,
    Systems,
    load_row,
    noise_mean,
    refresh,
    residual_rate,
    safe_flip,
    work_limit,
)
from alldags.engines.kernels.gibbs_flip import (
    DRIFT,
    FLIPS,
    LEAST_RESIDUAL,
    QUADRATIC,
    SETTING,
    SETTING_MOVES,
    SIZE,
    SWAPS,
    TINY,
    VISITS,
    WORK,
    flip_arrays,
)
from alldags.engines.kernels.sweep import noise_term
from alldags.typing import BoolArray, FloatArray, IntArray

INCLUSION, MEAN, CONTROL = range(3)  # second axis of a trace


class Sums(NamedTuple):
    """What a chain adds up over sweeps, besides its trace."""

    square: FloatArray  # (k,), second moment of each coefficient, given all other parents
    square_between: FloatArray  # (k,), second moment of its conditional mean
    setting: FloatArray  # (G,), visits
    noise_variance: FloatArray  # (1,)


def new_sums(k: int, settings: int) -> Sums:
    """Return sums of zero."""
    return Sums(np.zeros(k), np.zeros(k), np.zeros(settings), np.zeros(1))


@njit(cache=True, nogil=True, error_model="numpy")
def gain(known: bool, shape: float, residual: float, reduction: float) -> float:
    """Return ``f(q + reduction) - f(q)``, where `residual` is ``rate + (total - q)/2``."""
    if known:
        return 0.5 * reduction
    return -shape * math.log(max(1.0 - 0.5 * reduction / residual, TINY))


@njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def sweep_once(
    systems: Systems, chain: Chain, sums: Sums, trace: FloatArray, generator: np.random.Generator, keep: bool
) -> None:
    """Visit every parent once and draw its presence given all others.

    If `keep`, the expectations given all others go to `sums` and to `trace`, shape (3, k): presence, coefficient, and
    the control ``drawn presence - its probability``, whose expectation is zero.
    """
    k = chain.present.shape[0]
    setting = chain.counts[SETTING]
    known, shape = systems.known_noise[setting], systems.shape[setting]
    determinant = systems.has_determinant[setting]
    log_factor, log_size, certain = systems.log_factor[setting], systems.log_size, systems.certain
    base, in_base, inverse, moved, place = chain.base, chain.in_base, chain.inverse, chain.moved, chain.place
    present, diagonal, linear, row, weights = chain.present, chain.diagonal, chain.linear, chain.row, chain.weights
    counts, numbers, seen, scales = chain.counts, chain.numbers, chain.seen, systems.scale[setting]
    square, square_between = sums.square, sums.square_between
    certain_count = k - (log_size.shape[0] - 1)
    limit = work_limit(chain)
    whole = systems.rate[setting] + 0.5 * systems.total[setting]
    residual = max(whole - 0.5 * numbers[QUADRATIC], TINY * whole)
    free = chain.counts[SIZE] - certain_count
    for v in range(k):
        inside = present[v]
        scale = scales[v]
        if inside:
            variance = -diagonal[v]
            mean = linear[v]
            reduction = mean * mean / variance
            without = residual + 0.5 * reduction
            others = free - 1
        else:
            variance = 1.0 / max(diagonal[v], TINY * scale)
            mean = linear[v] * variance
            reduction = mean * linear[v]
            without = residual
            others = free
        probability = 1.0
        into = True
        if not certain[v]:
            log_odds = log_factor[v] + log_size[others + 1] - log_size[others]
            log_odds += gain(known, shape, without, reduction)
            if determinant:
                log_odds += 0.5 * math.log(variance)
            probability = 1.0 / (1.0 + math.exp(-log_odds))
            into = generator.random() < probability
        if keep:
            if not known:
                variance *= max(without - 0.5 * reduction, TINY * without) / (shape - 1.0) if shape > 1.0 else np.inf
            part = probability * mean
            trace[INCLUSION, v] += probability
            trace[MEAN, v] += part
            trace[CONTROL, v] += (1.0 if into else 0.0) - probability
            if probability > 0.0:
                square[v] += probability * variance + part * mean
                square_between[v] += part * mean
        seen[v] += probability
        if into != inside:
            flip_arrays(
                base, in_base, inverse, moved, place, present, diagonal, linear, row, weights, counts, numbers, scale, v
            )
            if counts[WORK] >= limit:
                refresh(systems, chain)
            counts[FLIPS] += 1
            free = counts[SIZE] - certain_count
            residual = max(whole - 0.5 * numbers[QUADRATIC], TINY * whole)
    numbers[VISITS] += 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def swap_once(systems: Systems, chain: Chain, trace: FloatArray, generator: np.random.Generator, keep: bool) -> None:
    """Take one uncertain parent out at random and fill its place from all absent parents by posterior odds.

    The parent's own weight is among the choices. Given the set without it, this draws from the exact conditional, so
    nothing is rejected, and near-duplicates exchange places in one step. If `keep`, the controls in `trace` (3, k) get
    the drawn presence less its probability, as in `sweep_once`.
    """
    k = chain.present.shape[0]
    size = chain.counts[SIZE]
    free = size - (k - (systems.log_size.shape[0] - 1))
    if free <= 0 or size == k:
        return
    v, left_out = -1, int(generator.random() * free)
    while left_out >= 0:  # the left_out-th of the uncertain parents present
        v += 1
        if chain.present[v] and not systems.certain[v]:
            left_out -= 1
    setting = chain.counts[SETTING]
    known, shape = systems.known_noise[setting], systems.shape[setting]
    determinant = systems.has_determinant[setting]
    whole = systems.rate[setting] + 0.5 * systems.total[setting]
    load_row(chain, v)
    row = chain.row
    pivot = 1.0 / row[v]
    mean = chain.linear[v]
    residual = max(whole - 0.5 * (chain.numbers[QUADRATIC] + mean * mean * pivot), TINY * whole)
    weight = chain.weights
    best = -np.inf
    for u in range(k):
        weight[u] = -np.inf
        if systems.certain[u] or (chain.present[u] and u != v):
            continue
        if u == v:
            alpha, beta = -pivot, -mean * pivot
        else:
            floor = TINY * systems.scale[setting, u]
            alpha = max(chain.diagonal[u] - row[u] * row[u] * pivot, floor)
            beta = chain.linear[u] - row[u] * mean * pivot
        weight[u] = systems.log_factor[setting, u] + gain(known, shape, residual, beta * beta / alpha)
        if determinant:
            weight[u] -= 0.5 * math.log(alpha)
        best = max(best, weight[u])
    whole_weight = 0.0
    for u in range(k):
        if weight[u] > best - 40.0:
            weight[u] = math.exp(weight[u] - best)
            whole_weight += weight[u]
        else:
            weight[u] = 0.0
    left = generator.random() * whole_weight
    chosen = v
    for u in range(k):
        if weight[u] > 0.0:
            left -= weight[u]
            if left < 0.0:
                chosen = u
                break
    if keep:
        for u in range(k):
            if weight[u] > 0.0:
                trace[CONTROL, u] -= weight[u] / whole_weight
        trace[CONTROL, chosen] += 1.0
    if chosen != v:
        for u in (v, chosen):
            safe_flip(systems, chain, u)
        chain.counts[SWAPS] += 1
        chain.counts[FLIPS] += 2


@njit(cache=True, nogil=True, error_model="numpy")
def log_weight(systems: Systems, chain: Chain, setting: int, factor: FloatArray) -> float:
    """Return the log weight of the chain's parent set under a setting; `factor` is scratch space, (k, k)."""
    scale = systems.scale[setting]
    members = np.flatnonzero(chain.present)
    value = systems.constant[setting]
    q = 0.0
    center = chain.weights
    for i, v in enumerate(members):
        for j in range(i + 1):
            entry = scale[v] if i == j else systems.factor[setting] * systems.gram[v, members[j]]
            for h in range(j):
                entry -= factor[i, h] * factor[j, h]
            if i == j:
                factor[i, i] = math.sqrt(max(entry, TINY * scale[v]))
            else:
                factor[i, j] = entry / factor[j, j]
        entry = systems.shift[setting, v]
        for h in range(i):
            entry -= factor[i, h] * center[h]
        center[i] = entry / factor[i, i]
        q += center[i] * center[i]
        value += systems.log_factor[setting, v]
        if systems.has_determinant[setting]:
            value -= math.log(factor[i, i])
    value += noise_term(
        q, systems.known_noise[setting], systems.total[setting], systems.shape[setting], systems.rate[setting]
    )
    return float(value)


@njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def change_setting(systems: Systems, chain: Chain, generator: np.random.Generator, factor: FloatArray) -> None:
    """Metropolis step, given the parent set: to one of the six nearest settings, or, as often, to any other one.

    The nearest are good proposals on a fine grid of one hyperparameter; any other one crosses grids of two.
    """
    count = systems.constant.shape[0]
    old = chain.counts[SETTING]
    if generator.random() < 0.5:
        step = 1 + int(3.0 * generator.random())
        new = old + (step if generator.random() < 0.5 else -step)
    else:
        new = int(count * generator.random())
    if new < 0 or new >= count or new == old:
        return
    ratio = log_weight(systems, chain, new, factor) - log_weight(systems, chain, old, factor)
    if math.log(1.0 - generator.random()) < ratio:
        chain.counts[SETTING] = new
        chain.counts[SETTING_MOVES] += 1
        drift = chain.numbers[DRIFT]  # what changes now is not rounding
        refresh(systems, chain)
        chain.numbers[DRIFT] = drift


@njit(cache=True, nogil=True, error_model="numpy")
def run_chain(
    systems: Systems,
    chain: Chain,
    sums: Sums,
    trace: FloatArray,
    sets: BoolArray,
    set_settings: IntArray,
    batch: int,
    swaps: int,
    keep: bool,
    generator: np.random.Generator,
) -> None:
    """Run ``trace.shape[0] * batch`` sweeps, each followed by `swaps` swap moves and a setting move.

    Row ``b`` of `trace` (batches, 3, k) becomes the batch's mean of what `sweep_once` adds to it; `sets` and
    `set_settings` get the parent set and setting at its end. Nothing but the chain changes unless `keep`.
    """
    k = chain.present.shape[0]
    settings = systems.constant.shape[0]
    factor = np.empty((k, k) if settings > 1 else (0, 0))
    for b in range(trace.shape[0]):
        for _ in range(batch):
            sweep_once(systems, chain, sums, trace[b], generator, keep)
            for _ in range(swaps):
                swap_once(systems, chain, trace[b], generator, keep)
            if settings > 1:
                change_setting(systems, chain, generator, factor)
            if keep:
                _note_state(systems, chain, sums)
        if keep:
            set_settings[b] = chain.counts[SETTING]
            for v in range(k):
                sets[b, v] = chain.present[v]
                for part in range(3):
                    trace[b, part, v] /= batch


@njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _note_state(systems: Systems, chain: Chain, sums: Sums) -> None:
    setting = chain.counts[SETTING]
    sums.setting[setting] += 1.0
    sums.noise_variance[0] += noise_mean(systems, chain)
    if not systems.known_noise[setting]:
        share = residual_rate(systems, chain) / (systems.rate[setting] + 0.5 * systems.total[setting])
        chain.numbers[LEAST_RESIDUAL] = min(chain.numbers[LEAST_RESIDUAL], share)
