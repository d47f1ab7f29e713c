"""The state of a sampler of parent sets: a swept matrix of which only the rows of the parents present are kept.

With ``P`` the parents present, ``A`` the precision and ``b`` the shift of the current setting, a `Chain` holds

- ``rows[r]``: row ``order[r]`` of the swept matrix: minus the inverse of ``A_P`` in the columns of ``P``, and
  ``A_P^-1 A_Pj`` in the others;
- ``diagonal``: minus the inverse's diagonal in ``P``, the Schur complement's outside;
- ``linear``: conditional means in ``P``, residual shifts outside.

So the log odds of every parent given all others cost O(1), and a flip O(|P| k), less than the O(k^2) of sweeping the
whole matrix when few parents are present.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from alldags.typing import BoolArray, FloatArray, IntArray

REFRESH_FLIPS = 2000  # flips between re-factorisations
ILL_PIVOT = 1e-7  # a pivot this small, relative to the diagonal of A, asks for an early re-factorisation
TINY = 1e-15  # least pivot and residual, relative to what they started from
SIZE, SETTING, SINCE, FLIPS, SWAPS, SWAP_TRIES, SETTING_MOVES, REFRESHES = range(8)  # places in Chain.counts
QUADRATIC, DRIFT, LEAST_RESIDUAL = range(3)  # places in Chain.numbers


class Systems(NamedTuple):
    """The conjugate systems of all settings, stacked: G settings, k parents, rows padded to a width of `padded(k)`."""

    precision: FloatArray  # (G, k, width)
    shift: FloatArray  # (G, k)
    log_factor: FloatArray  # (G, k)
    log_size: FloatArray  # (free + 1,)
    constant: FloatArray  # (G,)
    has_determinant: BoolArray  # (G,)
    known_noise: BoolArray  # (G,)
    total: FloatArray  # (G,)
    shape: FloatArray  # (G,)
    rate: FloatArray  # (G,)
    noise_unit: FloatArray  # (G,), the noise variance if it is known, else 1
    certain: BoolArray  # (k,)


class Chain(NamedTuple):
    """The state of one chain; see the module's description."""

    rows: FloatArray  # (k, width), the first counts[SIZE] are in use
    diagonal: FloatArray  # (width,)
    linear: FloatArray  # (width,)
    slot: IntArray  # (k,), row of each parent present, -1 if absent
    order: IntArray  # (k,), parent of each row
    counts: IntArray  # (8,)
    numbers: FloatArray  # (3,)
    work: FloatArray  # (2, k)


def padded(k: int) -> int:
    """Return the row length: whole vector registers leave no remainder to handle one by one."""
    return -(-k // 16) * 16


def new_chain(k: int) -> Chain:
    """Return an uninitialised chain; `start` puts it on a parent set."""
    width = padded(k)
    return Chain(
        np.zeros((k, width)),
        np.zeros(width),
        np.zeros(width),
        np.full(k, -1),
        np.zeros(k, dtype=np.int64),
        np.zeros(8, dtype=np.int64),
        np.array([0.0, 0.0, np.inf]),
        np.zeros((2, k)),
    )


# The loops below take plain arrays, not a Chain: the compiler then sees that they do not overlap, and vectorises.


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_row(row: FloatArray, rows: FloatArray, order: IntArray, precision: FloatArray, v: int, size: int) -> None:
    """Compute row `v` of the swept matrix, for an absent `v`."""
    width = row.shape[0]
    own = precision[v]
    for j in range(width):
        row[j] = own[j]
    for r in range(size):  # from A, not from the rows, so that rounding errors do not feed on themselves
        coefficient, other = rows[r, v], precision[order[r]]
        for j in range(width):
            row[j] -= coefficient * other[j]
    for r in range(size):
        row[order[r]] = rows[r, v]


@njit(cache=True, nogil=True, error_model="numpy")
def _rank_one(rows: FloatArray, row: FloatArray, v: int, pivot: float, first: int, last: int, sign: float) -> None:
    """Sweep `row` into rows `first` to `last` - 1."""
    width = row.shape[0]
    for r in range(first, last):
        target = rows[r]
        factor = target[v] * pivot
        for j in range(width):
            target[j] -= factor * row[j]
        target[v] = sign * factor


@njit(cache=True, nogil=True, error_model="numpy")
def _rank_one_vectors(diagonal: FloatArray, linear: FloatArray, row: FloatArray, pivot: float, step: float) -> None:
    for j in range(row.shape[0]):
        diagonal[j] -= row[j] * row[j] * pivot
        linear[j] -= row[j] * step


@njit(cache=True, nogil=True, error_model="numpy")
def _scale(row: FloatArray, factor: float) -> None:
    for j in range(row.shape[0]):
        row[j] *= factor


@njit(cache=True, nogil=True, error_model="numpy")
def add(systems: Systems, chain: Chain, v: int) -> None:
    """Sweep parent `v` in."""
    size = chain.counts[SIZE]
    precision = systems.precision[chain.counts[SETTING]]
    row = chain.rows[size]
    _fill_row(row, chain.rows, chain.order, precision, v, size)
    if row[v] < ILL_PIVOT * precision[v, v]:
        row[v] = max(row[v], TINY * precision[v, v])
        chain.counts[SINCE] = REFRESH_FLIPS
    pivot = 1.0 / row[v]
    step = chain.linear[v] * pivot
    chain.numbers[QUADRATIC] += step * chain.linear[v]
    _rank_one(chain.rows, row, v, pivot, 0, size, 1.0)
    _rank_one_vectors(chain.diagonal, chain.linear, row, pivot, step)
    _scale(row, pivot)
    row[v] = -pivot
    chain.diagonal[v] = -pivot
    chain.linear[v] = step
    chain.slot[v] = size
    chain.order[size] = v
    chain.counts[SIZE] = size + 1


@njit(cache=True, nogil=True, error_model="numpy")
def remove(chain: Chain, v: int) -> None:
    """Sweep parent `v` out."""
    last = chain.counts[SIZE] - 1
    place = chain.slot[v]
    row = chain.rows[place]
    pivot = 1.0 / row[v]  # negative
    step = chain.linear[v] * pivot
    chain.numbers[QUADRATIC] += step * chain.linear[v]
    _rank_one(chain.rows, row, v, pivot, 0, place, -1.0)
    _rank_one(chain.rows, row, v, pivot, place + 1, last + 1, -1.0)
    _rank_one_vectors(chain.diagonal, chain.linear, row, pivot, step)
    chain.diagonal[v] = -pivot
    chain.linear[v] = -step
    if place != last:
        end = chain.rows[last]
        for j in range(end.shape[0]):
            row[j] = end[j]
        chain.order[place] = chain.order[last]
        chain.slot[chain.order[place]] = place
    chain.slot[v] = -1
    chain.counts[SIZE] = last


@njit(cache=True, nogil=True, error_model="numpy")
def refresh(systems: Systems, chain: Chain) -> None:
    """Factor the current parent set anew and note how far rounding had moved the conditional means."""
    k = chain.slot.shape[0]
    size = chain.counts[SIZE]
    before, members = chain.work[0], chain.work[1]
    for j in range(k):
        before[j] = chain.linear[j]
    for r in range(size):
        members[r] = chain.order[r]
    _clear(systems, chain)
    for r in range(size):
        add(systems, chain, int(members[r]))
    drift = 0.0
    for j in range(k):
        if chain.slot[j] >= 0:
            drift = max(drift, abs(chain.linear[j] - before[j]))
    chain.numbers[DRIFT] = max(chain.numbers[DRIFT], drift)
    chain.counts[SINCE] = 0
    chain.counts[REFRESHES] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _clear(systems: Systems, chain: Chain) -> None:
    setting = chain.counts[SETTING]
    for j in range(chain.slot.shape[0]):
        chain.slot[j] = -1
        chain.diagonal[j] = systems.precision[setting, j, j]
        chain.linear[j] = systems.shift[setting, j]
    chain.counts[SIZE] = 0
    chain.numbers[QUADRATIC] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def start(systems: Systems, chain: Chain, present: BoolArray, setting: int) -> None:
    """Put the chain on a parent set, shape (k,), and a setting; certain parents are always in."""
    chain.counts[SETTING] = setting
    _clear(systems, chain)
    for v in range(present.shape[0]):
        if systems.certain[v] or present[v]:
            add(systems, chain, v)
    chain.counts[SINCE] = 0


@njit(cache=True, nogil=True, error_model="numpy")
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
    for d in range(sets.shape[0]):
        if weights[d] == 0.0:
            continue
        if d == 0 or settings[d] != chain.counts[SETTING] or chain.counts[SINCE] >= REFRESH_FLIPS:
            start(systems, chain, sets[d], settings[d])
        for v in range(k):
            inside = chain.slot[v] >= 0
            if inside != sets[d, v] and not systems.certain[v]:
                chain.counts[SINCE] += 1
                if inside:
                    remove(chain, v)
                else:
                    add(systems, chain, v)
        variance = noise_mean(systems, chain)
        if systems.known_noise[settings[d]]:
            variance = 1.0
        for r in range(chain.counts[SIZE]):
            i = chain.order[r]
            mean[i] += weights[d] * chain.linear[i]
            for c in range(chain.counts[SIZE]):
                j = chain.order[c]
                product = weights[d] * chain.linear[i] * chain.linear[j]
                between[i, j] += product
                second[i, j] += product - weights[d] * variance * chain.rows[r, j]


@njit(cache=True, nogil=True, error_model="numpy")
def residual_rate(systems: Systems, chain: Chain) -> float:
    """Return the rate of the noise precision's gamma posterior given the current set."""
    setting = chain.counts[SETTING]
    whole = systems.rate[setting] + 0.5 * systems.total[setting]
    return float(max(whole - 0.5 * chain.numbers[QUADRATIC], TINY * whole))


@njit(cache=True, nogil=True, error_model="numpy")
def noise_mean(systems: Systems, chain: Chain) -> float:
    """Return the posterior mean of the noise variance given the current set."""
    setting = chain.counts[SETTING]
    if systems.known_noise[setting]:
        return float(systems.noise_unit[setting])
    shape = systems.shape[setting]
    return residual_rate(systems, chain) / (shape - 1.0) if shape > 1.0 else np.inf
