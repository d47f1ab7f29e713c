"""Survival under both values of a treatment: the push of an effect, asked for other functions of the same draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from alldags.answers.nodes import Samples
from alldags.answers.pushed import PushedAnswer
from alldags.answers.response import Response
from alldags.families.survival import Survival
from alldags.models.workings import Workings
from alldags.typing import FloatArray

Change = Callable[[Any], Any]
"""From the outcome's family to one with another mean."""
_VALUES = 1e7  # rows times draws for each of several times


def family_of(answer: PushedAnswer) -> Survival:
    """Return the family of the outcome, with horizon and pieces."""
    family = answer.responses.items[0].model.data.families[answer.question.outcome]
    assert isinstance(family, Survival)
    return family


def levels(
    answer: PushedAnswer, workings: Workings, change: Change, few: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return draws of a mean under both values of the treatment, shape (draws,) each; the same draws at every call.

    Parameters
    ----------
    answer
        To the effect on an outcome with several means: a survival time, or levels.
    workings
        Of the posterior.
    change
        From the outcome's family to one with another mean.
    few
        Whether fewer draws will do.
    """
    size = int(np.clip(_VALUES / 20 / answer.target.count, 200, answer.size)) if few else answer.size

    def of(response: Response, samples: Samples) -> FloatArray:
        asked = response.outcomes(_changed(samples, answer.question.outcome, change), answer.question.comparison)
        return np.array([asked.low, asked.high])

    if answer.samples is not None:
        found = of(answer.responses.items[0], {name: one.first(size) for name, one in answer.samples.items()})
    else:
        found = answer.responses.draw(
            size, workings.stream(), lambda response, count, rng: _drawn(response, count, rng, of, change)
        )
    return found[0], found[1]


def _drawn(
    response: Response,
    count: int,
    rng: np.random.Generator,
    of: Callable[[Response, Samples], FloatArray],
    change: Change,
) -> FloatArray:
    if response.span.variables or response.target.other is not None:
        return of(response, response.sample(count, rng))
    return np.full((2, count), response.observed(change))


def _changed(samples: Samples, outcome: str, change: Change) -> Samples:
    own = samples[outcome]
    return {**samples, outcome: replace(own, family=change(own.family))}


def ratios(answer: PushedAnswer) -> tuple[FloatArray, float] | None:
    """Return draws of the log hazard ratio in each piece of time, (draws, pieces), and how probable it is that it
    changes; None with several models, or where something lies between treatment and outcome, or bends.
    """
    outcome, family = answer.question.outcome, family_of(answer)
    values = answer.question.comparison.values
    if answer.samples is None or values is None or answer.bends or len(answer.responses.items[0].span.reached) > 1:
        return None
    response, sample = answer.responses.items[0], answer.samples[outcome]
    slope = response.route(answer.samples).slopes.get((answer.question.treatment, outcome), np.zeros(1))
    step = (values[1] - values[0]) / response.model.data.scale_of(answer.question.treatment)
    base = np.broadcast_to((slope * step)[:, None], (sample.size, family.pieces.count))
    if family.arms is None:
        return np.array(base), 0.0
    assert sample.beside is not None
    first, second = np.split(sample.beside, 2, axis=1)
    changes = family.probability_changing(sample.beside, np.full(sample.size, 1.0 / sample.size))
    return base + (second - first) * float(family.arm(np.array(values[1])) - family.arm(np.array(values[0]))), changes
