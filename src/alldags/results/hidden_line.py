"""How strong a hidden cause would have to be, for every printed answer that can say it quickly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from alldags.assumptions.hidden import (
    WITHOUT_AVERAGE,
    check_engine,
    check_order,
    check_rows,
    heavy_on_the_way,
    open_orders,
)
from alldags.errors import AlldagsError
from alldags.results.sensitivity import Sensitivity
from alldags.show.sensitivity import SensitivitySummary

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_DRAWS = 2000
_SECONDS = 0.02  # of fitting regressions anew
_MODELS = 3
_SECONDS_PER_SET = 3e-8


def hidden_line(effect: Effect, level: float) -> SensitivitySummary | None:
    """Return how strong a hidden cause would have to be, for a printed answer; None where it is not cheap to say."""
    if "sensitivity" in effect.answer.lacks:
        return None
    if effect.posterior.engine in WITHOUT_AVERAGE or effect.sd_structure is None or not math.isfinite(effect.sd):
        return None
    if {effect.treatment, effect.outcome} & effect.posterior.workings.data.was_set:
        return None
    if not effect.mean or open_orders(effect) or heavy_on_the_way(effect) or not _is_cheap(effect):
        return None
    return Sensitivity(effect._without_hidden, draws=_DRAWS).summary(level)


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
    if not totals or len(totals) > _MODELS or math.isfinite(effect._set_draws):
        return False
    seconds = 0.0
    for total in totals:
        for name in (effect.treatment, effect.outcome):
            problem = total.model.extended_problem(name, (), {})
            seconds += 2.0**problem.free * len(problem.settings) * _SECONDS_PER_SET
    return seconds <= _SECONDS
