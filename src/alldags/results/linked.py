"""What the link does to an effect, whatever kind it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from alldags.answers.closed import ClosedAnswer
from alldags.effects.link_check import LinkCheck, link_check
from alldags.effects.total import TotalEffect
from alldags.models.mixture import Mixture

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_CHECKED = 500  # draws behind the answer without the link, to which this one is compared


def effect_link_check(effect: Effect) -> LinkCheck:
    """Return the effect with and without the link."""
    answer, workings = effect.answer, effect.workings
    plain = type(effect)(effect.posterior, replace(effect._question, linked=False), most_draws=_CHECKED)
    if isinstance(answer, ClosedAnswer):
        return link_check(workings.totals, plain.workings.totals, workings.unit, answer.sd)
    names = () if bends(effect) else link_check(workings.totals, plain.workings.totals, 1.0, 1.0).covariates
    without = effect.mean if _same(workings.totals, plain.workings.totals) else plain.mean
    return LinkCheck(effect.mean, without, _shift(effect, without), names)


def bends(effect: Effect) -> bool:
    """Tell whether an answer without the link needs another fit of curves."""
    return any(total.model.bends(name) for total in effect.workings.totals.items for name in total.span.reached)


def _shift(effect: Effect, without: float) -> float:
    return (effect.mean - without) / effect.sd if effect.sd > 0 else 0.0


def _same(linked: Mixture[TotalEffect], plain: Mixture[TotalEffect]) -> bool:
    """Tell whether the link changed no regression."""
    return all(
        one is other
        for total, twin in zip(linked.items, plain.items, strict=True)
        for one, other in zip(total.nodes(), twin.nodes(), strict=True)
    )
