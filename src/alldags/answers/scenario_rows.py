"""`StraightRows`: mean outcomes in scenarios where all is straight: those of one row, the mean of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alldags.answers.levels import row_means
from alldags.answers.nodes import Samples
from alldags.answers.push import PushedRows
from alldags.answers.world import Shift, Value, World
from alldags.answers.worlds import Worlds
from alldags.columns.base import RowValues
from alldags.models.fitted import FittedGraph
from alldags.nodes.data import WorkingData
from alldags.typing import FloatArray


@dataclass(frozen=True)
class Fixed:
    """A value for each column of a variable, the same in every row."""

    at: Mapping[str, float]
    reads: tuple[str, ...] = ()

    def values(self, rows: PushedRows, column: str, value: Callable[[str], FloatArray]) -> FloatArray:
        del value
        return np.full((rows.count, 1), self.at[column])


@dataclass(frozen=True, eq=False)
class Means:
    """The rows asked about, in the user's units.

    Parameters
    ----------
    outcome
        Mean outcome.
    own, to
        Means of the columns that are set in any scenario: as they are, shape (columns,), and what they are set to in
        each, shape (scenarios, columns); nan where a scenario does not set it.
    columns
        Their names.
    """

    outcome: float
    own: FloatArray
    to: FloatArray
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StraightRows:
    """Rows of scenarios in which every node that is moved is normal and straight.

    Parameters
    ----------
    worlds
        One for each scenario.
    variables
        What is set in any of them.
    outcome, over
        As for `Scenario`.
    data
        Units and columns.
    batches
        Yields the rows of a model.
    """

    worlds: tuple[World, ...]
    variables: tuple[str, ...]
    outcome: str
    over: Any
    data: WorkingData
    batches: Callable[[FittedGraph], Iterator[PushedRows]]
    _known: dict[WorkingData, Means] = field(default_factory=dict, repr=False)

    def columns(self, world: World | None = None) -> tuple[str, ...]:
        """Return the columns that are set, in a world or in any."""
        names = self.variables if world is None else [name for name in self.variables if name in world.settings]
        return self.data.columns(names)

    def means(self, model: FittedGraph) -> Means:
        """Return the means of the rows asked about, of moments where those are enough."""
        if model.data not in self._known:
            self._known[model.data] = self._of_moments(model) if self._moments_say_all(model) else self._of_rows(model)
        return self._known[model.data]

    def _moments_say_all(self, model: FittedGraph) -> bool:
        simple = all(isinstance(one, Value | Shift) for world in self.worlds for one in world.settings.values())
        every = isinstance(self.over, str) and self.over in ("sample", "population")
        return simple and every and not model.data.own

    def _of_moments(self, model: FittedGraph) -> Means:
        columns = self.columns()
        means = row_means(model, (self.outcome, *columns))
        one = PushedRows(RowValues({name: means[i + 1 : i + 2] for i, name in enumerate(columns)}), model.data, {})
        return Means(float(means[0]), means[1:], self.set_to(one)[:, :, 0], columns)

    def _of_rows(self, model: FittedGraph) -> Means:
        columns = self.columns()
        outcome, own, to, total = 0.0, np.zeros(len(columns)), np.zeros((len(self.worlds), len(columns))), 0.0
        for rows in self.batches(model):
            weight = np.ones(rows.count) if rows.weight is None else rows.weight
            outcome += float(weight @ rows.rows.values[self.outcome])
            own += np.array([weight @ rows.rows.values[name] for name in columns])
            to += self.set_to(rows) @ weight
            total += float(weight.sum())
        return Means(outcome / total, own / total, to / total, columns)

    def set_to(self, rows: PushedRows) -> FloatArray:
        """Return what columns are set to in each row, shape (scenarios, columns, rows); nan where they are not."""
        found = np.full((len(self.worlds), len(self.columns()), rows.count), math.nan)
        for i, world in enumerate(self.worlds):
            for name, setting in world.settings.items():
                for column in self.data.columns((name,)):
                    values = setting.values(rows, column, lambda other: rows.rows.values[other][:, None])
                    found[i, self.columns().index(column)] = np.broadcast_to(values, (rows.count, 1))[:, 0]
        return found

    def levels(self, model: FittedGraph, samples: Samples) -> tuple[FloatArray, FloatArray]:
        """Return mean outcomes (scenarios, draws), and their covariance over rows (`Piece.spread`)."""
        means, size = self.means(model), next(iter(samples.values())).size
        row = dict.fromkeys(model.data.pooled.names, np.zeros(1))
        row |= {name: means.own[i : i + 1] for i, name in enumerate(means.columns)}
        worlds = Worlds(
            PushedRows(RowValues({**row, self.outcome: np.zeros(1)}), model.data, {}), samples, slice(0, size)
        )
        levels = [means.outcome + worlds.mean(self._fixed(means, i), self.outcome)[0] for i in range(len(self.worlds))]
        return np.array(levels), self._row_spread(model, worlds, means) if self.is_population else np.zeros((0, 0, 0))

    def _fixed(self, means: Means, place: int) -> World:
        """Return a world in which what is set has its mean over rows."""
        at = dict(zip(means.columns, means.to[place].tolist(), strict=True))
        return World({name: Fixed(at) for name in self.worlds[place].settings})

    @property
    def is_population(self) -> bool:
        """Whether the rows are a sample of those asked about."""
        return isinstance(self.over, str) and self.over == "population"

    def _row_spread(self, model: FittedGraph, worlds: Worlds, means: Means) -> FloatArray:
        """Return the covariance over rows of outcomes in scenarios, over the number of rows, shape (w, w, draws)."""
        slopes = np.array([self._slopes(worlds, means, i) for i in range(len(self.worlds))])  # (w, columns, draws)
        sums, square, count = np.zeros(1), np.zeros((1, 1)), 0
        for rows in self.batches(model):
            values = self._row_moves(rows)
            sums, square, count = sums + values.sum(axis=1), square + values @ values.T, count + rows.count
        covariance = square / count - np.outer(sums, sums) / count**2
        w, k, size = slopes.shape
        weights = np.zeros((w, 1 + w * k, size))
        for i in range(w):
            weights[i, 0] = 1.0
            weights[i, 1 + i * k : 1 + (i + 1) * k] = slopes[i]
        carried = np.einsum("ij,ajd->aid", covariance, weights)
        return np.asarray(np.einsum("aid,bid->abd", weights, carried) / (count + 1.0))

    def _row_moves(self, rows: PushedRows) -> FloatArray:
        """Return the outcome of rows, and by how much each scenario moves each column, shape (1 + w k, rows)."""
        return np.vstack([rows.rows.values[self.outcome], self.moves(rows).reshape(-1, rows.count)])

    def moves(self, rows: PushedRows) -> FloatArray:
        """Return by how much each scenario moves each column in each row, shape (w, columns, rows)."""
        own = np.array([rows.rows.values[name] for name in self.columns()])
        return np.asarray(np.nan_to_num(self.set_to(rows) - own))

    def _slopes(self, worlds: Worlds, means: Means, place: int) -> FloatArray:
        """Return the change of the outcome per unit of each column in one scenario, shape (columns, draws)."""
        start = dict(zip(means.columns, means.own.tolist(), strict=True))
        found = []
        for column in means.columns:
            raised = World(
                {name: Fixed({**start, column: start[column] + 1.0}) for name in self.worlds[place].settings}
            )
            found.append(worlds.mean(raised, self.outcome)[0])
        return np.array(found)
