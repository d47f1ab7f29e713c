"""Moves of the sampler of parent sets: Gibbs sweeps, swaps, and changes of the hyperparameter setting."""

from __future__ import annotations

import math

import numpy as np

from alldags.engines.kernels.jit import compiled, inner, tight
from alldags.engines.kernels.linalg import factorise, solve_forward
from alldags.engines.kernels.noise import log_gain, log_term, residual_rate, variance_factor
from alldags.engines.kernels.sampler.block import CONTROL, INCLUSION, MEAN, Sums, Together, draw_block
from alldags.engines.kernels.sampler.chain import (
    Chain,
    Systems,
    free_size,
    load_row,
    noise_at,
    noise_mean,
    refresh,
    safe_flip,
    work_limit,
)
from alldags.engines.kernels.sampler.flip import (
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
from alldags.engines.kernels.sampler.odds import conditional
from alldags.engines.kernels.sampler.response import Response, add_response
from alldags.typing import BoolArray, FloatArray, IntArray

SQUARES = 4  # second moments of parents drawn together are taken at every so many sweeps


@tight
def sweep_once(
    systems: Systems,
    chain: Chain,
    sums: Sums,
    now: FloatArray,
    control: FloatArray,
    skipped: BoolArray,
    generator: np.random.Generator,
    keep: bool,
) -> None:
    """Visit every parent once and draw its presence given all others, except for the parents in `skipped` (k,).

    If `keep`, expectations given all others go to `now` (2, k), presence and coefficient, and those of the parents not
    skipped, with second moments, to `sums`. `control` (k,) gets ``drawn presence - its probability``, whose expectation
    is zero.
    """
    k = chain.present.shape[0]
    setting = chain.counts[SETTING]
    noise, determinant = noise_at(systems, setting), systems.has_determinant[setting]
    log_factor, log_size, certain = systems.log_factor[setting], systems.log_size, systems.certain
    base, in_base, inverse, moved, place = chain.base, chain.in_base, chain.inverse, chain.moved, chain.place
    present, diagonal, linear, row, weights = chain.present, chain.diagonal, chain.linear, chain.row, chain.weights
    counts, numbers, seen, scales = chain.counts, chain.numbers, chain.seen, systems.scale[setting]
    plain, square, square_between, visits = sums.mean, sums.square, sums.square_between, sums.visits
    certain_count = k - (log_size.shape[0] - 1)
    limit = work_limit(chain)
    residual = residual_rate(noise, numbers[QUADRATIC])
    free = chain.counts[SIZE] - certain_count
    for v in range(k):
        inside = present[v]
        scale = scales[v]
        log_prior = 0.0
        others = free - 1 if inside else free
        if not certain[v]:
            log_prior = log_factor[v] + log_size[others + 1] - log_size[others]
        probability, mean, variance, rate = conditional(
            inside, diagonal[v], linear[v], TINY * scale, log_prior, residual, noise, others, determinant
        )
        into = inside
        if certain[v]:
            probability = 1.0
        elif not skipped[v]:
            into = generator.random() < probability
            control[v] += (1.0 if into else 0.0) - probability
        if keep:
            part = probability * mean
            now[INCLUSION, v] = probability
            now[MEAN, v] = part
            if not skipped[v]:
                visits[v] += 1.0
                plain[v] += part
                if probability > 0.0:
                    if not noise.known:
                        variance *= rate * variance_factor(noise, others + 1)
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
            residual = residual_rate(noise, numbers[QUADRATIC])
    numbers[VISITS] += 1.0


@compiled
def swap_once(systems: Systems, chain: Chain, control: FloatArray, generator: np.random.Generator) -> None:
    """Take one uncertain parent out at random and fill its place from all absent parents by posterior odds.

    The parent's own weight is among the choices. Given the set without it, this draws from the exact conditional, so
    nothing is rejected, and near-duplicates exchange places in one step. `control` (k,) gets the drawn presence less
    its probability, as in `sweep_once`.
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
    noise, determinant = noise_at(systems, setting), systems.has_determinant[setting]
    load_row(chain, v)
    row = chain.row
    pivot = 1.0 / row[v]
    mean = chain.linear[v]
    residual = residual_rate(noise, chain.numbers[QUADRATIC] + mean * mean * pivot)
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
        weight[u] = systems.log_factor[setting, u] + log_gain(noise, residual, beta * beta / alpha, free - 1)
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
    for u in range(k):
        if weight[u] > 0.0:
            control[u] -= weight[u] / whole_weight
    control[chosen] += 1.0
    if chosen != v:
        for u in (v, chosen):
            safe_flip(systems, chain, u)
        chain.counts[SWAPS] += 1
        chain.counts[FLIPS] += 2


@compiled
def log_weight(systems: Systems, chain: Chain, setting: int, factor: FloatArray) -> float:
    """Return the log weight of the chain's parent set under a setting; `factor` is scratch space, (k, k)."""
    scale = systems.scale[setting]
    members = np.flatnonzero(chain.present)
    count = members.shape[0]
    value = systems.constant[setting]
    q = 0.0
    center = chain.weights
    for i, v in enumerate(members):
        factor[i, i] = scale[v]
        for j in range(i + 1, count):
            factor[i, j] = systems.factor[setting] * systems.gram[v, members[j]]
        center[i] = systems.shift[setting, v]
    factorise(factor, 0, count, TINY)
    solve_forward(factor, 0, count, center)
    for i, v in enumerate(members):
        q += center[i] * center[i]
        value += systems.log_factor[setting, v]
        if systems.has_determinant[setting]:
            value -= math.log(factor[i, i])
    return float(value + log_term(noise_at(systems, setting), q, free_size(systems, chain)))


@inner
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


@compiled
def run_chain(
    systems: Systems,
    chain: Chain,
    sums: Sums,
    together: Together,
    trace: FloatArray,
    sets: BoolArray,
    set_settings: IntArray,
    batch: int,
    swaps: int,
    keep: bool,
    generator: np.random.Generator,
    response: Response,
    every: int,
) -> None:
    """Run ``trace.shape[0] * batch`` sweeps, each followed by a draw of the parents in `together`, `swaps` swap moves,
    and a setting move.

    Row ``b`` of `trace` (batches, 3, k) becomes the batch's mean of inclusion, coefficient and control; `sets` and
    `set_settings` get the parent set and setting at its end. Nothing of this changes unless `keep`. If `every` is
    positive, the state after so many batches is added to `response`, again and again.
    """
    k = chain.present.shape[0]
    settings = systems.constant.shape[0]
    factor = np.empty((k, k) if settings > 1 else (0, 0))
    now, control = np.zeros((2, k)), np.zeros(k)
    alone = ~together.inside
    for b in range(trace.shape[0]):
        for v in range(k):
            control[v] = 0.0
        for _ in range(batch):
            sweep_once(systems, chain, sums, now, control, together.inside, generator, keep)
            if together.members.shape[0] > 0:
                squares = keep and int(chain.numbers[VISITS]) % SQUARES == 0
                if not draw_block(systems, chain, together, sums, now, control, generator, squares):
                    sweep_once(systems, chain, sums, now, control, alone, generator, keep)
            for _ in range(swaps):
                swap_once(systems, chain, control, generator)
            if settings > 1:
                change_setting(systems, chain, generator, factor)
            if keep:
                _note_state(systems, chain, sums)
                for v in range(k):
                    trace[b, INCLUSION, v] += now[INCLUSION, v] / batch
                    trace[b, MEAN, v] += now[MEAN, v] / batch
        if keep:
            set_settings[b] = chain.counts[SETTING]
            for v in range(k):
                sets[b, v] = chain.present[v]
                trace[b, CONTROL, v] = control[v] / batch
        if every > 0 and (b + 1) % every == 0:
            add_response(systems, chain, response)


@inner
def _note_state(systems: Systems, chain: Chain, sums: Sums) -> None:
    setting = chain.counts[SETTING]
    sums.setting[setting] += 1.0
    sums.noise_variance[0] += noise_mean(systems, chain)
    noise = noise_at(systems, setting)
    if not noise.known:
        share = residual_rate(noise, chain.numbers[QUADRATIC]) / noise.whole
        chain.numbers[LEAST_RESIDUAL] = min(chain.numbers[LEAST_RESIDUAL], share)
