"""Importance weights that turn draws under the quadratic into draws from the posterior itself.

Target and proposal share the prior of sets and coefficients, so a draw's weight is the likelihood over its quadratic,
whatever the edge prior, the slab and the engine. The intercept of rare outcomes bends with the coefficients: it is
drawn anew around its mode given the coefficients, and the weight accounts for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.partner import draw_partners
from alldags.engines.weighted.design import Design
from alldags.engines.weighted.expansion import Expanded
from alldags.engines.weighted.pareto import smooth
from alldags.families.base import Batch, Completed, Draws, RowSums
from alldags.families.canonical import SURE, Canonical
from alldags.families.count import Poisson
from alldags.families.quadratic import Beside, Quadratic
from alldags.typing import FloatArray, IntArray

MOST_K_HAT = 0.7
LEAST_SHARE = 0.3  # of the draws that the weighted ones must be worth
AMPLE_SHARE = 0.75  # with so many k-hat sees tails that carry nothing: errors of probabilities were below 0.01 there
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
        At the means of the columns, shape (draws,).
    coefficients
        Shape (draws, k), zero where absent.
    variance
        One over the noise precision, shape (draws,); ones where there is no noise.
    weights
        Add up to one, shape (draws,).
    log_mean_weight
        What the weights add to the log evidence.
    k_hat
        Shape of the weights' tail; above 0.7 they cannot be trusted.
    partners
        Other coefficients given the same sets, under the quadratic, shape (draws, k).
    log_weights
        As they were before smoothing, shape (draws,); empty for draws of a chain.
    beside
        What the family has beside its predictor, shape (draws, m); None for nothing.
    """

    intercept: FloatArray
    coefficients: FloatArray
    variance: FloatArray
    weights: FloatArray
    log_mean_weight: float
    k_hat: float
    partners: FloatArray
    log_weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    beside: FloatArray | None = None

    @property
    def size(self) -> int:
        """Number of draws."""
        return len(self.weights)

    def taken(self, size: int, rng: np.random.Generator) -> Draws:
        """Return draws, each as often as it counts."""
        places = rng.choice(self.size, size, p=self.weights)
        return self.at(places)

    def at(self, places: IntArray) -> Draws:
        """Return the draws at some places."""
        beside = None if self.beside is None else self.beside[places]
        return Draws(self.intercept[places], self.coefficients[places], 1.0 / self.variance[places], beside)

    @cached_property
    def effective_share(self) -> float:
        """How many equally weighted draws they are worth, as a share of their number."""
        return float(1.0 / (self.size * (self.weights**2).sum()))

    @cached_property
    def total_variation(self) -> float:
        """About how far any probability under the quadratic may be off."""
        return 0.5 * float(np.abs(self.weights - 1.0 / self.size).sum())

    def can_be_trusted(self, most: float) -> bool:
        """Tell whether weighted averages can be trusted; not if k-hat exceeds `most`, whatever else."""
        share = self.effective_share
        return (share >= AMPLE_SHARE and self.k_hat <= most) or (self.k_hat <= MOST_K_HAT and share >= LEAST_SHARE)


def weigh(rows: RowSums, expanded: Expanded, size: int, rng: np.random.Generator) -> WeightedDraws:
    """Draw from the posterior under the quadratic and weigh the draws."""
    draw_rng, normal_rng, partner_rng = rng.spawn(3)
    coefficients, variance = expanded.posterior.draw(size, draw_rng)
    completed = _completed(rows, coefficients, normal_rng)
    normals, beside = normal_rng.standard_normal(size), None
    if completed is not None:
        intercept, beside, value = completed
        log_weight = value - expanded.quadratic.log_integral(coefficients, np.ones(size))
    elif _bends(rows, expanded.quadratic):
        intercept, log_weight = _weigh_in_blocks(rows, expanded.quadratic, coefficients, normals)
    elif expanded.quadratic.beside is None:
        intercept, log_weight = _weigh_at_once(rows, expanded.quadratic, coefficients, 1.0 / variance, normals)
    else:
        more = normal_rng.standard_normal((size, len(expanded.quadratic.beside.center)))
        intercept, beside, log_weight = _weigh_beside(
            rows, expanded.quadratic, expanded.quadratic.beside, coefficients, 1.0 / variance, normals, more
        )
    weights, k_hat, log_mean = smooth(log_weight)
    partners = draw_partners(expanded.posterior.problem, coefficients, variance, partner_rng)
    return WeightedDraws(intercept, coefficients, variance, weights, log_mean, k_hat, partners, log_weight, beside)


def _completed(rows: RowSums, coefficients: FloatArray, rng: np.random.Generator) -> Completed | None:
    """Return what the family draws by itself, where the rows are at hand."""
    return rows.family.completed(rows.batches(), coefficients, rng) if isinstance(rows, Design) else None


def _bends(rows: RowSums, quadratic: Quadratic) -> bool:
    """Whether the intercept bends with the coefficients: not where predictors are sure; only rows at hand show it."""
    return isinstance(rows, Design) and isinstance(rows.family, Canonical) and quadratic.spread > SURE


def _weigh_at_once(
    rows: RowSums, quadratic: Quadratic, coefficients: FloatArray, precision: FloatArray, normals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return intercepts and log weights, shape (draws,) each, in one pass over the rows.

    The intercept follows the coefficients as the quadratic says.
    """
    intercept = quadratic.intercept(coefficients) + quadratic.intercept_spread(precision) * normals
    return intercept, _log_weights(rows, quadratic, Draws(intercept, coefficients, precision), normals)


def _weigh_beside(
    rows: RowSums,
    quadratic: Quadratic,
    about: Beside,
    coefficients: FloatArray,
    precision: FloatArray,
    normals: FloatArray,
    more: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return intercepts (draws,), what is beside them (draws, m), made of more normals, and log weights (draws,)."""
    intercept = quadratic.intercept(coefficients) + quadratic.intercept_spread(precision) * normals
    beside, log_ratio = about.drawn(np.column_stack([intercept, coefficients]) - quadratic.at, more)
    draws = Draws(intercept, coefficients, precision, beside)
    return intercept, beside, _log_weights(rows, quadratic, draws, normals) + log_ratio


def _log_weights(rows: RowSums, quadratic: Quadratic, draws: Draws, normals: FloatArray) -> FloatArray:
    """Return the log of likelihood over quadratic, shape (draws,), of draws whose intercept follows the quadratic."""
    spread = quadratic.intercept_spread(draws.precision)
    proposal = -0.5 * normals**2 - np.log(spread) - 0.5 * math.log(2.0 * math.pi)
    value = rows.log_likelihoods(draws) + quadratic.convention
    return np.asarray(value - proposal - quadratic.log_integral(draws.coefficients, draws.precision))


def log_weights_of(rows: Design, quadratic: Quadratic, draws: Draws) -> FloatArray:
    """Return log weights of draws that came from elsewhere, shape (draws,)."""
    if not isinstance(rows.family, Canonical):
        off = draws.intercept - quadratic.intercept(draws.coefficients)
        return _log_weights(rows, quadratic, draws, off / quadratic.intercept_spread(draws.precision))
    pieces = [
        _weigh_block(rows, quadratic, draws.coefficients[part], None, draws.intercept[part])[1]
        for part in _blocks(quadratic, len(draws.intercept))
    ]
    return np.concatenate(pieces)


def _weigh_in_blocks(
    rows: RowSums, quadratic: Quadratic, coefficients: FloatArray, normals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return intercepts and log weights, shape (draws,) each, with the intercept's mode found for each draw."""
    pieces = [
        _weigh_block(rows, quadratic, coefficients[part], normals[part]) for part in _blocks(quadratic, len(normals))
    ]
    intercept, log_weight = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return intercept, log_weight


def _blocks(quadratic: Quadratic, size: int) -> list[slice]:
    """Return slices of draws that, times all rows, stay in the cache."""
    block = int(min(max(_BLOCK_VALUES // max(quadratic.rows, 1), 4), size))
    return [slice(start, start + block) for start in range(0, size, block)]


def _weigh_block(
    rows: RowSums,
    quadratic: Quadratic,
    coefficients: FloatArray,
    normals: FloatArray | None,
    given: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return intercepts, made of normals or given, and log weights of some draws, shape (draws,) each."""
    family = rows.family
    assert isinstance(family, Canonical)
    parts = [(batch, batch.predictor(coefficients)) for batch in rows.batches()]
    center, curvature = _intercept_mode(family, parts, quadratic.intercept(coefficients))
    curvature = curvature / _WIDER
    if normals is None:
        normals = np.zeros(len(center)) if given is None else (given - center) * np.sqrt(curvature)
    intercept = center + normals / np.sqrt(curvature)
    proposal = -0.5 * normals**2 + 0.5 * np.log(curvature / (2.0 * math.pi))
    value = np.zeros(len(normals))
    for batch, own in parts:
        child = batch.weighted(batch.child)
        value += child @ own + child.sum() * intercept + batch.weighted(family.constants(batch.child)).sum()
        value -= _summed(batch, family.cumulant(own + intercept))
    return intercept, value - proposal - quadratic.log_integral(coefficients, np.ones(len(normals)))


def _summed(batch: Batch, values: FloatArray) -> FloatArray:
    """Return the sum over rows, by weight, of numbers of shape (rows, draws)."""
    return np.asarray(values.sum(axis=0) if batch.weight is None else batch.weight @ values)


def _intercept_mode(
    family: Canonical, parts: Sequence[tuple[Batch, FloatArray]], start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mode of the intercept given each draw's coefficients, about, and the curvature there."""
    total = sum(float(batch.weighted(batch.child).sum()) for batch, _ in parts)
    if isinstance(family, Poisson):  # closed form
        whole = sum(_summed(batch, family.mean(eta)) for batch, eta in parts)
        return np.log(total / whole), np.full(len(start), total)
    center = start
    for _ in range(_NEWTON_STEPS):
        first, curvature = np.zeros(len(start)), np.zeros(len(start))
        for batch, eta in parts:
            mean = family.mean(eta + center)
            first += _summed(batch, mean)
            if batch.weight is None:
                curvature += family.total_variance(mean)
            else:
                curvature += batch.weight @ family.variance(mean)
        curvature = np.maximum(curvature, 1e-8)
        step = np.clip((total - first) / curvature, -2.0, 2.0)
        center = center + step
        if np.abs(step).max() < _NEWTON_STOP:
            break
    return center, curvature
