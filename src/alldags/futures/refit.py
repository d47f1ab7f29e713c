"""An effect after rows that do not exist yet: every future is fitted as if it had come."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alldags.answers.choose import models_for, unit_of
from alldags.answers.question import Question
from alldags.effects.workings import EffectWorkings
from alldags.futures.equations import Equations, draw_equations
from alldags.futures.moments import Chance, Design, future_moments, with_future
from alldags.interrupts import checkpoint
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.workings import Workings
from alldags.nodes.data import WorkingData
from alldags.typing import FloatArray


class After(NamedTuple):
    """An effect in one future: mean and variance, in the user's units, and the probabilities of the graphs.

    `truth` is the effect in the equations that the future was drawn from.
    """

    mean: float
    variance: float
    graphs: tuple[float, ...]
    truth: float


@dataclass(frozen=True, eq=False)
class Refits:
    """Futures of one effect, the same chance in each whatever is done.

    Parameters
    ----------
    workings
        What the posterior computes with.
    question
        What is asked: an effect along straight lines through normal nodes.
    futures
        How many futures are drawn.
    """

    workings: Workings
    question: Question
    futures: int

    @cached_property
    def _streams(self) -> list[np.random.Generator]:
        return self.workings.stream().spawn(3)

    @cached_property
    def models(self) -> Mixture[FittedGraph]:
        """The models as they are now."""
        return models_for(self.workings, self.question)

    @cached_property
    def drawn(self) -> list[tuple[int, Equations]]:
        """The models that some futures fall to, by place, with draws of their equations."""
        rng, share = self._streams[0], np.array(self.models.weights.posterior)
        counts = shares(share, self.futures, rng)
        found = zip(self.models.items, counts, self._streams[1].spawn(len(counts)), strict=True)
        return [(place, draw_equations(one, n, stream)) for place, (one, n, stream) in enumerate(found) if n]

    def after(self, design: Design) -> list[After]:
        """Return the effect in every future, with the rows of a design added."""
        return [self._after(design, *one) for one in self._each()]

    def _each(self) -> Iterator[tuple[int, Equations, Chance, int]]:
        m = len(self.workings.data.pooled.names)
        for place, equations in self.drawn:
            rng = np.random.default_rng(self._streams[2].bit_generator.seed_seq.spawn_key)  # type: ignore[attr-defined]
            chance = Chance.of(equations.size, 1 + len(equations.given) + 2 * m, rng)
            for future in range(equations.size):
                yield place, equations, chance, future

    def _after(self, design: Design, place: int, equations: Equations, chance: Chance, future: int) -> After:
        checkpoint()
        model = self.models.items[place]
        rows = future_moments(model.data, equations, design, chance, future)
        later = self._later(with_future(self.workings.data, rows, design.variable))
        totals = self._effect(later).totals
        unit = unit_of(self.workings, self.question)
        mean, second = totals.average(lambda one: one.mean), totals.average(lambda one: one.second)
        truth = self._truth(model, equations, future)
        return After(unit * mean, unit**2 * max(second - mean**2, 0.0), later.models.weights.posterior, unit * truth)

    def _later(self, data: WorkingData) -> Workings:
        """Return what the posterior would compute with."""
        store = self.workings.store.empty()
        models = tuple(model.on(data, store) for model in self.workings.models.items)
        return replace(self.workings, models=Mixture.of(models, self.workings.models.weights.prior), store=store)

    def _effect(self, later: Workings) -> EffectWorkings:
        treatment, outcome = self.question.treatment, self.question.outcome
        found = EffectWorkings(treatment, outcome, models_for(later, self.question), 1.0)
        for total in found.totals.items:
            total.prepare()
        return found

    def _truth(self, model: FittedGraph, equations: Equations, future: int) -> float:
        """Return the effect in the equations of a future, in working units; not a number for that of a category."""
        index = model.data.pooled.index
        if self.question.treatment not in index:
            return math.nan
        place = np.array([index[self.question.treatment]])
        entering = np.zeros((1, len(index)))
        entering[0, place] = 1.0
        apart = equations.cut(place, np.zeros((0, len(index))))
        return float(apart.solved(future, entering)[0, index[self.question.outcome]])


def shares(probability: FloatArray, futures: int, rng: np.random.Generator) -> list[int]:
    """Return how many futures fall to each model: its share, what is left over by lot without repetition."""
    expected = probability / probability.sum() * futures
    found = np.floor(expected + 1e-9).astype(int)
    left = futures - int(found.sum())
    if left:
        rest = np.maximum(expected - found, 0.0)
        found[rng.choice(len(found), left, replace=False, p=rest / rest.sum())] += 1
    return [int(n) for n in found]
