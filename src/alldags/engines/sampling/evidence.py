"""The log evidence of a sampled node, from a ladder between the posterior and a distribution whose sum is known.

In the *reference* ``r`` groups are independent, with the inclusion probabilities just estimated, and so is the
setting. Chains on ``w^beta r^(1 - beta)`` at a few values of beta, of which 0 is drawn from directly and 1 has been
sampled already, give the ratios of neighbouring sums by bridge sampling (Meng and Wong 1996). A rung is put between two
neighbours as long as they are more than `APART` nats of divergence apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from alldags.engines.sampling.run import Seen, State, observe, whole_groups
from alldags.kernels.sampler.chain import Systems
from alldags.kernels.sampler.sets import set_log_weights
from alldags.kernels.sampler.target import Target
from alldags.typing import BoolArray, FloatArray, IntArray

APART = 2.0  # nats of symmetrised divergence between neighbours
DEEPEST = 8  # times an interval is halved
CHAINS, SETS, THIN, WARM_UP = 4, 250, 3, 30  # of each rung: sets stored in each chain, sweeps between and before
BLOCKS = (20, 8)  # left out in turn for the standard error: short ones for a steady estimate, long ones for slow chains
LEAST_ERROR = 0.01  # nats
LEAST = 1e-3  # probability of presence and absence in the reference


@dataclass(frozen=True)
class Evidence:
    """Log of the sum of all weights, its standard error, and the rungs used."""

    value: float
    error: float
    rungs: int


@dataclass(frozen=True)
class Effort:
    """How much work goes into an evidence.

    Parameters
    ----------
    sets, thin
        Sets stored in each chain of a rung, and sweeps between them.
    apart
        Nats of symmetrised divergence between neighbouring rungs.
    """

    sets: int = SETS
    thin: int = THIN
    apart: float = APART


ROUGH = Effort(sets=60, thin=2, apart=4.0)  # to a tenth of a nat or so, to compare models that differ by several


@dataclass(frozen=True, eq=False)
class _Rung:
    """Values of ``log w - log r`` at states drawn at one beta, shape (D,), and some of these states."""

    beta: float
    values: FloatArray
    states: tuple[State, ...]


def evidence(
    systems: Systems,
    target: Target,
    seen: Seen,
    inclusion: FloatArray,
    rng: np.random.Generator,
    effort: Effort = Effort(),  # noqa: B008  - frozen
) -> Evidence:
    """Return the log evidence from what chains on `target` have seen."""
    target = _with_reference(systems, target, seen, inclusion)
    sets, settings = np.concatenate(list(seen.sets)), seen.settings.reshape(-1)
    top = _rung(systems, target, 1.0, sets, settings)
    bottom = _rung(systems, target, 0.0, *_reference_draws(systems, target, CHAINS * effort.sets, rng))
    rungs = _ladder(systems, target, (bottom, top), DEEPEST, effort, rng)
    steps = list(pairwise(rungs))
    value = sum(bridge(low.values, high.values, high.beta - low.beta) for low, high in steps)
    error = max(_jackknife(steps, blocks) for blocks in BLOCKS)
    return Evidence(float(value), math.hypot(error, LEAST_ERROR), len(rungs))


def _with_reference(systems: Systems, target: Target, seen: Seen, inclusion: FloatArray) -> Target:
    probability = np.clip(inclusion, LEAST, 1.0 - LEAST)
    count = np.bincount(seen.settings.reshape(-1), minlength=systems.constant.size) + 0.5
    return target._replace(
        reference=np.where(systems.leads > 0, np.log(probability) - np.log1p(-probability), 0.0),
        reference_setting=np.log(count / count.sum()),
    )


def _reference_draws(
    systems: Systems, target: Target, size: int, rng: np.random.Generator
) -> tuple[BoolArray, IntArray]:
    probability = np.where(systems.certain, 1.0, 1.0 / (1.0 + np.exp(-target.reference)))
    sets = whole_groups(systems, rng.random((size, probability.size)) < probability)
    settings = rng.choice(systems.constant.size, size=size, p=np.exp(target.reference_setting))
    return sets, settings.astype(np.int64)


def _rung(systems: Systems, target: Target, beta: float, sets: BoolArray, settings: IntArray) -> _Rung:
    log_weight = np.empty(len(sets))
    set_log_weights(systems, sets, settings, log_weight)
    leads = systems.leads > 0
    odds = target.reference[leads]
    log_reference = sets[:, leads] @ odds - np.logaddexp(0.0, odds).sum() + target.reference_setting[settings]
    spread = np.linspace(0, len(sets) - 1, CHAINS).astype(int)
    states = tuple(State(sets[i], int(settings[i])) for i in spread)
    return _Rung(beta, np.maximum(log_weight - log_reference, -1e6), states)


def _ladder(
    systems: Systems, target: Target, ends: tuple[_Rung, _Rung], depth: int, effort: Effort, rng: np.random.Generator
) -> list[_Rung]:
    """Return rungs from the lower to the higher end that overlap."""
    low, high = ends
    apart = (high.beta - low.beta) * float(high.values.mean() - low.values.mean())
    if apart < effort.apart or depth == 0:
        return [low, high]
    middle = _sampled(systems, target, 0.5 * (low.beta + high.beta), high.states, effort, rng)
    below = _ladder(systems, target, (low, middle), depth - 1, effort, rng)
    return [*below[:-1], *_ladder(systems, target, (middle, high), depth - 1, effort, rng)]


def _sampled(
    systems: Systems, target: Target, beta: float, states: tuple[State, ...], effort: Effort, rng: np.random.Generator
) -> _Rung:
    target, generators = target._replace(beta=beta), rng.spawn(len(states))
    states, _ = observe(systems, states, target, 1, WARM_UP, generators)
    _, seen = observe(systems, states, target, effort.sets, effort.thin, generators)
    return _rung(systems, target, beta, np.concatenate(list(seen.sets)), seen.settings.reshape(-1))


# -- bridge sampling --------------------------------------------------------------------------------------------------


def bridge(low: FloatArray, high: FloatArray, step: float) -> float:
    """Return the log ratio of two sums, from values of the log ratio of their terms over `step`, drawn from each.

    The optimal bridge of Meng and Wong (1996), as a fixed point.
    """
    low, high = step * low, step * high
    share = math.log(len(high) / len(low))
    ratio = float(np.median(np.concatenate([low, high])))
    for _ in range(1000):
        up = _log_mean(low - np.logaddexp(0.0, share + low - ratio))
        down = _log_mean(-np.logaddexp(0.0, share + high - ratio))
        if abs(up - down - ratio) < 1e-9:
            break
        ratio = up - down
    return up - down


def _log_mean(values: FloatArray) -> float:
    largest = float(values.max())
    return largest + math.log(float(np.exp(values - largest).mean()))


def _jackknife(steps: list[tuple[_Rung, _Rung]], blocks: int) -> float:
    """Return the standard error of the sum of all steps, from leaving out one block of every rung at a time."""
    left_out = [sum(_without(low, high, b, blocks) for low, high in steps) for b in range(blocks)]
    return math.sqrt((blocks - 1) * float(np.var(left_out)))


def _without(low: _Rung, high: _Rung, block: int, blocks: int) -> float:
    return bridge(_others(low.values, block, blocks), _others(high.values, block, blocks), high.beta - low.beta)


def _others(values: FloatArray, block: int, blocks: int) -> FloatArray:
    return np.concatenate([part for b, part in enumerate(np.array_split(values, blocks)) if b != block])
