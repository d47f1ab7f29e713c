"""Fixed effects that were taken out of rows: is anything left, what to say of them, and the rows without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from alldags.data.batches import RowTable
from alldags.data.cells import Cells
from alldags.data.columns import Column, Columns, Reader
from alldags.data.factors import Factors, in_words
from alldags.data.look import look_at
from alldags.data.rows import RowGroups, follows
from alldags.errors import DataError
from alldags.notes import Note
from alldags.typing import BoolArray, FloatArray, IntArray
from alldags.wording import option

_LEAST_LEFT = 2  # degrees of freedom


def check_left(rows: RowGroups, factors: Factors, categories: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse variables that follow from the levels of fixed effects, and levels that leave no rows to compare.

    Parameters
    ----------
    rows
        With their cells.
    factors
        What was taken out.
    categories
        The columns of each variable that is a category.
    """
    left, whole = rows.left, rows.without()
    assert left is not None
    assert whole is not None
    if whole.n - left.rank < _LEAST_LEFT:
        raise DataError(
            f"{in_words(factors.names)} takes {left.rank:,} degrees of freedom of "
            f"{whole.n:,.0f} rows: levels need several rows each that can be compared; leave it out"
        )
    gone = dict(zip(whole.names, follows(left, rows.as_read).tolist(), strict=True))
    own = {column for columns in categories.values() for column in columns}
    groups = {**{name: (name,) for name in gone if name not in own}, **categories}
    constant = [name for name, columns in groups.items() if all(gone[column] for column in columns)]
    if constant:
        raise DataError(
            f"{_listed(constant)} {'does' if len(constant) == 1 else 'do'} not vary within the levels of "
            f"{_listed(factors.names)}: {option('fixed_effects')} takes all of it out, and nothing is left that could "
            "act or respond; leave it out of the graph"
        )


def absorbed_note(rows: RowGroups, factors: Factors) -> Note:
    """Say what was taken out, and what is taken for granted of the rest."""
    assert rows.cells is not None
    assert rows.left is not None
    present = [len(np.unique(codes)) for codes in rows.cells.numbers()]
    named = " and ".join(f"{name!r} ({count:,})" for name, count in zip(factors.names, present, strict=True))
    apart = f"; the levels fall into {rows.left.pieces:,} parts that share no row" if rows.left.pieces > 1 else ""
    is_clustered = len(rows.clusters) > 1
    cluster = option("cluster", factors.names[0])
    alone = "" if is_clustered else f"; what is left of rows is taken for independent, {cluster} looks whether it is"
    return Note(
        f"every regression has an intercept for each level of {named}: they take {rows.left.rank:,} degrees of "
        f"freedom of {rows.as_read.n:,.0f} rows{apart}; effects, and standard deviations of variables, are those "
        f"within levels{alone}"
    )


# -- adopted at different times ----------------------------------------------------------------------------------------


def staggered(rows: RowGroups, factors: Factors) -> tuple[str, ...]:
    """Return the 0/1 variables that, once on, stay on, and are switched on at different times, of two factors."""
    return tuple(_staggered(rows, factors)) if len(factors.names) == 2 else ()


def _staggered(rows: RowGroups, factors: Factors) -> Iterator[str]:
    cells, whole = rows.cells, replace(rows.as_read, profile=rows.profile)
    assert cells is not None
    for place, name in enumerate(whole.names):
        if look_at(whole, name).is_yes_no:
            on = cells.mean[:, place] > 0.5
            if any(_switches(cells, factors, on, time) for time in (0, 1)):
                yield name


def _switches(cells: Cells, factors: Factors, on: BoolArray, time: int) -> bool:
    """Tell whether units are switched on at different times and stay on, with one of the factors taken for time."""
    when, numbers = _in_time(factors.labels[time]), cells.numbers()
    if when is None:
        return False
    time_of, unit = when[numbers[time]], numbers[1 - time]
    count, never = int(unit.max()) + 1, len(when)
    start, last_off = np.full(count, never), np.full(count, -1)
    np.minimum.at(start, unit[on], time_of[on])
    np.maximum.at(last_off, unit[~on], time_of[~on])
    switched = (start < never) & (last_off >= 0)
    return bool((last_off < start).all()) and len(np.unique(start[switched])) > 1


def _in_time(labels: Sequence[object]) -> IntArray | None:
    """Return the place of each label in the order of all; None if they have none."""
    try:
        order = sorted(range(len(labels)), key=labels.__getitem__)  # type: ignore[arg-type]
    except TypeError:
        return None
    return np.argsort(order)


# -- rows --------------------------------------------------------------------------------------------------------------


def rows_inside(table: RowTable, rows: RowGroups, factors: Factors) -> RowTable:
    """Return rows as deviations from their levels, about the means of all; what is said of rows stays beside them.

    Parameters
    ----------
    table
        The rows as they are; what is not a variable is not changed.
    rows
        Those that are regressed, in groups, with their cells; others of the table are at the means.
    factors
        The levels of all rows of the table.
    """
    assert rows.cells is not None
    assert rows.left is not None
    whole = rows.as_read
    out = dict(zip(whole.names, (rows.cells.mean - rows.left.mean - whole.mean).T, strict=True))
    mean = dict(zip(whole.names, whole.mean.tolist(), strict=True))
    readers = [
        partial(_deviations, reader, factors, rows.cells, out[name], mean[name]) if name in out else reader
        for name, reader in zip(table.columns.names, table.columns.readers, strict=True)
    ]
    return RowTable(Columns(table.columns.names, table.columns.rows, tuple(readers)), table.marks)


def _deviations(
    reader: Reader, factors: Factors, cells: Cells, out: FloatArray, mean: float, start: int, stop: int
) -> Column:
    codes = factors.codes[start:stop]
    key = np.ravel_multi_index(tuple(np.maximum(codes, 0).T), factors.levels)
    place = np.minimum(np.searchsorted(cells.key, key), len(cells.key) - 1)
    values = np.asarray(reader(start, stop), dtype=np.float64)
    left = np.where((cells.key[place] == key) | np.isnan(values), values - out[place], mean)
    return np.where((codes >= 0).all(axis=1), left, np.nan)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names)) if len(names) < 3 else ", ".join(map(repr, names))
