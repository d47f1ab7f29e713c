"""`NewWorlds`: what follows from what is set in rows of which only covariates are known.

Variables that anything set may act on, and the outcome, have no value of their own here: each follows from its causes
and a level of its noise, which is the same in all worlds. For the rest see `Worlds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri

from alldags.answers.push import PushedRows
from alldags.answers.regressed import Regressed
from alldags.answers.world import World
from alldags.columns.base import RowValues
from alldags.families.base import Family
from alldags.families.yes_no import Bernoulli
from alldags.typing import FloatArray, IntArray

_MOST_BRANCHING = 4  # yes/no variables on the way that are averaged over exactly; the values of more are drawn
_Copy: TypeAlias = tuple[World, str]
_Known: TypeAlias = dict[_Copy, FloatArray]


class NewWorlds:
    """Rows with covariates and a block of draws, in any worlds.

    Parameters
    ----------
    rows
        Covariates in the user's units, and for each node a level of its noise, shape (rows,) or (rows, all draws).
    nodes
        Draws of the regressions of all nodes that anything set may act on, and of the outcome.
    block
        Which of the draws.
    """

    def __init__(self, rows: PushedRows, nodes: Mapping[str, Regressed], block: slice) -> None:
        self.rows, self.block = rows, block
        self._nodes = nodes
        self._size = int(block.stop - block.start)

    def mean(self, world: World, name: str, *, drawn: bool = False) -> FloatArray:
        """Return the mean of a variable in a world, shape (rows, draws), in the user's units."""
        copies = list(dict.fromkeys(self._yes_no(world, name)))
        branches = not drawn and len({other for _, other in copies}) == len(copies) <= _MOST_BRANCHING
        if not branches or not self._averaged(world, name):
            return self._all_draws(self._last(world, name, {}))
        return self._all_draws(self._over(copies, (world, name), {}))

    def _over(self, copies: list[_Copy], last: _Copy, known: _Known) -> FloatArray:
        """Return the mean of the last variable, averaged over both values of yes/no variables before it."""
        if not copies:
            return self._last(*last, known)
        p = self._last(*copies[0], known)
        yes, no = (self._over(copies[1:], last, {**known, copies[0]: np.full((1, 1), x)}) for x in (1.0, 0.0))
        return np.asarray(no + p * (yes - no))

    def value(self, world: World, name: str) -> FloatArray:
        """Return values of a variable in a world, shape (rows, draws): with noise, and yes/no and counts drawn."""
        return self._all_draws(self._value(world, name, {}))

    def _all_draws(self, values: FloatArray) -> FloatArray:
        return np.array(np.broadcast_to(values, (self.rows.count, self._size)))

    # -- what comes before ---------------------------------------------------------------------------------------------

    def _causes(self, world: World, name: str) -> Iterator[_Copy]:
        """Yield what a variable is computed from."""
        if name in world.settings:
            yield from ((world, cause) for cause in world.settings[name].reads)
        elif name in self._nodes:
            yield from ((world.of(name, cause), cause) for cause in self._nodes[name].columns.variables)

    def _yes_no(self, world: World, name: str) -> Iterator[_Copy]:
        """Yield the yes/no variables before a variable that have no value of their own, causes first."""
        for at, cause in self._causes(world, name):
            yield from self._yes_no(at, cause)
            if cause not in at.settings and cause in self._nodes and isinstance(self._family(cause), Bernoulli):
                yield at, cause

    def _averaged(self, world: World, name: str) -> bool:
        """Tell whether no count comes before a variable: those are drawn."""
        for at, cause in self._causes(world, name):
            family = self._family(cause) if cause not in at.settings else None
            if (family is not None and not isinstance(family, Bernoulli)) or not self._averaged(at, cause):
                return False
        return True

    def _family(self, name: str) -> Family | None:
        """Return the family of a variable with another scale than its predictor."""
        family = self._nodes[name].family if name in self._nodes else None
        return None if family is None or family.is_line else family

    # -- one variable --------------------------------------------------------------------------------------------------

    def _value(self, world: World, name: str, known: _Known) -> FloatArray:
        """Return the value of a column, shape (rows, 1) or (rows, draws), with its noise."""
        if (world, name) not in known:
            known[world, name] = self._found(world, name, known)
        return known[world, name]

    def _found(self, world: World, name: str, known: _Known) -> FloatArray:
        variable = self._variable(name)
        if variable in world.settings:
            setting = world.settings[variable]
            return setting.values(self.rows, name, lambda other: self._value(world, other, known))
        if variable not in self._nodes:
            return np.asarray(self.rows.rows.values[name][:, None])
        if variable != name:
            code, place = self._value(world, variable, known), self.rows.data.categories[variable].index(name)
            return np.asarray(self.rows.data.levels[variable].values[code.astype(np.int64), place])
        of, family = self._nodes[name], self._family(name)
        if family is None:
            return np.asarray(self._last(world, name, known) + of.unit * self._noise(world, of, known))
        return family.draw(self._shifted(world, of, known), self._level(name), of.apart[:, self.block])

    def _variable(self, column: str) -> str:
        return next((name for name, own in self.rows.data.categories.items() if column in own), column)

    def _level(self, name: str) -> FloatArray:
        return self.rows.levels(name, self.block)

    def _noise(self, world: World, of: Regressed, known: _Known) -> FloatArray:
        """Return the noise of a normal variable at the rows' levels, in working units, shape (rows, draws)."""
        precision = of.precision[:, self.block]
        wide: FloatArray = 1.0 / np.sqrt(precision[0])
        arms = None if of.curved is None else of.curved.found.arms
        if of.curved is not None and arms is not None and len(precision) > 1:
            treatment = str(of.curved.found.spec.treatment)
            is_second = self._value(world.of(of.child, treatment), treatment, known) > 0.5 * (arms[0] + arms[1])
            wide = np.where(is_second, 1.0 / np.sqrt(precision[1]), wide)
        level = self._level(of.child)
        return np.asarray(wide * (ndtri(level) if of.family is None else of.family.draw(np.zeros(1), level)))

    def _last(self, world: World, name: str, known: _Known) -> FloatArray:
        """Return the mean of a variable given its causes, shape (rows, draws)."""
        if name in world.settings or name not in self._nodes:
            return self._value(world, name, known)
        of, family = self._nodes[name], self._family(name)
        if family is None:
            return np.asarray(of.center + of.unit * self._predictor(world, of, known))

        def values(cause: str) -> FloatArray:
            return np.broadcast_to(self._value(world.of(name, cause), cause, known)[:, 0], self.rows.count)

        return family.mean_given(self._shifted(world, of, known), of.apart[:, self.block], values)

    def _shifted(self, world: World, of: Regressed, known: _Known) -> FloatArray:
        """Return a predictor with the offset of its family, shape (rows, draws)."""
        eta, offset = self._predictor(world, of, known), None if of.family is None else of.family.offset
        return eta if offset is None else np.asarray(eta + self.rows.rows.values[offset][:, None])

    def _predictor(self, world: World, of: Regressed, known: _Known) -> FloatArray:
        """Return a predictor, shape (rows, draws): columns of covariates at once, those of all else one by one."""
        theta = of.slopes(self.block)
        moved = np.array([not self._stays(world, of.child, column.variables) for column in of.columns.made], dtype=bool)
        still = of.columns.taken(~moved)
        design = still.of(RowValues(self.rows.rows.values)) if len(still) else np.zeros((self.rows.count, 0))
        eta = design @ np.swapaxes(theta[..., 1:][..., ~moved], -1, -2) + theta[..., None, :, 0]
        for place in np.flatnonzero(moved).tolist():
            slope = theta[..., 1 + place] / of.columns.scale[place]
            there = np.flatnonzero(slope.reshape(-1, self._size).any(axis=0))
            if there.size:
                moved_to = self._column(world, of, place, known, there) - of.columns.center[place]
                eta[..., there] += moved_to * slope[..., None, there]
        return eta

    def _stays(self, world: World, child: str, causes: tuple[str, ...]) -> bool:
        """Tell whether causes have the rows' own values."""
        return all(cause not in world.of(child, cause).settings and cause not in self._nodes for cause in causes)

    def _column(self, world: World, of: Regressed, place: int, known: _Known, there: IntArray) -> FloatArray:
        """Return one column in some of the draws, shape (rows, 1) or (rows, there)."""
        column, now = of.columns.made[place], dict[str, FloatArray]()
        for cause in column.variables:
            for one in self.rows.data.columns((cause,)):
                value = self._value(world.of(of.child, cause), one, known)
                now[one] = value if value.shape[1] == 1 else value[:, there]
        return column.values(self.rows.standing(of.child).put(now))
