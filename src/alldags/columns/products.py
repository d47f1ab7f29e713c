"""Products: of two variables, of functions that were written down, of a column and what it modifies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from alldags.columns.base import Column, RowValues
from alldags.graph.terms import GivenTerm
from alldags.typing import FloatArray


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
        factors = self.term.factors
        parts = [_FUNCTIONS[one.function](np.asarray(rows.values[one.variable], dtype=float)) for one in factors]
        return np.asarray(math.prod(parts[1:], start=parts[0]))


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


@dataclass(frozen=True)
class OnArm:
    """Whether a treatment has the larger of its two values, which `middle` lies between.

    A value that was moved there is that value but for rounding.
    """

    treatment: str
    middle: float

    @property
    def name(self) -> str:
        return self.treatment

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.treatment,)

    def is_straight_in(self, variable: str) -> bool:
        return variable == self.treatment

    def values(self, rows: RowValues) -> FloatArray:
        return np.asarray(rows.values[self.treatment] > self.middle, dtype=float)


@dataclass(frozen=True, eq=False)
class Under:
    """A standardised column where a treatment has the larger of its two values, else zero."""

    column: Column
    center: float
    scale: float
    treatment: str
    middle: float

    @property
    def name(self) -> str:
        return f"{self.treatment} x {self.column.name}"

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.treatment, *self.column.variables)))

    def is_straight_in(self, variable: str) -> bool:
        return variable == self.treatment or self.column.is_straight_in(variable)

    def values(self, rows: RowValues) -> FloatArray:
        there = rows.values[self.treatment] > self.middle
        return np.asarray((self.column.values(rows) - self.center) / self.scale * there)
