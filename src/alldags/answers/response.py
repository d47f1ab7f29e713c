"""`Response`: how the outcome of one fitted model responds to its treatment, row by row and draw by draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alldags.answers.at_once import goes_at_once, sums_at_once
from alldags.answers.comparison import Comparison
from alldags.answers.nodes import Samples, sample_nodes
from alldags.answers.push import Moves, Push, PushedRows, blocks
from alldags.answers.question import Target
from alldags.answers.route import Route, route_of
from alldags.answers.world import both_worlds
from alldags.answers.worlds import Worlds
from alldags.columns.base import RowValues
from alldags.columns.rows import Rows
from alldags.effects.span import Span
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.models.fitted import FittedGraph
from alldags.nodes.divided import parts_of
from alldags.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Mean outcome over the rows under two values of the treatment, in the user's units.

    Parameters
    ----------
    low, high
        Shape (draws,).
    spread
        Variance over rows of what the treatment does to the outcome, divided by their number, shape (draws,); where
        both values are the same, of the outcome itself.
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
    target
        The rows.
    seed
        Of the uniform numbers that are common to all draws.
    """

    model: FittedGraph
    span: Span
    target: Target
    seed: int = 0

    @property
    def not_normal(self) -> tuple[str, ...]:
        """The nodes between treatment and outcome that are not normal."""
        return tuple(name for name in self.span.reached[:-1] if name in self.model.data.families)

    def sample(self, size: int, rng: np.random.Generator) -> Samples:
        """Draw every node of the span."""
        return sample_nodes(self.model, self.span.reached, size, rng)

    def route(self, samples: Samples, drawn: bool = False) -> Route:
        """Return where a push has to stop."""
        data, variables = self.model.data, self.span.variables
        entries = data.columns(variables[:1])
        scale = {name: data.scale_of(name) for name in variables[1:]} | {one: data.column_scale(one) for one in entries}
        return route_of(variables, samples, scale, entries=entries, drawn=drawn)

    @property
    def outcome(self) -> str:
        """Name of the outcome, which the span does not have without a path."""
        return self.span.variables[-1] if self.span.variables else self.target.outcome

    def drawn(self, comparison: Comparison, size: int, rng: np.random.Generator) -> Outcomes:
        """Return the mean outcomes of new draws; of a model without a path, those of the rows as they are."""
        if self.span.variables:
            return self.outcomes(self.sample(size, rng), comparison)
        mean = self.observed(lambda family: family)
        return Outcomes(np.full(size, mean), np.full(size, mean), np.zeros(size))

    def observed(self, change: Callable[[Any], Any]) -> float:
        """Return the mean outcome of the rows as they are; `change` is made to the outcome's family, if it has one."""
        family, batches = self.model.data.families.get(self.outcome), list(self.batches())
        if family is not None and not self.model.data.has_values(self.outcome):
            names = (self.outcome, *family.reads)
            every = {name: np.concatenate([rows.rows.values[name] for rows in batches]) for name in names}
            weights = [np.ones(rows.count) if rows.weight is None else rows.weight for rows in batches]
            return float(change(family).observed(self.outcome, every, np.concatenate(weights)))
        mean = float(np.mean([rows.sums(rows.rows.values[self.outcome][:, None])[0] for rows in batches]))
        return mean / float(np.mean([rows.total for rows in batches]))

    def part_of(self, batch: PushedRows, places: IntArray) -> PushedRows:
        """Return some rows of a batch, in any order and any number of times."""
        values = {name: column[places] for name, column in batch.rows.values.items()}
        folds = {name: fold[places] for name, fold in batch.folds.items()}
        uniforms = {name: uniform[places] for name, uniform in batch.uniforms.items()}
        return PushedRows(RowValues(values), self.model.data, uniforms, None, folds)

    def outcomes(self, samples: Samples, comparison: Comparison, drawn: bool = False) -> Outcomes:
        """Return the mean outcomes of all draws.

        Parameters
        ----------
        samples
            Draws of all nodes of the span.
        comparison
            Two values of the treatment.
        drawn
            Draw the values of yes/no nodes on the way instead of averaging over them, with numbers that are the same
            under both values of the treatment; so it is, too, where there are many.
        """
        size = next(iter(samples.values())).size
        route = self.route(samples, drawn)
        sums, total, count = np.zeros((4, size)), 0.0, 0
        for rows in self.batches():
            total, count = total + rows.total, count + rows.count
            if goes_at_once(route, samples) and not samples[route.target].several:
                sums += sums_at_once(rows, samples, route, comparison)
                continue
            moves = rows.moves(route.source, comparison)
            for block in blocks(rows.count, size, route):
                low, high = self._at_both(rows, samples, route, block, comparison, moves)
                gap = low if comparison.is_level else high - low
                parts = (low, high, gap, _square(gap))
                sums[:, block] += np.array([rows.sums(part) for part in parts])
        low, high, gap, square = sums / total
        return Outcomes(low, high, np.maximum(square - _square(gap), 0.0) / count)

    def _at_both(
        self,
        rows: PushedRows,
        samples: Samples,
        route: Route,
        block: slice,
        comparison: Comparison,
        moves: tuple[Moves, Moves],
    ) -> tuple[FloatArray, FloatArray]:
        """Return the mean outcome under both values, shape (rows, draws) each; levels of categories by worlds."""
        if not any(sample.several for sample in samples.values()):
            return Push(rows, samples, route, block).both(*moves)
        worlds = Worlds(rows, samples, block)
        low, high = (worlds.mean(world, self.outcome) for world in both_worlds(route.source, comparison))
        return low, high

    def batches(self) -> Iterator[PushedRows]:
        """Yield the rows that are asked about."""
        return rows_asked(self.model, self.target, self.span.reached, self.not_normal, self.seed)

    def pushed_rows(self, rows: RowValues, start: int) -> PushedRows:
        """Return rows with the uniform numbers of stops; `start` tells batches apart."""
        return PushedRows(rows, self.model.data, _uniforms(self.seed, start, rows.count, self.not_normal))

    def gaps(self, rows: RowValues, samples: Samples, comparison: Comparison) -> FloatArray:
        """Return what the treatment does to each row in each draw, shape (draws, rows)."""
        size = next(iter(samples.values())).size
        route, own = self.route(samples), self.pushed_rows(rows, 0)
        moves, found = own.moves(route.source, comparison), np.empty((size, rows.count))
        for block in blocks(rows.count, size, route):
            low, high = self._at_both(own, samples, route, block, comparison, moves)
            found[block] = (high - low).T
        return found


def rows_asked(
    model: FittedGraph, target: Target, nodes: Sequence[str], drawn: Sequence[str], seed: int = 0
) -> Iterator[PushedRows]:
    """Yield the rows that are asked about.

    Parameters
    ----------
    model
        The fitted graph.
    target
        The rows.
    nodes
        Those whose regressions are needed.
    drawn
        Those of them that need a uniform number in each row.
    seed
        Of these numbers.
    """
    start = 0
    for rows in Rows(target.table).batches():
        stop = start + rows.count
        kept = slice(None) if target.chosen is None else target.chosen[start:stop]
        part = rows if target.chosen is None else rows.taken(target.chosen[start:stop])
        weight = target.weight(part.values) if target.weights is None else target.weights[start:stop][kept]
        extra = {name: column[start:stop][kept] for name, column in target.beside.items()}
        start = stop
        if part.count:
            own = RowValues({**part.values, **extra}, part.fold)
            yield PushedRows(
                own, model.data, _uniforms(seed, stop, own.count, drawn), weight, folds_of(model, nodes, own)
            )


def _square(values: FloatArray) -> FloatArray:
    """Return squares, infinite where an exponential was followed far outside the data."""
    with np.errstate(over="ignore"):
        return np.asarray(values**2)


def _uniforms(seed: int, start: int, count: int, names: Sequence[str]) -> dict[str, FloatArray]:
    stream = np.random.default_rng([seed, start])
    return {name: stream.random(count) for name in names}


def folds_of(model: FittedGraph, nodes: Sequence[str], rows: RowValues) -> dict[str, IntArray]:
    """Return, for each node with learned columns, the part of the data that each of some rows belongs to."""
    found = {name: parts_of(model.node(name))[0] for name in nodes}
    curved = {name: node.found.spec.rows.rows for name, node in found.items() if isinstance(node, CurvedPosterior)}
    folds = {name: own.fold(rows.values) for name, own in curved.items()}
    return {name: fold for name, fold in folds.items() if fold is not None}
