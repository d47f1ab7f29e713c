"""Groups of columns that enter and leave as one: what the data say on them, and the moves that flip them.

With the m columns ``G`` of a group outside the current set, the corner of the current ``T`` on ``G`` is the Schur
complement ``S`` and ``linear`` the residual shift ``r``: present, the group's coefficients have the precision ``S`` and
the mean ``S^-1 r``, and ``q`` grows by ``r' S^-1 r``. Inside the set the corner is minus their covariance ``C`` and
``linear`` their mean ``m``: without the group ``q`` falls by ``m' C^-1 m``. Either way one Cholesky factorisation of m
columns has all that is asked, and the group is flipped by m flips of columns.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import tight
from alldags.kernels.linalg import factorise, half_log_determinant, solve_backward, solve_forward
from alldags.kernels.noise import TINY as LEAST_RATE
from alldags.kernels.noise import log_gain_of_group, residual_rate, variance_factor
from alldags.kernels.sampler.chain import (
    Chain,
    Systems,
    flip,
    free_size,
    log_odds_of,
    noise_at,
    refresh,
    work_limit,
)
from alldags.kernels.sampler.flip import (
    FLIPS,
    GROUPS,
    LOG_WEIGHT,
    MOVED,
    MUCH_WORK,
    QUADRATIC,
    SETTING,
    SWAPS,
    TINY,
    WORK,
    load_corner_arrays,
)
from alldags.kernels.sampler.odds import drawn
from alldags.kernels.sampler.target import BETWEEN, INCLUSION, MEAN, SQUARE, Target
from alldags.typing import FloatArray


@tight
def flip_group(systems: Systems, chain: Chain, first: int, last: int) -> None:
    """Flip the columns `first` to `last` - 1, and factor anew if they are almost collinear with the others."""
    for v in range(first, last):
        flip(systems, chain, v)
    if chain.counts[WORK] >= MUCH_WORK:
        refresh(systems, chain)


@tight
def load_corner(systems: Systems, chain: Chain, first: int, last: int) -> None:
    """Put the group's precision given the set without it, or its covariance if it is inside, into ``chain.factor``."""
    corner, setting, inside = chain.factor, chain.counts[SETTING], chain.present[first]
    load_corner_arrays(
        chain.base,
        chain.in_base,
        chain.inverse,
        chain.moved,
        chain.place,
        chain.weights,
        chain.counts[MOVED],
        first,
        last,
        corner,
    )
    for i in range(last - first):
        scale = systems.scale[setting, first + i]
        if inside:
            for j in range(i, last - first):
                corner[i, j] = -corner[i, j]
        corner[i, i] = max(corner[i, i], TINY / scale if inside else TINY * scale)


@tight
def group_conditional(systems: Systems, chain: Chain, first: int, last: int) -> tuple[float, float]:
    """Return the log odds of an uncertain group given all others, and the rate of the noise precision if it is there.

    Leaves the Cholesky factor ``U`` of the corner in ``chain.factor``, its diagonal before in ``chain.weights``, and
    ``U'^-1`` times the group's part of ``linear`` in ``chain.row``.
    """
    setting, inside, m, begin = chain.counts[SETTING], chain.present[first], last - first, np.int64(0)
    load_corner(systems, chain, first, last)
    value, reduction = 0.0, 0.0
    for i in range(m):
        value += systems.log_factor[setting, first + i]
        chain.weights[i] = chain.factor[i, i]
        chain.row[i] = chain.linear[first + i]
    factorise(chain.factor, begin, m, TINY)
    solve_forward(chain.factor, begin, m, chain.row)
    for i in range(m):
        reduction += chain.row[i] * chain.row[i]
    others, groups = free_size(systems, chain), chain.counts[GROUPS]
    noise = noise_at(systems, setting)
    without = residual_rate(noise, chain.numbers[QUADRATIC])
    half = half_log_determinant(chain.factor, begin, m)
    if inside:
        others, groups, without, half = others - m, groups - 1, without + 0.5 * reduction, -half
    value += systems.log_size[groups + 1] - systems.log_size[groups]
    if systems.log_columns.shape[0] > 1:
        value += systems.log_columns[others + m] - systems.log_columns[others]
    if systems.has_determinant[setting]:
        value -= half
    value += log_gain_of_group(noise, without, reduction, others, m)
    return value, max(without - 0.5 * reduction, LEAST_RATE * without)


@tight
def log_odds_of_group(systems: Systems, chain: Chain, first: int, last: int) -> float:
    """Return the log odds of an uncertain group, or of a column alone, given all others."""
    if last - first == 1:
        return log_odds_of(systems, chain, first)
    return group_conditional(systems, chain, first, last)[0]


@tight
def note_group(
    systems: Systems, chain: Chain, first: int, last: int, probability: float, rate: float, now: FloatArray
) -> None:
    """Add what is expected of a group to `now` (4, k), rows as in a trace; `group_conditional` has just been called."""
    setting, inside, m, begin = chain.counts[SETTING], chain.present[first], last - first, np.int64(0)
    noise, factor = noise_at(systems, setting), 1.0
    if not noise.known:
        columns = free_size(systems, chain)
        factor = rate * variance_factor(noise, columns if inside else columns + m)
    if not inside:
        solve_backward(chain.factor, begin, m, chain.row)
    for i in range(m):
        v, mean, variance = first + i, chain.row[i], 0.0
        if inside:
            mean, variance = chain.linear[v], chain.weights[i]
        else:
            for h in range(m):
                chain.before[h] = 1.0 if h == i else 0.0
            solve_forward(chain.factor, np.int64(i), m, chain.before)
            for h in range(i, m):
                variance += chain.before[h] * chain.before[h]
        now[INCLUSION, v] += probability
        now[MEAN, v] += probability * mean
        now[BETWEEN, v] += probability * mean * mean
        if probability > 0.0:
            now[SQUARE, v] += probability * (factor * variance + mean * mean)


@tight
def visit_group(
    systems: Systems,
    chain: Chain,
    target: Target,
    first: int,
    last: int,
    now: FloatArray,
    generator: np.random.Generator,
    keep: bool,
) -> None:
    """Draw the presence of an uncertain group given all others; if `keep`, add what is expected of it to `now`."""
    inside, beta = chain.present[first], target.beta
    log_odds, rate = group_conditional(systems, chain, first, last)
    tempered = log_odds if beta == 1.0 else beta * log_odds + (1.0 - beta) * target.reference[first]
    probability = 1.0 / (1.0 + math.exp(-tempered))
    into = generator.random() < probability
    if keep:
        note_group(systems, chain, first, last, probability, rate, now)
    for v in range(first, last):
        chain.often[v] += probability - 0.5
    if into != inside:
        chain.numbers[LOG_WEIGHT] += log_odds if into else -log_odds
        chain.counts[FLIPS] += 1
        flip_group(systems, chain, first, last)
        if chain.counts[WORK] >= work_limit(chain):
            refresh(systems, chain)


@tight
def swap_groups(systems: Systems, chain: Chain, target: Target, generator: np.random.Generator) -> None:
    """Take one uncertain group, or column alone, out at random and fill its place from all that are absent.

    As `moves.swap_once` does for columns, but the set without the group is really gone to: it is the one from which
    the odds of all others follow.
    """
    held, count = chain.counts[GROUPS], systems.starts.shape[0] - 1
    if held == 0 or held == systems.log_size.shape[0] - 1:
        return
    out, left_out = np.int64(-1), int(generator.random() * held)
    while left_out >= 0:  # the left_out-th of the uncertain groups present
        out += 1
        if chain.present[systems.starts[out]] and not systems.certain[systems.starts[out]]:
            left_out -= 1
    log_weight, odds, weight = chain.numbers[LOG_WEIGHT], chain.before, chain.weights
    flip_group(systems, chain, systems.starts[out], systems.starts[out + 1])
    for u in range(count):
        first = systems.starts[u]
        odds[u] = -np.inf
        if not (systems.certain[first] or chain.present[first]):
            odds[u] = log_odds_of_group(systems, chain, first, systems.starts[u + 1])
    for u in range(count):
        weight[u] = -np.inf
        if odds[u] > -np.inf:
            weight[u] = target.beta * odds[u] + (1.0 - target.beta) * target.reference[systems.starts[u]]
    chosen = drawn(weight, count, generator)
    log_weight += odds[chosen] - odds[out]
    flip_group(systems, chain, systems.starts[chosen], systems.starts[chosen + 1])
    chain.numbers[LOG_WEIGHT] = log_weight
    if chosen != out:
        chain.counts[SWAPS] += 1
        chain.counts[FLIPS] += 2
    if chain.counts[WORK] >= work_limit(chain):
        refresh(systems, chain)
