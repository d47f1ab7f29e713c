"""Derived columns: functions of a row's causes, in the user's units.

Each column knows its variables and in which of them it is a straight line; `values` takes a batch of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from alldags.graph.terms import GivenTerm
from alldags.typing import BoolArray, FloatArray, IntArray

FAR = 4.0  # standard deviations beyond which a learned direction is flat


@dataclass(frozen=True, eq=False)
class RowValues:
    """A batch of rows.

    Parameters
    ----------
    values
        Each variable's values, shape (rows,).
    fold
        To which part of the data each row belongs, shape (rows,); None for rows that were not fitted to.
    """

    values: Mapping[str, FloatArray]
    fold: IntArray | None = None

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values.values())))

    def put(self, values: Mapping[str, FloatArray]) -> RowValues:
        """Return the rows with some variables set to other values."""
        return RowValues({**self.values, **values}, self.fold)

    def taken(self, places: IntArray | BoolArray | slice) -> RowValues:
        """Return some of the rows."""
        values = {name: column[places] for name, column in self.values.items()}
        return RowValues(values, None if self.fold is None else self.fold[places])


class Column(Protocol):
    """A column that is computed from some variables of a row."""

    @property
    def name(self) -> str:
        """What is printed."""

    @property
    def variables(self) -> tuple[str, ...]:
        """What it is computed from."""

    def is_straight_in(self, variable: str) -> bool:
        """Whether it is a straight line in this variable, all others fixed."""

    def values(self, rows: RowValues) -> FloatArray:
        """Return its values, shape (rows,); if variables have other shapes, that which they have together."""


@dataclass(frozen=True)
class Line:
    """A variable itself."""

    variable: str

    @property
    def name(self) -> str:
        return self.variable

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)

    def is_straight_in(self, variable: str) -> bool:
        return variable == self.variable

    def values(self, rows: RowValues) -> FloatArray:
        return np.asarray(rows.values[self.variable], dtype=float)


@dataclass(frozen=True)
class Bend:
    """What a variable exceeds a knot by, else zero: lines with a bend there; tails are straight."""

    variable: str
    knot: float

    @property
    def name(self) -> str:
        return f"{self.variable} above {self.knot:.3g}"

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        return np.maximum(rows.values[self.variable] - self.knot, 0.0)


@dataclass(frozen=True)
class Clipped:
    """The product of two variables, each about its centre and held inside limits, so that no row carries it alone."""

    first: str
    second: str
    center: tuple[float, float]
    low: tuple[float, float]
    high: tuple[float, float]

    @property
    def name(self) -> str:
        return f"{self.first}^2" if self.first == self.second else f"{self.first}*{self.second}"

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.first, self.second)))

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        parts = [
            np.clip(rows.values[name], low, high) - center
            for name, center, low, high in zip((self.first, self.second), self.center, self.low, self.high, strict=True)
        ]
        return np.asarray(parts[0] * parts[1])


@dataclass(frozen=True)
class Given:
    """A product of functions of variables that was written down."""

    term: GivenTerm

    @property
    def name(self) -> str:
        return str(self.term)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.term.variables

    def is_straight_in(self, variable: str) -> bool:
        inside = [factor for factor in self.term.factors if factor.variable == variable]
        return len(inside) == 1 and not inside[0].function

    def values(self, rows: RowValues) -> FloatArray:
        parts = (
            _FUNCTIONS[factor.function](np.asarray(rows.values[factor.variable], dtype=float))
            for factor in self.term.factors
        )
        return np.asarray(math.prod(parts))


def _itself(values: FloatArray) -> FloatArray:
    return values


_FUNCTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "": _itself,
    "log": np.log,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "square": np.square,
}


@dataclass(frozen=True, eq=False)
class Direction:
    """A learned direction of several variables, one for each part of the data that was left out.

    Parameters
    ----------
    label
        What it stands for.
    variables
        p of them.
    coefficients
        Shape (folds, p).
    intercepts
        Shape (folds,).
    heard
        Those of the variables that move it by more than a little.
    center, scale
        Its mean and standard deviation where it was learned.
    """

    label: str
    variables: tuple[str, ...]
    coefficients: FloatArray
    intercepts: FloatArray
    heard: tuple[str, ...]
    center: float = 0.0
    scale: float = 1.0

    def score(self, rows: RowValues) -> FloatArray:
        """Return the standardised direction, shape (folds, rows); one row of it for rows that belong to a part."""
        matrix = np.column_stack([rows.values[name] for name in self.variables])
        found = (self.coefficients @ matrix.T + self.intercepts[:, None] - self.center) / self.scale
        return np.clip(found if rows.fold is None else found[rows.fold, np.arange(rows.count)][None], -FAR, FAR)


@dataclass(frozen=True, eq=False)
class Along:
    """A square or a bend along a learned direction; for new rows the mean over the parts it was learned without."""

    direction: Direction
    shape: Literal["line", "square", "bend"]
    knot: float = 0.0

    @property
    def name(self) -> str:
        label = self.direction.label
        return {"line": label, "square": f"{label}^2", "bend": f"{label} above {self.knot:.3g}"}[self.shape]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.direction.heard

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        score = self.direction.score(rows)
        if self.shape == "square":
            score = score**2
        elif self.shape == "bend":
            score = np.maximum(score - self.knot, 0.0)
        return np.asarray(score.mean(axis=0))


@dataclass(frozen=True, eq=False)
class Times:
    """Another column times a variable about its mean: how the effect of the variable differs."""

    column: Column
    variable: str
    center: float

    @property
    def name(self) -> str:
        return f"{self.variable} x {self.column.name}"

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.variable, *self.column.variables)))

    def is_straight_in(self, variable: str) -> bool:
        if variable == self.variable:
            return variable not in self.column.variables
        return self.column.is_straight_in(variable)

    def values(self, rows: RowValues) -> FloatArray:
        return np.asarray((rows.values[self.variable] - self.center) * self.column.values(rows))


def matrix_of(columns: tuple[Column, ...], rows: RowValues) -> FloatArray:
    """Return the values of several columns, shape (rows, k)."""
    out = np.empty((rows.count, len(columns)))
    for place, column in enumerate(columns):
        out[:, place] = column.values(rows)
    return out
