"""The columns that later variables are regressed on: what each variable brings, in the order of the graph.

They stand side by side in one matrix, so that the regression of a variable is on the first so many of them. A product
comes with the later of its two variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.columns.base import Column, Columns, RowValues
from alldags.typing import FloatArray, IntArray

_WIDE = 2.5  # standard deviations beyond which a factor of a product is held


@dataclass(frozen=True)
class IsLevel:
    """Whether a category has one of its levels; rows hold its code."""

    variable: str
    code: int

    @property
    def name(self) -> str:
        return f"{self.variable} is {self.code}"

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        return np.asarray(rows.values[self.variable] == self.code, dtype=float)


@dataclass(frozen=True)
class Product:
    """The product of two columns, each about its centre, in its own units and held inside limits."""

    first: Column
    second: Column
    center: tuple[float, float]
    scale: tuple[float, float]

    @property
    def name(self) -> str:
        return f"{self.first.name}*{self.second.name}"

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.first.variables, *self.second.variables)))

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        parts = zip((self.first, self.second), self.center, self.scale, strict=True)
        one, two = (np.clip((column.values(rows) - c) / s, -_WIDE, _WIDE) for column, c, s in parts)
        return np.asarray(one * two)


def product_of(first: Column, second: Column, rows: RowValues) -> Product:
    """Return the product of two columns with the centres and units that rows give them."""
    values = [column.values(rows) for column in (first, second)]
    center, scale = ([float(f(v)) for v in values] for f in (np.mean, np.std))
    return Product(first, second, (center[0], center[1]), (scale[0] or 1.0, scale[1] or 1.0))


class Design:
    """The matrix of all columns, a one first, of a table that is completed again and again.

    Parameters
    ----------
    order
        The variables, causes first.
    made
        All columns, in any order: they are sorted by the last of their variables.
    rows
        A completed table: columns get their centres and units from it.
    """

    def __init__(self, order: Sequence[str], made: Sequence[Column], rows: RowValues) -> None:
        place = {name: i for i, name in enumerate(order)}
        last = [max(place[name] for name in column.variables) for column in made]
        sorted_ = sorted(range(len(made)), key=lambda i: last[i])
        chosen = tuple(made[i] for i in sorted_)
        values = Columns(chosen, np.zeros(len(chosen)), np.ones(len(chosen))).of(rows)
        scale = values.std(axis=0)
        self.columns = Columns(chosen, values.mean(axis=0), np.where(scale > 0, scale, 1.0))
        ends = np.searchsorted([last[i] for i in sorted_], np.arange(len(order)))
        self.before = {name: 1 + int(ends[i]) for name, i in place.items()}
        self.matrix = np.ones((rows.count, 1 + len(chosen)))
        self.matrix[:, 1:] = self.columns.of(rows)

    @cached_property
    def _containing(self) -> Mapping[str, IntArray]:
        names = {name for column in self.columns.made for name in column.variables}
        return {name: 1 + np.flatnonzero(self.columns.members(name)) for name in names}

    def containing(self, name: str) -> IntArray:
        """Return the places in the matrix of the columns that contain a variable."""
        return self._containing.get(name, np.zeros(0, dtype=np.int64))

    def of(self, places: IntArray, rows: RowValues) -> FloatArray:
        """Return the columns at some places for some rows, shape (rows, places)."""
        inner = places - 1
        part = Columns(
            tuple(self.columns.made[i] for i in inner), self.columns.center[inner], self.columns.scale[inner]
        )
        with np.errstate(all="ignore"):  # a logarithm of a candidate below zero: it is not chosen
            return part.of(rows)
