"""An effect on other scales: functions of the mean outcomes under both values of the treatment, draw by draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from alldags import checks
from alldags.effects.quantity import Quantity
from alldags.errors import AlldagsError
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.results.effect import Effect

Scale = Literal["difference", "ratio", "odds ratio", "log odds", "log rate"]


def on_scale(effect: Effect, scale: Scale) -> Effect | Quantity:
    """Return an effect on a scale; see `Effect.on`."""
    checks.one_of("scale", scale, get_args(Scale))
    if scale == "ratio":
        return _ratio(effect)
    if scale == "odds ratio":
        return _odds_ratio(effect)
    return _difference(effect) if scale == "difference" else _on_link(effect, scale)


def on_link(effect: Effect) -> Effect:
    """Return an effect on the scale of the outcome's predictor, whatever it is called."""
    _check_family(effect)
    return effect._on_link


def _check_family(effect: Effect) -> None:
    if effect.outcome not in effect.posterior.workings.data.families:
        raise AlldagsError(
            f"{effect.outcome!r} is neither yes/no nor a count, so that it has no log-odds; use the effect itself"
        )


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


def _ratio(effect: Effect) -> Quantity:
    """Return the ratio of the two mean outcomes, which must be risks or mean counts."""
    if effect.measure not in ("risk", "rate"):
        raise AlldagsError(
            f"a ratio needs a yes/no outcome or a count, {effect.outcome!r} is neither here; use the difference"
        )
    low, high = effect.answer.levels
    return _widened(effect, high / np.maximum(low, 1e-300))


def _odds_ratio(effect: Effect) -> Quantity:
    """Return the ratio of the odds of the two risks."""
    if effect.measure != "risk":
        raise AlldagsError(f"an odds ratio needs a yes/no outcome, {effect.outcome!r} is none here; use the difference")
    low, high = effect.answer.levels
    return _widened(effect, high * (1.0 - low) / np.maximum(low * (1.0 - high), 1e-300))


def _widened(effect: Effect, draws: FloatArray) -> Quantity:
    """Return a ratio, on the log scale as wide as the jackknife says."""
    uncertainty = effect.uncertainty
    if uncertainty.stretch is None:
        return Quantity(draws)
    return Quantity(np.exp(uncertainty.widened(np.log(np.maximum(draws, 1e-300)))))
