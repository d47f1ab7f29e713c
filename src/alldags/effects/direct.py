"""The direct effect of a treatment: what is left of the total effect when everything in between is held."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.typing import FloatArray

_DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class DirectEffect:
    """The coefficient of the treatment in the outcome's regression, zeros included, in units of the effect.

    Parameters
    ----------
    mean, sd
        Posterior mean and standard deviation.
    low, high
        Ends of the central 95% interval.
    probability
        Posterior probability of the direct edge; None if the engine has no notion of one.
    share_mediated
        Share of the total effect's mean that passes through other variables; nan if the total effect's mean is zero.
    """

    mean: float
    sd: float
    low: float
    high: float
    probability: float | None
    share_mediated: float


def direct_effect(
    models: Mixture[FittedGraph], edge: tuple[str, str], total: float, rng: np.random.Generator
) -> DirectEffect:
    """Return the direct effect of an edge, in working units.

    Parameters
    ----------
    models
        The fitted models.
    edge
        Treatment and outcome.
    total
        Mean of the total effect, in working units.
    rng
        Of the draws behind the interval.
    """
    mean = models.average(lambda model: _mean(model, edge))
    second = models.average(lambda model: _second(model, edge))
    draws = np.sort(models.draw(_DRAWS, rng, lambda model, size, stream: edge_draws(model, edge, size, stream)))
    low, high = (float(draws[int(level * (_DRAWS - 1))]) for level in (0.025, 0.975))
    return DirectEffect(
        mean=mean,
        sd=math.sqrt(max(second - mean**2, 0.0)),
        low=low,
        high=high,
        probability=models.average_known(lambda model: _probability(model, edge)),
        share_mediated=1.0 - mean / total if total else math.nan,
    )


def _place(model: FittedGraph, edge: tuple[str, str]) -> int | None:
    parents = model.graph.parents(edge[1])
    return parents.index(edge[0]) if edge[0] in parents else None


def _mean(model: FittedGraph, edge: tuple[str, str]) -> float:
    place = _place(model, edge)
    return 0.0 if place is None else float(model.margin(edge[1]).mean[place])


def _second(model: FittedGraph, edge: tuple[str, str]) -> float:
    place = _place(model, edge)
    return 0.0 if place is None else float(model.margin(edge[1]).square[place])


def _probability(model: FittedGraph, edge: tuple[str, str]) -> float | None:
    place, inclusion = _place(model, edge), model.margin(edge[1]).inclusion
    if inclusion is None:
        return None
    return 0.0 if place is None else float(inclusion[place])


def edge_draws(model: FittedGraph, edge: tuple[str, str], size: int, rng: np.random.Generator) -> FloatArray:
    """Draw the coefficient of an edge in one model, in working units, zeros included, shape (size,)."""
    place = _place(model, edge)
    if place is None:
        return np.zeros(size)
    block = model.order_block(edge[1])
    if block is not None:
        drawn = block.draw(size, rng).coefficients
        return np.asarray(drawn[:, block.problem.place[edge[0]], block.problem.place[edge[1]]])
    return np.asarray(model.node(edge[1]).draw(size, rng)[0][:, place])
