"""Tables of every kind as one thing: named columns of which a range of rows can be read as numpy arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from alldags.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

Column: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Reader: TypeAlias = Callable[[int, int], Column]

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
    """

    names: tuple[str, ...]
    rows: int
    readers: tuple[Reader, ...]

    def read(self, start: int, stop: int) -> list[Column]:
        """Return the m columns, rows `start` to `stop`."""
        return [reader(start, stop) for reader in self.readers]


def open_columns(table: Any, columns: Iterable[str] | None, names: Sequence[str] | None) -> Columns:
    """Check a table's form, names and column types, and make its used columns readable."""
    if isinstance(table, np.ndarray):
        opened = _from_array(table, names, columns)
    elif names is not None:
        raise DataError("names= is for arrays; this table brings its own column names, select among them with columns=")
    elif isinstance(table, Mapping):
        opened = _from_mapping(table, columns)
    else:
        opened = _from_frame(_as_eager_frame(table), columns)
    check_rows(opened.rows)
    return opened


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
        raise DataError(f"column names must be distinct; rename or drop: {_repeated(checked)}")
    return checked


def _repeated(names: Iterable[Any]) -> str:
    return ", ".join(f"{name!r} ({count} times)" for name, count in Counter(names).items() if count > 1)


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


# -- arrays and mappings ---------------------------------------------------------------------------------------------


def _from_array(array: Column, names: Sequence[str] | None, columns: Iterable[str] | None) -> Columns:
    if array.ndim != 2:
        fix = "; use array.reshape(-1, 1) for a single column" if array.ndim == 1 else ""
        raise DataError(f"an array must have two dimensions, rows and columns, got shape {array.shape}{fix}")
    if names is None:
        raise DataError(f"an array has no column names: give {array.shape[1]} of them with names=[...]")
    available = check_names(names)
    if len(available) != array.shape[1]:
        raise DataError(f"{len(available)} names were given for an array with {array.shape[1]} columns")
    chosen = choose_names(available, columns)
    position = {name: j for j, name in enumerate(available)}
    return _from_arrays({name: _plain(array[:, position[name]], name) for name in chosen}, len(array))


def _from_mapping(table: Mapping[Any, Any], columns: Iterable[str] | None) -> Columns:
    chosen = choose_names(check_names(table), columns)
    arrays = {name: _plain(np.asanyarray(table[name]), name) for name in chosen}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise DataError(f"column {name!r} must have one dimension, got shape {array.shape}")
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"columns must have the same number of rows, got {lengths}")
    return _from_arrays(arrays, lengths[chosen[0]])


def _from_arrays(arrays: Mapping[str, Column], rows: int) -> Columns:
    return Columns(tuple(arrays), rows, tuple(partial(_slice_array, array) for array in arrays.values()))


def _slice_array(array: Column, start: int, stop: int) -> Column:
    return array[start:stop]


def _plain(array: Column, name: str) -> Column:
    """Return a numeric array without a mask, or raise."""
    if array.dtype.kind == "O":
        return _unboxed(array, name)
    if array.dtype.kind not in "biuf":
        raise _not_numbers(name, array.dtype)
    if isinstance(array, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(array), np.nan, array.data)
    return array


def _unboxed(objects: Column, name: str) -> Column:
    """Return an array of Python numbers and None, such as pandas makes of [True, None], as numbers."""
    if not all(value is None or isinstance(value, Real | Decimal | np.bool_) for value in objects.flat):
        raise _not_numbers(name, objects.dtype)
    flat = [np.nan if value is None else float(value) for value in objects.flat]
    return np.array(flat, dtype=np.float64).reshape(objects.shape)


# -- frames ----------------------------------------------------------------------------------------------------------


def _as_eager_frame(table: Any) -> nw.DataFrame[Any]:
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"column names must be distinct; rename or drop: {_repeated(_native_names(table))}") from error
    if isinstance(frame, nw.LazyFrame):
        raise DataError(
            f"the table is lazy ({_type_name(table)}): call .collect() first, or the equivalent that brings it into "
            "memory; streaming comes later"
        )
    if not isinstance(frame, nw.DataFrame):
        raise DataError(
            f"cannot read a table of type {_type_name(table)}; give a pandas, polars or pyarrow frame, a numpy array "
            "with names=[...], or a mapping from column names to 1-d arrays"
        )
    return frame


def _from_frame(frame: nw.DataFrame[Any], columns: Iterable[str] | None) -> Columns:
    chosen = choose_names(check_names(frame.columns), columns)
    rows = len(frame)
    check_rows(rows)  # before the types: a column without values has none
    return Columns(chosen, rows, tuple(_series_reader(frame.get_column(name), name, rows) for name in chosen))


def _native_names(table: Any) -> Iterable[Any]:
    names: Iterable[Any] = table.column_names if hasattr(table, "column_names") else table.columns
    return names


def _series_reader(series: nw.Series[Any], name: str, rows: int) -> Reader:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Object:
        return partial(_slice_array, _unboxed(series.to_numpy(), name))
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        if series.null_count() == rows:
            return _all_missing
        raise _not_numbers(name, dtype)
    exact = dtype.is_integer() or dtype.is_float()
    if _is_numpy(series.to_native()) or (exact and _is_one_piece(series.to_native()) and not series.null_count()):
        return partial(_slice_array, series.to_numpy())  # a view, no copy
    return partial(_slice_series, series, exact=exact)


def _is_numpy(native: Any) -> bool:
    """Is this a pandas series on a numpy array?"""
    return isinstance(getattr(native, "dtype", None), np.dtype)


def _is_one_piece(native: Any) -> bool:
    """Is this a polars or pyarrow column that lies in one piece of memory?"""
    pieces = getattr(native, "num_chunks", None) or getattr(native, "n_chunks", None)
    return bool((pieces() if callable(pieces) else pieces) == 1)


def _slice_series(series: nw.Series[Any], start: int, stop: int, *, exact: bool) -> Column:
    import narwhals.stable.v2 as nw

    part = series[start:stop]
    if not exact or part.null_count():
        part = part.cast(nw.Float64)  # nulls become NaN only in floating point
    return part.to_numpy()


def _all_missing(start: int, stop: int) -> Column:
    return np.full(stop - start, np.nan)


def _not_numbers(name: str, dtype: object) -> DataError:
    return DataError(
        f"column {name!r} has dtype {dtype}, which is not a number; encode it as numbers (for example 0/1 columns, one "
        "per category) or leave it out"
    )


def _type_name(value: object) -> str:
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}".removeprefix("builtins.")
