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

from alldags.kernels.jit import tight
from alldags.kernels.noise import NoiseTerm, log_term, residual_rate, variance_factor
from alldags.kernels.sampler.flip import (
    DRIFT,
    GROUPS,
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
    log_size: FloatArray  # (free + 1,), by the number of uncertain groups present
    log_columns: FloatArray  # by the number of their columns, where it is another one; else of shape (1,)
    constant: FloatArray  # (G,)
    has_determinant: BoolArray  # (G,)
    known_noise: BoolArray  # (G,), this and the next three are the fields of a `NoiseTerm`
    whole: FloatArray  # (G,)
    shape: FloatArray  # (G,)
    shape_per_parent: FloatArray  # (G,)
    noise_unit: FloatArray  # (G,), the noise variance if it is known, else 1
    certain: BoolArray  # (k,)
    certain_columns: int
    starts: IntArray  # (flipped + 1,), where that begins which is flipped as one: a column alone or an uncertain group
    leads: IntArray  # (k,), 1 at the first column of an uncertain group, 0 elsewhere
    copies: IntArray  # (k,), which kind of uncertain parents that are copies of each other, -1 if none
    chance: FloatArray  # (k,), with which probability to propose each of them
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
    counts: IntArray  # (9,)
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
        counts=np.zeros(9, dtype=np.int64),
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
    chain.counts[GROUPS] += systems.leads[v] if chain.present[v] else -systems.leads[v]


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
    chain.counts[GROUPS] = 0
    chain.counts[WORK] = 0
    quadratic, value = 0.0, systems.constant[setting]
    for v in range(k):
        if chain.in_base[v]:
            chain.counts[SIZE] += 1
            chain.counts[GROUPS] += systems.leads[v]
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
    groups, columns = chain.counts[GROUPS], free_size(systems, chain)
    chain.numbers[LOG_WEIGHT] = value + last_terms(systems, setting, groups, columns, quadratic)


@tight
def last_terms(systems: Systems, setting: int, groups: int, columns: int, quadratic: float) -> float:
    """Return what depends on the numbers of uncertain groups and columns in a set, and f(q, columns)."""
    value = systems.log_size[groups] + log_term(noise_at(systems, setting), quadratic, columns)
    return float(value if systems.log_columns.shape[0] == 1 else value + systems.log_columns[columns])


@tight
def log_prior_of(systems: Systems, setting: int, v: int, groups: int, columns: int) -> float:
    """Return what the log odds of column `v` owe to the prior, given so many other uncertain groups and columns."""
    value = systems.log_factor[setting, v] + systems.log_size[groups + systems.leads[v]] - systems.log_size[groups]
    if systems.log_columns.shape[0] > 1:
        value += systems.log_columns[columns + 1] - systems.log_columns[columns]
    return float(value)


@tight
def log_odds_of(systems: Systems, chain: Chain, v: int) -> float:
    """Return the log odds of the uncertain column `v` given all others.

    The weight of a set that splits a group, on the way from one to another, is what follows if the group counts when
    its first column is there.
    """
    setting, inside = chain.counts[SETTING], chain.present[v]
    others, groups = free_size(systems, chain), chain.counts[GROUPS]
    if inside:
        others, groups = others - 1, groups - systems.leads[v]
    noise = noise_at(systems, setting)
    return conditional(
        inside,
        chain.diagonal[v],
        chain.linear[v],
        TINY * systems.scale[setting, v],
        log_prior_of(systems, setting, v, groups, others),
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
    """Return the number of uncertain columns in the current set."""
    return int(chain.counts[SIZE] - systems.certain_columns)


@tight
def noise_mean(systems: Systems, chain: Chain) -> float:
    """Return the posterior mean of the noise variance given the current set."""
    setting = chain.counts[SETTING]
    if systems.known_noise[setting]:
        return float(systems.noise_unit[setting])
    noise = noise_at(systems, setting)
    return residual_rate(noise, chain.numbers[QUADRATIC]) * variance_factor(noise, free_size(systems, chain))
