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

    def effect(self, factor: Number) -> FloatArray:
        """Return the effect, shape (size,)."""
        return np.asarray(self.base + factor * self.slope)

    def weight(self, factor: Number, top: float) -> FloatArray:
        """Return the weights over ``exp(top)``, shape (size,)."""
        constant, first, second = self.log_weight
        if not self.absent:
            return np.asarray(np.exp(constant - top))
        return np.asarray(np.exp((second * factor + first) * factor + (constant - top)))


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
    top = max(float(one.log_weight[0].max()) for one in answers if not one.absent or len(answers) == 1)
    weights = [one.weight(factor, top) for one in answers]
    masses = np.array([weight.sum() for weight in weights])
    total = masses.sum()
    kept = [i for i in range(len(answers)) if masses[i] > 1e-12 * total]
    none = sum(masses[i] for i in kept if answers[i].absent) / total
    return WeightedDraws(
        np.concatenate([answers[i].effect(factor) for i in kept]),
        np.concatenate([weights[i] for i in kept]) / total,
        float(none) if knows_absence else None,
    )
