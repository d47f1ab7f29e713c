"""Importance weights that turn draws under the expansion into draws from the posterior itself.

Target and proposal share the prior of sets and coefficients, so a draw's weight is the likelihood over its expansion,
whatever the edge prior, the slab and the engine. The intercept bends with the coefficients where outcomes are rare:
it is drawn anew around its mode given the coefficients, and the weight accounts for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.partner import draw_partners
from alldags.engines.families.expansion import AMPLE_INFORMATION, Design, Expanded
from alldags.engines.families.pareto import smooth
from alldags.nodes.family import AnyFamily, Poisson
from alldags.nodes.quadratic import Batch, QuadraticStatistics
from alldags.typing import FloatArray

_WIDER = 1.1  # the intercept's proposal has this many times the variance at the mode
_BLOCK_VALUES = 2**17  # rows times draws looked at together: they stay in the cache
_NEWTON_STEPS = 8
_NEWTON_STOP = 0.02  # in log-odds: the proposal's centre need not be the mode itself
_MOST_DRAWS, _USUAL_DRAWS, _LEAST_DRAWS = 4000, 1000, 250
_USUAL_VALUES, _MOST_VALUES = 4e6, 5e7  # rows times draws


def draws_for(rows: float) -> int:
    """Return how many draws to weigh: fewer where there are many rows, which leave little to correct."""
    if rows * _USUAL_DRAWS <= _MOST_VALUES:
        return int(min(max(_USUAL_VALUES / rows, _USUAL_DRAWS), _MOST_DRAWS))
    return int(max(_MOST_VALUES / rows, _LEAST_DRAWS))


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Draws of a node with their weights.

    Parameters
    ----------
    intercept
        At the means of the terms, shape (draws,).
    coefficients
        Shape (draws, k), zero where absent.
    weights
        Add up to one, shape (draws,).
    log_mean_weight
        What the weights add to the log evidence.
    k_hat
        Shape of the weights' tail; above 0.7 they cannot be trusted.
    partners
        Other coefficients given the same parent sets, under the expansion, shape (draws, k).
    log_weights
        As they were before smoothing, shape (draws,); empty for draws of a chain.
    """

    intercept: FloatArray
    coefficients: FloatArray
    weights: FloatArray
    log_mean_weight: float
    k_hat: float
    partners: FloatArray
    log_weights: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def size(self) -> int:
        """Number of draws."""
        return len(self.weights)

    @cached_property
    def effective_share(self) -> float:
        """How many equally weighted draws they are worth, as a share of their number."""
        return float(1.0 / (self.size * (self.weights**2).sum()))

    @cached_property
    def total_variation(self) -> float:
        """About how far any probability under the expansion may be off."""
        return 0.5 * float(np.abs(self.weights - 1.0 / self.size).sum())


def weigh(design: Design, expanded: Expanded, size: int, rng: np.random.Generator) -> WeightedDraws:
    """Draw from the posterior under the expansion and weigh the draws."""
    draw_rng, normal_rng, partner_rng = rng.spawn(3)
    coefficients, _ = expanded.posterior.draw(size, draw_rng)
    normals = normal_rng.standard_normal(size)
    if expanded.statistics.information[0, 0] >= AMPLE_INFORMATION:
        intercept, log_weight = _weigh_at_once(design, expanded.statistics, coefficients, normals)
    else:
        intercept, log_weight = _weigh_in_blocks(design, expanded.statistics, coefficients, normals)
    weights, k_hat, log_mean = smooth(log_weight)
    partners = draw_partners(expanded.posterior.problem, coefficients, np.full(size, np.nan), partner_rng)
    return WeightedDraws(intercept, coefficients, weights, log_mean, k_hat, partners, log_weight)


def row_blocks(rows: int, draws: int) -> Iterator[slice]:
    """Yield slices of rows that, times all draws, stay in the cache."""
    step = max(_BLOCK_VALUES // max(draws, 1), 8)
    return (slice(start, start + step) for start in range(0, rows, step))


def _weigh_at_once(
    design: Design, statistics: QuadraticStatistics, coefficients: FloatArray, normals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return intercepts and log weights, shape (draws,) each, in one pass over the rows.

    There is so much information that the intercept's mode follows the coefficients as the expansion says.
    """
    spread = 1.0 / math.sqrt(float(statistics.information[0, 0]))  # of an expansion that is flat already
    intercept = statistics.intercept(coefficients) + spread * normals
    proposal = -0.5 * normals**2 - math.log(spread) - 0.5 * math.log(2.0 * math.pi)
    value, slopes = np.zeros(len(normals)), np.vstack([coefficients.T, intercept, np.ones(len(normals))])
    for batch in design.batches():
        offset = np.zeros(len(batch.child)) if batch.offset is None else batch.offset
        rows = np.column_stack([batch.terms, np.ones(len(batch.child)), offset])
        value += (batch.child @ rows) @ slopes + design.family.constant(batch.child)
        for part in row_blocks(len(rows), len(value)):
            value -= design.family.total_cumulant(rows[part] @ slopes)
    return intercept, value - proposal - statistics.log_integral(coefficients)


def _weigh_in_blocks(
    design: Design, statistics: QuadraticStatistics, coefficients: FloatArray, normals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return intercepts and log weights, shape (draws,) each, with the intercept's mode found for each draw."""
    size = len(normals)
    block = int(min(max(_BLOCK_VALUES // max(statistics.rows, 1), 4), size))
    pieces = [
        _weigh_block(design, statistics, coefficients[i : i + block], normals[i : i + block])
        for i in range(0, size, block)
    ]
    intercept, log_weight = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return intercept, log_weight


def log_weights_of(
    design: Design, statistics: QuadraticStatistics, coefficients: FloatArray, intercept: FloatArray
) -> FloatArray:
    """Return log weights of draws that came from elsewhere, shape (draws,)."""
    block = int(min(max(_BLOCK_VALUES // max(statistics.rows, 1), 4), len(intercept)))
    pieces = [
        _weigh_block(design, statistics, coefficients[i : i + block], None, intercept[i : i + block])[1]
        for i in range(0, len(intercept), block)
    ]
    return np.concatenate(pieces)


def _weigh_block(
    design: Design,
    statistics: QuadraticStatistics,
    coefficients: FloatArray,
    normals: FloatArray | None,
    given: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return intercepts, made of normals or given, and log weights of some draws, shape (draws,) each."""
    parts = [(batch, batch.predictor(coefficients)) for batch in design.batches()]
    family = design.family
    center, curvature = _intercept_mode(family, parts, statistics.intercept(coefficients))
    curvature = curvature / _WIDER
    if normals is None:
        normals = np.zeros(len(center)) if given is None else (given - center) * np.sqrt(curvature)
    intercept = center + normals / np.sqrt(curvature)
    proposal = -0.5 * normals**2 + 0.5 * np.log(curvature / (2.0 * math.pi))
    value = np.zeros(len(normals))
    for batch, own in parts:
        value += batch.child @ own + batch.child.sum() * intercept + family.constant(batch.child)
        value -= family.cumulant(own + intercept).sum(axis=0)
    return intercept, value - proposal - statistics.log_integral(coefficients)


def _intercept_mode(
    family: AnyFamily, parts: list[tuple[Batch, FloatArray]], start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mode of the intercept given each draw's coefficients, about, and the curvature there."""
    total = sum(float(batch.child.sum()) for batch, _ in parts)
    if isinstance(family, Poisson):  # closed form
        whole = sum(family.mean(eta).sum(axis=0) for _, eta in parts)
        return np.log(total / whole), np.full(len(start), total)
    center = start
    for _ in range(_NEWTON_STEPS):
        first, second = np.zeros(len(start)), np.zeros(len(start))
        for _, eta in parts:
            mean = family.mean(eta + center)
            first += mean.sum(axis=0)
            second += np.einsum("nd,nd->d", mean, mean)
        curvature = np.maximum(first - second, 1e-8)
        step = np.clip((total - first) / curvature, -2.0, 2.0)
        center = center + step
        if np.abs(step).max() < _NEWTON_STOP:
            break
    return center, curvature
