"""Values of the treatment as users write them: numbers, or words, of which the first is 0, the second 1, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from alldags import checks
from alldags.answers.held import HeldEffect
from alldags.errors import AlldagsError, did_you_mean
from alldags.nodes.data import WorkingData


def treatment_value(effect: HeldEffect, value: Any, what: str = "the value the treatment is set to") -> float:
    """Return a value of the treatment as a number; a word by what it stands for in the table.

    Parameters
    ----------
    effect
        Whose treatment it is.
    value
        A finite number, or one of the words (truth values) of the treatment's column.
    what
        What it is for, to begin an error with.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> from alldags.answers.treatment_values import treatment_value
    >>> x = np.random.default_rng(0).integers(0, 2, 50)
    >>> table = {"smoker": np.where(x == 1, "yes", "no"), "score": x + np.arange(50) % 7}
    >>> effect = ad.fit(table, ad.CandidateGraph.from_order(["smoker", "score"])).effect("smoker", "score")
    >>> treatment_value(effect, "yes"), treatment_value(effect, 0)
    (1.0, 0.0)
    """
    return value_of(effect.posterior.workings.data, effect.treatment, value, what)


def value_of(data: WorkingData, name: str, value: Any, what: str) -> float:
    """Return a value of any variable as a number; a level of a category by its place."""
    if name in data.categories:
        return _level(name, data.levels[name].words, value)
    words = data.look(name).words or ()
    if isinstance(value, bool | np.bool_) and words == ("False", "True"):
        return float(value)
    if not isinstance(value, str):
        return checks.finite(what, value)
    if not words:
        raise AlldagsError(f"{what} must be a finite number, got {value!r}: {name!r} has no words")
    return _level(name, words, value)


def _level(treatment: str, words: Sequence[str], value: Any) -> float:
    """Return the place of a level among those of a treatment."""
    if str(value) not in words:
        listed = " and ".join(map(repr, words)) if len(words) == 2 else ", ".join(map(repr, words))
        raise AlldagsError(f"{treatment!r} has the levels {listed}, not {value!r}{did_you_mean(str(value), words)}")
    return float(words.index(str(value)))


def treatment_values(effect: HeldEffect, values: Any) -> list[float]:
    """Return several values of the treatment, or a single one, as numbers."""
    several = values if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    return [treatment_value(effect, value, "a value of the treatment") for value in several]


def treatment_word(effect: HeldEffect, value: float) -> float | str:
    """Return a value of the treatment as it is shown: the level of a category, else the number."""
    data = effect.posterior.workings.data
    return data.levels[effect.treatment].words[int(value)] if effect.treatment in data.categories else value
