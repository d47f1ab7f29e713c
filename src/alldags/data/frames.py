"""Data frames in memory as sources: pandas, polars, pyarrow and whatever else narwhals knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.data.accumulate import checked_moments
from alldags.data.bad_values import Tally, tally_columns
from alldags.data.columns import (
    LARGEST_EXACT,
    Column,
    Columns,
    Reader,
    array_reader,
    check_names,
    check_rows,
    choose_names,
    not_numbers,
    refuse_names,
    repeated_names,
    too_large_to_tell,
    unboxed,
)
from alldags.data.record import MomentsRecord
from alldags.errors import DataError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


class FrameSource:
    """An eager frame; what is no table at all ends here, too, and is refused by name."""

    notes: tuple[str, ...] = ()

    def __init__(self, table: Any, names: Sequence[str] | None = None) -> None:
        self._frame = _as_eager_frame(table)
        refuse_names(names)
        self.columns = check_names(self._frame.columns)

    @staticmethod
    def takes(table: object) -> bool:  # noqa: ARG004  - the last way in
        """Take anything: whether it is a frame is known once narwhals has looked at it."""
        return True

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,
        n_jobs: int = 1,
        progress: bool = False,  # noqa: ARG002  - what is in memory is soon added up
    ) -> MomentsRecord:
        return checked_moments(self.numbers(variables), drop_missing=drop_missing, n_jobs=n_jobs)

    def tally(self, variables: Iterable[str]) -> Tally:
        return tally_columns(self.numbers(variables))

    def labels(self, name: str) -> Reader:
        (chosen,) = choose_names(self.columns, [name])
        return partial(_slice_labels, self._frame.get_column(chosen))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._frame)

    def is_category(self, name: str) -> bool:
        """Tell whether a column has levels, by its type."""
        import narwhals.stable.v2 as nw

        return self._frame.get_column(name).dtype in (nw.Categorical, nw.Enum)

    def levels(self, name: str) -> tuple[Any, ...]:
        """Return the levels of a column that has them in an order of its own; none if it has not."""
        import narwhals.stable.v2 as nw

        series = self._frame.get_column(name)
        kind = self._frame.implementation
        as_they_came = (kind.is_polars() or kind.is_pyarrow()) and series.dtype == nw.Categorical
        return tuple(series.cat.get_categories().to_list()) if self.is_category(name) and not as_they_came else ()

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        chosen = choose_names(self.columns, variables)
        rows = len(self._frame)
        check_rows(rows)  # before the types: a column without values has none
        return Columns(chosen, rows, tuple(_reader(self._frame.get_column(name), name, rows) for name in chosen))


def _as_eager_frame(table: Any) -> nw.DataFrame[Any]:
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise repeated_names(_native_names(table)) from error
    if isinstance(frame, nw.LazyFrame):
        raise DataError(
            f"the table is lazy ({_type_name(table)}), of a kind that is not read in batches: call .collect(), or "
            "the equivalent that brings it into memory; lazy frames of polars and relations of DuckDB go as they are"
        )
    if not isinstance(frame, nw.DataFrame):
        raise DataError(
            f"cannot read a table of type {_type_name(table)}; give a pandas, polars or pyarrow frame, a numpy array "
            "with names=[...], a mapping from column names to 1-d arrays, or the path of a file"
        )
    return frame


def _native_names(table: Any) -> Iterable[Any]:
    names: Iterable[Any] = table.column_names if hasattr(table, "column_names") else table.columns
    return names


def _type_name(value: object) -> str:
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}".removeprefix("builtins.")


# -- reading a column ------------------------------------------------------------------------------------------------


def _reader(series: nw.Series[Any], name: str, rows: int) -> Reader:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Object:
        return array_reader(unboxed(series.to_numpy(), name))
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        if series.null_count() == rows:
            return _all_missing
        raise not_numbers(name, dtype)
    exact = dtype.is_integer() or dtype.is_float()
    if _is_numpy(series.to_native()) or (exact and _is_one_piece(series.to_native()) and not series.null_count()):
        return array_reader(series.to_numpy())  # a view, no copy
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
        cast = part.cast(nw.Float64)  # nulls become NaN only in floating point
        if part.dtype.is_integer() and np.nanmax(np.abs(cast.to_numpy()), initial=0.0) > LARGEST_EXACT:
            raise too_large_to_tell(series.name)
        return cast.to_numpy()
    return part.to_numpy()


def _slice_labels(series: nw.Series[Any], start: int, stop: int) -> Column:
    return np.array(series[start:stop].to_list(), dtype=object)


def _all_missing(start: int, stop: int) -> Column:
    return np.full(stop - start, np.nan)
