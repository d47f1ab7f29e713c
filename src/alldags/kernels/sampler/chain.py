"""The state of a sampler of parent sets: a matrix swept on a base set, and the few flips that lead from there.

With ``A`` the precision and ``b`` the shift of the current setting, ``T`` is ``A`` swept on the parents ``P``: minus
the inverse of ``A_P`` on ``P``, ``A_P^-1 A_Pj`` between ``P`` and the others, the Schur complement outside. A `Chain`
holds ``T`` in full only for a *base set*, the parents present more often than not. With ``F`` the parents in which the
current set differs from the base set,

- ``inverse`` is the inverse of the base matrix's block on ``F``, from which any row of the current ``T`` follows in
  O(|F| k) operations;
- ``diagonal`` is the diagonal of the current ``T``;
- ``linear`` has the conditional means on ``P``, the residual shifts outside.

So the log odds of every parent given all others cost O(1), and a flip O(|F| k), where sweeping the whole matrix would
cost O(k^2). All of this follows from the parent set and the setting alone: a chain is work space, made anew for every
call from Python.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.jit import compiled, tight
from alldags.kernels.linalg import factorise, half_log_determinant, solve_backward, solve_forward
from alldags.kernels.noise import NoiseTerm, log_term, residual_rate, variance_factor
from alldags.kernels.sampler.flip import (
    DRIFT,
    LOG_WEIGHT,
    MOVED,
    MUCH_WORK,
    PATIENCE,
    QUADRATIC,
    SETTING,
    SIZE,
    TINY,
    WORK,
    flip_arrays,
    load_row_arrays,
    rank_one,
)
from alldags.kernels.sampler.odds import conditional
from alldags.typing import BoolArray, FloatArray, IntArray


class Systems(NamedTuple):
    """The conjugate systems of all settings, stacked: G settings, k parents, rows padded to a width of `padded(k)`."""

    gram: FloatArray  # (k, width), cross-products of the parents
    factor: FloatArray  # (G,), off the diagonal A is factor * gram
    scale: FloatArray  # (G, k), the diagonal of A
    shift: FloatArray  # (G, k)
    log_factor: FloatArray  # (G, k)
    log_size: FloatArray  # (free + 1,)
    constant: FloatArray  # (G,)
    has_determinant: BoolArray  # (G,)
    known_noise: BoolArray  # (G,), this and the next three are the fields of a `NoiseTerm`
    whole: FloatArray  # (G,)
    shape: FloatArray  # (G,)
    shape_per_parent: FloatArray  # (G,)
    noise_unit: FloatArray  # (G,), the noise variance if it is known, else 1
    certain: BoolArray  # (k,)
    group: IntArray  # (k,), which group of uncertain parents that are copies of each other, -1 if none
    chance: FloatArray  # (k,), with which probability to propose each of a group
    costly: BoolArray  # (G, k), copies of others whose slab is so wide that each flip asks for a new factorisation


class Chain(NamedTuple):
    """The state of one chain; see the module's description."""

    base: FloatArray  # (k, width), swept on in_base
    in_base: BoolArray  # (k,)
    inverse: FloatArray  # (k, k), the leading counts[MOVED] rows and columns are in use
    moved: IntArray  # (k,), F: the parents in which the current set differs from the base set
    place: IntArray  # (k,), position of each parent in `moved`, -1 if it is not there
    present: BoolArray  # (k,)
    diagonal: FloatArray  # (width,)
    linear: FloatArray  # (width,)
    row: FloatArray  # (width,), a row of the current T
    weights: FloatArray  # (k,), scratch
    often: FloatArray  # (k,), how often each parent was found present, less how often absent
    wanted: BoolArray  # (k,), scratch
    current: BoolArray  # (k,), scratch
    before: FloatArray  # (k,), scratch
    factor: FloatArray  # (k, k) or (0, 0), scratch for `set_log_weight`
    counts: IntArray  # (8,)
    numbers: FloatArray  # (4,)


def padded(k: int) -> int:
    """Return the row length: whole vector registers leave no remainder to handle one by one."""
    return -(-k // 16) * 16


def new_chain(k: int) -> Chain:
    """Return an uninitialised chain; `start` puts it on a parent set."""
    width = padded(k)
    return Chain(
        base=np.empty((k, width)),
        in_base=np.zeros(k, dtype=bool),
        inverse=np.empty((k, k)),
        moved=np.zeros(k, dtype=np.int64),
        place=np.full(k, -1),
        present=np.zeros(k, dtype=bool),
        diagonal=np.zeros(width),
        linear=np.zeros(width),
        row=np.zeros(width),
        weights=np.zeros(k),
        often=np.zeros(k),
        wanted=np.zeros(k, dtype=bool),
        current=np.zeros(k, dtype=bool),
        before=np.zeros(k),
        factor=np.empty((k, k)),
        counts=np.zeros(8, dtype=np.int64),
        numbers=np.array([0.0, 0.0, 0.0, np.inf]),
    )


@tight
def flip(systems: Systems, chain: Chain, v: int) -> None:
    """Put parent `v` in if it is absent, out if it is present; the log weight is not touched."""
    flip_arrays(
        chain.base,
        chain.in_base,
        chain.inverse,
        chain.moved,
        chain.place,
        chain.present,
        chain.diagonal,
        chain.linear,
        chain.row,
        chain.weights,
        chain.counts,
        chain.numbers,
        systems.scale[chain.counts[SETTING], v],
        v,
    )


@tight
def load_row(chain: Chain, v: int) -> None:
    """Put row `v` of the current T into ``chain.row``."""
    load_row_arrays(
        chain.base,
        chain.in_base,
        chain.inverse,
        chain.moved,
        chain.place,
        chain.row,
        chain.weights,
        chain.counts[MOVED],
        v,
    )


@tight
def work_limit(chain: Chain) -> int:
    """Return how much work on flips justifies a new base set."""
    return int(PATIENCE * (chain.counts[SIZE] + 8) * chain.present.shape[0])


@tight
def start(systems: Systems, chain: Chain, present: BoolArray, setting: int) -> None:
    """Put the chain on a parent set, shape (k,), and a setting; certain parents are always in."""
    for v in range(present.shape[0]):
        chain.wanted[v] = present[v] or systems.certain[v]
    chain.counts[SETTING] = setting
    _factor(systems, chain)


@tight
def refresh(systems: Systems, chain: Chain) -> None:
    """Factor anew, on a base set where the chain spends its time; note how far rounding had moved the means.

    Where the way from there to the current set meets an almost singular pivot, the current set becomes the base set.
    """
    k = chain.present.shape[0]
    before, current = chain.before, chain.current
    ill = chain.counts[WORK] >= MUCH_WORK  # then the flip just made is inaccurate, and nothing has used it yet
    for j in range(k):
        before[j] = chain.linear[j]
        current[j] = chain.present[j]
        stays = ill or systems.certain[j] or chain.often[j] == 0.0
        chain.wanted[j] = chain.present[j] if stays else chain.often[j] > 0.0
    _factor(systems, chain)
    log_weight = chain.numbers[LOG_WEIGHT]
    for j in range(k):
        if chain.present[j] != current[j]:
            log_odds = log_odds_of(systems, chain, j)
            log_weight += log_odds if current[j] else -log_odds
            flip(systems, chain, j)
    if chain.counts[WORK] >= MUCH_WORK:
        for j in range(k):
            chain.wanted[j] = current[j]
        _factor(systems, chain)
    else:
        chain.numbers[LOG_WEIGHT] = log_weight
        chain.counts[WORK] = 0
    if not ill:
        for j in range(k):
            if chain.present[j]:
                chain.numbers[DRIFT] = max(chain.numbers[DRIFT], abs(chain.linear[j] - before[j]))


@tight
def _factor(systems: Systems, chain: Chain) -> None:
    """Sweep A on the parents `wanted`, which become base set and current set, and compute their log weight."""
    k, width = chain.base.shape
    base, row, linear = chain.base, chain.row, chain.linear
    setting = chain.counts[SETTING]
    for v in range(k):
        chain.in_base[v] = chain.wanted[v]
        chain.present[v] = chain.wanted[v]
        chain.place[v] = -1
        linear[v] = systems.shift[setting, v]
        for j in range(width):
            base[v, j] = systems.factor[setting] * systems.gram[v, j]
        base[v, v] = systems.scale[setting, v]
    chain.counts[MOVED] = 0
    chain.counts[SIZE] = 0
    chain.counts[WORK] = 0
    quadratic, value = 0.0, systems.constant[setting]
    for v in range(k):
        if chain.in_base[v]:
            chain.counts[SIZE] += 1
            for j in range(width):
                row[j] = base[v, j]
            row[v] = max(row[v], TINY * systems.scale[setting, v])
            pivot = 1.0 / row[v]
            step = linear[v] * pivot
            quadratic += step * linear[v]
            value += systems.log_factor[setting, v]
            if systems.has_determinant[setting]:
                value -= 0.5 * math.log(row[v])
            rank_one(base, row, v, pivot, np.int64(0), v)
            rank_one(base, row, v, pivot, v + 1, k)
            for j in range(width):
                base[v, j] = row[j] * pivot
                linear[j] -= row[j] * step
            base[v, v] = -pivot
            linear[v] = step
    for v in range(k):
        chain.diagonal[v] = base[v, v]
    chain.numbers[QUADRATIC] = quadratic
    chain.numbers[LOG_WEIGHT] = value + _last_terms(systems, setting, chain.counts[SIZE], quadratic)


@tight
def _last_terms(systems: Systems, setting: int, size: int, quadratic: float) -> float:
    """Return what depends on the number of parents, and f(q, size)."""
    free = size - (systems.certain.shape[0] - (systems.log_size.shape[0] - 1))
    return float(systems.log_size[free] + log_term(noise_at(systems, setting), quadratic, free))


@tight
def set_log_weight(systems: Systems, present: BoolArray, setting: int, factor: FloatArray, center: FloatArray) -> float:
    """Return the log weight of a parent set, (k,), under a setting.

    Leaves the Cholesky factor ``U`` of its precision in the leading part of `factor` (k, k), ``U'^-1 b`` in `center`.
    """
    first = p = np.int64(0)
    value, q = systems.constant[setting], 0.0
    for v in range(present.shape[0]):
        if present[v]:
            j = p
            for u in range(v, present.shape[0]):
                if present[u]:
                    factor[p, j] = systems.factor[setting] * systems.gram[v, u]
                    j += 1
            factor[p, p] = systems.scale[setting, v]
            center[p] = systems.shift[setting, v]
            value += systems.log_factor[setting, v]
            p += 1
    factorise(factor, first, p, TINY)
    solve_forward(factor, first, p, center)
    for i in range(p):
        q += center[i] * center[i]
    if systems.has_determinant[setting]:
        value -= half_log_determinant(factor, first, p)
    return value + _last_terms(systems, setting, p, q)


@tight
def add_set_moments(
    systems: Systems,
    present: BoolArray,
    setting: int,
    factor: FloatArray,
    center: FloatArray,
    column: FloatArray,
    weight: float,
    out: FloatArray,
) -> None:
    """Add, times `weight`, presence, mean, mean square and squared mean of the set's coefficients to `out` (4, k).

    `factor` and `center` are as `set_log_weight` left them; the latter is overwritten, and `column` (k,) is scratch.
    """
    first, p, q, free = np.int64(0), np.int64(0), 0.0, np.int64(0)
    for v in range(present.shape[0]):
        if present[v]:
            q += center[p] * center[p]
            p += 1
            free += 0 if systems.certain[v] else 1
    noise = 1.0
    if not systems.known_noise[setting]:
        term = noise_at(systems, setting)
        noise = residual_rate(term, q) * variance_factor(term, free)
    solve_backward(factor, first, p, center)
    i = np.int64(0)
    for v in range(present.shape[0]):
        if not present[v]:
            continue
        for h in range(p):
            column[h] = 1.0 if h == i else 0.0
        solve_forward(factor, i, p, column)
        variance = 0.0
        for h in range(i, p):
            variance += column[h] * column[h]
        mean = center[i]
        out[0, v] += weight
        out[1, v] += weight * mean
        out[2, v] += weight * (mean * mean + noise * variance)
        out[3, v] += weight * mean * mean
        i += 1


@tight
def log_odds_of(systems: Systems, chain: Chain, v: int) -> float:
    """Return the log odds of the uncertain parent `v` given all others."""
    setting, inside = chain.counts[SETTING], chain.present[v]
    others = free_size(systems, chain) - (1 if inside else 0)
    noise = noise_at(systems, setting)
    return conditional(
        inside,
        chain.diagonal[v],
        chain.linear[v],
        TINY * systems.scale[setting, v],
        systems.log_factor[setting, v] + systems.log_size[others + 1] - systems.log_size[others],
        residual_rate(noise, chain.numbers[QUADRATIC]),
        noise,
        others,
        systems.has_determinant[setting],
    )[0]


@tight
def safe_flip(systems: Systems, chain: Chain, v: int) -> None:
    """Flip parent `v`, and factor anew at once if it is almost collinear with the others."""
    flip(systems, chain, v)
    if chain.counts[WORK] >= MUCH_WORK:
        refresh(systems, chain)


@tight
def noise_at(systems: Systems, setting: int) -> NoiseTerm:
    """Return the noise function of a setting."""
    return NoiseTerm(
        systems.known_noise[setting], systems.whole[setting], systems.shape[setting], systems.shape_per_parent[setting]
    )


@tight
def free_size(systems: Systems, chain: Chain) -> int:
    """Return the number of uncertain parents in the current set."""
    return int(chain.counts[SIZE] - (chain.present.shape[0] - (systems.log_size.shape[0] - 1)))


@tight
def noise_mean(systems: Systems, chain: Chain) -> float:
    """Return the posterior mean of the noise variance given the current set."""
    setting = chain.counts[SETTING]
    if systems.known_noise[setting]:
        return float(systems.noise_unit[setting])
    noise = noise_at(systems, setting)
    return residual_rate(noise, chain.numbers[QUADRATIC]) * variance_factor(noise, free_size(systems, chain))


@compiled
def set_log_weights(systems: Systems, sets: BoolArray, settings: IntArray, out: FloatArray) -> None:
    """Put the log weight of each parent set, (D, k), under its setting, (D,), into `out`, (D,)."""
    k = sets.shape[1]
    factor, center = np.empty((k, k)), np.empty(k)
    for d in range(sets.shape[0]):
        out[d] = set_log_weight(systems, sets[d], settings[d], factor, center)
