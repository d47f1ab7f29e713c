"""Rows of another population, of which only covariates are known, and how an outcome responds in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alldags.answers.comparison import Comparison
from alldags.answers.new_worlds import NewWorlds
from alldags.answers.nodes import Samples, sample_nodes
from alldags.answers.push import PushedRows
from alldags.answers.regressed import Regressed, regressed_nodes
from alldags.answers.response import Outcomes, Response
from alldags.answers.rows_given import OtherRows
from alldags.answers.world import Value, World, both_worlds
from alldags.answers.worlds import world_blocks
from alldags.columns.base import RowValues
from alldags.data.source import open_source
from alldags.models.fitted import FittedGraph
from alldags.typing import FloatArray

_LEAST_ROWS = 400  # each row is repeated so that there are as many levels of noise
LEAST_EACH = 16  # times that a row is repeated where each is asked about
_UNITS = 512  # rows of which new units are drawn


@dataclass(frozen=True, eq=False)
class NewRows:
    """Other rows as one model needs them.

    Parameters
    ----------
    model
        The fitted graph.
    other
        The rows.
    nodes
        What has no value of its own in them: what anything set may act on, and the outcome.
    needed
        What has.
    """

    model: FittedGraph
    other: OtherRows
    nodes: tuple[str, ...]
    needed: tuple[str, ...]

    def rows(self, least: int = _LEAST_ROWS) -> PushedRows:
        """Return the rows with levels of noise that are spread evenly, each as often as there are too few."""
        values, count = self.values()
        times = max(1, math.ceil(least / count))
        many = {name: np.tile(column, times) for name, column in values.items()}
        weight = None if self.other.weight is None else np.tile(self.other.weight, times)
        return PushedRows(RowValues(many), self.model.data, self._levels(count, times), weight)

    def units(self, size: int, rng: np.random.Generator) -> PushedRows:
        """Return random rows, each with its own noise in every draw."""
        values, count = self.values()
        share = None if self.other.weight is None else self.other.weight / self.other.weight.sum()
        chosen = rng.choice(count, _UNITS, p=share) if count > _UNITS or share is not None else np.arange(count)
        part = {name: column[chosen] for name, column in values.items()}
        levels = {name: rng.random((len(chosen), size)) for name in self.nodes}
        return PushedRows(RowValues(part), self.model.data, levels)

    def values(self) -> tuple[dict[str, FloatArray], int]:
        """Return the columns that are known, shape (rows,) each, and the number of rows."""
        data = self.model.data
        offsets = [family.offset for name in self.nodes if (family := data.families.get(name)) and family.offset]
        values = self.other.values(data, (*self.needed, *offsets))
        count = len(next(iter(values.values()))) if values else self.other.count
        return values or {"": np.zeros(count)}, count

    def _levels(self, count: int, times: int) -> dict[str, FloatArray]:
        """Return levels of noise of each node, shape (rows,), each row's own spread over all from 0 to 1."""
        rng = np.random.default_rng(count)
        found = {}
        for name in self.nodes:
            place = rng.permuted(np.tile(np.arange(times), (count, 1)), axis=1).T
            inside = np.array([rng.permutation(count) for _ in range(times)])
            found[name] = ((place + (inside + 0.5) / count) / times).ravel()
        return found

    def draws(self, samples: Samples, rng: np.random.Generator) -> dict[str, Regressed]:
        """Return the nodes' regressions with what is not known of their intercepts."""
        found = {}
        for of in regressed_nodes(self.model, samples):
            wide = np.sqrt(of.share / of.precision[0]) * rng.standard_normal(len(of.coefficients))
            theta = np.column_stack([of.coefficients[:, 0] + wide, of.coefficients[:, 1:]])
            found[of.child] = replace(of, coefficients=theta, share=0.0)
        return found


@dataclass(frozen=True, eq=False)
class NewResponse(Response):
    """How the outcome of one fitted model responds to its treatment in other rows; see `Response`.

    Parameters
    ----------
    treatment
        Its name, which the span does not have without a path.
    """

    treatment: str = ""

    @property
    def _nodes(self) -> tuple[str, ...]:
        return self.span.reached or (self.target.outcome,)

    def _rows(self, comparison: Comparison, other: OtherRows | None = None) -> NewRows:
        settings = [world.settings for world in both_worlds(self.treatment, comparison)]
        needed = needed_columns(self.model.graph, self._nodes, settings)
        rows = self.target.other if other is None else other
        assert rows is not None
        return NewRows(self.model, rows, self._nodes, needed)

    def sample(self, size: int, rng: np.random.Generator) -> Samples:
        """Draw every node."""
        return sample_nodes(self.model, self._nodes, size, rng)

    def drawn(self, comparison: Comparison, size: int, rng: np.random.Generator) -> Outcomes:
        """Return the mean outcomes of new draws."""
        self.model.prepare(self._nodes)
        return self.outcomes(self.sample(size, rng), comparison)

    def outcomes(self, samples: Samples, comparison: Comparison, drawn: bool = False) -> Outcomes:
        """Return the mean outcomes of all draws."""
        del drawn  # nothing of the kind is asked of other rows
        new = self._rows(comparison)
        rows, nodes = new.rows(), new.draws(samples, np.random.default_rng(0))
        sums = np.zeros((4, next(iter(samples.values())).size))
        for block in world_blocks(rows.count, samples):
            low, high = self._both(NewWorlds(rows, nodes, block), comparison)
            gap = low if comparison.is_level else high - low
            sums[:, block] = np.array([rows.sums(part) for part in (low, high, gap, gap**2)]) / rows.total
        low, high, gap, square = sums
        return Outcomes(low, high, np.maximum(square - gap**2, 0.0) / new.other.count)

    def _both(self, worlds: NewWorlds, comparison: Comparison) -> tuple[FloatArray, FloatArray]:
        low, high = both_worlds(self.treatment, comparison)
        found = worlds.mean(low, self.target.outcome)
        return found, found if comparison.is_level else worlds.mean(high, self.target.outcome)

    def units(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return outcomes of new units when the treatment is set to `x`, shape (size,)."""
        self.model.prepare(self._nodes)
        new, samples = self._rows(Comparison(x, x)), self.sample(size, rng)
        return drawn_units(new, new.draws(samples, rng), World({self.treatment: Value(x)}), self.target.outcome, rng)

    def gaps(self, rows: RowValues, samples: Samples, comparison: Comparison) -> FloatArray:
        """Return what the treatment does to each row in each draw, shape (draws, rows)."""
        new = self._rows(comparison, OtherRows(open_source(rows.values), coded=rows.values))
        own = new.rows(LEAST_EACH * rows.count)
        nodes = new.draws(samples, np.random.default_rng(0))
        found = np.empty((next(iter(samples.values())).size, rows.count))
        for block in world_blocks(own.count, samples):
            low, high = self._both(NewWorlds(own, nodes, block), comparison)
            found[block] = (high - low).T.reshape(found[block].shape[0], -1, rows.count).mean(axis=1)
        return found


def drawn_units(
    new: NewRows, nodes: Mapping[str, Regressed], world: World, outcome: str, rng: np.random.Generator
) -> FloatArray:
    """Return the outcome of a random row in each draw, with all noise, shape (draws,)."""
    size = len(next(iter(nodes.values())).coefficients)
    rows = new.units(size, rng)
    share = np.ones(rows.count) if rows.weight is None else rows.weight
    own = rng.choice(rows.count, size, p=share / share.sum())
    found = np.empty(size)
    step = max(1, 2**17 // rows.count)
    for start in range(0, size, step):
        block = slice(start, min(start + step, size))
        values = NewWorlds(rows, nodes, block).value(world, outcome)
        found[block] = values[own[block], np.arange(values.shape[1])]
    return found


def needed_columns(graph: Any, nodes: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return what has to be known of rows of which only covariates are: causes of nodes, and what settings look at."""
    causes = {cause for name in nodes for cause in graph.parents(name)} - set(nodes)
    always = set.intersection(*(set(one) for one in settings)) if settings else set()
    own = {name for one in settings for name, setting in one.items() if not isinstance(setting, Value)}
    read = {name for one in settings for setting in one.values() for name in setting.reads} - set(nodes)
    return tuple(name for name in graph.variables if name in (causes - always) | own | read)
