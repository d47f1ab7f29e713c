"""All that is said of an effect, as `Effect.details` prints it, for tests of its words."""

from __future__ import annotations

from alldags.results.effect import Effect
from alldags.show.words import effect_text


def everything(effect: Effect) -> str:
    """Return sentences, table, remarks and notes."""
    return effect_text(effect.summary())
