"""`Plan`: what has to be computed before one variable in one world, causes first.

Between variables that bend or are not normal all is linear: the move of each is carried as slopes, shape (draws,), of
what was set and of the *stops* before it, and only stops are computed row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np

from alldags.answers.nodes import Samples
from alldags.answers.push import PushedRows
from alldags.answers.world import Setting, World
from alldags.columns.levels import Level
from alldags.columns.line import Line
from alldags.typing import FloatArray, IntArray


class Copy(NamedTuple):
    """A column in one world."""

    world: World
    column: str


Slopes: TypeAlias = dict[Copy, FloatArray]
"""Move of a column, in working units, per unit of those of others: shape (1,) or (draws,) each."""


class Predictor(NamedTuple):
    """How a variable answers in one world: along straight lines, and the places of columns that bend."""

    slopes: Slopes
    bent: IntArray

    @property
    def stays(self) -> bool:
        """Whether nothing that acts on it is moved."""
        return not self.slopes and not self.bent.size


_STAYS = Predictor({}, np.zeros(0, dtype=np.int64))


class Plan:
    """What has to be computed before one variable in one world, causes first."""

    def __init__(self, samples: Samples, rows: PushedRows, block: slice) -> None:
        self.stops: list[Copy] = []
        self.predictors: dict[Copy, Predictor] = {}
        self.settings: dict[Copy, Setting] = {}
        self.not_normal: set[str] = set()
        self._samples, self._rows, self._block = samples, rows, block
        self._known: dict[Copy, Slopes] = {}

    def go_to(self, world: World, name: str) -> None:
        """Plan all that comes before a variable."""
        self.world, self.name, self.last = world, name, _STAYS
        if name in world.settings:
            self.slopes(world, name, name)
        elif name in self._samples:
            self.last = self._predictor(world, name)

    def is_not_normal(self, place: int) -> bool:
        """Tell whether a stop is a yes/no variable or a count that is not set."""
        copy = self.stops[place]
        return copy.column in self.not_normal and copy not in self.settings

    def slopes(self, world: World, variable: str, column: str) -> Slopes:
        """Return the move of a column in a world by what was set and by stops; empty if it stays."""
        copy = Copy(world, column)
        if copy not in self._known:
            setting = world.settings.get(variable)
            if setting is not None:
                self._set(world, variable, setting)
            elif variable in self._rows.data.categories and variable in self._samples:
                self._to_levels(Copy(world, variable))
            elif variable in self._samples:
                self._known[copy] = self._carried(copy)
            else:
                self._known[copy] = {}
        return self._known[copy]

    def _set(self, world: World, variable: str, setting: Setting) -> None:
        for name in setting.reads:
            for column in self._rows.data.columns((name,)):
                self.slopes(world, name, column)
        for column in self._rows.data.columns((variable,)):
            copy = Copy(world, column)
            self.settings[copy] = setting
            self.stops.append(copy)
            self._known[copy] = {copy: np.ones(1)}

    def _to_levels(self, copy: Copy) -> None:
        """Stop at a category that follows from its causes: all of its columns move together."""
        predictor = self._predictor(copy.world, copy.column)
        stays = predictor.stays and not copy.world.afresh
        for column in self._rows.data.categories[copy.column]:
            self._known[Copy(copy.world, column)] = {} if stays else {Copy(copy.world, column): np.ones(1)}
        if not stays:
            self.stops.append(copy)
            self.predictors[copy] = predictor
            self.not_normal.add(copy.column)

    def _carried(self, copy: Copy) -> Slopes:
        """Return the move of a variable that follows from its causes; of a stop, itself."""
        predictor = self._predictor(copy.world, copy.column)
        family = self._samples[copy.column].family
        if not copy.world.afresh and (predictor.stays or (family is None and not predictor.bent.size)):
            return predictor.slopes
        self.stops.append(copy)
        self.predictors[copy] = predictor
        if family is not None:
            self.not_normal.add(copy.column)
        return {copy: np.ones(1)}

    def _predictor(self, world: World, name: str) -> Predictor:
        sample = self._samples[name]
        own, slopes = sample.slopes(self._block), Slopes()
        bent = list[int]()
        for place, column in enumerate(sample.columns.made):
            moved = self._moved_by(world, name, column.variables)
            if not moved or not own[..., place].any():
                continue
            if not isinstance(column, Line | Level):
                bent.append(place)
                continue
            unit = self._rows.data.column_scale(column.name) / float(sample.columns.scale[place])
            slope = own[..., place] * unit
            for one, by in self.slopes(world.of(name, moved[0]), moved[0], column.name).items():
                slopes[one] = slopes[one] + slope * by if one in slopes else slope * by
        return Predictor(slopes, np.array(bent, dtype=np.int64))

    def _moved_by(self, world: World, name: str, causes: Iterable[str]) -> list[str]:
        """Return those of some causes that are moved where this variable reads them."""
        columns = self._rows.data.columns
        return [
            cause
            for cause in causes
            if any(self.slopes(world.of(name, cause), cause, column) for column in columns((cause,)))
        ]
