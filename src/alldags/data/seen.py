"""`Seen`: the table as it was read, kept for notes about likely mistakes; no number of an answer is made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from alldags.data.arrays import ArraySource, MappingSource
from alldags.data.arrow import is_number
from alldags.data.frames import FrameSource
from alldags.data.levels import CodedSource, Levels, is_numbers
from alldags.data.look import ColumnLook, look_at
from alldags.data.profile import Profile
from alldags.data.record import MomentsRecord, MomentsSource
from alldags.data.source import Source
from alldags.data.stream import StreamSource
from alldags.errors import DataError
from alldags.typing import FloatArray

_IN_MEMORY = (ArraySource, MappingSource, FrameSource, CodedSource)  # whose rows can be looked at here and there
_STRETCHES, _STRETCH_ROWS = 16, 1024  # of rows that are looked at of columns outside the graph
_MOST_OUTSIDE = 64  # such columns
_PROFILE = ("ends", "counts", "rest", "whole", "rising")
_SAID = ("randomized", "staggered")
_MOST_SQUARE = 1000  # columns of a table that may be a covariance matrix


@dataclass(frozen=True, eq=False)
class Outside:
    """Columns outside the graph, q of them.

    Parameters
    ----------
    names
        Of these columns.
    variables
        Of the graph, m of them.
    correlations
        Shape (q, m), from some of the rows where there are many.
    rows
        Number of rows behind them.
    """

    names: tuple[str, ...]
    variables: tuple[str, ...]
    correlations: FloatArray
    rows: float


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of a table.

    Parameters
    ----------
    moments
        Of all rows, in the user's units, with their profile where rows were seen.
    outside
        What columns outside the graph have to do with those in it; None if there are none.
    levels
        Of columns of words and truth values.
    randomized
        Variables that were drawn by lot, as the user said.
    staggered
        0/1 variables that were switched on at different times in different levels of two fixed effects.
    """

    moments: MomentsRecord
    outside: Outside | None = None
    levels: Mapping[str, Levels] = field(default_factory=dict)
    randomized: tuple[str, ...] = ()
    staggered: tuple[str, ...] = ()
    _looks: dict[str, ColumnLook] = field(default_factory=dict, init=False, repr=False)

    def look(self, name: str) -> ColumnLook:
        """Return what a variable, or one of the columns of a category, looks like."""
        if name not in self._looks:
            levels = self.levels.get(name)
            known = name in self.moments.index
            self._looks[name] = look_at(self.moments, name, levels) if known else ColumnLook(name, levels=levels)
        return self._looks[name]

    def numbers(self) -> list[ColumnLook]:
        """Return the looks of the columns that are numbers in the table, too."""
        made = {column for one in self.levels.values() for column in one.columns}
        return [self.look(name) for name in self.moments.names if name not in made]


def plain(seen: Seen) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Return what was seen, apart from the moments, as JSON and arrays can hold it."""
    levels = [[one.name, [_item(label) for label in one.labels], list(one.counts)] for one in seen.levels.values()]
    said = {name: list(getattr(seen, name)) for name in _SAID}
    header: dict[str, Any] = {"levels": levels, "outside": None, **said}
    arrays: dict[str, FloatArray] = {}
    if seen.outside is not None:
        header["outside"] = [list(seen.outside.names), list(seen.outside.variables), float(seen.outside.rows)]
        arrays["outside"] = seen.outside.correlations
    if seen.moments.profile is not None:
        arrays |= {f"profile_{name}": getattr(seen.moments.profile, name) for name in _PROFILE}
    return header, arrays


def restored(header: Mapping[str, Any], arrays: Mapping[str, Any], moments: MomentsRecord) -> Seen:
    """Return what `plain` was given."""
    levels = {name: Levels(name, tuple(labels), tuple(counts)) for name, labels, counts in header["levels"]}
    known = header["outside"]
    outside = known and Outside(tuple(known[0]), tuple(known[1]), arrays["outside"], known[2])
    profile = Profile(*(arrays[f"profile_{name}"] for name in _PROFILE)) if "profile_ends" in arrays else None
    said = {name: tuple(header.get(name, ())) for name in _SAID}
    return Seen(replace(moments, profile=profile), outside or None, levels, **said)


def _item(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def look_outside(source: Source, variables: Sequence[str], used: Iterable[str]) -> Outside | None:
    """Return the correlations of columns of numbers that are neither variables nor used otherwise.

    Examples
    --------
    >>> from alldags.data.seen import look_outside
    >>> from alldags.data.source import open_source
    >>> table = open_source({"x": [1.0, 2.0, 3.0], "y": [2.0, 1.0, 4.0], "w": [3.0, 2.0, 1.0], "site": ["a", "b", "a"]})
    >>> found = look_outside(table, ["x", "y"], [])
    >>> found.names, found.correlations[0, 0].round(6).tolist()
    (('w',), -1.0)
    """
    taken = {*variables, *used}
    names = [name for name in source.columns if name not in taken]
    if isinstance(source, MomentsSource):
        return _correlations(source.moments([*names, *variables]), names, variables) if names else None
    names = _columns_of_numbers(source, names[:_MOST_OUTSIDE])
    if not names:
        return None
    table = _some_rows(source, [*names, *variables])
    if len(table) < 3:
        return None
    centred = table - table.mean(axis=0)
    moments = MomentsRecord(len(table), table.mean(axis=0), centred.T @ centred, (*names, *variables))
    return _correlations(moments, names, variables)


def looks_like_covariance(source: Source) -> bool:
    """Tell whether a table is a symmetric matrix with a row for every column of numbers.

    Examples
    --------
    >>> from alldags.data.seen import looks_like_covariance
    >>> from alldags.data.source import open_source
    >>> looks_like_covariance(open_source({"x": [4.0, 1.0, 0.5], "y": [1.0, 2.0, 0.3], "z": [0.5, 0.3, 1.0]}))
    True
    """
    if not 3 <= len(source.columns) <= _MOST_SQUARE:
        return False
    names = _columns_of_numbers(source, source.columns)
    if len(names) < 3 or len(names) < len(source.columns) - 1:
        return False
    table = np.column_stack(_head(source, names, len(names) + 1))
    with np.errstate(invalid="ignore"):
        same = table.shape == (len(names), len(names)) and np.allclose(table, table.T, rtol=1e-6, atol=0.0)
        return bool(same and (np.diag(table) > 0).all())


def _columns_of_numbers(source: Source, names: Sequence[str]) -> list[str]:
    """Return the columns that are numbers and can be looked at here; a query is not run twice for it."""
    if isinstance(source, StreamSource) and source.stream.same_order:
        return [name for name in names if is_number(source.stream.schema.field(name).type)]
    return [name for name in names if isinstance(source, _IN_MEMORY) and _is_numbers(source, name)]


def _is_numbers(source: Source, name: str) -> bool:
    """Tell whether a column is made of numbers: what a graph may not have, such as dates, may stand beside it."""
    try:
        return is_numbers(source, name)
    except DataError:
        return False


def _head(source: Source, names: Sequence[str], rows: int) -> list[FloatArray]:
    """Return the first rows of some columns of numbers."""
    if isinstance(source, StreamSource):
        block = source.head(names, rows)
    else:
        columns = source.numbers(names)
        block = columns.read(0, min(columns.rows, rows))
    return [np.asarray(column, dtype=np.float64) for column in block]


def _some_rows(source: Source, names: Sequence[str]) -> FloatArray:
    """Return complete rows, shape (rows, columns): from here and there if all are in memory, else the first."""
    most = _STRETCHES * _STRETCH_ROWS
    if isinstance(source, StreamSource | CodedSource) or source.numbers(names).rows <= most:
        table = np.column_stack(_head(source, names, most))
    else:
        columns = source.numbers(names)
        starts = np.linspace(0, columns.rows - _STRETCH_ROWS, _STRETCHES).astype(int).tolist()
        table = np.vstack([np.column_stack(columns.read(start, start + _STRETCH_ROWS)) for start in starts])
    return np.asarray(table[np.isfinite(table.astype(np.float64)).all(axis=1)], dtype=np.float64)


def _correlations(moments: MomentsRecord, names: Sequence[str], variables: Sequence[str]) -> Outside:
    spread = np.sqrt(np.diag(moments.scatter))
    spread[spread == 0] = np.inf
    found = (moments.scatter / np.outer(spread, spread))[: len(names), len(names) :]
    return Outside(tuple(names), tuple(variables), found, moments.n)
