"""Probabilities of all levels of an outcome under both values of a treatment, from the draws of one effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alldags.answers.controls import controlled_mean
from alldags.answers.pushed import PushedAnswer
from alldags.answers.survival import levels
from alldags.effects.outcome import check_level
from alldags.errors import AlldagsError
from alldags.families.categorical import Categorical
from alldags.show.table import Table
from alldags.typing import FloatArray
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.results.effect import Effect


def level_table(effect: Effect, level: float) -> Table:
    """Return means under both values, and differences with intervals; see `Probability.levels`."""
    check_level(level)
    family = effect.posterior.workings.data.families.get(effect.outcome)
    if not isinstance(family, Categorical):
        raise AlldagsError(
            f"{effect.outcome!r} has no levels with probabilities of their own; of a category, say so with "
            f"{option('families', {effect.outcome: 'categorical'})}"
        )
    if not isinstance(effect.answer, PushedAnswer):
        raise AlldagsError(
            f"no candidate path leads from {effect.treatment!r} to {effect.outcome!r}: "
            "no level is more or less probable"
        )
    found: dict[str, list[object]] = {name: [] for name in ("level", "before", "after", "difference", "low", "high")}
    for word in family.words:
        before, after = levels(effect.answer, effect.posterior.workings, lambda own, word=word: own.asked(word))  # type: ignore[misc]
        gap = after - before
        ends = np.quantile(effect.uncertainty.widened(gap), [(1 - level) / 2, (1 + level) / 2])
        numbers = (*(_mean(effect.answer, values) for values in (before, after, gap)), *ends)
        for name, value in zip(found, (word, *map(float, numbers)), strict=True):
            found[name].append(value)
    return Table(found)


def _mean(answer: PushedAnswer, values: FloatArray) -> float:
    """Return a mean as that of the effect itself is computed."""
    return controlled_mean(values, answer.samples, len(values))[0]
