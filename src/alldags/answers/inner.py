"""`InnerAnswer`: an effect that is an inner product with the coefficients of one regression that may bend.

With one regression between treatment and outcome, the effect of a row is the change of its columns times their
coefficients, and the average effect the mean change times these: its mean is exact where the regression's is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.answers.nodes import NodeSample, Samples
from alldags.answers.question import Question, Target
from alldags.columns.base import RowValues
from alldags.effects.total import TotalEffect
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.models.mixture import Mixture
from alldags.models.workings import fresh_stream
from alldags.typing import FloatArray

_DRAWS = 4000  # behind intervals

NOTHING_BETWEEN = (
    "nothing lies between treatment and outcome in any candidate graph, so that all of the effect is direct; add the "
    "edges of a mediator to the graph, or use the effect itself"
)


@dataclass(frozen=True, eq=False)
class Change:
    """What a comparison does to the columns of one regression.

    Parameters
    ----------
    node
        The outcome's regression.
    question
        What is asked.
    target
        The rows.
    unit
        User's units of the outcome per working unit.
    """

    node: CurvedPosterior
    question: Question
    target: Target
    unit: float

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean (k,) and covariance over rows (k, k) of the change of the columns."""
        found = self.node.found
        if self._by_arms:
            return self._between_arms(found.made.moments.pooled, float(found.made.moments.rows.sum()))
        parts = [(self.of(rows), self.target.weight(rows.values)) for rows in self.rows()]
        change, weight = np.concatenate([part for part, _ in parts]), _shares(parts)
        mean = weight @ change
        centered = change - mean
        return mean, (centered * weight[:, None]).T @ centered

    def _between_arms(self, pooled: tuple[FloatArray, FloatArray], rows: float) -> tuple[FloatArray, FloatArray]:
        """Return the same from moments of the base columns: only the arm, and columns under treatment, change."""
        mean, scatter = pooled
        sign, base = self._sign, self.node.found.base
        k = len(base)
        spread = np.zeros((2 * k - 1, 2 * k - 1))
        spread[k:, k:] = scatter[1:-1, 1:-1] / rows
        return np.r_[sign / base.scale[0], np.zeros(k - 1), sign * mean[1:-1]], spread

    @property
    def _by_arms(self) -> bool:
        """Whether the rows asked about are those of the regression, and moments of two arms say all of them."""
        all_seen = self.question.outcome not in self.target.table.marks.unseen
        return self.node.found.arms is not None and self.target.chosen is None and all_seen

    @property
    def _sign(self) -> float:
        arms = self.node.found.arms
        low, high = self.question.comparison.values or (0.0, 1.0)
        return 0.0 if arms is None else float(high == arms[1]) - float(low == arms[1])

    @property
    def weights(self) -> FloatArray:
        """Mean change of the columns, shape (k,)."""
        return self._moments[0]

    @property
    def spread(self) -> FloatArray:
        """Covariance over rows of the change, shape (k, k)."""
        return self._moments[1]

    def rows(self) -> Iterator[RowValues]:
        """Yield the rows asked about."""
        start, chosen = 0, self.target.chosen
        for rows in self.node.found.spec.rows.rows.batches():
            stop = start + rows.count
            kept = rows if chosen is None else rows.taken(chosen[start:stop])
            start = stop
            if kept.count:
                yield kept

    def of(self, rows: RowValues) -> FloatArray:
        """Return the change of the columns of some rows, shape (rows, k)."""
        values = rows.values[self.question.treatment]
        low, high = (values + shift for shift in self.question.comparison.shifts(values))
        return self.node.over_columns.columns.changes(rows, self.question.treatment, low, high)

    @property
    def mean(self) -> float:
        """Posterior mean, in the user's units."""
        return self.unit * float(self.weights @ self.node.over_columns.mean)

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of the mean."""
        return self.unit * self.node.over_columns.linear_error(self.weights)

    @property
    def structure_variance(self) -> float:
        """Variance of the mean given structure and columns present."""
        return self.unit**2 * self.node.over_columns.variance_between(self.weights)

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the average effect, shape (size,); zeros where the treatment is no cause."""
        theta, _, _ = self.node.over_columns.draw(size, rng)
        value = theta @ self.weights
        if self.question.is_population:
            squares = np.maximum(np.einsum("di,di->d", theta @ self.spread, theta), 0.0)
            noise = rng.standard_normal(size) * np.sqrt(squares / (self.target.count + 1.0))
            value = np.where(value == 0.0, 0.0, value + noise)
        return np.asarray(self.unit * value)

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the effects of single rows, shape (rows, size)."""
        theta, _, _ = self.node.over_columns.draw(size, rng)
        return np.asarray(self.unit * self.of(rows) @ theta.T)

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`: each keeps its residual."""
        theta, _, _ = self.node.over_columns.draw(size, rng)
        mean = self._mean_moved(x)
        value = mean[0] + self.unit * theta @ mean[1:]
        if self.question.is_population:
            spread = self._spread_moved(x, mean)
            value = value + rng.standard_normal(size) * np.sqrt(self._unit_variance(theta, spread))
        return np.asarray(value)

    def _unit_variance(self, theta: FloatArray, spread: FloatArray) -> FloatArray:
        """Return the variance over rows of their outcomes, over their number, shape (draws,)."""
        both = np.column_stack([np.ones(len(theta)), self.unit * theta])
        return np.asarray(np.maximum(np.einsum("di,di->d", both @ spread, both), 0.0) / (self.target.count + 1.0))

    def level_mean(self, x: float) -> float:
        """Return its posterior mean."""
        mean = self._mean_moved(x)
        return float(mean[0] + self.unit * mean[1:] @ self.node.over_columns.mean)

    def _mean_moved(self, x: float) -> FloatArray:
        """Return means over the rows of the outcome and of the change of the columns, shape (k + 1,)."""
        if self._by_arms:
            return self._mean_by_arms(x)
        sums = [(weight @ moved, weight.sum()) for moved, weight in self._moved(x)]
        return np.asarray(sum(total for total, _ in sums) / sum(count for _, count in sums))

    def _mean_by_arms(self, x: float) -> FloatArray:
        """Return the same from moments of the arms: rows of the other arm change arms, and columns under treatment."""
        made = self.node.found.made
        assert made.arms is not None
        to, share = int(x == made.arms[1]), made.raw.rows / made.raw.rows.sum()
        base = (made.raw.mean[1 - to, :-1] - made.base.center) / made.base.scale
        moved = (2 * to - 1) * share[1 - to] * np.r_[1.0 / made.base.scale[0], np.zeros(len(base) - 1), base[1:]]
        return np.asarray(np.r_[self.node.found.center, moved])

    def _spread_moved(self, x: float, mean: FloatArray) -> FloatArray:
        """Return the covariance of the same, shape (k + 1, k + 1)."""
        sums = [
            (((moved - mean) * weight[:, None]).T @ (moved - mean), weight.sum()) for moved, weight in self._moved(x)
        ]
        return np.asarray(sum(total for total, _ in sums) / sum(count for _, count in sums))

    def _moved(self, x: float) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield outcome and change of the columns of some rows, shape (rows, k + 1), and how much each row counts."""
        columns, name = self.node.over_columns.columns, self.question.treatment
        for rows in self.rows():
            change = columns.changes(rows, name, rows.values[name], np.full(rows.count, x))
            weight = self.target.weight(rows.values)
            moved = np.column_stack([rows.values[self.question.outcome], change])
            yield moved, np.ones(rows.count) if weight is None else weight


def _shares(parts: Sequence[tuple[FloatArray, FloatArray | None]]) -> FloatArray:
    """Return how much each row counts, shape (rows,); they add up to one."""
    found = np.concatenate([np.ones(len(values)) if weight is None else weight for values, weight in parts])
    return np.asarray(found / found.sum())


class InnerAnswer:
    """An effect on an outcome whose regression alone bends, averaged over models.

    Parameters
    ----------
    question
        What is asked.
    totals
        The way in each model: from treatment to outcome, with nothing in between.
    target
        The rows.
    seed
        Of the draws behind the answer.
    """

    size = _DRAWS
    bound = 0.0

    def __init__(
        self, question: Question, totals: Mixture[TotalEffect], target: Target, seed: np.random.SeedSequence
    ) -> None:
        self.question = question
        self.target = target
        self.changes = totals.map(lambda total: _change(total, question, target))
        self._seed = seed

    @cached_property
    def mean(self) -> float:
        """Posterior mean."""
        return self.changes.average(lambda change: change.mean)

    @cached_property
    def error(self) -> float:
        """Monte-Carlo standard error of the mean."""
        return self.changes.average(lambda change: change.error)

    @cached_property
    def structure_variance(self) -> float:
        """Variance of the mean given graph, structure and columns present."""
        second = self.changes.average(lambda change: change.structure_variance + change.mean**2)
        return max(second - self.mean**2 - self.missing_sd**2, 0.0)

    @cached_property
    def missing_sd(self) -> float:
        """Standard deviation of the mean between completed copies of the table; 0 for a single one."""
        return float(self.changes.averages(lambda change: change.mean).std())

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the average effect, shape (size,)."""
        return self.changes.draw(size, rng, Change.draws)

    @cached_property
    def values(self) -> FloatArray:
        """The draws behind intervals, shape (size,)."""
        return self.draws(self.size, fresh_stream(self._seed))

    @cached_property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return float(self.values.std(ddof=1))

    @property
    def lacks(self) -> Mapping[str, str]:
        """What has one coefficient a cause."""
        lines = "a curve has no coefficients to multiply along paths; fit without terms for the straight lines' answer"
        found = dict.fromkeys(("paths", "direct"), lines)
        found["mediation"] = NOTHING_BETWEEN
        found["standardized"] = "an effect that bends has no one size per standard deviation; use contrast(start, stop)"
        found["log odds"] = "the outcome is neither yes/no nor a count and has no log-odds; use the effect itself"
        return found

    @cached_property
    def drawn(self) -> tuple[FloatArray, Samples] | None:
        """Draws of the effect, shape (draws,), and of the outcome's regression; None with several models."""
        if len(self.changes.items) > 1:
            return None
        change = self.changes.items[0]
        over = change.node.over_columns
        sample = NodeSample(
            change.node, over, over.columns, None, *over.draw_with_ratio(self.size, fresh_stream(self._seed))
        )
        return self.changes.items[0].unit * sample.coefficients @ change.weights, {self.question.outcome: sample}

    @property
    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Draws of the mean outcome under both values of the treatment, shape (draws,) each."""
        low, high = self.question.comparison.values or (None, None)
        if low is None or high is None:
            return np.zeros(0), np.zeros(0)
        return self.level(low, self.size, fresh_stream(self._seed)), self.level(
            high, self.size, fresh_stream(self._seed)
        )

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return each row's mean effect, shape (rows,), and draws of it, shape (size, rows)."""
        drawn = self.changes.draw(size, rng, lambda change, count, stream: change.of_rows(rows, count, stream)).T
        over = self.changes.map(lambda change: change.unit * change.of(rows) @ change.node.over_columns.mean)
        return over.average_array(lambda mean: mean), drawn

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`, shape (size,)."""
        return self.changes.draw(size, rng, lambda change, count, stream: change.level(x, count, stream))

    def level_mean(self, x: float) -> float:
        """Return its posterior mean."""
        return self.changes.average(lambda change: change.level_mean(x))


def _change(total: TotalEffect, question: Question, target: Target) -> Change:
    node = total.model.node(question.outcome)
    assert isinstance(node, CurvedPosterior)
    own = target.in_table(total.model.data.table)
    return Change(node, question, own, total.model.data.scale_of(question.outcome))
