"""The state of a sampler of parent sets: a matrix swept on a base set, and the few flips that lead from there.

With ``A`` the precision and ``b`` the shift of the current setting, ``T`` is ``A`` swept on the parents ``P``: minus
the inverse of ``A_P`` on ``P``, ``A_P^-1 A_Pj`` between ``P`` and the others, the Schur complement outside. A `Chain`
holds ``T`` in full only for a *base set*, close to where the chain spends its time. With ``F`` the parents in
which the current set differs from the base set,

- ``inverse`` is the inverse of the base matrix's block on ``F``, from which any row of the current ``T`` follows in
  O(|F| k) operations;
- ``diagonal`` is the diagonal of the current ``T``;
- ``linear`` has the conditional means on ``P``, the residual shifts outside.

So the log odds of every parent given all others cost O(1), and a flip O(|F| k), where sweeping the whole matrix would
cost O(k^2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alldags.engines.kernels.jit import compiled, inner, tight
from alldags.engines.kernels.noise import NoiseTerm, residual_rate, shape_of
from alldags.engines.kernels.sampler.flip import (
    DRIFT,
    MOVED,
    MUCH_WORK,
    PATIENCE,
    QUADRATIC,
    REFRESHES,
    SETTING,
    SIZE,
    TINY,
    VISITS,
    WORK,
    flip_arrays,
    load_row_arrays,
    rank_one,
)
from alldags.typing import BoolArray, FloatArray, IntArray

LEAST_VISITS = 20.0  # sweeps before the base set is chosen by inclusion frequencies


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
    seen: FloatArray  # (k,), added-up probabilities of being present
    wanted: BoolArray  # (k,), scratch
    before: FloatArray  # (k,), scratch
    counts: IntArray  # (8,)
    numbers: FloatArray  # (4,)


def padded(k: int) -> int:
    """Return the row length: whole vector registers leave no remainder to handle one by one."""
    return -(-k // 16) * 16


def new_chain(k: int) -> Chain:
    """Return an uninitialised chain; `start` puts it on a parent set."""
    width = padded(k)
    return Chain(
        base=np.zeros((k, width)),
        in_base=np.zeros(k, dtype=bool),
        inverse=np.zeros((k, k)),
        moved=np.zeros(k, dtype=np.int64),
        place=np.full(k, -1),
        present=np.zeros(k, dtype=bool),
        diagonal=np.zeros(width),
        linear=np.zeros(width),
        row=np.zeros(width),
        weights=np.zeros(k),
        seen=np.zeros(k),
        wanted=np.zeros(k, dtype=bool),
        before=np.zeros(k),
        counts=np.zeros(8, dtype=np.int64),
        numbers=np.array([0.0, 0.0, np.inf, 0.0]),
    )


@compiled
def flip(systems: Systems, chain: Chain, v: int) -> None:
    """Put parent `v` in if it is absent, out if it is present."""
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


@compiled
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


@compiled
def work_limit(chain: Chain) -> int:
    """Return how much work on flips justifies a new base set."""
    return int(PATIENCE * (chain.counts[SIZE] + 8) * chain.present.shape[0])


@compiled
def start(systems: Systems, chain: Chain, present: BoolArray, setting: int) -> None:
    """Put the chain on a parent set, shape (k,), and a setting; certain parents are always in."""
    for v in range(present.shape[0]):
        chain.present[v] = present[v] or systems.certain[v]
        chain.seen[v] = 0.0
    chain.counts[SETTING] = setting
    chain.numbers[VISITS] = 0.0
    _rebase(systems, chain)


@compiled
def refresh(systems: Systems, chain: Chain) -> None:
    """Factor anew, on a base set where the chain spends its time; note how far rounding had moved the means."""
    k = chain.present.shape[0]
    before = chain.before
    for j in range(k):
        before[j] = chain.linear[j]
    ill = chain.counts[WORK] >= MUCH_WORK  # then the flip just made is inaccurate, and nothing has used it yet
    _rebase(systems, chain)
    drift = 0.0
    for j in range(k):
        if chain.present[j] and not ill:
            drift = max(drift, abs(chain.linear[j] - before[j]))
    chain.numbers[DRIFT] = max(chain.numbers[DRIFT], drift)
    chain.counts[REFRESHES] += 1


@inner
def _rebase(systems: Systems, chain: Chain) -> None:
    """Choose a base set, sweep A on it, and flip from there to the current set.

    Where that meets an almost singular pivot, the current set itself becomes the base set.
    """
    wanted = chain.wanted
    for v in range(wanted.shape[0]):
        wanted[v] = chain.present[v]
    at_current = chain.counts[WORK] >= MUCH_WORK or chain.numbers[VISITS] < LEAST_VISITS
    _sweep_base(systems, chain, wanted, at_current)
    chain.counts[WORK] = 0
    for v in range(wanted.shape[0]):
        if wanted[v] != chain.present[v]:
            flip(systems, chain, v)
    if chain.counts[WORK] >= MUCH_WORK:
        _sweep_base(systems, chain, wanted, True)
    chain.counts[WORK] = 0


@inner
def _sweep_base(systems: Systems, chain: Chain, wanted: BoolArray, at_current: bool) -> None:
    """Sweep A on the base set: `wanted`, or the parents present more often than not."""
    k, width = chain.base.shape
    base, row, linear = chain.base, chain.row, chain.linear
    setting = chain.counts[SETTING]
    for v in range(k):
        if at_current or systems.certain[v]:
            chain.in_base[v] = wanted[v]
        else:
            chain.in_base[v] = chain.seen[v] > 0.5 * chain.numbers[VISITS]
        chain.place[v] = -1
        linear[v] = systems.shift[setting, v]
        for j in range(width):
            base[v, j] = systems.factor[setting] * systems.gram[v, j]
        base[v, v] = systems.scale[setting, v]
    chain.numbers[QUADRATIC] = 0.0
    chain.counts[MOVED] = 0
    chain.counts[SIZE] = 0
    for v in range(k):
        chain.present[v] = chain.in_base[v]
        if chain.in_base[v]:
            chain.counts[SIZE] += 1
            for j in range(width):
                row[j] = base[v, j]
            row[v] = max(row[v], TINY * systems.scale[setting, v])
            pivot = 1.0 / row[v]
            step = linear[v] * pivot
            chain.numbers[QUADRATIC] += step * linear[v]
            rank_one(base, row, v, pivot, 0, v)
            rank_one(base, row, v, pivot, v + 1, k)
            for j in range(width):
                base[v, j] = row[j] * pivot
                linear[j] -= row[j] * step
            base[v, v] = -pivot
            linear[v] = step
    for v in range(k):
        chain.diagonal[v] = base[v, v]


@inner
def safe_flip(systems: Systems, chain: Chain, v: int) -> None:
    """Flip parent `v`, and factor anew at once if it is almost collinear with the others."""
    flip(systems, chain, v)
    if chain.counts[WORK] >= MUCH_WORK:
        refresh(systems, chain)


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


@tight
def noise_at(systems: Systems, setting: int) -> NoiseTerm:
    """Return the noise function of a setting."""
    return NoiseTerm(
        systems.known_noise[setting], systems.whole[setting], systems.shape[setting], systems.shape_per_parent[setting]
    )


@inner
def free_size(systems: Systems, chain: Chain) -> int:
    """Return the number of uncertain parents in the current set."""
    return int(chain.counts[SIZE] - (chain.present.shape[0] - (systems.log_size.shape[0] - 1)))


@inner
def noise_mean(systems: Systems, chain: Chain) -> float:
    """Return the posterior mean of the noise variance given the current set."""
    setting = chain.counts[SETTING]
    if systems.known_noise[setting]:
        return float(systems.noise_unit[setting])
    noise = noise_at(systems, setting)
    shape = shape_of(noise, free_size(systems, chain))
    return residual_rate(noise, chain.numbers[QUADRATIC]) / (shape - 1.0) if shape > 1.0 else np.inf
