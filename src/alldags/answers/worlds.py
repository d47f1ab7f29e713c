"""`Worlds`: what follows from what is set, for some rows and a block of draws; see `World` for what can be asked.

A variable that is set has that value: the edges into it are cut. A normal one keeps the row's residual: it moves by as
much as its predictor does. A yes/no variable or a count takes the value at the row's own level of its distribution, or
is averaged over; a last one is its mean. What nothing set can act on stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from alldags.answers.nodes import NodeSample, Samples
from alldags.answers.push import BLOCK_VALUES, MOST_BRANCHING, PushedRows
from alldags.answers.world import World
from alldags.answers.world_plan import Copy, Plan, Predictor, Slopes
from alldags.columns.levels import Level
from alldags.columns.line import Line
from alldags.families.base import Family
from alldags.families.categorical import Categorical
from alldags.families.yes_no import Bernoulli
from alldags.typing import FloatArray, IntArray

_BENT = 4  # times as many values a block where nodes bend: a column is in few of the draws


class Moved(NamedTuple):
    """Where a column that is set, or a stop, is: its value in the user's units, and by how much it moved, working."""

    value: FloatArray
    move: FloatArray


Moves: TypeAlias = dict[Copy, Moved]


class Worlds:
    """Some rows and a block of draws, in any worlds.

    Parameters
    ----------
    rows
        The rows, in the user's units.
    samples
        Draws of all nodes that anything set may act on, and of the outcome (`moved_nodes`).
    block
        Which of the draws.
    keeps
        Whether yes/no variables and counts keep the row's own level: a row whose value is known is at a level that
        leads to that value (abduction). Otherwise they are as in any row with the same causes.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> from alldags.answers.nodes import sample_nodes
    >>> from alldags.answers.push import PushedRows
    >>> from alldags.answers.world import Value, World, moved_nodes
    >>> from alldags.answers.worlds import Worlds
    >>> from alldags.columns.base import RowValues
    >>> study = ad.datasets.example()
    >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
    >>> model, world = posterior.workings.models.items[0], World({"smoking": Value(10.0), "tar": Value(0.0)})
    >>> samples = sample_nodes(model, moved_nodes(model.graph, [world], "risk"), 100, np.random.default_rng(0))
    >>> names = posterior.workings.data.pooled.names
    >>> columns = {name: np.asarray(study.table[name], dtype=float) for name in names}
    >>> rows = PushedRows(RowValues(columns), model.data, {})
    >>> Worlds(rows, samples, slice(0, 100)).mean(world, "risk").shape
    (500, 100)
    """

    def __init__(self, rows: PushedRows, samples: Samples, block: slice, *, keeps: bool = False) -> None:
        self.rows, self.block = rows, block
        self._samples, self._keeps = samples, keeps
        self._size = int(block.stop - block.start)
        self._own: dict[str, FloatArray] = {}

    def mean(self, world: World, name: str, *, drawn: bool = False) -> FloatArray:
        """Return the mean of a variable in a world, shape (rows, draws), in the user's units.

        Parameters
        ----------
        world
            What is set.
        name
            The variable.
        drawn
            Draw values of the yes/no variables before it even where they could be averaged over, with numbers that are
            the same in all worlds.
        """
        plan = self._plan(world, name)
        if world.settings.get(name) is not None:
            return self._all_draws(self._steps(plan, {}, len(plan.stops))[Copy(world, name)].value)
        branches = not drawn and _branches(plan, self._family)
        return self._over(plan, 0, {}, branches, lambda moves: self._last(plan, moves))

    def can_average(self, world: World, name: str) -> bool:
        """Tell whether all yes/no variables before this one can be averaged over in a world."""
        return _branches(self._plan(world, name), self._family)

    def value(self, world: World, name: str) -> FloatArray:
        """Return values of a variable in a world, shape (rows, draws): yes/no and counts are drawn, as all before."""
        plan = self._plan(world, name)
        moves = self._steps(plan, {}, len(plan.stops))
        if name in world.settings:
            return self._all_draws(moves[Copy(world, name)].value)
        family = self._family(name)
        if family is None or plan.last.stays:
            return self._all_draws(self._last(plan, moves) if family is None else self._column(name))
        return self._drawn(name, family, self._predictor(plan, Copy(world, name), plan.last, moves))

    def predictor(self, world: World, name: str) -> FloatArray:
        """Return the predictor of a variable that is not normal, shape (rows, draws); those before it are drawn."""
        plan = self._plan(world, name)
        return self._predictor(plan, Copy(world, name), plan.last, self._steps(plan, {}, len(plan.stops)))

    # -- what has to be computed, in order -----------------------------------------------------------------------------

    def _plan(self, world: World, name: str) -> Plan:
        plan = Plan(self._samples, self.rows, self.block)
        plan.go_to(world, name)
        return plan

    def _over(
        self, plan: Plan, place: int, moves: Moves, branches: bool, last: Callable[[Moves], FloatArray]
    ) -> FloatArray:
        """Return the last variable, averaged over both values of each yes/no stop from `place` on, or at their own."""
        if not branches:
            return last(self._steps(plan, moves, len(plan.stops)))
        ahead = next((i for i in range(place, len(plan.stops)) if plan.is_not_normal(i)), len(plan.stops))
        before = self._steps(plan, moves, ahead, place)
        if ahead == len(plan.stops):
            return last(before)
        copy = plan.stops[ahead]
        family = self._family(copy.column)
        if family is not None and family.takes_levels:
            shares = self._shares(plan, copy, before)
            each = (
                share * self._over(plan, ahead + 1, before | self._moved_to_level(copy, code), True, last)
                for share, code in zip(shares, np.arange(len(shares))[:, None, None], strict=True)
            )
            return np.asarray(sum(each))
        p = self._chance(plan, copy, plan.predictors[copy], before)
        yes, no = (
            self._over(plan, ahead + 1, {**before, copy: self._moved_to(copy.column, np.full((1, 1), x))}, True, last)
            for x in (1.0, 0.0)
        )
        return np.asarray(no + p * (yes - no))

    def _steps(self, plan: Plan, moves: Moves, stop: int, start: int = 0) -> Moves:
        """Return where stops are, those before `start` as given."""
        found = dict(moves)
        for copy in plan.stops[start:stop]:
            if copy.column in self.rows.data.categories:
                eta, family = self._predictor(plan, copy, plan.predictors[copy], found), self._family(copy.column)
                assert family is not None
                found |= self._moved_to_level(copy, self._drawn(copy.column, family, eta, afresh=copy.world.afresh))
            else:
                found[copy] = self._step(plan, copy, found)
        return found

    def _moved_to_level(self, copy: Copy, code: FloatArray) -> Moves:
        """Return where the columns of a category are at some levels, given by their codes, any shape."""
        columns, levels = self.rows.data.categories[copy.column], self.rows.data.levels[copy.column].values
        values = levels[code.astype(np.int64)]
        return {Copy(copy.world, name): self._moved_to(name, values[..., i]) for i, name in enumerate(columns)}

    def _step(self, plan: Plan, copy: Copy, moves: Moves) -> Moved:
        if copy in plan.settings:
            value = plan.settings[copy].values(
                self.rows, copy.column, lambda name: self._read(plan, Copy(copy.world, name), moves)
            )
            return self._moved_to(copy.column, value)
        predictor, family = plan.predictors[copy], self._family(copy.column)
        if family is not None:
            eta = self._predictor(plan, copy, predictor, moves)
            return self._moved_to(copy.column, self._drawn(copy.column, family, eta, afresh=copy.world.afresh))
        move = self._change(plan, copy, predictor, moves)
        move = move + self._exchanged(copy.column) if copy.world.afresh else move
        scale = self.rows.data.column_scale(copy.column)
        return Moved(self._column(copy.column) + scale * move, move)

    def _read(self, plan: Plan, copy: Copy, moves: Moves) -> FloatArray:
        """Return the value of a column that a setting depends on, shape (rows, 1) or (rows, draws)."""
        of = {column: name for name, columns in self.rows.data.categories.items() for column in columns}
        slopes = plan.slopes(copy.world, of.get(copy.column, copy.column), copy.column)
        return self._value(copy.column, slopes, moves, None) if slopes else self._column(copy.column)

    # -- one variable --------------------------------------------------------------------------------------------------

    def _family(self, name: str) -> Family | None:
        sample = self._samples.get(name)
        return None if sample is None else sample.family

    def _last(self, plan: Plan, moves: Moves) -> FloatArray:
        """Return the mean of the last variable, given all stops, shape (rows, draws)."""
        name, family = plan.name, self._family(plan.name)
        if family is None:
            own = self._column(name)
            if plan.last.stays:
                return self._all_draws(own)
            change = self._change(plan, Copy(plan.world, name), plan.last, moves)
            return np.asarray(own + self.rows.data.scale_of(name) * change)
        if not self._keeps:
            return self._mean(plan, Copy(plan.world, name), plan.last, moves)
        if plan.last.stays:
            return self._all_draws(self._column(name))
        if isinstance(family, Bernoulli):
            return self._chance(plan, Copy(plan.world, name), plan.last, moves)
        return self._drawn(name, family, self._predictor(plan, Copy(plan.world, name), plan.last, moves))

    def _predictor(self, plan: Plan, copy: Copy, predictor: Predictor, moves: Moves) -> FloatArray:
        """Return the predictor of a variable that is not normal, shape (rows, draws)."""
        own = self._own_predictor(copy.column)
        return own if predictor.stays else np.asarray(own + self._change(plan, copy, predictor, moves))

    def _shares(self, plan: Plan, copy: Copy, moves: Moves) -> FloatArray:
        """Return the probabilities of the levels of a category, shape (levels, rows, draws)."""
        family = self._family(copy.column)
        assert isinstance(family, Categorical)
        return family.probabilities(self._predictor(plan, copy, plan.predictors[copy], moves))

    def _mean(self, plan: Plan, copy: Copy, predictor: Predictor, moves: Moves) -> FloatArray:
        """Return the mean of a variable that is not normal, shape (rows, draws)."""
        sample = self._samples[copy.column]
        assert sample.family is not None
        return sample.family.mean(self._predictor(plan, copy, predictor, moves), sample.apart(self.block))

    def _chance(self, plan: Plan, copy: Copy, predictor: Predictor, moves: Moves) -> FloatArray:
        """Return the probability of a one, shape (rows, draws); where levels are kept, given the row's own value."""
        mean = self._mean(plan, copy, predictor, moves)
        if not self._keeps:
            return mean
        low, high = self._levels(copy.column)
        return np.clip((mean - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)

    @cached_property
    def _lot(self) -> IntArray:
        """For each row another, by lot, as often as it counts, shape (rows,)."""
        rng, weight = np.random.default_rng(self.rows.count), self.rows.weight
        if weight is None:
            return rng.permutation(self.rows.count)
        return rng.choice(self.rows.count, self.rows.count, p=weight / weight.sum())

    def _exchanged(self, name: str) -> FloatArray:
        """Return by how much a normal variable moves if it has the residual of another row, shape (rows, draws)."""
        sample = self._samples[name]
        fitted = self.rows.design(name, sample) @ sample.coefficients[self.block].T
        left = self._column(name) / self.rows.data.column_scale(name) - fitted
        return np.asarray(left[self._lot] - left)

    def _drawn(self, name: str, family: Family, eta: FloatArray, *, afresh: bool = False) -> FloatArray:
        """Return the values at the rows' levels of a distribution, or at those of other rows, shape (rows, draws)."""
        level = self.rows.levels(name, self.block)[self._lot if afresh else slice(None)]
        if self._keeps:
            low, high = self._levels(name)
            level = low + level * (high - low)
        return family.draw(eta, level, self._samples[name].apart(self.block))

    def _levels(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return between which levels of its distribution each row's own value lies, shape (rows, draws) each."""
        sample = self._samples[name]
        assert sample.family is not None
        return sample.family.bracket(self._own_predictor(name), self._column(name), sample.apart(self.block))

    def _own_predictor(self, name: str) -> FloatArray:
        """Return the predictor at the rows' own values, shape (rows, draws)."""
        if name not in self._own:
            sample = self._samples[name]
            assert sample.family is not None
            eta = sample.predictor(self.rows.design(name, sample), self.block)
            offset = self.rows.offset(sample.family)
            self._own[name] = eta if offset is None else eta + offset[:, None]
        return self._own[name]

    def _column(self, name: str) -> FloatArray:
        return np.asarray(self.rows.rows.values[name][:, None])

    def _all_draws(self, values: FloatArray) -> FloatArray:
        return np.array(np.broadcast_to(values, (self.rows.count, self._size)))

    def _moved_to(self, column: str, value: FloatArray) -> Moved:
        move = (value - self._column(column)) / self.rows.data.column_scale(column)
        return Moved(np.broadcast_to(value, move.shape), move)

    # -- one regression ------------------------------------------------------------------------------------------------

    def _change(self, plan: Plan, copy: Copy, predictor: Predictor, moves: Moves) -> FloatArray:
        """Return by how much a predictor changes, shape (rows, draws): along straight lines, and by what bends.

        What moves alike in all draws is one matrix product.
        """
        each, change = self._samples[copy.column].several, self._no_change(copy.column)
        alike, slopes = list[FloatArray](), list[FloatArray]()
        for source, slope in predictor.slopes.items():
            if moves[source].move.shape[1] > 1:
                change += moves[source].move * slope[..., None, :]
                continue
            alike.append(moves[source].move)
            slopes.append(np.broadcast_to(slope, (*each, self._size)))
        for place in predictor.bent:
            slope, there, moved = self._bend(plan, copy, int(place), moves)
            if moved.shape[1] == 1:
                alike.append(moved)
                slopes.append(slope)
            elif there.size == self._size:
                change += slope * moved
            else:
                change[:, there] += slope[there] * moved
        return change + np.hstack(alike) @ np.stack(slopes, axis=-2) if alike else change

    def _no_change(self, name: str) -> FloatArray:
        sample = self._samples[name]
        return np.zeros((*sample.several, self.rows.count, self._size), dtype=sample.coefficients.dtype)

    def _bend(self, plan: Plan, copy: Copy, place: int, moves: Moves) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return what one column changes by, shape (rows, 1 or some draws), its slope (draws,), and where it is any."""
        sample = self._samples[copy.column]
        slopes = sample.coefficients[self.block, place] / sample.columns.scale[place]
        there = np.flatnonzero(slopes)
        column, now = sample.columns.made[place], dict[str, FloatArray]()
        for variable in column.variables:
            for one in self.rows.data.columns((variable,)):
                moved = plan.slopes(copy.world.of(copy.column, variable), variable, one)
                if moved:
                    now[one] = self._value(one, moved, moves, there)
        after = column.values(self.rows.standing(copy.column).put(now))
        return slopes, there, np.asarray(after - self.rows.own(copy.column, place, sample))

    def _value(self, column: str, slopes: Slopes, moves: Moves, there: IntArray | None) -> FloatArray:
        """Return the value of a column that moves in all or some draws, shape (rows, 1) or (rows, draws)."""
        (copy, slope), *others = slopes.items()
        if not others and copy.column == column and slope.size == 1:
            return _some(moves[copy].value, there)  # set, or a stop: as it is, without rounding
        total = sum(
            _some(moves[one].move, there) * (by if by.size == 1 or there is None else by[there])
            for one, by in slopes.items()
        )
        return np.asarray(self._column(column) + self.rows.data.column_scale(column) * total)


def _branches(plan: Plan, family: Callable[[str], Family | None]) -> bool:
    """Tell whether both values of all yes/no stops can be averaged over: few, and each with its noise in one world."""
    names = [(copy.column, copy.world.afresh) for copy in plan.stops if copy.column in plan.not_normal]
    families = [family(name) for name, _ in names]
    summed = all(isinstance(one, Bernoulli | Categorical) for one in families)
    states = math.prod(len(one.words) if isinstance(one, Categorical) else 2 for one in families)
    return summed and len(set(names)) == len(names) and states <= 2**MOST_BRANCHING


def _some(values: FloatArray, there: IntArray | None) -> FloatArray:
    """Return values in some draws."""
    return values if there is None or values.shape[1] == 1 else values[:, there]


def world_blocks(rows: int, samples: Mapping[str, NodeSample]) -> Iterator[slice]:
    """Yield slices of draws that, times so many rows, stay in the cache; larger ones where columns have few draws."""
    draws = next(iter(samples.values())).size
    bends = any(not isinstance(column, Line | Level) for one in samples.values() for column in one.columns.made)
    step = max(1, BLOCK_VALUES * (_BENT if bends else 1) // max(rows, 1))
    return (slice(start, min(start + step, draws)) for start in range(0, draws, step))
