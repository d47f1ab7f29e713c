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

_SETS, _INSIDE = 1000, 40  # sets of columns among the draws, about, and columns in one of them
_MOST_SECONDS = 1.0  # that a number in a printed answer may take
_SECONDS_PER_SET = 3e-8
_SECONDS_PER_CUBE, _SECONDS_PER_SOLUTION, _SECONDS_PER_PRODUCT = 3e-11, 5e-6, 1e-9


def hidden_line(effect: Effect, level: float) -> SensitivitySummary | None:
    """Return how strong a hidden cause would have to be, for a printed answer.

    None where `Effect.sensitivity` does not answer, or would need more than about a second.
    """
    if "sensitivity" in effect.answer.lacks or effect.posterior.engine in WITHOUT_AVERAGE:
        return None
    data = effect.posterior.workings.data
    if data.errors or {effect.treatment, effect.outcome} & data.was_set:
        return None
    if not effect.mean or not math.isfinite(effect.sd) or open_orders(effect):
        return None
    if not is_straight(effect):
        return represented_line(effect, level) if _seconds_for_rows(effect) <= _MOST_SECONDS else None
    if effect.uncertainty.structure is None or _seconds_for_sets(effect) > _MOST_SECONDS:
        return None
    return Sensitivity(effect._without_hidden).brief(level)


def represented_line(effect: Effect, level: float) -> SensitivitySummary | None:
    """Return the same of an effect that is no straight line; None where it cannot be said."""
    if "sensitivity" in effect.answer.lacks or not effect.mean or is_straight(effect):
        return None
    try:
        return effect.sensitivity().brief(level)
    except AlldagsError:  # refused by name where it is asked for
        return None


def _seconds_for_rows(effect: Effect) -> float:
    """Return about how long leaving out each covariate's columns, and a pass over the rows, take."""
    seconds, sets = 0.0, _SETS / max(len(effect.workings.totals.items), 1)
    for total in effect.workings.totals.items:
        columns = sum(len(total.model.columns(name)) for name in total.span.reached)
        covariates = len(total.model.graph.variables) - len(total.span.variables)
        each = _SECONDS_PER_CUBE * min(columns, _INSIDE) ** 3 + _SECONDS_PER_SOLUTION
        seconds += 2 * sets * (covariates + 1) * each
        seconds += _SECONDS_PER_PRODUCT * effect.posterior.rows * columns**2
    return seconds


def has_sensitivity(effect: Effect) -> bool:
    """Tell whether `Effect.sensitivity` answers of this effect."""
    try:
        check_engine(effect)
        check_order(effect)
        check_rows(effect, (effect.treatment, effect.outcome))
    except AlldagsError:
        return False
    return "sensitivity" not in effect.answer.lacks


def _seconds_for_sets(effect: Effect) -> float:
    """Return about how long the regressions of treatment and outcome take, fitted anew; sampled ones, long."""
    if math.isfinite(effect.workings.set_draws):
        return math.inf
    totals = [total for total in effect.workings.totals.items if total.span.variables]
    problems = [
        total.model.extended_problem(name, (), {}) for total in totals for name in (effect.treatment, effect.outcome)
    ]
    return sum(2.0**problem.free * len(problem.settings) * _SECONDS_PER_SET for problem in problems)
