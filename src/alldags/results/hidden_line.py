"""How strong a hidden cause would have to be, for every printed answer that can say it quickly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from alldags.assumptions.hidden import WITHOUT_AVERAGE, check_engine, check_order, check_rows, open_orders
from alldags.errors import AlldagsError
from alldags.results.representer import is_straight
from alldags.results.sensitivity import Sensitivity
from alldags.show.sensitivity import SensitivitySummary

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_DRAWS = 2000
_SECONDS = 0.02  # of fitting regressions anew
_MODELS = 3
_SECONDS_PER_SET = 3e-8
_FEW = 300  # draws, where rows are looked at
_MOST_ROWS = 20_000
_MOST_SECONDS = 0.3
_SECONDS_PER_CUBE, _SECONDS_PER_SOLUTION = 1e-10, 5e-6


def hidden_line(effect: Effect, level: float) -> SensitivitySummary | None:
    """Return how strong a hidden cause would have to be, for a printed answer; None where it is not cheap to say."""
    if "sensitivity" in effect.answer.lacks or effect.posterior.engine in WITHOUT_AVERAGE:
        return None
    if {effect.treatment, effect.outcome} & effect.posterior.workings.data.was_set:
        return None
    if not effect.mean or not math.isfinite(effect.sd) or open_orders(effect):
        return None
    if not is_straight(effect):
        return represented_line(effect, level, _FEW) if _is_quick(effect) else None
    if effect.uncertainty.structure is None or not _is_cheap(effect):
        return None
    return Sensitivity(effect._without_hidden, draws=_DRAWS).summary(level)


def represented_line(effect: Effect, level: float, draws: int = 20_000) -> SensitivitySummary | None:
    """Return the same of an effect that is no straight line; None where it cannot be said."""
    if "sensitivity" in effect.answer.lacks or not effect.mean or is_straight(effect):
        return None
    try:
        return effect.sensitivity(draws=draws).summary(level)
    except AlldagsError:  # refused by name where it is asked for
        return None


def _is_quick(effect: Effect) -> bool:
    """Tell whether leaving out each covariate's columns, and a pass over the rows, take next to no time."""
    totals = [total for total in effect.workings.totals.items if total.span.variables]
    if not totals or len(totals) > _MODELS or effect.posterior.rows > _MOST_ROWS:
        return False
    seconds = 0.0
    for total in totals:
        columns = sum(len(total.model.columns(name)) for name in total.span.reached)
        covariates = len(total.model.graph.variables) - len(total.span.variables)
        seconds += 2 * _FEW * (covariates + 1) * (_SECONDS_PER_CUBE * columns**3 + _SECONDS_PER_SOLUTION)
    return seconds <= _MOST_SECONDS


def has_sensitivity(effect: Effect) -> bool:
    """Tell whether `Effect.sensitivity` answers of this effect."""
    try:
        check_engine(effect)
        check_order(effect)
        check_rows(effect, (effect.treatment, effect.outcome))
    except AlldagsError:
        return False
    return "sensitivity" not in effect.answer.lacks


def _is_cheap(effect: Effect) -> bool:
    """Tell whether the regressions of treatment and outcome, which are fitted anew, take next to no time."""
    totals = [total for total in effect.workings.totals.items if total.span.variables]
    if not totals or len(totals) > _MODELS or math.isfinite(effect.workings.set_draws):
        return False
    seconds = 0.0
    for total in totals:
        for name in (effect.treatment, effect.outcome):
            problem = total.model.extended_problem(name, (), {})
            seconds += 2.0**problem.free * len(problem.settings) * _SECONDS_PER_SET
    return seconds <= _SECONDS
