"""`effect.do(x)`, whatever kind of effect it is."""

from __future__ import annotations

from functools import partial

import numpy as np

from alldags import meetings
from alldags.answers.closed import ClosedAnswer
from alldags.answers.held import HeldEffect
from alldags.answers.inner import InnerAnswer
from alldags.answers.level_do import level_intervention
from alldags.answers.pushed import PushedAnswer
from alldags.answers.straight_do import DRAWS, straight_intervention
from alldags.answers.treatment_values import treatment_word
from alldags.answers.units import new_units
from alldags.effects.intervention import Intervention
from alldags.effects.new_unit import NewUnit, OutcomeDraws, YesNoOutcome
from alldags.effects.quantity import Quantity
from alldags.kinds import MEASURES
from alldags.memory import check_memory
from alldags.models.capabilities import outcome_asks
from alldags.notes import Note


def intervention(effect: HeldEffect, x: float, size: int | None, notes: tuple[Note, ...]) -> Intervention:
    """Return the outcome when the treatment is set to `x`: its mean over the rows, and that of a new unit.

    Parameters
    ----------
    effect
        Along a straight line per unit of the treatment.
    x
        The value.
    size
        Number of draws; None for as many as are cheap.
    notes
        What a reader should know of the value.
    """
    if isinstance(effect.answer, ClosedAnswer) and effect.answer.elsewhere is None:
        if effect.treatment in effect.posterior.workings.data.categories:
            return level_intervention(effect, x, DRAWS if size is None else size)
        return straight_intervention(effect, x, DRAWS if size is None else size, notes)
    pushed = effect.answer.elsewhere if isinstance(effect.answer, ClosedAnswer) else effect.answer
    assert pushed is not None
    size = pushed.size if size is None else size
    reached = effect.workings.reached
    columns = max((len(model.columns(name)) for model in effect.workings.models.items for name in reached), default=1)
    check_memory(float(size) * (2 * columns + 8), f"{size:,} draws", "ask for fewer at a time")
    average, unit = partial(_average, effect, x, size, notes), partial(_new_unit, effect, x, size, notes)
    return Intervention(effect.treatment, effect.outcome, treatment_word(effect, x), effect.over, average, unit, notes)


def _average(effect: HeldEffect, x: float, size: int, notes: tuple[Note, ...]) -> Quantity:
    """Return the mean outcome over the rows when the treatment is set to `x`."""
    draws = effect.uncertainty.widened_level(effect.answer.level(x, size, effect.posterior.workings.stream()))
    if effect.measure in MEASURES:
        return Quantity(draws, notes)
    return Quantity(draws, notes, (effect.answer.level_mean(x), float(draws.std(ddof=1)) if size > 1 else 0.0))


def _new_unit(effect: HeldEffect, x: float, size: int, notes: tuple[Note, ...]) -> NewUnit:
    """Return the outcome of a unit like a random one of the rows."""
    meetings.check({"new unit": (), **outcome_asks(effect.posterior.workings.data, effect.outcome)})
    if effect.measure == "risk":
        return YesNoOutcome(treatment_word(effect, x), float(np.mean(_average(effect, x, size, ()).draws)), notes)
    answer = effect.answer.elsewhere if isinstance(effect.answer, ClosedAnswer) else effect.answer
    assert isinstance(answer, InnerAnswer | PushedAnswer)
    drawn = new_units(
        answer.target, effect.workings.totals, effect.treatment, x, size, effect.posterior.workings.stream()
    )
    return OutcomeDraws(treatment_word(effect, x), drawn, notes)
