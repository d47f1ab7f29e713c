"""The past of columns in a query: engines that can sort look it up themselves, and rows stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from alldags.data.clock import same_time, without_time
from alldags.data.distributed import DistributedSource
from alldags.data.lazy import LazySource
from alldags.errors import DataError
from alldags.steps import past
from alldags.wording import option

_ROWS = "\0rows"


def is_query(table: Any) -> bool:
    """Tell whether a table is a query of an engine that can sort."""
    if not (LazySource.takes(table) or DistributedSource.takes(table)):
        return False
    import narwhals.stable.v2 as nw

    return isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame)


def lagged_query(table: Any, variables: Sequence[str], time: str, unit: str | None, lags: int) -> Any:
    """Return the query with columns of the past, and only the rows that have them.

    Parameters
    ----------
    table
        A lazy frame of polars, a relation of DuckDB, a table of Ibis, a frame of Spark or Dask.
    variables
        Columns whose past is looked up.
    time, unit
        Columns that say when and of what unit a row is; times are whole numbers, a step apart.
    lags
        Number of steps back.
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_native(table)
    dtype = frame.collect_schema().get(time)
    if dtype is None or not dtype.is_integer():
        raise DataError(
            f"{option('time', time)} of a query must be a column of whole numbers that count steps; number the steps, "
            "or collect the query first"
        )
    _check_times(frame, time, unit)
    return nw.to_native(_with_past(frame, variables, time, unit, lags)) if lags else table


def _with_past(frame: Any, variables: Sequence[str], time: str, unit: str | None, lags: int) -> Any:
    import narwhals.stable.v2 as nw

    look = partial(_looked_up, variables=variables, time=time, unit=unit, lags=lags)
    found = _by_partition(frame, unit, look) if unit is not None and frame.implementation.is_dask() else look(frame)
    step = _step(found, time)
    for lag in range(1, lags + 1):
        found = found.filter(nw.col(_mark(lag)) == lag * step)
    return found.drop(*map(_mark, range(1, lags + 1)))


def _looked_up(frame: Any, *, variables: Sequence[str], time: str, unit: str | None, lags: int) -> Any:
    """Return a frame with the past of some columns, and how long ago each was."""
    import narwhals.stable.v2 as nw

    def before(name: str, lag: int) -> Any:
        return nw.col(name).shift(lag).over(*_by(unit), order_by=time)

    far = [(nw.col(time) - before(time, lag)).alias(_mark(lag)) for lag in range(1, lags + 1)]
    columns = [before(name, lag).alias(past(name, lag)) for lag in range(1, lags + 1) for name in variables]
    return frame.with_columns(*columns, *far)


def _by_partition(frame: Any, unit: str, look: Callable[[Any], Any]) -> Any:
    """Bring the rows of each unit into one partition of Dask, which sorts by one column only, and look there."""
    import narwhals.stable.v2 as nw

    def inside(part: Any) -> Any:
        return nw.to_native(look(nw.from_native(part)))

    return nw.from_native(nw.to_native(frame).shuffle(on=unit).map_partitions(inside))


def _check_times(frame: Any, time: str, unit: str | None) -> None:
    """Refuse rows without a time or unit, and two rows of one unit at the same time."""
    import narwhals.stable.v2 as nw

    if _first(frame.filter(nw.col(time).is_null()), time) is not None:
        raise without_time(time)
    if unit is not None and _first(frame.filter(nw.col(unit).is_null()), unit) is not None:
        raise DataError(f"{option('unit', unit)} has rows without a unit; leave these rows out")
    rows = frame.group_by(*_by(unit), time).agg(nw.len().alias(_ROWS))
    twice = _first(rows.filter(nw.col(_ROWS) > 1), *_by(unit), time)
    if twice is not None:
        named = ", ".join(f"{name} {value}" for name, value in zip((*_by(unit), time), twice, strict=True))
        raise same_time(f"two rows of {named}")


def _step(frame: Any, time: str) -> int:
    """Return how far times are apart: the least that two rows of a unit are, of which all have to be multiples."""
    import narwhals.stable.v2 as nw

    ends = _values(frame.select(nw.col(_mark(1)).min(), nw.col(time).min())) or (None, None)
    if ends[0] is None or not ends[0] > 1:  # or not a number
        return 1
    apart, first = map(int, ends)
    off = _first(frame.filter((nw.col(time) - first) % apart != 0), time)
    if off is not None:
        raise DataError(
            f"{option('time', time)} has times that are no whole number of steps apart: rows of a unit are {apart} or "
            f"more apart, but {off[0]} lies between two steps from {first}; number the steps, or collect the query"
        )
    return apart


def _first(frame: Any, *names: str) -> tuple[Any, ...] | None:
    """Return some columns of the first row in their order; None if there is no row."""
    return _values(frame.select(*names).sort(*names).head(1))


def _values(frame: Any) -> tuple[Any, ...] | None:
    """Compute a query of one row; None if there is none."""
    return next(iter(frame.collect().iter_rows()), None)


def _by(unit: str | None) -> tuple[str, ...]:
    return () if unit is None else (unit,)


def _mark(lag: int) -> str:
    return f"\0steps {lag}"
