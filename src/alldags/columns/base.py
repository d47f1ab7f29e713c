"""Columns of a regression: functions of a row's causes, in groups that enter and leave together.

Each column knows its variables and in which of them it is a straight line; `values` takes a batch of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from alldags.typing import BoolArray, FloatArray, IntArray

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Known(NamedTuple):
    """What was computed once for some rows, with what it belongs to, so that no other object has its number."""

    of: object
    inputs: frozenset[str]
    values: AnyArray


@dataclass(frozen=True, eq=False)
class RowValues:
    """A batch of rows.

    Parameters
    ----------
    values
        Each variable's values, shape (rows,).
    fold
        To which part of the data each row belongs, shape (rows,); None for rows that were not fitted to.
    known
        What several columns share; see `once`.
    """

    values: Mapping[str, FloatArray]
    fold: IntArray | None = None
    known: dict[int, Known] = field(default_factory=dict, repr=False)

    def once(self, of: object, inputs: Sequence[str], compute: Callable[[RowValues], AnyArray]) -> AnyArray:
        """Return what several columns share, such as a learned direction; it is computed once for these rows.

        Parameters
        ----------
        of
            What it belongs to.
        inputs
            The variables that it is computed from.
        compute
            Computes it.
        """
        if id(of) not in self.known:
            self.known[id(of)] = Known(of, frozenset(inputs), compute(self))
        return self.known[id(of)].values

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values.values())))

    def taken(self, kept: BoolArray) -> RowValues:
        """Return some of the rows; `kept` has shape (rows,)."""
        values = {name: column[kept] for name, column in self.values.items()}
        return RowValues(values, None if self.fold is None else self.fold[kept])

    def put(self, values: Mapping[str, FloatArray]) -> RowValues:
        """Return the rows with some variables set to other values."""
        kept = {number: one for number, one in self.known.items() if one.inputs.isdisjoint(values)}
        return RowValues({**self.values, **values}, self.fold, kept)


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
        """Return its values, shape (rows,)."""


class DesignColumns(Protocol):
    """What a regression has as its columns, k of them."""

    @property
    def center(self) -> FloatArray:
        """Mean of each in the units that it is made in, shape (k,)."""

    @property
    def scale(self) -> FloatArray:
        """These units per working unit, shape (k,)."""

    @property
    def names(self) -> tuple[str, ...]:
        """What is printed for each."""

    def __len__(self) -> int: ...

    def of(self, rows: RowValues) -> FloatArray:
        """Return the columns of some rows, shape (rows, k)."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of one regression, k of them, in working units about their means.

    Parameters
    ----------
    made
        How each is made of a row.
    center, scale
        Mean, and units per working unit, of each column, shape (k,).
    """

    made: tuple[Column, ...]
    center: FloatArray
    scale: FloatArray

    def __len__(self) -> int:
        return len(self.made)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What is printed for each."""
        return tuple(column.name for column in self.made)

    def of(self, rows: RowValues) -> FloatArray:
        """Return the columns of some rows, shape (rows, k)."""
        return np.asarray((matrix_of(self.made, rows) - self.center) / self.scale)

    def taken(self, kept: BoolArray) -> Columns:
        """Return some of the columns; `kept` has shape (k,)."""
        made = tuple(column for column, is_kept in zip(self.made, kept, strict=True) if is_kept)
        return Columns(made, self.center[kept], self.scale[kept])

    def changes(self, rows: RowValues, variable: str, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return what moving a variable of some rows, shape (rows,), does to the columns, shape (rows, k)."""
        out, members = np.zeros((rows.count, len(self))), self.members(variable)
        moved = self.taken(members)
        out[:, members] = np.subtract(*(moved.of(rows.put({variable: values})) for values in (high, low)))
        return out

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """All variables that they are computed from, each once."""
        return tuple(dict.fromkeys(name for column in self.made for name in column.variables))

    def members(self, variable: str) -> BoolArray:
        """Return which columns contain a variable, shape (k,)."""
        return np.array([variable in column.variables for column in self.made], dtype=bool)


@dataclass(frozen=True, eq=False)
class Combined:
    """Linear combinations of columns, k of them.

    Parameters
    ----------
    columns
        K of them.
    matrix
        From the combinations' coefficients to those of the columns, shape (K, k).
    """

    columns: Columns
    matrix: FloatArray

    def __len__(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Numbers: they are told apart by the matrix alone."""
        return tuple(map(str, range(len(self))))

    @property
    def center(self) -> FloatArray:
        """Zeros: the columns are about their means."""
        return np.zeros(len(self))

    @property
    def scale(self) -> FloatArray:
        """Ones: the columns are in working units."""
        return np.ones(len(self))

    def of(self, rows: RowValues) -> FloatArray:
        """Return the combinations in some rows, shape (rows, k)."""
        return np.asarray(self.columns.of(rows) @ self.matrix)


def matrix_of(columns: Sequence[Column], rows: RowValues) -> FloatArray:
    """Return the values of several columns, shape (rows, k)."""
    out = np.empty((rows.count, len(columns)))
    for place, column in enumerate(columns):
        out[:, place] = column.values(rows)
    return out
