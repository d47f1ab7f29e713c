"""Rows pushed through the nodes, draw by draw: what setting the treatment does to the outcome of each.

Everything that the treatment cannot act on keeps the row's own value. A normal node keeps the row's residual: it moves
by as much as its regression does. A yes/no node is averaged over both its values, or takes the value at the row's own
level of its distribution, as counts do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from alldags.answers.comparison import Comparison
from alldags.answers.nodes import NodeSample, Samples
from alldags.answers.route import Route, sums_states
from alldags.columns.base import RowValues
from alldags.families.base import Family
from alldags.nodes.data import WorkingData
from alldags.typing import FloatArray, IntArray

MOST_BRANCHING = 6  # yes/no nodes on the way that are averaged over exactly; the values of more are drawn
Moves: TypeAlias = dict[str, FloatArray]
"""By how much columns of the treatment, and stops, are moved, in working units, shape (rows, 1 or draws) each."""

_TURNS = np.sqrt([5.0, 2.0, 3.0, 7.0, 11.0, 13.0, 17.0, 19.0]) % 1.0  # multiples of each, and of all, lie evenly
_LEVELS = 4  # of each row and draw, averaged over
_OUTERMOST = 1000  # rows at least, of which the outermost level of a distribution is that of one
BLOCK_VALUES = 2**17  # rows times draws looked at together: they stay in the cache
_BENT = 4  # times as many where nodes bend: a column is in few of the draws


@dataclass(frozen=True, eq=False)
class PushedRows:
    """Some rows as the push needs them.

    Parameters
    ----------
    rows
        Columns in the user's units, shape (rows,) each.
    data
        Units of the variables.
    uniforms
        For each stop that is not normal one number per row, shape (rows,), which is turned on from draw to draw. In
        worlds it may be another in each draw, shape (rows, draws).
    weight
        How much each row counts, shape (rows,); None: all the same.
    folds
        For each node with learned columns, the part of the data that each row belongs to, shape (rows,).
    """

    rows: RowValues
    data: WorkingData
    uniforms: Mapping[str, FloatArray]
    weight: FloatArray | None = None
    folds: Mapping[str, IntArray] = field(default_factory=dict)
    _designs: dict[str, FloatArray] = field(default_factory=dict)
    _own: dict[tuple[str, int], FloatArray] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.rows.count

    @cached_property
    def _standing(self) -> dict[str, FloatArray]:
        return {name: column[:, None] for name, column in self.rows.values.items()}

    def standing(self, name: str) -> RowValues:
        """Return the rows for one node, columns standing, shape (rows, 1) each, so that draws can lie beside them."""
        return RowValues(self._standing, self.folds.get(name))

    def design(self, name: str, sample: NodeSample) -> FloatArray:
        """Return the columns of a node at the rows' own values, shape (rows, k)."""
        if name not in self._designs:
            self._designs[name] = sample.columns.of(RowValues(self.rows.values, self.folds.get(name)))
        return self._designs[name]

    def own(self, name: str, place: int, sample: NodeSample) -> FloatArray:
        """Return one column of a node at the rows' own values, standing, shape (rows, 1)."""
        if (name, place) not in self._own:
            self._own[name, place] = sample.columns.made[place].values(self.standing(name))
        return self._own[name, place]

    def offset(self, family: Family) -> FloatArray | None:
        """Return what is added to a predictor, shape (rows,)."""
        return None if family.offset is None else self.rows.values[family.offset]

    def levels(self, name: str, block: slice, shift: float = 0.0) -> FloatArray:
        """Return at which level of its distribution a stop lies in each row and draw, shape (rows, draws).

        A row has another level in each draw, so that all draws together are averaged over its distribution, as far out
        as so many rows reach: the mean of what is exponential in a skewed mediator may be infinite. All are further on
        by a `shift`.
        """
        own = self.uniforms[name]
        if own.ndim == 2:
            return own[:, block]
        turn = _TURNS[list(self.uniforms).index(name) % len(_TURNS)]
        turned = (own[:, None] + turn * np.arange(block.start, block.stop) + shift) % 1.0
        least = 0.5 / max(self.count, _OUTERMOST)
        return np.asarray(np.clip(turned, least, 1.0 - least))

    def moves(self, source: str, comparison: Comparison) -> tuple[Moves, Moves]:
        """Return the moves of the treatment's columns under both values, in working units, shape (rows, 1) each."""
        low, high = {}, {}
        for place, name in enumerate(self.data.columns((source,))):
            own = self._at(source, place, comparison)
            scale = self.data.column_scale(name)
            down, up = own.shifts(self.rows.values[name])
            low[name], high[name] = (down / scale)[:, None], (up / scale)[:, None]
        return low, high

    def _at(self, source: str, place: int, comparison: Comparison) -> Comparison:
        """Return what is compared in one column of the treatment: its numbers, or those of the levels of a category."""
        if source not in self.data.categories or comparison.values is None:
            return comparison
        return Comparison(*(float(self.data.level_columns(source, x)[place]) for x in comparison.values))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return sums over rows by weight, shape (rows, draws) to (draws,)."""
        return np.asarray(values.sum(axis=0) if self.weight is None else self.weight @ values)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.count) if self.weight is None else float(self.weight.sum())


class Push:
    """Rows and a block of draws, pushed through the graph."""

    def __init__(self, rows: PushedRows, samples: Samples, route: Route, block: slice) -> None:
        self.block = block
        self._rows, self._route, self._samples = rows, route, samples
        self._size = int(block.stop - block.start)
        self._sums_states = sums_states(route, samples, MOST_BRANCHING)

    def both(self, low: Moves, high: Moves) -> tuple[FloatArray, FloatArray]:
        """Return the mean outcome of each row and draw, shape (rows, draws), under two moves of the treatment."""
        if self._sums_states:
            return self._over_states(0, low), self._over_states(0, high)
        return self._over_levels(low), self._over_levels(high)

    # -- stops ---------------------------------------------------------------------------------------------------------

    def _over_states(self, place: int, moves: Moves) -> FloatArray:
        """Average over both values of each stop from `place` on, given the moves of what comes before."""
        if place == len(self._route.stops):
            return self._last(moves)
        name = self._route.stops[place]
        mean = self._mean(name, moves)
        yes = self._over_states(place + 1, {**moves, name: self._move_to(name, 1.0)})
        no = self._over_states(place + 1, {**moves, name: self._move_to(name, 0.0)})
        return np.asarray(no + mean * (yes - no))

    def _over_levels(self, moves: Moves) -> FloatArray:
        """Average over a few levels of the distributions of stops, evenly apart: less chance in each draw."""
        times = _LEVELS if any(self._samples[name].family is not None for name in self._route.stops) else 1
        return np.asarray(sum(self._last(self._moved_stops(moves, i / times)) for i in range(times)) / times)

    def _moved_stops(self, moves: Moves, shift: float = 0.0) -> Moves:
        """Return the moves of all stops; yes/no and counts at a level of their distribution."""
        found = dict(moves)
        for name in self._route.stops:
            family = self._samples[name].family
            if family is not None:
                level, apart = self._rows.levels(name, self.block, shift), self._samples[name].apart(self.block)
                found[name] = self._move_to(name, family.draw(self._predictor(name, found), level, apart))
            else:
                found[name] = self._change(name, found)
        return found

    def _last(self, moves: Moves) -> FloatArray:
        """Return the mean outcome, given the moves of the treatment and all stops."""
        target = self._route.target
        if self._samples[target].family is not None:
            return self._mean(target, moves)
        own, scale = self._rows.rows.values[target][:, None], self._rows.data.scale_of(target)
        return np.asarray(own + scale * self._change(target, moves))

    def predictor(self, moves: Moves) -> FloatArray:
        """Return the predictor of an outcome that is not normal, shape (rows, draws); values of stops are drawn."""
        return self._predictor(self._route.target, self._moved_stops(moves))

    def _predictor(self, name: str, moves: Moves) -> FloatArray:
        """Return the predictor of a node that is not normal, shape (rows, draws)."""
        return np.asarray(self._own(name) + self._change(name, moves))

    def _mean(self, name: str, moves: Moves) -> FloatArray:
        """Return the mean of a node that is not normal, shape (rows, draws)."""
        eta = self._predictor(name, moves)
        return self._samples[name].mean(eta, self.block, partial(self._moved_value, moves))

    def _moved_value(self, moves: Moves, name: str) -> FloatArray:
        """Return the values of a variable after the moves, shape (rows,): it must not differ between draws."""
        moved = self._value(name, moves, np.zeros(1, dtype=np.int64))
        return self._rows.rows.values[name] if moved is None else moved[:, 0]

    def _move_to(self, name: str, value: float | FloatArray) -> FloatArray:
        """Return by how much a stop moves to get to this value, in working units."""
        return np.asarray((value - self._rows.rows.values[name][:, None]) / self._rows.data.scale_of(name))

    # -- one regression ------------------------------------------------------------------------------------------------

    def _own(self, name: str) -> FloatArray:
        """Return the predictor at the rows' own values, shape (rows, draws)."""
        sample = self._samples[name]
        assert sample.family is not None
        eta = self._rows.design(name, sample) @ sample.coefficients[self.block].T
        eta += sample.intercept[self.block]
        offset = self._rows.offset(sample.family)
        return eta if offset is None else eta + offset[:, None]

    def _change(self, name: str, moves: Moves) -> FloatArray:
        """Return by how much a predictor changes, shape (rows, draws): along straight lines, and by what bends."""
        change = np.zeros((self._rows.count, self._size), dtype=self._samples[name].coefficients.dtype)
        for source, move in moves.items():
            slope = self._route.slopes.get((source, name))
            if slope is not None:
                change += move * (slope if len(slope) == 1 else slope[self.block])
        for place in self._route.bent.get(name, ()):
            self._bend(change, name, int(place), moves)
        return change

    def _bend(self, change: FloatArray, name: str, place: int, moves: Moves) -> None:
        """Add what one column changes by, in the draws in which it is present."""
        sample = self._samples[name]
        slopes = sample.coefficients[self.block, place] / sample.columns.scale[place]
        there = np.flatnonzero(slopes)
        if not there.size:
            return
        column = sample.columns.made[place]
        now = {name: self._value(name, moves, there) for name in self._rows.data.columns(column.variables)}
        rows = self._rows.standing(name)
        after = column.values(rows.put({key: value for key, value in now.items() if value is not None}))
        change[:, there] += slopes[there] * (after - self._rows.own(name, place, sample))

    def _value(self, variable: str, moves: Moves, there: IntArray) -> FloatArray | None:
        """Return the value of a variable after the moves, in some draws; None if it stays."""
        parts = []
        for source, move in moves.items():
            slope = np.ones(1) if source == variable else self._route.slopes.get((source, variable))
            if slope is None or (source != variable and variable in self._route.sources):
                continue
            own = move if move.shape[1] == 1 else move[:, there]
            parts.append(own * (slope if len(slope) == 1 else slope[self.block][there]))
        if not parts:
            return None
        scale = self._rows.data.column_scale(variable)
        return np.asarray(self._rows.rows.values[variable][:, None] + scale * sum(parts[1:], start=parts[0]))


def blocks(rows: int, draws: int, route: Route) -> Iterator[slice]:
    """Yield slices of draws that, times so many rows, stay in the cache; larger ones where columns have few draws."""
    step = max(1, BLOCK_VALUES * (_BENT if route.bent else 1) // max(rows, 1))
    return (slice(start, min(start + step, draws)) for start in range(0, draws, step))
