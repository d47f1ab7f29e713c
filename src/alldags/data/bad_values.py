"""Why a table has no finite moments: search it for the values to blame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from alldags.data.columns import Column, Columns
from alldags.errors import DataError, MissingValuesError
from alldags.notes import Note
from alldags.typing import BoolArray, FloatArray, IntArray
from alldags.wording import option

PART_ROWS = 65_536  # looked at together; bounds the copies of columns that cannot be viewed
_LISTED = 12  # columns named in full in one message


@dataclass(frozen=True, eq=False)
class Tally:
    """What stands in the way of sums, counted.

    Parameters
    ----------
    rows, incomplete
        Number of rows, and of those with a missing value.
    missing, infinite
        Number of such values in each column, shape (m,).
    largest
        Absolute value of each column, shape (m,); looked for only where sums are not finite.
    """

    rows: int
    incomplete: int
    missing: IntArray
    infinite: IntArray
    largest: FloatArray

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.rows + other.rows,
            self.incomplete + other.incomplete,
            self.missing + other.missing,
            self.infinite + other.infinite,
            np.fmax(self.largest, other.largest),
        )


def no_tally(rows: int, count: int) -> Tally:
    """Return the tally of rows in which nothing is amiss."""
    return Tally(rows, 0, np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64), np.zeros(count))


def tally_of(block: Sequence[Column]) -> Tally:
    """Count the bad values of some rows, given as m columns of the same length."""
    holes = [np.isnan(column) for column in block]
    infinite = np.array([np.count_nonzero(np.isinf(column)) for column in block])
    largest = [float(np.abs(column[~hole]).max(initial=0)) for column, hole in zip(block, holes, strict=True)]
    missing = np.array([np.count_nonzero(hole) for hole in holes])
    return Tally(len(block[0]), int(np.any(holes, axis=0).sum()), missing, infinite, np.array(largest))


def bad_values(columns: Columns, drop_missing: bool) -> DataError:
    """Search the table for the values that spoiled the sums, and name them."""
    return bad_values_error(columns.names, tally_columns(columns), drop_missing)


def tally_columns(columns: Columns) -> Tally:
    """Count the bad values of a table."""
    return reduce(add, map(tally_of, _blocks(columns)))


def bad_values_error(names: Sequence[str], tally: Tally, drop_missing: bool) -> DataError:
    """Name the values that spoiled the sums."""
    if tally.missing.any() and not drop_missing:
        return MissingValuesError(
            f"missing values in {_listing(names, tally.missing)}; of {tally.rows} rows, "
            f"{tally.incomplete} have one: drop them with {option('missing', 'drop')}, or fill them in with "
            f"{option('missing', 'impute')}",
            (name for name, count in zip(names, tally.missing, strict=True) if count),
        )
    if tally.infinite.any():
        return DataError(
            f"infinite values in {_listing(names, tally.infinite)}; replace them, or make them missing and use "
            f"{option('missing', 'drop')}"
        )
    worst = int(np.argmax(tally.largest))
    return DataError(
        "some values are so large that their squares overflow; largest absolute value: "
        f"{float(tally.largest[worst]):.3g} in column {names[worst]!r}; divide such columns by a constant"
    )


def dropped_note(names: Sequence[str], tally: Tally, kept: float) -> tuple[Note, ...]:
    """Say how many rows were left out for missing values, and which columns have them; nothing if none was."""
    dropped = tally.rows - round(kept)
    if not dropped:
        return ()
    text = (
        f"{dropped:,} of {tally.rows:,} rows were dropped for missing values in {_listing(names, tally.missing)}; what "
        f"is left stands for all only if rows are missing by chance: {option('missing', 'impute')} assumes less"
    )
    return (Note(text, "changes the answer"),)


_LEAST_VARIANCE = 1e-300  # below, squares of deviations lose digits, then vanish


def check_spread(columns: Columns, variance: FloatArray) -> None:
    """Refuse columns, not constant, that vary so little that the squares are not numbers; variance has shape (m,)."""
    for place in np.flatnonzero(variance < _LEAST_VARIANCE):
        values = np.concatenate([block[place][_complete(block)] for block in _blocks(columns)])
        spread = float(values.max() - values.min())
        if spread > 0:
            raise DataError(
                f"column {columns.names[place]!r} varies by only {spread:.3g}: squares so small cannot be computed; "
                "multiply it by a constant"
            )


def _complete(block: Sequence[Column]) -> BoolArray:
    """Return which rows miss nothing, shape (rows,)."""
    return np.asarray(~np.any([np.isnan(column) for column in block], axis=0))


def tiny_spread(names: Sequence[str], variance: FloatArray) -> None:
    """Refuse columns whose variance, shape (m,), is above 0 but too small to be a number, where rows are gone."""
    for place in np.flatnonzero((variance > 0) & (variance < _LEAST_VARIANCE)).tolist():
        raise DataError(
            f"column {names[place]!r} varies by only {float(variance[place]) ** 0.5:.3g}: squares so small cannot be "
            "computed; multiply it by a constant"
        )


def _blocks(columns: Columns) -> Iterator[list[Column]]:
    return (columns.read(start, min(columns.rows, start + PART_ROWS)) for start in range(0, columns.rows, PART_ROWS))


def _listing(names: Sequence[str], counts: IntArray) -> str:
    """Name every column concerned with its count, the worst first when there are many."""
    found = sorted(
        ((int(count), name) for name, count in zip(names, counts, strict=True) if count), key=lambda x: -x[0]
    )
    listed = ", ".join(f"{name!r} ({count})" for count, name in found[:_LISTED])
    more = f" and {len(found) - _LISTED} more columns" if len(found) > _LISTED else ""
    return f"column{'s' * (len(found) > 1)} {listed}{more}"
