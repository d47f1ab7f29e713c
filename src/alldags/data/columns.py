"""Columns in memory, of whatever kind: named, and read as numpy arrays a range of rows at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from alldags.errors import DataError, did_you_mean
from alldags.wording import option

Column: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Reader: TypeAlias = Callable[[int, int], Column]

LARGEST_EXACT = 2**53  # beyond, floating point does not hold every whole number

_TOO_FEW = "; means and covariances need at least 2"


@dataclass(frozen=True)
class Columns:
    """Named columns, read a range of rows at a time.

    Parameters
    ----------
    names
        The columns used, m of them.
    rows
        Number of rows.
    readers
        One function per column: ``reader(start, stop)`` is a 1-d array of numbers or booleans in which missing values
        are NaN; a view of the table's own memory where the table allows it.
    together
        Reads all columns at once, where that is cheaper than one after the other.
    """

    names: tuple[str, ...]
    rows: int
    readers: tuple[Reader, ...]
    together: Callable[[int, int], list[Column]] | None = None

    def read(self, start: int, stop: int) -> list[Column]:
        """Return the m columns, rows `start` to `stop`."""
        if self.together is not None:
            return self.together(start, stop)
        return [reader(start, stop) for reader in self.readers]


def columns_of(arrays: Mapping[str, Column], rows: int) -> Columns:
    """Return named arrays of numbers, shape (rows,) each, as columns."""
    return Columns(tuple(arrays), rows, tuple(array_reader(array) for array in arrays.values()))


def array_reader(array: Column) -> Reader:
    """Return a reader of views of an array, shape (rows,)."""
    return partial(_slice_array, array)


def _slice_array(array: Column, start: int, stop: int) -> Column:
    return array[start:stop]


def check_rows(rows: int, note: str = "") -> None:
    """Raise unless there are at least two rows."""
    if rows < 2:
        raise DataError(f"the table has {rows} row{'s' * (rows != 1)}{note}{_TOO_FEW}")


# -- names -----------------------------------------------------------------------------------------------------------


def check_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Return the names as a tuple of distinct strings, or raise."""
    checked = tuple(names)
    for name in checked:
        if not isinstance(name, str):
            raise DataError(
                f"column names must be strings, got {name!r}; rename the columns, in pandas for example with "
                "table.columns = table.columns.map(str)"
            )
    if len(set(checked)) < len(checked):
        raise repeated_names(checked)
    return checked


def repeated_names(names: Iterable[Any]) -> DataError:
    """Name the column names that stand for several columns."""
    listed = ", ".join(f"{name!r} ({count} times)" for name, count in Counter(names).items() if count > 1)
    return DataError(f"column names must be distinct; rename or drop: {listed}")


def refuse_names(names: object) -> None:
    """Raise if `names` were given for a table that has its own."""
    if names is not None:
        raise DataError("names= is for arrays; this table brings its own column names, select among them with columns=")


def choose_names(available: tuple[str, ...], columns: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of the columns to use: `columns` in its own order, or all."""
    if isinstance(columns, str):
        raise DataError(f"columns must be a list of names, got the string {columns!r}; write columns=[{columns!r}]")
    chosen = available if columns is None else check_names(columns)
    if not chosen:
        raise DataError("the table has no columns" if columns is None else "columns is empty; name at least one column")
    known = set(available)
    for name in chosen:
        if name not in known:
            raise DataError(f"column {name!r} is not in the data{did_you_mean(name, available)}")
    return chosen


# -- numbers ---------------------------------------------------------------------------------------------------------


def unboxed(objects: Column, name: str) -> Column:
    """Return an array of Python numbers and None, such as pandas makes of [True, None], as numbers."""
    if not all(value is None or isinstance(value, Real | Decimal | np.bool_) for value in objects.flat):
        raise not_numbers(name, objects.dtype)
    if any(isinstance(value, int) and abs(value) > LARGEST_EXACT for value in objects.flat):
        raise too_large_to_tell(name)
    flat = [np.nan if value is None else float(value) for value in objects.flat]
    return np.array(flat, dtype=np.float64).reshape(objects.shape)


def too_large_to_tell(name: str) -> DataError:
    """Say that whole numbers would be rounded."""
    return DataError(
        f"column {name!r} has whole numbers above 2^53, which would be rounded; subtract a constant from it, or leave "
        "it out if it is an identifier"
    )


class NotNumbersError(DataError):
    """A column is not made of numbers."""


_TEMPORAL = ("date", "time", "duration", "m8", "<m8")


def not_numbers(name: str, dtype: object) -> DataError:
    """Say that a column cannot be used, and what to do about it."""
    if str(dtype).lower().startswith(_TEMPORAL):
        return dates(name, dtype)
    return NotNumbersError(
        f"column {name!r} has dtype {dtype}, which is not a number; encode it as numbers (for example 0/1 columns, one "
        "per category) or leave it out"
    )


def dates(name: str, dtype: object) -> DataError:
    """Say that dates and times are no numbers, and what to do about it."""
    return DataError(
        f"column {name!r} has dates or times ({dtype}), which have neither zero nor unit: make a number of them, such "
        "as days since the first of them, the year, or the month as text; or leave it out"
    )


def too_many_levels(name: str, labels: list[Any], rows: int) -> DataError:
    """Say that a column of words or codes has too many to be a category."""
    shown = ", ".join(repr(label) for label in labels[:3])
    are_codes = not any(isinstance(label, str) for label in labels)
    kind = "has" if are_codes else "is text with"
    first = f"leave it out of {option('categories')}" if are_codes else "if these are numbers, look for what is not one"
    return DataError(
        f"column {name!r} {kind} {len(labels)} different values or more in {rows} rows, such as {shown}: too many to "
        f"be a category; {first}; join rare levels, take it out of the graph and have an intercept for each with "
        f"{option('fixed_effects', name)}, or leave it out"
    )
