"""A hidden cause of treatment and outcome alone: effects are linear in the bias factor, log weights quadratic.

What `HiddenModel.effect` does in general is written out here once: a strength costs a few passes over the draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.effects.hidden.spikes import Spike
from alldags.effects.hidden.strengths import Number
from alldags.effects.hidden.weighted import WeightedDraws
from alldags.typing import FloatArray

_LEAST = 1e-9  # share of the probability below which an answer does not count


@dataclass(frozen=True, eq=False)
class DirectAnswer:
    """The effect and its weights under one answer to whether the direct edge is absent, as functions of the factor f.

    Parameters
    ----------
    base, slope
        The effect is ``base + f slope``, shape (size,) each.
    log_weight
        Coefficients of 1, f and f squared, shape (3, size).
    absent
        Whether the edge is.
    """

    base: FloatArray
    slope: FloatArray
    log_weight: FloatArray
    absent: bool

    def write(self, factor: Number, top: float, values: FloatArray, weights: FloatArray) -> None:
        """Write the effect, and the weights over ``exp(top)``, shape (size,) each: nothing is allocated on the way."""
        np.multiply(self.slope, factor, out=values)
        values += self.base
        constant, first, second = self.log_weight
        if self.absent:
            np.multiply(second, factor, out=weights)
            weights += first
            weights *= factor
            weights += constant
            weights -= top
        else:
            np.subtract(constant, top, out=weights)
        np.exp(weights, out=weights)


def direct_answer(spike: Spike, ratio: FloatArray, carried: FloatArray, pulled: FloatArray) -> DirectAnswer:
    """Return one answer.

    Parameters
    ----------
    spike
        Which edges are absent: the one from the treatment, or none.
    ratio
        The outcome's noise over the treatment's, shape (size,).
    carried
        Effect through the edges that are present, the absent one's coefficient being as drawn, shape (size,).
    pulled
        How far that moves per unit of the absent edge's coefficient, shape (size,); zeros if none is absent.
    """
    if not spike.absent:
        zeros = np.zeros_like(ratio)
        return DirectAnswer(carried, -ratio, np.stack([spike.log_constant, zeros, zeros]), False)
    precision, mean = spike.inverse[:, 0, 0], spike.mean[:, 0]
    log_weight = np.stack(
        [spike.log_constant - 0.5 * precision * mean**2, precision * mean * ratio, -0.5 * precision * ratio**2]
    )
    return DirectAnswer(carried, pulled * ratio, log_weight, True)


def direct_effect(answers: tuple[DirectAnswer, ...], factor: Number, knows_absence: bool) -> WeightedDraws:
    """Return the effect under a bias factor, one number or one for each draw."""
    top = _top(answers, factor)
    size = len(answers[0].base)
    values, weights = np.empty((2, len(answers), size))
    for one, value, weight in zip(answers, values, weights, strict=True):
        one.write(factor, top, value, weight)
    masses = weights.sum(axis=1)
    kept = masses > _LEAST * masses.sum()
    weights *= 1.0 / masses.sum()
    none = sum(mass for mass, one in zip(masses.tolist(), answers, strict=True) if one.absent) / float(masses.sum())
    if not kept.all():
        values, weights = values[kept], weights[kept]
    return WeightedDraws(values.ravel(), weights.ravel(), none if knows_absence else None)


def _top(answers: tuple[DirectAnswer, ...], factor: Number) -> float:
    """Return a log weight near the largest: where the edge may be present, that of it, whatever the factor.

    An edge that is excluded has no such rival: far from what the data say, all its weights would vanish beside the one
    at factor zero.
    """
    free = [float(one.log_weight[0].max()) for one in answers if not one.absent]
    if free:
        return max(free)
    constant, first, second = answers[0].log_weight
    return float((constant + factor * (first + factor * second)).max())
