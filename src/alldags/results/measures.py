"""What an effect is a difference of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_RISKS = ("risk", "rate", "mean")


def is_risk(effect: Effect) -> bool:
    """Tell whether an effect is a difference of risks, to which paths and edges do not add up."""
    return effect.measure in _RISKS
