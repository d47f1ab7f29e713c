"""Ratios of the mean outcomes under both values of the treatment, draw by draw."""

from __future__ import annotations

import numpy as np

from alldags.answers.held import HeldEffect
from alldags.effects.quantity import Quantity
from alldags.errors import AlldagsError
from alldags.kinds import MEASURES
from alldags.typing import FloatArray


def ratio(effect: HeldEffect) -> Quantity:
    """Return the ratio of the two mean outcomes, which must be risks, mean counts or mean amounts."""
    if not has_ratio(effect.measure):
        raise AlldagsError(
            f"a ratio needs a yes/no outcome, a count, an amount or a survival time, {effect.outcome!r} is none here; "
            "use the difference"
        )
    low, high = effect.answer.levels
    return _widened(effect, high / np.maximum(low, 1e-300))


def has_ratio(measure: str) -> bool:
    """Tell whether mean outcomes of some measure can be divided by each other."""
    return measure in MEASURES and MEASURES[measure].has_ratio


def odds_ratio(effect: HeldEffect) -> Quantity:
    """Return the ratio of the odds of the two risks."""
    if effect.measure != "risk":
        raise AlldagsError(f"an odds ratio needs a yes/no outcome, {effect.outcome!r} is none here; use the difference")
    low, high = effect.answer.levels
    return _widened(effect, high * (1.0 - low) / np.maximum(low * (1.0 - high), 1e-300))


def _widened(effect: HeldEffect, draws: FloatArray) -> Quantity:
    """Return a ratio, on the log scale as wide as the jackknife says."""
    uncertainty = effect.uncertainty
    if uncertainty.stretch is None:
        return Quantity(draws)
    return Quantity(np.exp(uncertainty.widened(np.log(np.maximum(draws, 1e-300)))))
