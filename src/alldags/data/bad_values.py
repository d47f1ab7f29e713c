"""Why a table has no finite moments: search it for the values to blame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from alldags.data.columns import Column, Columns
from alldags.errors import DataError
from alldags.typing import FloatArray, IntArray

PART_ROWS = 65_536  # looked at together; bounds the copies of columns that cannot be viewed
_LISTED = 12  # columns named in full in one message


def bad_values(columns: Columns, drop_missing: bool) -> DataError:
    """Search the table for the values that spoiled the sums, and name them."""
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


_LEAST_VARIANCE = 1e-300  # below, squares of deviations lose digits, then vanish


def check_spread(columns: Columns, variance: FloatArray) -> None:
    """Refuse columns, not constant, that vary so little that the squares are not numbers; variance has shape (m,)."""
    for place in np.flatnonzero(variance < _LEAST_VARIANCE):
        values = [block[place] for block in _blocks(columns)]
        spread = float(max(map(np.nanmax, values)) - min(map(np.nanmin, values)))
        if spread > 0:
            raise DataError(
                f"column {columns.names[place]!r} varies by only {spread:.3g}: squares so small cannot be computed; "
                "multiply it by a constant"
            )


def _blocks(columns: Columns) -> Iterator[list[Column]]:
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
