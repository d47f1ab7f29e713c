"""How the presence of one parent acts on the others: what decides which parents are worth drawing together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from alldags.engines.kernels.fastmath import fast_exp, fast_log
from alldags.engines.kernels.gibbs import Chain, Systems, load_row
from alldags.engines.kernels.gibbs_block import INCLUSION, MEAN
from alldags.engines.kernels.gibbs_flip import QUADRATIC, SETTING, SIZE, TINY
from alldags.typing import BoolArray, FloatArray, IntArray

LEAST_SPREAD = 1e-4  # of a parent's presence, to look at what it acts on


class Response(NamedTuple):
    """Sums over states, weighted by the variance ``p (1 - p)`` of parent v's presence given all others."""

    spread: FloatArray  # (k,), the weights
    presence: FloatArray  # (k, k), change in parent j's probability when v enters
    coefficient: FloatArray  # (k, k), change in its expected coefficient


def new_response(k: int) -> Response:
    """Return sums of zero."""
    return Response(np.zeros(k), np.zeros((k, k)), np.zeros((k, k)))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, no_cpython_wrapper=True, _nrt=False)
def _expect(
    probability: FloatArray,
    coefficient: FloatArray,
    present: BoolArray,
    certain: BoolArray,
    diagonal: FloatArray,
    linear: FloatArray,
    scale: FloatArray,
    log_factor: FloatArray,
    log_size: FloatArray,
    free: int,
    residual: float,
    known: bool,
    shape: float,
    determinant: bool,
) -> None:
    """Write every parent's probability and expected coefficient given all others, (k,): `conditional` for all at once.

    `free` uncertain parents are present. The loops are without branches and calls, so that they vectorise.
    """
    k = present.shape[0]
    stay = log_size[free] - log_size[free - 1] if free > 0 else 0.0
    enter = log_size[free + 1] - log_size[free] if free + 1 < log_size.shape[0] else 0.0
    for j in range(k):
        pivot = -diagonal[j] if present[j] else max(diagonal[j], TINY * scale[j])
        coefficient[j] = linear[j] if present[j] else linear[j] / pivot
        reduction = linear[j] * linear[j] / pivot
        probability[j] = 0.5 * reduction
        if not known:
            without = residual + (0.5 * reduction if present[j] else 0.0)
            probability[j] = -shape * fast_log(max(1.0 - 0.5 * reduction / without, TINY))
    for j in range(k):
        odds = fast_exp(-probability[j] - log_factor[j] - (stay if present[j] else enter))
        if determinant:
            pivot = -diagonal[j] if present[j] else max(diagonal[j], TINY * scale[j])
            odds *= math.sqrt(1.0 / pivot if present[j] else pivot)
        probability[j] = 1.0 if certain[j] else 1.0 / (1.0 + odds)
        coefficient[j] *= probability[j]


@njit(cache=True, nogil=True, error_model="numpy")
def add_response(systems: Systems, chain: Chain, response: Response) -> None:
    """Add the chain's current state: for every parent, flip it in thought and see what the others make of it."""
    k = chain.present.shape[0]
    setting = chain.counts[SETTING]
    certain, scale, log_factor = systems.certain, systems.scale[setting], systems.log_factor[setting]
    log_size, shape = systems.log_size, systems.shape[setting]
    known, determinant = systems.known_noise[setting], systems.has_determinant[setting]
    free = chain.counts[SIZE] - (k - (log_size.shape[0] - 1))
    whole = systems.rate[setting] + 0.5 * systems.total[setting]
    residual = max(whole - 0.5 * chain.numbers[QUADRATIC], TINY * whole)
    present, diagonal, linear, row = chain.present, chain.diagonal, chain.linear, chain.row
    probability, mean, new_probability, new_mean = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    new_diagonal, new_linear = np.empty(k), np.empty(k)
    _expect(
        probability, mean, present, certain, diagonal, linear, scale, log_factor, log_size, free, residual, known,
        shape, determinant,
    )  # fmt: skip
    for v in range(k):
        spread = probability[v] * (1.0 - probability[v])
        if spread < LEAST_SPREAD:
            continue
        response.spread[v] += spread
        load_row(chain, v)
        pivot = 1.0 / (row[v] if present[v] else max(row[v], TINY * scale[v]))
        step = linear[v] * pivot
        flipped = max(whole - 0.5 * (chain.numbers[QUADRATIC] + step * linear[v]), TINY * whole)
        change = -1 if present[v] else 1
        for j in range(k):
            new_diagonal[j] = diagonal[j] - row[j] * row[j] * pivot
            new_linear[j] = linear[j] - row[j] * step
        new_diagonal[v], new_linear[v] = diagonal[v], linear[v]
        _expect(
            new_probability, new_mean, present, certain, new_diagonal, new_linear, scale, log_factor, log_size,
            free + change, flipped, known, shape, determinant,
        )  # fmt: skip
        new_probability[v], new_mean[v] = probability[v], mean[v]
        presence, coefficient = response.presence[v], response.coefficient[v]
        for j in range(k):
            presence[j] += change * spread * (new_probability[j] - probability[j])
            coefficient[j] += change * spread * (new_mean[j] - mean[j])


@njit(cache=True, nogil=True, error_model="numpy")
def follow(response: Response, steps: int) -> FloatArray:
    """Return the change of every inclusion and expected coefficient when parent v enters, (k, 2, k).

    A parent acts on others at once, and through the presence of these, of which `steps` are followed.
    """
    k = response.spread.shape[0]
    effect, before = np.zeros((k, 2, k)), np.zeros((k, 2, k))
    for step in range(steps + 1):
        for v in range(k):
            row, spread = effect[v], response.spread[v]
            if spread == 0.0:
                continue
            for j in range(k):
                row[INCLUSION, j] = response.presence[v, j] / spread
                row[MEAN, j] = response.coefficient[v, j] / spread
            if step > 0:
                for u in range(k):
                    share, other = response.presence[v, u] / spread, before[u]
                    for j in range(k):
                        row[INCLUSION, j] += share * other[INCLUSION, j]
                        row[MEAN, j] += share * other[MEAN, j]
        effect, before = before, effect
    return before


@njit(cache=True, nogil=True, error_model="numpy")
def follow_members(
    effects: FloatArray, response: Response, members: IntArray, inside: BoolArray, steady: BoolArray
) -> None:
    """Turn `effects` (k, 2, k), of a parent that enters, into those of drawing it present.

    They differ for the parents drawn together (`gibbs_block.Together`): a member acts on no other one, as these are
    drawn whatever they were before, and not on steady coefficients, which are averaged over the members' presence.
    """
    k = inside.shape[0]
    rows = np.zeros((members.shape[0], 2, k))
    for i in range(members.shape[0]):
        v, row = members[i], rows[i]
        if response.spread[v] == 0.0:
            continue
        for u in range(k):
            if inside[u]:
                continue
            share, other = response.presence[v, u] / response.spread[v], effects[u]
            row[INCLUSION, u] += share
            row[MEAN, u] += 0.0 if steady[u] else response.coefficient[v, u] / response.spread[v]
            for j in range(k):
                row[INCLUSION, j] += share * other[INCLUSION, j]
                row[MEAN, j] += share * other[MEAN, j]
    for i in range(members.shape[0]):
        effects[members[i]] = rows[i]
