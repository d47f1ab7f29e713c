"""`Seen`: the table as it was read, kept for notes about likely mistakes; no number of an answer is made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from alldags.data.arrays import ArraySource, MappingSource
from alldags.data.columns import Columns
from alldags.data.files import FileSource
from alldags.data.frames import FrameSource
from alldags.data.levels import CodedSource, Levels
from alldags.data.record import MomentsRecord, MomentsSource
from alldags.data.source import Source
from alldags.errors import DataError
from alldags.typing import FloatArray

_IN_MEMORY = (
    ArraySource,
    MappingSource,
    FileSource,
    FrameSource,
    CodedSource,
)  # whose rows can be looked at here and there
_STRETCHES, _STRETCH_ROWS = 16, 1024  # of rows that are looked at of columns outside the graph
_MOST_OUTSIDE = 64  # such columns


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
    """

    moments: MomentsRecord
    outside: Outside | None = None
    levels: Mapping[str, Levels] = field(default_factory=dict)

    def place(self, name: str) -> int:
        """Return the position of a variable."""
        return self.moments.names.index(name)

    def ends(self, name: str) -> tuple[float, float] | None:
        """Return the smallest and the largest value of a variable; None if no rows were seen."""
        profile = self.moments.profile
        if profile is None:
            return None
        place = self.place(name)
        return float(profile.low[place]), float(profile.high[place])


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
    names = [name for name in names[:_MOST_OUTSIDE] if isinstance(source, _IN_MEMORY) and _is_numbers(source, name)]
    if not names:
        return None
    table = _some_rows(source.numbers([*names, *variables]))
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
    if not isinstance(source, _IN_MEMORY) or len(source.columns) < 3:
        return False
    rows = source.numbers([next(name for name in reversed(source.columns))]).rows if _last(source) else 0
    if not len(source.columns) - 1 <= rows <= len(source.columns):
        return False
    names = [name for name in source.columns if _is_numbers(source, name)]
    if len(names) != rows:
        return False
    table = np.column_stack(source.numbers(names).read(0, rows)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return bool(np.allclose(table, table.T, rtol=1e-6, atol=0.0) and (np.diag(table) > 0).all())


def _last(source: Source) -> bool:
    return _is_numbers(source, source.columns[-1])


def _is_numbers(source: Source, name: str) -> bool:
    try:
        source.numbers([name])
    except DataError:
        return False
    return True


def _some_rows(columns: Columns) -> FloatArray:
    """Return complete rows from here and there, all if they are few, shape (rows, columns)."""
    few = columns.rows <= _STRETCHES * _STRETCH_ROWS
    starts = [0] if few else np.linspace(0, columns.rows - _STRETCH_ROWS, _STRETCHES).astype(int).tolist()
    size = columns.rows if few else _STRETCH_ROWS
    parts = [np.column_stack(columns.read(start, start + size)).astype(np.float64) for start in starts]
    table = np.concatenate(parts)
    return np.asarray(table[np.isfinite(table).all(axis=1)])


def _correlations(moments: MomentsRecord, names: Sequence[str], variables: Sequence[str]) -> Outside:
    spread = np.sqrt(np.diag(moments.scatter))
    spread[spread == 0] = np.inf
    found = (moments.scatter / np.outer(spread, spread))[: len(names), len(names) :]
    return Outside(tuple(names), tuple(variables), found, moments.n)
