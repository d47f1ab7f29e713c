"""`Steps`: draws of the steps that an effect is made in, from world to world, and of the regressions behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from alldags.answers.closed import ClosedAnswer
from alldags.answers.comparison import Comparison
from alldags.answers.held import HeldEffect
from alldags.answers.joint import Draw, Drawn, Joint, along_lines, joints_of
from alldags.answers.nested import nested_outcomes
from alldags.answers.nodes import Samples
from alldags.answers.paired import row_regressions
from alldags.answers.pushed import PushedAnswer
from alldags.answers.regressed import Regressed
from alldags.answers.response import Response
from alldags.answers.robust import stretch_of_joints
from alldags.answers.world import World, both_worlds
from alldags.effects.jackknife import Stretch
from alldags.effects.quantity import Quantity
from alldags.effects.span import Span
from alldags.effects.total import TotalEffect
from alldags.graph.candidate import CandidateGraph
from alldags.models.mixture import Mixture
from alldags.notes import Note
from alldags.typing import FloatArray

MakeWorlds: TypeAlias = Callable[[CandidateGraph, World, World], Sequence[World]]
"""Makes worlds for a graph, from the low to the high value of the treatment."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Draws of the steps that an effect is made in: the direct effect first, then that of each mediator in order.

    Parameters
    ----------
    effect
        The whole effect.
    joints
        Draws of the steps, shape (steps + 1, draws), by model; the last row is what `leverage` is.
    """

    effect: HeldEffect
    joints: Sequence[Joint]

    @cached_property
    def _drawn(self) -> FloatArray:
        """All draws in random order, shape (steps + 1, draws)."""
        together = np.concatenate([joint.effect for joint in self.joints], axis=1)
        return np.asarray(self.effect.posterior.workings.stream().permutation(together, axis=1))

    @property
    def leverage(self) -> FloatArray:
        """What a hidden cause of mediator and outcome would move, per unit of its strength, shape (draws,)."""
        return np.asarray(self._drawn[-1])

    def of(self, places: Sequence[int], exact: tuple[float, float] | None = None) -> Quantity:
        """Return the sum of some steps; `exact` has mean and sd, before widening."""
        plain, draws = (one[list(places)].sum(axis=0) for one in (self._drawn, self._wide))
        if exact is None:
            return Quantity(draws)
        factor = 1.0 if self._wide is self._drawn or not plain.any() else float(draws.std() / plain.std())
        return Quantity(draws, exact=(exact[0], factor * exact[1]))

    @cached_property
    def stretch(self) -> Stretch | None:
        """What rows or clusters say of the spread: of total, direct or indirect effect, of which they say most."""
        last = len(self._drawn) - 1
        sums = dict.fromkeys([(0, last), (0, 1), (min(1, last - 1), last)])
        posterior = self.effect.posterior
        found = [
            stretch_of_joints(
                posterior, [replace(one, effect=one.effect[start:stop].sum(axis=0)) for one in self.joints]
            )
            for start, stop in sums
        ]
        return max((one for one in found if one is not None), key=lambda one: one.factor, default=None)

    @cached_property
    def _wide(self) -> FloatArray:
        """The draws as wide as that: each about its mean given that it is not zero, all by the same factor.

        So they still add up. With few clusters each draw has a factor that makes of what was normal a Student's
        distribution.
        """
        stretch, drawn = self.stretch, self._drawn
        if stretch is None:
            return drawn
        factor = np.full(drawn.shape[1], stretch.factor)
        if math.isfinite(stretch.freedom):
            rng = self.effect.posterior.workings.stream()
            factor *= np.sqrt(stretch.freedom / rng.chisquare(stretch.freedom, len(factor)))
        center = (drawn.sum(axis=1) / np.maximum((drawn != 0.0).sum(axis=1), 1))[:, None]
        return np.where(drawn == 0.0, 0.0, center + factor * (drawn - center))

    @property
    def notes(self) -> tuple[Note, ...]:
        """What that did."""
        if self.stretch is None or self.stretch.factor == 1.0:
            return ()
        what, times = "clusters" if math.isfinite(self.stretch.freedom) else "rows", f"{self.stretch.factor:.2f}"
        return (Note(f"{what} say more than the noise of the model: intervals are {times} times as wide as it says"),)


def steps_along(effect: HeldEffect, answer: ClosedAnswer, names: Sequence[str]) -> Steps:
    """Return the steps along straight lines: mediators are held, and let go one by one, the last first."""
    held = [names[:count] for count in range(len(names), -1, -1)]

    def draw(place: int, total: TotalEffect, size: int, rng: np.random.Generator) -> Drawn:
        del place
        if not total.span.variables:
            return np.zeros((len(names) + 2, size)), ()
        effects, regressed = along_lines(total, size, rng, held)
        levels = np.concatenate([np.zeros((1, size)), effects[:, -1]])
        moved = effects[-1, total.span.places[names[0]]] if names[0] in total.span.places else np.zeros(size)
        leverage = moved * _noise_ratio(regressed, names[0], answer.question.outcome, working=True)
        return answer.unit * np.concatenate([_in_order(np.diff(levels, axis=0)), [leverage]]), regressed

    return Steps(effect, _joints(effect, answer.totals, answer.size, draw))


def steps_between(effect: HeldEffect, answer: PushedAnswer, make: MakeWorlds, mediator: str) -> Steps:
    """Return the steps between worlds; with a mediator, also what a hidden cause of it and the outcome would move."""
    question = answer.question
    low, high = both_worlds(question.treatment, question.comparison)

    def draw(place: int, total: TotalEffect, size: int, rng: np.random.Generator) -> Drawn:
        response, worlds = answer.responses.items[place], make(total.model.graph, low, high)
        if not total.span.variables:
            return np.zeros((len(worlds), size)), ()
        samples = response.sample(size, rng)
        found = nested_outcomes(response, samples, worlds)
        steps, regressed = np.diff(found.levels, axis=0), row_regressions(total.model, samples)
        if question.is_population:
            steps = _of_a_sample(steps, found.spread, rng)
        leverage = np.zeros(size)
        if mediator in total.span.places:
            moved = _moved(response, samples, mediator, question.comparison)
            leverage = moved * _noise_ratio(regressed, mediator, question.outcome)
        return np.concatenate([_in_order(steps), [leverage]]), regressed

    totals = answer.responses.map(lambda one: TotalEffect(one.model, one.span))
    return Steps(effect, _joints(effect, totals, answer.size, draw))


def _joints(effect: HeldEffect, totals: Mixture[TotalEffect], size: int, draw: Draw) -> list[Joint]:
    workings = effect.posterior.workings
    return joints_of(totals, workings.models, size, workings.stream(), draw)


def _in_order(steps: FloatArray) -> FloatArray:
    """Return steps in the order of the mediators: worlds let go of the last one first, after the direct effect."""
    return np.concatenate([steps[:1], steps[:0:-1]])


def _of_a_sample(steps: FloatArray, spread: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return steps, shape (steps, draws), with the chance by which a population has these rows; zeros stay."""
    values, vectors = np.linalg.eigh(spread)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
    chance = np.einsum("dab,db->ad", root, rng.standard_normal(steps.T.shape))
    return np.where(steps == 0.0, 0.0, steps + chance)


def _moved(response: Response, samples: Samples, mediator: str, comparison: Comparison) -> FloatArray:
    """Return what the treatment does to a mediator on average, shape (draws,)."""
    span = Span.between(response.model.graph, response.span.variables[0], mediator)
    return replace(response, span=span).outcomes(samples, comparison).difference


def _noise_ratio(regressed: Sequence[Regressed], mediator: str, outcome: str, *, working: bool = False) -> FloatArray:
    """Return the noise of the outcome over that of a mediator, shape (draws,), in the user's or in working units."""
    known = {one.child: one for one in regressed}
    if mediator not in known:
        return np.zeros(regressed[0].precision.shape[1])
    one, other = (known[name] for name in (outcome, mediator))
    ratio = np.sqrt((1.0 / one.precision).mean(axis=0) / (1.0 / other.precision).mean(axis=0))
    return np.asarray(ratio if working else ratio * one.unit / other.unit)
