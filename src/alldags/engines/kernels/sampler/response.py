"""How the presence of one parent acts on the others: what decides which parents are worth drawing together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alldags.engines.kernels.jit import compiled, inner
from alldags.engines.kernels.noise import residual_rate
from alldags.engines.kernels.sampler.block import INCLUSION, MEAN
from alldags.engines.kernels.sampler.chain import Chain, Systems, load_row, noise_at
from alldags.engines.kernels.sampler.flip import QUADRATIC, SETTING, SIZE, TINY
from alldags.engines.kernels.sampler.odds import conditional
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


@inner
def _expect(
    systems: Systems, setting: int, v: int, inside: bool, diagonal: float, linear: float, residual: float, others: int
) -> tuple[float, float]:
    """Return probability and mean of a parent given all others, of which `others` are present and uncertain."""
    log_prior = 0.0
    if not systems.certain[v]:
        log_prior = systems.log_factor[setting, v] + systems.log_size[others + 1] - systems.log_size[others]
    probability, mean, _, _ = conditional(
        inside, diagonal, linear, TINY * systems.scale[setting, v], log_prior, residual, noise_at(systems, setting),
        others, systems.has_determinant[setting],
    )  # fmt: skip
    return 1.0 if systems.certain[v] else probability, mean


@compiled
def add_response(systems: Systems, chain: Chain, response: Response) -> None:
    """Add the chain's current state: for every parent, flip it in thought and see what the others make of it."""
    k = chain.present.shape[0]
    setting = chain.counts[SETTING]
    free = chain.counts[SIZE] - (k - (systems.log_size.shape[0] - 1))
    noise = noise_at(systems, setting)
    residual = residual_rate(noise, chain.numbers[QUADRATIC])
    probability, mean = np.empty(k), np.empty(k)
    present, diagonal, linear, row = chain.present, chain.diagonal, chain.linear, chain.row
    for v in range(k):
        others = free - 1 if present[v] else free
        probability[v], mean[v] = _expect(systems, setting, v, present[v], diagonal[v], linear[v], residual, others)
    for v in range(k):
        spread = probability[v] * (1.0 - probability[v])
        if spread < LEAST_SPREAD:
            continue
        response.spread[v] += spread
        load_row(chain, v)
        pivot = 1.0 / (row[v] if present[v] else max(row[v], TINY * systems.scale[setting, v]))
        step = linear[v] * pivot
        flipped = residual_rate(noise, chain.numbers[QUADRATIC] + step * linear[v])
        change = -1 if present[v] else 1
        for j in range(k):
            if j == v:
                continue
            others = free + change - (1 if present[j] else 0)
            new_probability, new_mean = _expect(
                systems, setting, j, present[j], diagonal[j] - row[j] * row[j] * pivot, linear[j] - row[j] * step,
                flipped, others,
            )  # fmt: skip
            response.presence[v, j] += change * spread * (new_probability - probability[j])
            response.coefficient[v, j] += change * spread * (new_probability * new_mean - probability[j] * mean[j])


@compiled
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


@compiled
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
