"""An effect on other scales, by their names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from alldags import checks
from alldags.answers.comparison import STEP
from alldags.answers.pushed import DIVIDED
from alldags.answers.ratios import odds_ratio, ratio
from alldags.assumptions.notes import changing_ratio
from alldags.effects.quantity import Quantity
from alldags.errors import AlldagsError
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.results.effect import Effect

Scale = Literal[
    "difference", "ratio", "risk ratio", "rate ratio", "odds ratio", "hazard ratio", "log odds", "log rate",
    "log mean", "log hazard", "standardized",
]  # fmt: skip


def on_scale(effect: Effect, scale: Scale) -> Effect | Quantity:
    """Return an effect on a scale; see `Effect.on`."""
    checks.one_of("scale", scale, get_args(Scale))
    if scale in ("ratio", "risk ratio", "rate ratio"):
        return ratio(effect)
    if scale == "odds ratio":
        return odds_ratio(effect)
    if scale == "hazard ratio":
        return hazard_ratio(effect)
    if scale == "standardized":
        return standardized(effect)
    return _difference(effect) if scale == "difference" else _on_link(effect, scale)


def standardized(effect: Effect) -> Effect:
    """Return what one standard deviation of the treatment does, in standard deviations of the outcome, or log-odds."""
    effect._require("standardized")
    data = effect.posterior.workings.data
    unit = 1.0 if effect._question.on_link else data.deviation(effect.outcome)
    factor = data.deviation(effect.treatment) / unit
    return effect._asking(replace(effect._question, comparison=STEP, factor=factor))


def hazard_ratio(effect: Effect) -> Quantity:
    """Return the hazard ratio of the two values of the treatment, or of one unit more, given the covariates."""
    if getattr(effect.answer, "bends", False):
        raise AlldagsError(
            f"with curves the hazard ratio differs between rows; use {option('terms', 'straight')}, or effect.survival"
        )
    on_log = effect if effect._question.on_link else _on_link(effect, "log hazard")
    low, high = effect._question.comparison.values or (0.0, 1.0)
    step = 1.0 if on_log._question.comparison.values is not None else high - low
    return Quantity(np.exp(step * on_log.uncertainty.sample.draws), tuple(changing_ratio(on_log)))


def on_link(effect: Effect) -> Effect:
    """Return an effect on the scale of the outcome's predictor, whatever it is called."""
    _check_family(effect)
    return effect._on_link


def _check_family(effect: Effect) -> None:
    if effect.outcome not in effect.posterior.workings.data.families:
        raise AlldagsError(
            f"{effect.outcome!r} is a number around a line, so that it has no log-odds; use the effect itself"
        )
    if effect.posterior.workings.data.families[effect.outcome].predictors > 1:
        raise AlldagsError(
            f"{effect.outcome!r} has several log odds, one for each pair of levels; use the effect itself, or "
            "probability.levels()"
        )
    if effect.posterior.workings.data.families[effect.outcome].parts:
        raise AlldagsError(DIVIDED.format(name=effect.outcome))


def _on_link(effect: Effect, scale: str) -> Effect:
    _check_family(effect)
    name = effect.posterior.workings.data.families[effect.outcome].link_words.replace("-", " ")
    if name != scale:
        raise AlldagsError(f"{effect.outcome!r} has no {scale}; use on({name!r})")
    return effect._on_link


def _difference(effect: Effect) -> Effect:
    """Return the effect itself, unless it is one on the log-odds."""
    if effect._question.on_link:
        raise AlldagsError(effect.answer.lacks["levels"])
    return effect
