"""`ClosedAnswer`: every node on the way is normal and straight, so that moments are exact and no row is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.answers.nodes import Samples
from alldags.answers.question import Question, Target
from alldags.columns.base import RowValues
from alldags.effects.total import TotalEffect
from alldags.models.mixture import Mixture
from alldags.models.workings import fresh_stream
from alldags.nodes.data import WorkingData
from alldags.typing import FloatArray
from alldags.wording import option

STRAIGHT_ONLY = (
    f"sensitivity to a hidden cause is about straight lines; fit with {option('families', 'normal')} and without terms "
    "to ask for it"
)
_DRAWS = 20_000  # behind intervals and probabilities


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
    """

    question: Question
    totals: Mixture[TotalEffect]
    unit: float
    per_unit: float
    seed: np.random.SeedSequence
    target: Target | None = None

    size = _DRAWS
    drawn: tuple[FloatArray, Samples] | None = None

    @property
    def lacks(self) -> Mapping[str, str]:
        """Nothing that rows differ in."""
        same = (
            f"this effect is the same straight line for all rows; fit with {option('terms', 'auto')} to look for others"
        )
        found = {"modifiers": same, "structures": same, "plot_rows": same}
        if self.question.on_link:
            scale = "the mean outcome is on another scale than this effect: ask the effect itself, not its log-odds"
            found |= dict.fromkeys(("do", "curve", "plot_curve", "risks"), scale) | {"sensitivity": STRAIGHT_ONLY}
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

    @cached_property
    def _means(self) -> tuple[float, float]:
        """Means of treatment and outcome over the rows asked about, in the user's units."""
        names = (self.question.treatment, self.question.outcome)
        if self.target is None:
            pooled = self._data.pooled
            found = [float(pooled.mean[pooled.index[name]] * self._data.scale_of(name)) for name in names]
            return found[0], found[1]
        columns = [self.target.table.column(name) for name in names]
        kept = slice(None) if self.target.chosen is None else self.target.chosen
        return float(columns[0][kept].mean()), float(columns[1][kept].mean())

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`: each keeps its residual."""
        treatment, outcome = self._means
        return outcome + self.per_unit * (x - treatment) * self.totals.draw(size, rng, TotalEffect.draws)

    def level_mean(self, x: float) -> float:
        """Return its posterior mean."""
        treatment, outcome = self._means
        return outcome + self.per_unit * (x - treatment) * self.totals.average(lambda total: total.mean)

    @property
    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Draws of the mean outcome under both values of the treatment; of a step, at the rows' own value and after."""
        low, high = self.question.comparison.values or (self._means[0], self._means[0] + 1.0)
        return self.level(low, self.size, fresh_stream(self.seed)), self.level(high, self.size, fresh_stream(self.seed))

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return the mean effect, the same for each row, shape (rows,), and draws of it, shape (size, rows)."""
        drawn = np.repeat(self.draws(size, rng)[:, None], rows.count, axis=1)
        return np.full(rows.count, self.mean), drawn
