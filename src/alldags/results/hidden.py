"""`Effect.hidden`: what hidden common causes in the graph do to an effect, and what the data say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.answers.hidden import excluded, identified, joint_f, pairs_on_the_way, strengths
from alldags.effects.total import TotalEffect
from alldags.models.pair import PairKey
from alldags.notes import Note
from alldags.pairs.posterior import PairPosterior
from alldags.show.correlated import CorrelatedSummary, InstrumentSummary
from alldags.show.correlated_words import (
    nothing_identifies,
    set_apart,
    single_instrument,
    undeclared,
    weak_instruments,
)
from alldags.show.table import Table
from alldags.text import some

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_LEVEL = 0.95


@dataclass(frozen=True)
class HiddenCauses:
    """What hidden common causes in the graph do to an effect; obtained as `Effect.hidden`.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> rng = np.random.default_rng(0)
    >>> lottery, ability, luck = rng.standard_normal((3, 400))
    >>> school = lottery + ability
    >>> table = {"lottery": lottery, "school": school, "wage": 0.5 * school + ability + luck}
    >>> graph = ad.CandidateGraph.from_order(["lottery", "school", "wage"], 1.0)
    >>> graph = graph.instrument("lottery", treatment="school").with_hidden("school", "wage", 1.0)
    >>> effect = ad.fit(table, graph, rng=0).effect("school", "wage")
    >>> low, high = effect.interval()
    >>> effect.hidden.identified, low < 0.5 < high
    (1.0, True)
    """

    effect: Effect

    @cached_property
    def _found(self) -> list[tuple[float, TotalEffect, list[tuple[PairKey, PairPosterior]]]]:
        totals = self.effect.workings.totals
        pairs = zip(totals.weights.posterior, totals.items, strict=True)
        return [(weight, total, list(pairs_on_the_way(total))) for weight, total in pairs if weight > 0]

    @property
    def identified(self) -> float:
        """Probability that the graph identifies the effect, so that no prior of a correlation is left in it.

        By the rank of a Jacobian at random coefficients, which is local: finitely many values may remain.
        """
        return sum(weight * identified(total) for weight, total, _ in self._found)

    @cached_property
    def causes(self) -> Mapping[tuple[str, str], CorrelatedSummary]:
        """The pairs of variables on the way whose errors may be correlated, and what data say of each."""
        names = dict.fromkeys((key.first, key.second) for _, _, pairs in self._found for key, _ in pairs)
        return {pair: self._summary(pair) for pair in names}

    @property
    def instruments(self) -> Table:
        """Strength of each instrument, and the probability that it has no other way to the outcome."""
        rows = [(key, one) for key, cause in self.causes.items() for one in cause.instruments]
        return Table(
            {
                "instrument": [one.name for _, one in rows],
                "treatment": [key[0] for key, _ in rows],
                "partial_r2": [one.share for _, one in rows],
                "f": [one.f for _, one in rows],
                "valid_before": [one.valid_before for _, one in rows],
                "valid": [one.valid for _, one in rows],
            }
        )

    def _summary(self, pair: tuple[str, str]) -> CorrelatedSummary:
        """Average what is known of a pair over models."""
        found = [
            (weight, total, key, posterior)
            for weight, total, pairs in self._found
            for key, posterior in pairs
            if (key.first, key.second) == pair
        ]
        weights = np.array([one[0] for one in found]) / sum(one[0] for one in found)
        posteriors, key = [one[3] for one in found], found[0][2]
        ends = np.array([(*one.correlation, *one.correlation_interval(_LEVEL), one.learned) for one in posteriors])
        mean, _, low, high, learned = weights @ ends
        hidden = float(weights @ [one.hidden for one in posteriors])
        share = self.identified
        if_hidden = 1.0 - min((1.0 - share) / max(hidden, 1e-12), 1.0)
        before = key.correlation.interval(_LEVEL)
        return CorrelatedSummary(
            *pair, hidden, key.hidden, float(mean), float(low), float(high), *before, float(learned), share,
            if_hidden, joint_f(posteriors[0]), tuple(_instruments(key, weights.tolist(), posteriors)),
            excluded(found[0][1], key), key.is_tried, key.asked,
        )  # fmt: skip

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader should know of them."""
        said = tuple(note for one in self.causes.values() for note in _notes(one))
        return (*said, *self._undeclared_notes(), *self._certain_notes(), *self._set_notes())

    def _undeclared_notes(self) -> Iterator[Note]:
        """Say which edges that are not there identify the effect though nobody declared an instrument."""
        declared = self.effect.workings.models.items[0].graph.declared
        for (first, second), one in self.causes.items():
            names = [name for name in one.rests_on if (name, first) not in declared]
            if names:
                yield Note(undeclared(names, second), "check")

    def _set_notes(self) -> Iterator[Note]:
        """Say what rows are good for in which one of a pair was set."""
        for key in {(key.first, key.second): key for _, _, pairs in self._found for key, _ in pairs}.values():
            for place, (shown, was_set) in enumerate(((key.first, key.second), (key.second, key.first))):
                if key.alone(place) is not None:
                    yield Note(set_apart(shown, was_set))

    def _certain_notes(self) -> Iterator[Note]:
        """Say which doubtful edges were taken for certain."""
        graph = self.effect.workings.models.items[0].graph
        for first, second in self.causes:
            names = [name for name in graph.children(first) if graph.probability(name, second) not in (0.0, 1.0)]
            if names:
                yield Note(
                    f"with correlated errors of {first} and {second}, edges from {some(names)} to {second} are taken "
                    "for certain: whether one is absent is not asked there"
                )


def _instruments(key: PairKey, weights: list[float], posteriors: list[PairPosterior]) -> Iterator[InstrumentSummary]:
    doubtful = [name for name, _ in key.doubtful]
    before = {name: 0.5 if p is None else 1.0 - p for name, p in key.doubtful}
    valid = np.zeros(len(doubtful))
    for weight, one in zip(weights, posteriors, strict=True):
        valid += weight * (one.leaves.weight @ ~one.leaves.invalid)
    after = dict(zip(doubtful, valid.tolist(), strict=True))
    for name, (share, f) in strengths(posteriors[0]).items():
        yield InstrumentSummary(name, share, f, after.get(name, 1.0), before.get(name, 1.0))


def _notes(one: CorrelatedSummary) -> Iterator[Note]:
    if not one.is_identified:
        yield Note(nothing_identifies(one), "changes the answer")
    elif one.is_weak:
        yield Note(weak_instruments(one), "check")
    if one.is_identified and len(one.instruments) == 1 and one.instruments[0].valid_before < 1.0:
        yield Note(single_instrument(one))
