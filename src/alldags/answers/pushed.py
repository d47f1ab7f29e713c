"""`PushedAnswer`: rows x draws through the nodes in order, whatever these are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from alldags import meetings
from alldags.answers.comparison import Comparison
from alldags.answers.controls import controlled_mean, shared_variance
from alldags.answers.forward import forward_mean, is_linear
from alldags.answers.new_rows import NewResponse
from alldags.answers.nodes import Samples
from alldags.answers.question import Question, Target
from alldags.answers.response import Outcomes, Response
from alldags.columns.base import RowValues
from alldags.effects.total import TotalEffect
from alldags.graph.hidden import pair_with
from alldags.models.capabilities import outcome_asks
from alldags.models.mixture import Mixture, shuffled
from alldags.models.workings import fresh_stream
from alldags.typing import FloatArray
from alldags.wording import option

MIXED = (
    "paths do not multiply through a yes/no variable or a count ({names}); see mediation() for how much runs through "
    "them, along() for one path"
)
DIVIDED = (
    "{name!r} is two regressions, of whether there is any and of how much, so that it has no one predictor; use the "
    "effect itself, or on('ratio')"
)
_VALUES = 1e7  # rows times draws behind intervals
_LEAST, _MOST, _MOST_BENT = 1000, 4000, 2000  # draws; the last where nodes on the way bend
_PAIRS = 600  # pairs of draws behind the share of the graph in the spread
MOST_ROWS = 20_000  # that are pushed; of more a random part
MOST_BENT_ROWS = 10_000  # the same where nodes on the way bend


class PushedAnswer:
    """An effect by pushed rows, averaged over models.

    Parameters
    ----------
    question
        What is asked.
    totals
        The way in each model.
    target
        The rows.
    rng
        Of the draws behind the answer.
    worth
        Number of independent draws of sets that sampled nodes are worth.
    most
        Draws at most.
    """

    bound = 0.0

    def __init__(
        self,
        question: Question,
        totals: Mixture[TotalEffect],
        target: Target,
        seed: np.random.SeedSequence,
        worth: float = math.inf,
        most: int = _MOST,
    ) -> None:
        self.question = question
        self.target = target
        self.responses = totals.map(lambda total: _response(total, target, question.treatment))
        self._seed, self._worth, self._most = seed, worth, most

    @property
    def lacks(self) -> Mapping[str, str]:
        """What has one coefficient a cause."""
        found = {
            "direct": "a difference of mean outcomes has no one coefficient of a direct edge; see mediation().direct",
            "standardized": "this effect has no one size per standard deviation; use contrast(start, stop)",
            "modifiers": "probability.modifiers() needs an effect that goes through no other variables; fit with terms",
            "structures": f"structures are of curves in the outcome's own regression; see {option('terms', 'auto')}",
        }
        data = self.responses.items[0].model.data
        family = data.families.get(self.question.outcome)
        if family is not None and not family.complete:
            found["sensitivity"] = (
                "a hidden cause is measured by shares of variance, which a censored time does not have; use "
                "on('hazard ratio'), and how far from one it is"
            )
        reached = {name for one in self.responses.items for name in one.span.reached}
        if levels := outcome_asks(self.responses.items[0].model.data, "", reached):
            found["sensitivity"] = str(meetings.refusal("categorical", "sensitivity", levels))
        if self.bends:
            lines = "a curve has no coefficients to multiply along paths; see mediation() and along()"
            found |= {"paths": lines, "log odds": lines}
        elif names := sorted({name for one in self.responses.items for name in one.not_normal}):
            mixed = MIXED.format(names=", ".join(names))
            found |= {"paths": mixed, "log odds": mixed}
        elif (family := data.families.get(self.question.outcome)) is not None and family.parts:
            found |= dict.fromkeys(("paths", "log odds"), DIVIDED.format(name=self.question.outcome))
        return found

    @property
    def bends(self) -> bool:
        """Whether a regression on the way may bend."""
        return any(one.model.bends(name) for one in self.responses.items for name in one.span.reached)

    @property
    def drawn(self) -> tuple[FloatArray, Samples] | None:
        """Draws of the effect, shape (draws,), and of the nodes on the way; None with several models."""
        return None if self.samples is None else (self.outcomes.difference, self.samples)

    @property
    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Draws of the mean outcome under both values of the treatment, shape (draws,) each."""
        return self.outcomes.low, self.outcomes.high

    @cached_property
    def size(self) -> int:
        """Number of draws behind the answer."""
        return int(min(max(_VALUES / self.target.count, _LEAST), _MOST_BENT if self.bends else _MOST, self._most))

    @cached_property
    def samples(self) -> Samples | None:
        """Draws of all nodes, where there is one model only."""
        if len(self.responses.items) > 1:
            return None
        return self.responses.items[0].sample(self.size, fresh_stream(self._seed).spawn(1)[0])

    @cached_property
    def outcomes(self) -> Outcomes:
        """Mean outcomes under both values of the treatment, behind all that is said about the effect."""
        if self.samples is not None:
            return self.responses.items[0].outcomes(self.samples, self.question.comparison)
        stream, pieces = self._pieces
        return Outcomes(*shuffled([piece for _, piece in pieces], stream))

    @cached_property
    def _pieces(self) -> tuple[np.random.Generator, list[tuple[int, FloatArray]]]:
        """The generator behind the answer, and what was drawn of each model, with the place of its table."""
        stream = fresh_stream(self._seed)
        return stream, self.responses.pieces(self.size, stream, _stacked(self.question.comparison))

    def push(self, size: int, rng: np.random.Generator, comparison: Comparison) -> Outcomes:
        """Return outcomes of new draws."""
        return Outcomes(*self.responses.draw(size, rng, _stacked(comparison)))

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the difference, shape (size,); exact zeros where there is no path."""
        return self._differences(self.push(size, rng, self.question.comparison), rng)

    @cached_property
    def values(self) -> FloatArray:
        """The draws behind intervals, shape (size,)."""
        return self._differences(self.outcomes, fresh_stream(self._seed))

    def _differences(self, pushed: Outcomes, rng: np.random.Generator) -> FloatArray:
        """Return draws of the difference; for a population, with the chance by which it has these rows."""
        found = pushed.difference
        if not self.question.is_population:
            return found
        noise = rng.standard_normal(len(found)) * np.sqrt(pushed.spread)
        return np.asarray(np.where(found == 0.0, 0.0, found + noise))

    # -- moments -----------------------------------------------------------------------------------------------------

    @cached_property
    def _controlled(self) -> tuple[float, float]:
        """Posterior mean and its Monte-Carlo error."""
        if self.samples is not None and is_linear(self.responses.items[0]):
            mean, error = forward_mean(self.responses.items[0], self.samples, self.question.comparison)
        else:
            worth = min(len(self.outcomes.low), self._worth)
            mean, error = controlled_mean(self.outcomes.difference, self.samples, worth)
        left_out = float(self.outcomes.spread.mean()) * self.target.left_out
        return mean, math.sqrt(error**2 + left_out)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return self._controlled[0]

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of the mean."""
        return self._controlled[1]

    @cached_property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return float(self.values.std(ddof=1))

    @cached_property
    def structure_variance(self) -> float | None:
        """Covariance of pairs of draws that share their graph; None where columns are derived, or errors correlated."""
        rng = fresh_stream(self._seed)
        if self.bends or any(pair_with(one.model.graph.hidden, one.span.reached) for one in self.responses.items):
            return None
        if self.samples is None:
            first, second = self.responses.draw(_PAIRS, rng, self._pairs)
            return max(float(np.cov(first, second)[0, 1]) - self.missing_sd**2, 0.0)
        size = min(_PAIRS, self.size)
        samples = {name: sample.first(size) for name, sample in self.samples.items()}
        partners = {name: sample.partner(rng) for name, sample in samples.items()}
        others = self.responses.items[0].outcomes(partners, self.question.comparison).difference
        return shared_variance(samples, partners, self.outcomes.difference[:size], others)

    @cached_property
    def missing_sd(self) -> float:
        """Standard deviation of the mean between completed copies of the table; 0 for a single one."""
        tables = self.responses.weights.tables
        if tables == 1:
            return 0.0
        drawn: list[list[FloatArray]] = [[] for _ in range(tables)]
        for place, (low, high, _) in self._pieces[1]:
            drawn[place].append(high - low)
        gaps = [np.concatenate(one) for one in drawn if one]
        chance = float(np.mean([gap.var() / len(gap) for gap in gaps]))  # of means of so few draws
        return math.sqrt(max(float(np.var([gap.mean() for gap in gaps])) - chance, 0.0))

    def _pairs(self, response: Response, size: int, rng: np.random.Generator) -> FloatArray:
        """Return differences of pairs of draws with the same parent sets, shape (2, size)."""
        own, other = rng.spawn(2)
        if not response.span.variables:
            return np.zeros((2, size))
        samples = response.sample(size, own)
        partners = {name: sample.partner(other) for name, sample in samples.items()}
        return np.array([response.outcomes(item, self.question.comparison).difference for item in (samples, partners)])

    # -- rows ----------------------------------------------------------------------------------------------------------

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return each row's mean effect, shape (rows,), and draws of it, shape (size, rows)."""

        def one(response: Response, count: int, stream: np.random.Generator) -> FloatArray:
            if not response.span.variables:
                return np.zeros((rows.count, count))
            samples = response.sample(count, stream)
            if not rows.values.keys() >= set(response.span.reached):  # what lies between follows from what is known
                response = NewResponse(response.model, response.span, self.target, treatment=self.question.treatment)
            return response.gaps(rows, samples, self.question.comparison).T

        drawn = self.responses.draw(size, rng, one).T
        return drawn.mean(axis=0), drawn

    def level_mean(self, x: float) -> float:
        """Return the posterior mean of the mean outcome over the rows when the treatment is set to `x`."""
        return float(self.level(x, self.size, fresh_stream(self._seed)).mean())

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`, shape (size,)."""
        found = self.push(size, rng, Comparison(x, x))
        if not self.question.is_population:
            return found.low
        return np.asarray(found.low + np.sqrt(found.spread) * rng.standard_normal(size))


def _response(total: TotalEffect, target: Target, treatment: str) -> Response:
    if target.other is not None:
        return NewResponse(total.model, total.span, target, treatment=treatment)
    return Response(total.model, total.span, target.in_table(total.model.data.table))


def _stacked(comparison: Comparison) -> Callable[[Response, int, np.random.Generator], FloatArray]:
    """Return what draws the outcomes of a model, shape (3, count)."""

    def draw(response: Response, count: int, stream: np.random.Generator) -> FloatArray:
        return response.drawn(comparison, count, stream).stacked()

    return draw
