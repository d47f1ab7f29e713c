"""From a table in memory to `Moments`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from alldags.data.accumulate import PART_ROWS, column_moments
from alldags.data.columns import Column, Columns, check_rows, open_columns
from alldags.data.moments import Moments
from alldags.errors import DataError
from alldags.typing import IntArray

_LISTED = 12  # columns named in full in one message


def table_moments(
    table: Any,
    columns: Iterable[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    drop_missing: bool = False,
    n_jobs: int = 1,
) -> Moments:
    """Compute row count, means and centred cross-products of a table's columns in one pass.

    Parameters
    ----------
    table
        An eager frame that narwhals knows (pandas, polars, pyarrow, ...), a mapping from names to 1-d arrays, or an
        array of shape (rows, columns) with `names`.
    columns
        Names of the columns to use, in the order of the result; all by default.
    names
        Column names of an array.
    drop_missing
        Leave out the rows in which a used column is missing. Without it missing values are an error.
    n_jobs
        Threads over which the rows are split, -1 for one per processor; the result does not depend on it.

    Examples
    --------
    >>> from alldags.data.table import table_moments
    >>> moments = table_moments({"dose": [1, 2, 3], "score": [2.0, 4.0, 9.0]})
    >>> moments.n, moments.mean.tolist(), moments.scatter.tolist()
    (3, [2.0, 5.0], [[2.0, 7.0], [7.0, 26.0]])
    """
    opened = open_columns(table, columns, names)
    moments = column_moments(opened, drop_missing=drop_missing, n_jobs=_threads(n_jobs))
    # one bad value anywhere makes a sum non-finite: good tables pay nothing for the search
    if not (np.isfinite(moments.mean).all() and np.isfinite(moments.scatter).all()):
        raise _bad_values(opened, drop_missing)
    check_rows(int(moments.n), f" (of {opened.rows}) without missing values" * drop_missing)
    return moments


def _threads(n_jobs: int) -> int:
    if n_jobs == 0:
        raise DataError("n_jobs must be a positive number of threads, or -1 for one per processor; got 0")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


# -- naming the culprits ---------------------------------------------------------------------------------------------


def _bad_values(columns: Columns, drop_missing: bool) -> DataError:
    """Search the table for the values that spoiled the sums."""
    missing = _count(columns, np.isnan)
    if missing.any() and not drop_missing:
        return DataError(
            f"missing values in {_listing(columns.names, missing)}; of {columns.rows} rows, "
            f"{_incomplete_rows(columns)} have one: drop them with drop_missing=True, or fill them in before"
        )
    infinite = _count(columns, np.isinf)
    if infinite.any():
        return DataError(
            f"infinite values in {_listing(columns.names, infinite)}; replace them, or make them missing and use "
            "drop_missing=True"
        )
    return DataError(
        "some values are so large that their squares overflow; largest absolute value: "
        f"{_largest(columns)}; divide such columns by a constant"
    )


def _blocks(columns: Columns) -> Iterable[list[Column]]:
    return (columns.read(start, min(columns.rows, start + PART_ROWS)) for start in range(0, columns.rows, PART_ROWS))


def _count(columns: Columns, test: Callable[[Column], Column]) -> IntArray:
    counts = np.array([[np.count_nonzero(test(column)) for column in block] for block in _blocks(columns)])
    return np.asarray(counts.sum(axis=0))


def _incomplete_rows(columns: Columns) -> int:
    return sum(int(np.any([np.isnan(column) for column in block], axis=0).sum()) for block in _blocks(columns))


def _listing(names: Sequence[str], counts: IntArray) -> str:
    """Name every column concerned with its count, the worst first when there are many."""
    found = sorted(
        ((int(count), name) for name, count in zip(names, counts, strict=True) if count), key=lambda x: -x[0]
    )
    listed = ", ".join(f"{name!r} ({count})" for count, name in found[:_LISTED])
    more = f" and {len(found) - _LISTED} more columns" if len(found) > _LISTED else ""
    return f"column{'s' * (len(found) > 1)} {listed}{more}"


def _largest(columns: Columns) -> str:
    peaks = np.max([[np.abs(column).max() for column in block] for block in _blocks(columns)], axis=0)
    worst = int(np.argmax(peaks))
    return f"{float(peaks[worst]):.3g} in column {columns.names[worst]!r}"
