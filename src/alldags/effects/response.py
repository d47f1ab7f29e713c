"""Effects where a node on the way is not normal: rows are pushed through the graph, draw by draw.

Everything that the treatment cannot act on keeps the row's own value. A normal node keeps the row's residual, so that
it moves by its coefficients times the moves of its parents; a yes/no node is averaged over both its values. Between
nodes that are not normal all is linear: the predictor of each is the row's own plus, for the treatment and every such
node before it, a number of the draw times a move of the row::

    eta_i = alpha + theta . x_i + sum_s T_s (s_new - s_i)

With normal nodes only between treatment and a yes/no outcome this is ``risk(x) = mean_i expit(eta_i + T (x - x_i))``,
and T the total effect on the log-odds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.data.batches import RowTable
from alldags.effects.comparison import Comparison
from alldags.effects.push import NodeSample, Push, Route, Rows, Samples
from alldags.effects.push_once import goes_at_once, sums_at_once
from alldags.effects.span import Span
from alldags.effects.total import variable_streams
from alldags.engines.families.posterior import FamilyPosterior
from alldags.engines.families.student_posterior import StudentPosterior
from alldags.models.fitted import FittedGraph
from alldags.nodes.family import AnyFamily
from alldags.nodes.posterior import NodePosterior
from alldags.typing import BoolArray, FloatArray

_BLOCK_VALUES = 2**17  # rows times draws looked at together: they stay in the cache
_UNIT_VALUES, _MOST_UNITS = 2**21, 200  # rows times draws, and rows, that new units are like
_LARGEST_MEAN = 1e15  # of a count that can be drawn


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Mean outcome over the rows under two values of the treatment, in the user's units.

    Parameters
    ----------
    low, high
        Shape (draws,).
    spread
        Variance over rows of what the treatment does to the outcome, divided by their number, shape (draws,); of the
        outcome itself where a single value of the treatment was asked about.
    """

    low: FloatArray
    high: FloatArray
    spread: FloatArray

    @property
    def difference(self) -> FloatArray:
        """Effect of the contrast, shape (draws,)."""
        return self.high - self.low

    def stacked(self) -> FloatArray:
        """Return the three as one array, shape (3, draws)."""
        return np.array([self.low, self.high, self.spread])


@dataclass(frozen=True, eq=False)
class Response:
    """How the outcome of one fitted model responds to its treatment.

    Parameters
    ----------
    model
        The fitted graph.
    span
        From treatment to outcome; empty without candidate path.
    table
        The rows.
    chosen
        Rows to average over, shape (rows,); None for all.
    seed
        Of the uniform numbers that are common to all draws.
    """

    model: FittedGraph
    span: Span
    table: RowTable
    chosen: BoolArray | None = None
    seed: int = 0

    @cached_property
    def families(self) -> dict[str, AnyFamily]:
        """The nodes of the span that are not normal, in order."""
        found = self.model.data.families
        return {name: found[name].family for name in self.span.reached if name in found}

    @property
    def mediators(self) -> tuple[str, ...]:
        """The nodes between treatment and outcome that are not normal."""
        return tuple(name for name in self.families if name != self.span.variables[-1])

    def sample(self, size: int, rng: np.random.Generator) -> dict[str, NodeSample]:
        """Draw every node of the span."""
        streams = variable_streams(self.model, rng)
        return {name: _draw(self.model.node(name), size, streams[name]) for name in self.span.reached}

    # -- pushing -----------------------------------------------------------------------------------------------------

    def outcomes(
        self, samples: Samples, contrast: Comparison, frozen: str | None = None, drawn: bool = False
    ) -> Outcomes:
        """Return the mean outcomes of all draws.

        Parameters
        ----------
        samples
            Draws of all nodes of the span.
        contrast
            Two values of the treatment.
        frozen
            A mediator that stays as it is under the low value.
        drawn
            Draw the values of yes/no nodes on the way instead of averaging over them, with numbers that are the same
            under both values of the treatment; so it is, too, where one is frozen, or there are many.
        """
        size = len(next(iter(samples.values())).coefficients) if samples else 0
        if not self.span.variables:
            return Outcomes(np.zeros(size), np.zeros(size), np.zeros(size))
        route = self._route(samples, frozen, drawn or frozen is not None)
        sums = np.zeros((4, size))
        count = 0
        for rows in self._batches():
            count += rows.count
            if goes_at_once(self, route):
                sums += sums_at_once(self, rows, samples, route, contrast)
                continue
            step = max(1, _BLOCK_VALUES // rows.count)
            for start in range(0, size, step):
                push = Push(self, rows, samples, route, slice(start, min(start + step, size)))
                sums[:, push.block] += push.sums(contrast)
        low, high, gap, square = sums / count
        return Outcomes(low, high, np.maximum(square - gap**2, 0.0) / count)

    def by_row(self, samples: Samples, x: float) -> FloatArray:
        """Return the mean outcome of each row and draw with the treatment set to `x`, shape (rows, draws).

        Variables on the way that are not normal have a value of their own in every row and draw, not their mean.
        """
        size = len(next(iter(samples.values())).coefficients)
        route = self._route(samples, None, True)
        parts = [Push(self, rows, samples, route, slice(0, size)).by_row(x) for rows in self._batches()]
        return np.concatenate(parts)

    def _batches(self) -> Iterator[Rows]:
        names = tuple(self.table.columns.names)
        start = 0
        for block in self.table.batches(names):
            kept = block if self.chosen is None else block[self.chosen[start : start + len(block)]]
            start += len(block)
            if len(kept):
                yield Rows.of(self, dict(zip(names, kept.T, strict=True)), start)

    def _route(self, samples: Samples, frozen: str | None, drawn: bool) -> Route:
        """Return where to stop on the way, and how each stop answers to the treatment and to the stops before it."""
        target = self.span.variables[-1]
        stops = tuple(name for name in self.span.reached[:-1] if name in self.families or name == frozen)
        found: dict[tuple[str, str], FloatArray] = {}
        for source in (self.span.variables[0], *stops):
            reached: dict[str, FloatArray] = {source: np.ones(1)}
            for child in self.span.reached:
                slope = None if child == source else _slope(samples[child], reached)
                if slope is not None and (child in stops or child == target):
                    found[source, child] = slope
                elif slope is not None:
                    reached[child] = slope
        return Route(stops, found, frozen, drawn)


def _slope(sample: NodeSample, reached: Mapping[str, FloatArray]) -> FloatArray | None:
    terms = [
        sample.coefficients[:, place] * reached[name]
        for place, name in enumerate(sample.node.parents)
        if name in reached
    ]
    return None if not terms else np.asarray(sum(terms[1:], start=terms[0]))


def _draw(node: NodePosterior, size: int, rng: np.random.Generator) -> NodeSample:
    if isinstance(node, FamilyPosterior):
        intercept, coefficients = node.draw_with_intercept(size, rng)
        return NodeSample(node, coefficients, intercept)
    draw = node.draw_with_precision if isinstance(node, StudentPosterior) else node.draw
    coefficients, variance = draw(size, rng)
    return NodeSample(node, coefficients, None, variance)


@dataclass(frozen=True, eq=False)
class Units:
    """New units: like random ones of the rows, with the treatment set to a value.

    Parameters
    ----------
    table
        The rows.
    chosen
        Those asked about, shape (rows,); None for all.
    outcome
        Its name.
    x
        The value the treatment is set to.
    """

    table: RowTable
    chosen: BoolArray | None
    outcome: str
    x: float

    def draws(self, response: Response, size: int, rng: np.random.Generator) -> FloatArray:
        """Return outcomes of new units in one fitted model, shape (size,); normal ones keep the row's residual."""
        places = np.flatnonzero(self.chosen) if self.chosen is not None else np.arange(self.table.columns.rows)
        if not response.span.variables:
            return np.asarray(self.table.column(self.outcome)[rng.choice(places, size)])
        few = int(np.clip(_UNIT_VALUES // size, 1, _MOST_UNITS))
        mask = np.zeros(self.table.columns.rows, dtype=bool)
        mask[rng.choice(places, min(few, len(places)), replace=False)] = True
        means = replace(response, chosen=mask).by_row(response.sample(size, rng), self.x)
        found = means[rng.integers(len(means), size=size), np.arange(size)]
        if self.outcome not in response.families:
            return np.asarray(found)
        return rng.poisson(np.minimum(found, _LARGEST_MEAN)).astype(float)
