"""`do()` with categories: of a category as the treatment, and of new units where a category acts on the outcome.

Every row keeps its residual. With ``c_i`` the columns of the treatment in row i, and T their effects::

    mean outcome when all rows have level x  =  ybar + T . (c(x) - cbar)

which is linear in T, so that its moments are those of one change of levels. If the rows are a sample of those asked
about, the variance over rows of ``y_i - T . c_i`` over their number is added. A new unit is a random row, with what the
treatment does to it.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from alldags.answers.closed import ClosedAnswer
from alldags.answers.held import HeldEffect
from alldags.answers.question import Target
from alldags.answers.units import new_units
from alldags.data.batches import RowTable
from alldags.effects.intervention import Intervention
from alldags.effects.new_unit import OutcomeDraws
from alldags.effects.quantity import Quantity
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError
from alldags.notes import Note
from alldags.typing import FloatArray


def level_intervention(effect: HeldEffect, x: float, size: int) -> Intervention:
    """Return the outcome when all rows have one level of the treatment, along straight lines."""
    word = effect.posterior.workings.data.levels[effect.treatment].words[int(x)]
    average, unit = partial(_average, effect, x, size), partial(unit_of_rows, effect, x, size, shown=word)
    return Intervention(effect.treatment, effect.outcome, word, effect.over, average, unit)


def _average(effect: HeldEffect, x: float, size: int) -> Quantity:
    answer = effect.answer
    assert isinstance(answer, ClosedAnswer)
    if any(model.data.own for model in effect.workings.models.items):
        raise AlldagsError(
            f"the mean outcome under one level of {effect.treatment!r}, a category, is not known where rows were set "
            "from outside, because regressions then have intercepts of their own; ask for a contrast of two levels"
        )
    draws, sd = answer.level(x, size, effect.posterior.workings.stream()), answer.level_sd(x)
    if effect.over == "population":
        share = _rows_variance(effect, answer, size)
        draws = draws + np.sqrt(share) * effect.posterior.workings.stream().standard_normal(size)
        sd = math.hypot(sd, math.sqrt(float(share.mean())))
    return Quantity(draws, (), (answer.level_mean(x), sd))


def _rows_variance(effect: HeldEffect, answer: ClosedAnswer, size: int) -> FloatArray:
    """Return, for each draw, the variance over rows of ``y - T . c`` over their number, shape (size,)."""
    data, stream = effect.workings.models.items[0].data, effect.posterior.workings.stream
    columns = data.categories[effect.treatment]
    own = [_of_column(answer, effect.treatment, j, len(columns), size, stream()) for j in range(len(columns))]
    effects = np.vstack([np.ones(size), *(-one for one in own)])
    places = [data.pooled.index[name] for name in (effect.outcome, *columns)]
    covariance = data.pooled.scatter[np.ix_(places, places)] / data.pooled.rows
    found = np.einsum("is,ij,js->s", effects, covariance, effects) * data.scale_of(effect.outcome) ** 2
    return np.asarray(np.maximum(found, 0.0) / (data.pooled.rows + 1.0))


def _of_column(
    answer: ClosedAnswer, category: str, place: int, count: int, size: int, rng: np.random.Generator
) -> FloatArray:
    """Return draws of the effect of one column of the treatment in working units; the same draws for every column."""
    move = np.eye(count)[place]
    moved = answer.totals.map(lambda total: TotalEffect(total.model.toward(category, move), total.span))
    return moved.draw(size, rng, TotalEffect.draws)


def unit_of_rows(
    effect: HeldEffect, x: float, size: int, notes: tuple[Note, ...] = (), *, shown: float | str | None = None
) -> OutcomeDraws:
    """Return the outcome of a new unit that is like a random one of the rows."""
    answer, stream = effect.answer, effect.posterior.workings.stream()
    assert isinstance(answer, ClosedAnswer)
    target = answer.target or _every_row(effect)
    return OutcomeDraws(
        x if shown is None else shown, new_units(target, answer.totals, effect.treatment, x, size, stream), notes
    )


def _every_row(effect: HeldEffect) -> Target:
    table = _rows(effect)
    if any(total.order_blocks for total in effect.workings.totals.items):
        raise AlldagsError(
            "a new unit's outcome with a category and an open order on the way is not known yet; ask for do(x).mean"
        )
    if any(name in table.marks.was_set for name in effect.workings.reached):
        raise AlldagsError(
            "a new unit's outcome is that of a random row where a category acts on it, and rows were set from outside; "
            "make 0/1 columns of the levels"
        )
    return Target(table, None, float(table.columns.rows), effect.outcome)


def _rows(effect: HeldEffect) -> RowTable:
    workings = effect.posterior.workings
    found = workings.data.table
    if found is None and workings.table is not None:
        found = workings.table.rows(workings.data.pooled.names)
    if found is None:
        raise AlldagsError(
            "a new unit's outcome is that of a random row where a category acts on it, and the rows are not here; fit "
            "the table again, or ask for do(x).mean"
        )
    return found
