"""All pairs of levels of a treatment that is a category."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, Protocol

import numpy as np

from alldags.answers.held import HeldEffect
from alldags.errors import AlldagsError
from alldags.show.contrasts import Contrasts
from alldags.show.summary import EffectSummary
from alldags.show.table import Table
from alldags.typing import FloatArray

_HALVINGS = 20  # of the search for the level at which all intervals hold at once


class SignProbability(Protocol):
    """What is asked of the probabilities of an effect."""

    @property
    def positive(self) -> float: ...


class ContrastedEffect(HeldEffect, Protocol):
    """What is asked of an effect beside the rest; see `alldags.Effect` for the meaning of each."""

    @property
    def probability(self) -> SignProbability: ...
    def contrast(self, start: str, stop: str) -> ContrastedEffect: ...
    def interval(self, level: float) -> tuple[float, float]: ...
    def summary(self, level: float) -> EffectSummary: ...


def all_contrasts(effect: ContrastedEffect, level: float, better: str) -> Contrasts:
    """Return what a change from each level to each later one does; all draws are of the same nodes."""
    data = effect.posterior.workings.data
    if effect.treatment not in data.categories:
        raise AlldagsError(
            f"contrasts() compares the levels of a category, and {effect.treatment!r} is none; use "
            "contrast(start, stop) for two of its values"
        )
    words = data.levels[effect.treatment].words
    pairs = {pair: effect.contrast(*pair) for pair in itertools.combinations(words, 2)}
    draws = {pair: one.draws(one.answer.size) for pair, one in pairs.items()}
    wide = _wide_enough(list(pairs.values()), np.array(list(draws.values())), level)
    ends = [(*one.interval(level), *one.interval(wide)) for one in pairs.values()]
    columns: dict[str, list[Any]] = {
        "start": [start for start, _ in pairs],
        "stop": [stop for _, stop in pairs],
        "mean": [one.mean for one in pairs.values()],
        "sd": [one.sd for one in pairs.values()],
        **{name: [end[place] for end in ends] for place, name in enumerate(("low", "high", "low_all", "high_all"))},
        "probability_positive": [one.probability.positive for one in pairs.values()],
    }
    first = [draws[words[0], word] for word in words[1:]]
    values = np.vstack([np.zeros_like(first[0]), *first])
    best = _shares(values if better == "higher" else -values)
    note = f"low to high holds a difference with probability {level:g}, low_all to high_all all of them at once"
    first_pair = partial(pairs[words[0], words[1]].summary, level)
    shares = dict(zip(words, best, strict=True))
    return Contrasts(words, Table(columns, note), shares, better, effect.outcome, first_pair)


def _wide_enough(pairs: list[ContrastedEffect], draws: FloatArray, level: float) -> float:
    """Return the least level at which the intervals of all pairs hold at once with probability `level`.

    `draws` has shape (pairs, draws).
    """
    low, high = level, 1.0 - 1.0 / float(draws.shape[1])
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        ends = np.array([one.interval(middle) for one in pairs])
        inside = ((draws >= ends[:, :1]) & (draws <= ends[:, 1:])).all(axis=0)
        low, high = (low, middle) if float(inside.mean()) >= level else (middle, high)
    return high


def _shares(values: FloatArray) -> list[float]:
    """Return how often each row is the largest, ties shared; `values` has shape (levels, draws)."""
    top = values == values.max(axis=0)
    return [float(share) for share in (top / top.sum(axis=0)).mean(axis=1)]
