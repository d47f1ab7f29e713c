"""Moves of the sampler of parent sets: Gibbs sweeps, swaps, jumps between modes, and changes of the setting.

All of them leave ``w(P, g)^beta r(P, g)^(1 - beta)`` invariant, where ``w`` is the posterior weight of a parent set and
a setting, and ``r`` a *reference* in which parents and setting are independent. The posterior has ``beta = 1``; a small
beta flattens it towards the reference, a large one turns sweeps into a search for the nearest best set.

`groups` is where that begins which is flipped as one, or None if every column is alone: numba then leaves out what is
done with groups, which takes long to compile.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.jit import compiled, tight
from alldags.kernels.noise import log_gain, residual_rate, variance_factor
from alldags.kernels.sampler.chain import (
    Chain,
    Systems,
    free_size,
    load_row,
    noise_at,
    noise_mean,
    refresh,
    safe_flip,
    start,
    work_limit,
)
from alldags.kernels.sampler.copies import toggle_copies
from alldags.kernels.sampler.flip import (
    FLIPS,
    GROUPS,
    JUMPS,
    LEAST_RESIDUAL,
    LOG_WEIGHT,
    QUADRATIC,
    SETTING,
    SETTING_MOVES,
    SIZE,
    SWAPS,
    TINY,
    WORK,
    flip_arrays,
)
from alldags.kernels.sampler.groups import swap_groups, visit_group
from alldags.kernels.sampler.odds import conditional, drawn
from alldags.kernels.sampler.sets import add_set_moments, set_log_weight
from alldags.kernels.sampler.target import BETWEEN, INCLUSION, MEAN, SQUARE, Target
from alldags.typing import BoolArray, FloatArray, IntArray

NEGLIGIBLE = 1e-7  # shares below are not averaged over
SETTING_EVERY = 4  # sweeps between draws of the setting, without jumps: a new one costs a factorisation
COSTLY_EVERY = 4  # sweeps between draws of parents whose flips are costly
CHEAP, MOST_EVERY = 1000, 8  # jumps that cost more than so many operations per parent wait, at most so many sweeps


class Record(NamedTuple):
    """What a run of B batches writes down; with no rows in `trace` nothing is."""

    trace: FloatArray  # (B, 4, k), batch means: presence, coefficient, its square, squared conditional mean
    log_weight: FloatArray  # (B,), batch means of the log weight
    noise: FloatArray  # (B,), batch means of the noise variance
    sets: BoolArray  # (B, k), parent set at the end of each batch
    settings: IntArray  # (B,), setting there


@tight
def sweep_once(
    systems: Systems,
    chain: Chain,
    target: Target,
    order: IntArray,
    groups: IntArray | None,
    now: FloatArray,
    generator: np.random.Generator,
    keep: bool,
    rest: bool,
) -> None:
    """Visit columns and groups in this order, (flipped,), and draw the presence of each given all others.

    If `keep`, expectations given all others are added to `now` (4, k), rows as in a trace. If `rest`, parents whose
    flips are costly stay as they are; what is expected of them is added all the same.
    """
    setting, beta = chain.counts[SETTING], target.beta
    noise, determinant = noise_at(systems, setting), systems.has_determinant[setting]
    log_factor, log_size, log_columns = systems.log_factor[setting], systems.log_size, systems.log_columns
    certain = systems.certain
    costly = systems.costly[setting]
    base, in_base, inverse, moved, place = chain.base, chain.in_base, chain.inverse, chain.moved, chain.place
    present, diagonal, linear, row, weights = chain.present, chain.diagonal, chain.linear, chain.row, chain.weights
    counts, numbers, often, scales, reference = (
        chain.counts,
        chain.numbers,
        chain.often,
        systems.scale[setting],
        target.reference,
    )
    certain_count = systems.certain_columns
    limit = work_limit(chain)
    residual = residual_rate(noise, numbers[QUADRATIC])
    free, held = counts[SIZE] - certain_count, counts[GROUPS]
    for i in range(order.shape[0]):
        v = order[i]
        if groups is not None:
            v, last = groups[order[i]], groups[order[i] + 1]
            if last - v > 1:
                visit_group(systems, chain, target, v, last, now, generator, keep)
                free, held = counts[SIZE] - certain_count, counts[GROUPS]
                residual = residual_rate(noise, numbers[QUADRATIC])
                continue
        inside = present[v]
        log_prior, others = 0.0, free
        if not certain[v]:
            others = free - 1 if inside else free
            beside = held - 1 if inside else held
            log_prior = log_factor[v] + log_size[beside + 1] - log_size[beside]
            if log_columns.shape[0] > 1:
                log_prior += log_columns[others + 1] - log_columns[others]
        log_odds, mean, variance, rate = conditional(
            inside, diagonal[v], linear[v], TINY * scales[v], log_prior, residual, noise, others, determinant
        )
        probability, into = 1.0, True
        if not certain[v]:
            tempered = log_odds if beta == 1.0 else beta * log_odds + (1.0 - beta) * reference[v]
            probability = 1.0 / (1.0 + math.exp(-tempered))
            into = inside if rest and costly[v] else generator.random() < probability
            often[v] += probability - 0.5
        if keep:
            part = probability * mean
            now[INCLUSION, v] += probability
            now[MEAN, v] += part
            now[BETWEEN, v] += part * mean
            if probability > 0.0:
                if not noise.known:
                    size = others if certain[v] else others + 1
                    variance *= rate * variance_factor(noise, size)
                now[SQUARE, v] += probability * variance + part * mean
        if into != inside:
            numbers[LOG_WEIGHT] += log_odds if into else -log_odds
            flip_arrays(
                base,
                in_base,
                inverse,
                moved,
                place,
                present,
                diagonal,
                linear,
                row,
                weights,
                counts,
                numbers,
                scales[v],
                v,
            )
            counts[GROUPS] += 1 if into else -1
            if counts[WORK] >= limit:
                refresh(systems, chain)
            counts[FLIPS] += 1
            free, held = counts[SIZE] - certain_count, counts[GROUPS]
            residual = residual_rate(noise, numbers[QUADRATIC])


@tight
def swap_once(systems: Systems, chain: Chain, target: Target, generator: np.random.Generator) -> None:
    """Take one uncertain parent out at random and fill its place from all absent parents by posterior odds.

    The parent's own weight is among the choices. Given the set without it, this draws from the exact conditional, so
    nothing is rejected, and near-duplicates exchange places in one step.
    """
    k, free = chain.present.shape[0], free_size(systems, chain)
    if free <= 0 or chain.counts[SIZE] == k:
        return
    v, left_out = np.int64(-1), int(generator.random() * free)
    while left_out >= 0:  # the left_out-th of the uncertain parents present
        v += 1
        if chain.present[v] and not systems.certain[v]:
            left_out -= 1
    setting, beta = chain.counts[SETTING], target.beta
    noise, determinant = noise_at(systems, setting), systems.has_determinant[setting]
    load_row(chain, v)
    row, weight = chain.row, chain.weights
    pivot = 1.0 / row[v]
    mean = chain.linear[v]
    residual = residual_rate(noise, chain.numbers[QUADRATIC] + mean * mean * pivot)
    for u in range(k):
        chain.before[u] = -np.inf
        weight[u] = -np.inf
        if systems.certain[u] or (chain.present[u] and u != v):
            continue
        if u == v:
            alpha, beta_u = -pivot, -mean * pivot
        else:
            floor = TINY * systems.scale[setting, u]
            alpha = max(chain.diagonal[u] - row[u] * row[u] * pivot, floor)
            beta_u = chain.linear[u] - row[u] * mean * pivot
        value = systems.log_factor[setting, u] + log_gain(noise, residual, beta_u * beta_u / alpha, free - 1)
        if determinant:
            value -= 0.5 * math.log(alpha)
        chain.before[u] = value
        weight[u] = beta * value + (1.0 - beta) * target.reference[u]
    chosen = drawn(weight, k, generator)
    if chosen != v:
        log_weight = chain.numbers[LOG_WEIGHT] + chain.before[chosen] - chain.before[v]
        for place in (v, chosen):
            safe_flip(systems, chain, place)
        chain.numbers[LOG_WEIGHT] = log_weight
        chain.counts[SWAPS] += 1
        chain.counts[FLIPS] += 2


@tight
def _over_settings(
    systems: Systems, chain: Chain, target: Target, present: BoolArray, plain: FloatArray, tempered: FloatArray
) -> float:
    """Put the log weights of a set under all settings into `plain` and `tempered`, (G,); return the log of a sum.

    That is the sum of the tempered weights; what the reference says on the parents is not in it.
    """
    best, total = -np.inf, 0.0
    for g in range(plain.shape[0]):
        plain[g] = set_log_weight(systems, present, g, chain.factor, chain.before)
        tempered[g] = target.beta * plain[g] + (1.0 - target.beta) * target.reference_setting[g]
        best = max(best, tempered[g])
    for g in range(plain.shape[0]):
        total += math.exp(tempered[g] - best)
    return best + math.log(total)


@tight
def _note_moments(
    systems: Systems, chain: Chain, present: BoolArray, weights: FloatArray, total: float, share: float, out: FloatArray
) -> None:
    """Add `share` times what a trace holds, given a parent set, to `out` (4, k); `total` is the log sum of weights."""
    for g in range(weights.shape[0]):
        weight = math.exp(weights[g] - total)
        if weight > NEGLIGIBLE:
            set_log_weight(systems, present, g, chain.factor, chain.before)
            add_set_moments(systems, present, g, chain.factor, chain.before, chain.weights, share * weight, out)


@tight
def jump(
    systems: Systems,
    chain: Chain,
    target: Target,
    values: FloatArray,
    now: FloatArray,
    generator: np.random.Generator,
    share: float,
) -> None:
    """Propose every jump once, with the settings summed over, then draw the setting given the parent set.

    A jump flips all parents of one of the target's sets at once. It is its own inverse, and is proposed only where at
    most one of these parents looks different from one of the two modes it joins, which holds there and back. `now`
    (4, k) gets `share` times the difference that averaging over both ends of each makes: its expectation is zero, and
    modes too light to be visited come in by it. `values` (2, 2, G) is scratch.
    """
    wanted, at = chain.wanted, 0  # `at`: where in `values` the current set is
    here = _over_settings(systems, chain, target, chain.present, values[0, 0], values[0, 1])
    for j in range(target.jumps.shape[0]):
        alike, unlike, shift = np.int64(0), np.int64(0), 0.0
        for v in range(wanted.shape[0]):
            wanted[v] = chain.present[v]
            if target.jumps[j, v]:
                wanted[v] = not chain.present[v]
                shift += target.reference[v] if wanted[v] else -target.reference[v]
                if chain.present[v] == target.pattern[j, v]:
                    alike += systems.leads[v]
                else:
                    unlike += systems.leads[v]
        if min(alike, unlike) > 1:
            continue
        there = _over_settings(systems, chain, target, wanted, values[1 - at, 0], values[1 - at, 1])
        change = there - here + (1.0 - target.beta) * shift
        part = share / (1.0 + math.exp(-change))
        if part > NEGLIGIBLE:
            _note_moments(systems, chain, wanted, values[1 - at, 1], there, part, now)
            _note_moments(systems, chain, chain.present, values[at, 1], here, -part, now)
        if math.log(1.0 - generator.random()) < change:
            here, at = there, 1 - at
            for v in range(wanted.shape[0]):
                if target.jumps[j, v]:
                    safe_flip(systems, chain, v)
            chain.counts[JUMPS] += 1
    setting = drawn(values[at, 1], values.shape[2], generator)
    if setting != chain.counts[SETTING]:
        chain.counts[SETTING_MOVES] += 1
        start(systems, chain, chain.present, setting)
    chain.numbers[LOG_WEIGHT] = values[at, 0, setting]


@compiled
def run_chain(
    systems: Systems,
    chain: Chain,
    present: BoolArray,
    setting: int,
    target: Target,
    order: IntArray,
    groups: IntArray | None,
    first: int,
    last: int,
    batch: int,
    record: Record,
    generator: np.random.Generator,
) -> None:
    """Run the batches from `first` to before `last`, of `batch` sweeps each, with swaps, jumps and new settings.

    Batch 0 starts from a parent set and a setting; later ones go on from where the chain is, as if never left.
    """
    if first == 0:
        start(systems, chain, present, setting)
    k, settings, jumps = chain.present.shape[0], systems.constant.shape[0], target.jumps.shape[0]
    keep = record.log_weight.shape[0] > 0
    now, values = np.zeros((4, k)), np.zeros((2, 2, settings))
    size = 0  # at the start
    for v in range(k):
        if present[v] or systems.certain[v]:
            size += 1
    every = int(settings * size**3 // (CHEAP * k))
    every = min(max(every, 1), MOST_EVERY) if jumps > 0 else SETTING_EVERY
    share = float(every) if keep and jumps > 0 else 0.0
    step, kinds = first * batch, np.int64(0)
    for v in range(k):
        kinds = max(kinds, systems.copies[v] + 1)
    for b in range(first, last):
        for r in range(4):
            for v in range(k):
                now[r, v] = 0.0
        for _ in range(batch):
            sweep_once(systems, chain, target, order, groups, now, generator, keep, step % COSTLY_EVERY != 0)
            for _ in range(target.swaps):
                if groups is None:
                    swap_once(systems, chain, target, generator)
                else:
                    swap_groups(systems, chain, target, generator)
            step += 1
            if step % COSTLY_EVERY == 0:
                toggle_copies(systems, chain, target, kinds, generator)
            if (jumps > 0 or settings > 1) and step % every == 0:
                jump(systems, chain, target, values, now, generator, share)
            if keep:
                _note_state(systems, chain, record, b, 1.0 / batch)
        if keep:
            record.settings[b] = chain.counts[SETTING]
            for v in range(k):
                record.sets[b, v] = chain.present[v]
                for r in range(4):
                    record.trace[b, r, v] = now[r, v] / batch


@tight
def _note_state(systems: Systems, chain: Chain, record: Record, b: int, share: float) -> None:
    setting = chain.counts[SETTING]
    record.log_weight[b] += share * chain.numbers[LOG_WEIGHT]
    record.noise[b] += share * noise_mean(systems, chain)
    if not systems.known_noise[setting]:
        part = residual_rate(noise_at(systems, setting), chain.numbers[QUADRATIC]) / systems.whole[setting]
        chain.numbers[LEAST_RESIDUAL] = min(chain.numbers[LEAST_RESIDUAL], part)
