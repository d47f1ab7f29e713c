"""`ClosedAnswer`: every node on the way is normal and straight, so that moments are exact and no row is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from alldags import meetings
from alldags.answers.levels import from_rows, is_category, row_means
from alldags.answers.nodes import Samples
from alldags.answers.question import Question, Target
from alldags.columns.base import RowValues
from alldags.effects.total import TotalEffect
from alldags.models.mixture import Mixture
from alldags.models.workings import fresh_stream
from alldags.nodes.data import WorkingData
from alldags.typing import FloatArray
from alldags.wording import option

_DRAWS = 20_000  # behind intervals and probabilities


class LevelAnswer(Protocol):
    """What knows mean outcomes, as `Answer` does."""

    @property
    def target(self) -> Target: ...
    @property
    def size(self) -> int: ...
    @property
    def levels(self) -> tuple[FloatArray, FloatArray]: ...
    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray: ...
    def level_mean(self, x: float) -> float: ...


@dataclass(frozen=True, eq=False)
class ClosedAnswer:
    """A total effect in closed form, averaged over models.

    Parameters
    ----------
    question
        What is asked.
    totals
        The total effect in each model, in working units.
    unit, per_unit
        User's units of the effect per working unit: for the step that is compared, and for one unit of the treatment.
    seed
        Of the draws behind intervals.
    target
        The rows that outcomes are averaged over; None: all, whose means are known.
    elsewhere
        What knows the mean outcome of other rows than those of the fit, where it is asked for.
    """

    question: Question
    totals: Mixture[TotalEffect]
    unit: float
    per_unit: float
    seed: np.random.SeedSequence
    target: Target | None = None
    elsewhere: LevelAnswer | None = None

    size = _DRAWS
    drawn: tuple[FloatArray, Samples] | None = None

    @property
    def lacks(self) -> Mapping[str, str]:
        """Nothing that rows differ in."""
        same = (
            f"this effect is the same straight line for all rows; fit with {option('terms', 'auto')} to look for others"
        )
        found = {"modifiers": same, "structures": same, "plots.rows": same}
        if is_category(self._data, self.question):
            found["standardized"] = "a change of levels has no standard deviations; use the effect itself"
        if self.question.on_link:
            scale = "the mean outcome is on another scale than this effect: ask the effect itself, not its log-odds"
            found |= dict.fromkeys(("do", "curve", "levels", "sensitivity", "mediation"), scale)
        if self._data.pooled.variants:
            found["sensitivity"] = str(meetings.refusal("random intercepts", "sensitivity", {}))
        return found

    @cached_property
    def mean(self) -> float:
        """Posterior mean."""
        return self.unit * self.totals.average(lambda total: total.mean)

    @cached_property
    def _between_tables(self) -> float:
        """Variance of the mean between completed tables, in working units; 0 for a single table."""
        return float(self.totals.averages(lambda total: total.mean).var()) if self.totals.weights.tables > 1 else 0.0

    @property
    def missing_sd(self) -> float:
        """Standard deviation of the mean between completed copies of the table."""
        return abs(self.unit) * math.sqrt(self._between_tables)

    @cached_property
    def error(self) -> float:
        """Monte-Carlo standard error of the mean; 0 where no node was sampled."""
        return abs(self.unit) * self.totals.error(lambda total: total.slopes())

    @cached_property
    def bound(self) -> float:
        """Bound on the error of the mean from parent sets left out by certified engines."""
        return abs(self.unit) * self.totals.average(lambda total: total.bound)

    @cached_property
    def sd(self) -> float:
        """Posterior standard deviation; infinite if there are too few rows for it to exist."""
        return self.spread(self.totals.average(lambda total: total.second))

    @cached_property
    def structure_sd(self) -> float:
        """Standard deviation of the mean given the graph, within completed tables."""
        return self.spread(self.totals.average(lambda total: total.second_between) - self._between_tables)

    @property
    def structure_variance(self) -> float:
        """Its square."""
        return self.structure_sd**2

    def spread(self, second: float) -> float:
        """Return ``sqrt(unit**2 * second - mean**2)``; the unit's power of two is put aside, squares could overflow."""
        unit, power = math.frexp(self.unit)
        mean = math.ldexp(self.mean, -power)
        return math.ldexp(math.sqrt(max(unit**2 * second - mean**2, 0.0)), power)

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws, shape (size,); exact zeros where there is no path."""
        return self.unit * self.totals.draw(size, rng, TotalEffect.draws)

    @cached_property
    def values(self) -> FloatArray:
        """The draws behind intervals, shape (size,)."""
        return self.draws(self.size, fresh_stream(self.seed))

    # -- the mean outcome ----------------------------------------------------------------------------------------------

    @property
    def _data(self) -> WorkingData:
        return self.totals.items[0].model.data

    def _mean_of(self, name: str) -> float:
        """Return the mean of treatment or outcome over the rows asked about, in the user's units."""
        if self.target is None:
            return float(row_means(self.totals.items[0].model, (name,))[0])
        return float(self.target.means((name,))[0])

    def _to(self, x: float) -> tuple[float, Mixture[TotalEffect]]:
        """Return the effect of setting the treatment of all rows to `x`, as a factor and what it multiplies."""
        if is_category(self._data, self.question):
            return self.per_unit, from_rows(self.totals, self.question, x, self.target)
        return self.per_unit * (x - self._mean_of(self.question.treatment)), self.totals

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`: each keeps its residual."""
        if self.elsewhere is not None:
            return self.elsewhere.level(x, size, rng)
        factor, totals = self._to(x)
        return self._mean_of(self.question.outcome) + factor * totals.draw(size, rng, TotalEffect.draws)

    def level_mean(self, x: float) -> float:
        """Return its posterior mean."""
        if self.elsewhere is not None:
            return self.elsewhere.level_mean(x)
        factor, totals = self._to(x)
        return self._mean_of(self.question.outcome) + factor * totals.average(lambda total: total.mean)

    def level_sd(self, x: float) -> float:
        """Return its posterior standard deviation."""
        factor, totals = self._to(x)
        mean, second = totals.average(lambda total: total.mean), totals.average(lambda total: total.second)
        return abs(factor) * math.sqrt(max(second - mean**2, 0.0))

    @property
    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Draws of the mean outcome under both values of the treatment; of a step, at the rows' own value and after."""
        if self.elsewhere is not None:
            return self.elsewhere.levels
        values = self.question.comparison.values
        low, high = values or (own := self._mean_of(self.question.treatment), own + 1.0)
        return self.level(low, self.size, fresh_stream(self.seed)), self.level(high, self.size, fresh_stream(self.seed))

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return the mean effect, the same for each row, shape (rows,), and draws of it, shape (size, rows)."""
        drawn = np.repeat(self.draws(size, rng)[:, None], rows.count, axis=1)
        return np.full(rows.count, self.mean), drawn
