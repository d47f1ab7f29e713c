"""The effects of all that may act on one outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alldags.errors import AlldagsError, did_you_mean
from alldags.show.table import Table
from alldags.steps import current

if TYPE_CHECKING:
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior

MOST_REFITS = 2000


def effects_on(posterior: Posterior, outcome: str, level: float) -> Table:
    """Return the effect of every variable with a candidate path to `outcome`, causes first."""
    if outcome not in posterior.variables:
        raise AlldagsError(f"the outcome {outcome!r} is not in the graph{did_you_mean(outcome, posterior.variables)}")
    sources = {name for graph in posterior.graphs for name in graph.ancestors(outcome)}
    if posterior.workings.link:
        _check_refits(posterior, outcome, len(sources))
    order = posterior.workings.models.items[0].graph.order
    if posterior.workings.over_time:
        sources &= set(current(order))
    sources -= posterior.workings.data.categories.keys()  # a category has no unit to be raised by
    return effects_table([posterior.effect(name, outcome) for name in order if name in sources], level)


def _check_refits(posterior: Posterior, outcome: str, sources: int) -> None:
    """Refuse to link every treatment where that would take too many fits."""
    refits = 0
    for graph in posterior.graphs:
        inside = graph.ancestors(outcome) | {outcome}
        refits += sum(len(graph.descendants(name) & inside) for name in inside)
    if refits > MOST_REFITS:
        raise AlldagsError(
            f"linked effects of {sources} variables on {outcome!r} need {refits:,} fits of nodes, more than "
            f"{MOST_REFITS:,}; use effects_on({outcome!r}, link=0.0), or ask for the effects you need one by one"
        )


def effects_table(effects: Sequence[Effect], level: float) -> Table:
    """Return several effects on one outcome as a table."""
    ends = [effect.interval(level) for effect in effects]
    return Table(
        {
            "treatment": [effect.treatment for effect in effects],
            "mean": [effect.mean for effect in effects],
            "sd": [effect.sd for effect in effects],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
            "probability_no_effect": [effect.probability_no_effect for effect in effects],
        }
    )
