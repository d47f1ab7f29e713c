"""The past of columns in a query: engines that can sort look it up themselves, and rows stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alldags.data.distributed import DistributedSource
from alldags.data.lazy import LazySource
from alldags.errors import DataError
from alldags.steps import past
from alldags.wording import option


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
        Columns that say when and of what unit a row is; times are whole numbers, one step apart.
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
    columns = [nw.col(name).shift(lag).over(*_by(unit), order_by=time).alias(past(name, lag))
               for lag in range(1, lags + 1) for name in variables]  # fmt: skip
    before = [(nw.col(time) - nw.col(time).shift(lag).over(*_by(unit), order_by=time)).alias(_mark(lag))
              for lag in range(1, lags + 1)]  # fmt: skip
    found = frame.with_columns(*columns, *before)
    for lag in range(1, lags + 1):
        found = found.filter(nw.col(_mark(lag)) == lag)
    return nw.to_native(found.drop(*map(_mark, range(1, lags + 1))))


def _by(unit: str | None) -> tuple[str, ...]:
    return () if unit is None else (unit,)


def _mark(lag: int) -> str:
    return f"\0steps {lag}"
