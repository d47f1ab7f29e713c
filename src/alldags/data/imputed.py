"""`Imputed`: tables that another program has completed."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from alldags.data.levels import Levels, code_words, common_levels, with_levels
from alldags.data.record import MomentsSource
from alldags.data.source import Source, open_source
from alldags.errors import DataError


class Imputed:
    """Several copies of one table, whose missing values were filled in by another program, each time differently.

    `alldags.fit` takes it in place of a table: the answer is the average over the copies, with equal weights.

    Parameters
    ----------
    tables
        Completed tables, as `alldags.fit` takes them, at least two; with the same columns and numbers of rows.

    Examples
    --------
    >>> import alldags as ad
    >>> first = {"x": [1.0, 2.0, 3.0, 4.5], "y": [1.1, 1.9, 3.2, 4.1]}
    >>> second = {"x": [1.0, 2.0, 3.0, 3.8], "y": [1.1, 1.9, 3.2, 4.1]}
    >>> ad.Imputed([first, second])
    Imputed(2 tables of 4 rows)
    """

    def __init__(self, tables: Sequence[Any]) -> None:
        if isinstance(tables, str | bytes) or not isinstance(tables, Sequence):
            raise DataError(f"Imputed needs a list of completed tables, got {type(tables).__name__}")
        if len(tables) < 2:
            raise DataError(f"Imputed needs at least 2 completed tables, got {len(tables)}; one alone is a table")
        self._sources = tuple(open_source(table) for table in tables)
        first = self._sources[0]
        self.rows = _rows(first)
        for place, source in enumerate(self._sources[1:], start=2):
            _check_alike(source, first, self.rows, place)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The tables, opened."""
        return self._sources

    def coded(
        self, variables: Sequence[str], declared: Sequence[str] = ()
    ) -> tuple[tuple[Source, ...], dict[str, Levels]]:
        """Return the tables with their words as numbers, and the levels, which are common to all."""
        found = [code_words(source, variables, declared)[1] for source in self._sources]
        names = dict.fromkeys(name for levels in found for name in levels)
        levels = {name: common_levels([one[name] for one in found if name in one]) for name in names}
        return tuple(with_levels(source, levels) for source in self._sources), levels

    def __len__(self) -> int:
        return len(self._sources)

    def __repr__(self) -> str:
        return f"Imputed({len(self)} tables of {self.rows:g} rows)"


def _check_alike(source: Source, first: Source, rows: float, place: int) -> None:
    differ = sorted(set(source.columns) ^ set(first.columns))
    if differ:
        raise DataError(f"Imputed: table {place} has other columns than the first: {', '.join(map(repr, differ))}")
    found = _rows(source)
    if found != rows:
        raise DataError(
            f"Imputed: table {place} has {found:g} rows, the first has {rows:g}; all must be copies of one table"
        )


def _rows(source: Source) -> float:
    """Return the number of rows: any column of numbers will do to count them."""
    if isinstance(source, MomentsSource):
        return source.moments().n
    for name in source.columns:
        with contextlib.suppress(DataError):
            return source.numbers([name]).rows
    raise DataError("Imputed: a table has no column of numbers")
