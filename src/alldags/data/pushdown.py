"""Sums that a database adds up itself, for tables whose rows must not leave it: only aggregates come back.

It costs more than reading the rows: the number of sums grows with the square of the number of columns. Narwhals writes
the query, and the engine behind it quotes the names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.data.accumulate import check_work
from alldags.data.bad_values import Tally
from alldags.data.case import check_case
from alldags.data.columns import check_names, choose_names, not_numbers
from alldags.data.record import MomentsRecord
from alldags.data.sums import Sums, checked
from alldags.errors import AlldagsError, DataError
from alldags.typing import FloatArray

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

_ALIAS = "alldags_sum_"


def pushed_down(table: Any, columns: Iterable[str] | None, *, drop_missing: bool) -> MomentsRecord:
    """Return the moments of a table behind a query engine, by two queries of aggregates.

    The first asks for means, the second for products of differences from them: plain sums of products lose all digits
    where means are large.

    Parameters
    ----------
    table
        A DuckDB relation, an Ibis or SQLFrame table, or another lazy frame that narwhals knows.
    columns
        Names; all by default.
    drop_missing
        Leave out rows in which one of them is missing.

    Examples
    --------
    >>> import duckdb
    >>> from alldags.data.pushdown import pushed_down
    >>> relation = duckdb.sql("select * from (values (1.0, 2.0), (3.0, 5.0), (5.0, 5.0)) as t(x, y)")
    >>> pushed_down(relation, ["x", "y"], drop_missing=False).scatter.tolist()
    [[8.0, 6.0], [6.0, 6.0]]
    """
    frame = _lazy(table)
    try:
        schema = frame.collect_schema()
        names = choose_names(check_names(schema.names()), columns)
        check_case(frame, schema.names(), names)
        check_work(len(names), 1)
        truth = {name for name in names if _is_truth(name, schema[name])}
        numbers = _numbers(frame, names, truth)
        return checked(_sums(_told_apart(numbers, names), names, drop_missing), drop_missing)
    except AlldagsError:
        raise
    except Exception as error:  # each engine has its own
        raise DataError(f"the sums could not be computed where the table is: {error}") from error


def _lazy(table: Any) -> nw.LazyFrame[Any]:
    import narwhals.stable.v2 as nw

    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        raise DataError(
            f"push_down=True is for tables behind a query engine (DuckDB, Ibis, SQLFrame), not for "
            f"{type(table).__qualname__}; leave it out"
        )
    return frame


def _is_truth(name: str, dtype: Any) -> bool:
    """Is this a column of truth values, and not of numbers? An error if it is neither."""
    import narwhals.stable.v2 as nw

    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise not_numbers(name, dtype)
    return bool(dtype == nw.Boolean)


def _numbers(frame: nw.LazyFrame[Any], names: tuple[str, ...], truth: Collection[str]) -> nw.LazyFrame[Any]:
    """Return the columns as floating point numbers, which not every engine makes of truth values by itself."""
    import narwhals.stable.v2 as nw

    return frame.select(
        *(
            nw.when(~nw.col(name).is_null()).then(_one_if(nw.col(name)).cast(nw.Float64)).alias(name)
            if name in truth
            else nw.col(name).cast(nw.Float64)
            for name in names
        )
    )


def _told_apart(numbers: nw.LazyFrame[Any], names: tuple[str, ...]) -> nw.LazyFrame[Any]:
    """Return the columns with null in place of NaN, where the engine has NaN."""
    import narwhals.stable.v2 as nw

    try:
        numbers.select(nw.col(names[0]).is_nan()).head(1).select(nw.len()).collect()
    except Exception:  # each engine has its own way to say that there is no such thing
        return numbers
    return numbers.with_columns(*(nw.when(~nw.col(name).is_nan()).then(nw.col(name)).alias(name) for name in names))


def _one_if(condition: nw.Expr) -> nw.Expr:
    import narwhals.stable.v2 as nw

    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


def _sums(numbers: nw.LazyFrame[Any], names: tuple[str, ...], drop_missing: bool) -> Sums:
    tally = _tally(numbers, names)
    if (tally.missing.any() and not drop_missing) or tally.infinite.any():
        bad = np.full(len(names), np.nan)
        return Sums(bad, MomentsRecord(tally.rows, bad, np.full((len(names), len(names)), np.nan), names), tally)
    complete = numbers.drop_nulls(list(names)) if tally.missing.any() else numbers
    kept = tally.rows - tally.incomplete
    origin = np.zeros(len(names)) if kept == 0 else _asked(complete, [_column(name).mean() for name in names])
    return Sums(origin, _products(complete, names, origin, kept), tally)


def _tally(numbers: nw.LazyFrame[Any], names: tuple[str, ...]) -> Tally:
    """Count rows, and missing and infinite values."""
    import narwhals.stable.v2 as nw

    missing = [_column(name).is_null() for name in names]
    largest = [_column(name).abs() for name in names]
    counts = [nw.len(), _one_if(nw.any_horizontal(*missing, ignore_nulls=False)).sum()]
    each = [_one_if(hole).sum() for hole in missing] + [size.max() for size in largest]
    found = _asked(numbers, [*counts, *each])
    m = len(names)
    peaks = found[2 + m :]
    for place in np.flatnonzero(np.isnan(peaks) & (found[2 : 2 + m] < found[0])).tolist():
        raise DataError(f"column {names[place]!r} holds NaN that the engine takes for numbers; make it null there")
    holes, infinite = found[2 : 2 + m].astype(np.int64), np.isinf(peaks).astype(np.int64)
    return Tally(int(found[0]), int(found[1]), holes, infinite, peaks)


def _products(frame: nw.LazyFrame[Any], names: tuple[str, ...], origin: FloatArray, rows: int) -> MomentsRecord:
    shifted = [_column(name) - float(shift) for name, shift in zip(names, origin, strict=True)]
    pairs = list(combinations_with_replacement(range(len(names)), 2))
    m = len(names)
    if rows == 0:
        return MomentsRecord(0, np.zeros(m), np.zeros((m, m)), names)
    found = _asked(frame, [one.sum() for one in shifted] + [(shifted[i] * shifted[j]).sum() for i, j in pairs])
    mean, scatter = found[:m] / rows, np.zeros((m, m))
    for (i, j), product in zip(pairs, found[m:].tolist(), strict=True):
        scatter[i, j] = scatter[j, i] = product
    return MomentsRecord(rows, mean, scatter - rows * np.outer(mean, mean), names)


def _column(name: str) -> nw.Expr:
    import narwhals.stable.v2 as nw

    return nw.col(name)


def _asked(frame: nw.LazyFrame[Any], wanted: list[nw.Expr]) -> FloatArray:
    """Return one number for each aggregate."""
    names = [f"{_ALIAS}{place}" for place in range(len(wanted))]
    answer = frame.select(*(one.alias(name) for one, name in zip(wanted, names, strict=True))).collect()
    return np.array([np.nan if value is None else float(value) for value in answer.row(0)], dtype=np.float64)
