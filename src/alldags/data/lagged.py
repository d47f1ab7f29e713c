"""A table with the past of its columns beside them, as a source: ``y[-1]`` is ``y`` one step earlier, of the same unit.

Nothing is copied: a row with its past is a place in the order of units and times, and what is read of it lies at most
so many rows before. Rows after a gap, and first rows of a unit, are left out until their past is there; the border
between two files is none. Rows of files must come in the order of units and times, those of a table in memory need not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.data.accumulate import checked_moments
from alldags.data.bad_values import Tally, tally_columns
from alldags.data.clock import Clock, Windows
from alldags.data.columns import Column, Columns, Reader, check_rows, choose_names
from alldags.data.record import MomentsRecord
from alldags.steps import at, past
from alldags.typing import IntArray

if TYPE_CHECKING:
    from alldags.data.source import Source

TREND = "trend"
SEASON = "season"
FIRST = " at first"  # of a unit: what its columns of the past were in its first row


@dataclass(frozen=True, eq=False)
class LaggedSource:
    """A table with the past of its columns.

    Parameters
    ----------
    base
        The table; its rows can be read again, in the same order.
    clock
        When its rows were seen.
    windows
        Its rows that have their past.
    lags
        Number of steps back.
    period
        Of seasons; 0 for none.
    """

    base: Source
    clock: Clock
    windows: Windows
    lags: int
    period: int = 0
    _whole: dict[str, Column] = field(default_factory=dict, init=False, repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the table was opened."""
        return self.base.notes

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: those of the table."""
        return self.base.columns

    @property
    def rows(self) -> int:
        """Number of rows that have their past."""
        return len(self.windows.at)

    @cached_property
    def made(self) -> tuple[str, ...]:
        """Names of the columns that the clock gives."""
        return (TREND, *(f"{SEASON} {number + 1}" for number in range(1, self.period)))

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,
        n_jobs: int = 1,
        progress: bool = False,  # noqa: ARG002  - rows of files are read in turn
    ) -> MomentsRecord:
        return checked_moments(self.numbers(variables), drop_missing=drop_missing, n_jobs=n_jobs)

    def tally(self, variables: Iterable[str]) -> Tally:
        return tally_columns(self.numbers(variables))

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        chosen = tuple(self.columns if variables is None else variables)
        check_rows(self.rows, " that have their past")
        named = list(dict.fromkeys(_home(name) for name in chosen if not self._is_made(name)))
        inner = self.base.numbers(choose_names(self.base.columns, named)) if named else None
        together = partial(self._read, chosen, inner)
        return Columns(chosen, self.rows, tuple(partial(self._read_one, name, inner) for name in chosen), together)

    def labels(self, name: str) -> Reader:
        choose_names(self.base.columns, [_home(name)])
        return partial(self._label, name, self.base.labels(_home(name)))

    # -- reading -------------------------------------------------------------------------------------------------------

    def _is_made(self, name: str) -> bool:
        return name in self.made and name not in self.base.columns

    def _read(self, names: tuple[str, ...], inner: Columns | None, start: int, stop: int) -> list[Column]:
        if self.windows.order is not None or inner is None:
            return [self._read_one(name, inner, start, stop) for name in names]
        low, high = self._range(start, stop, names)
        block = dict(zip(inner.names, inner.read(low, high), strict=True))
        return [self._picked(name, block.get(_home(name)), low, start, stop) for name in names]

    def _read_one(self, name: str, inner: Columns | None, start: int, stop: int) -> Column:
        if self._is_made(name) or inner is None:
            return self._of_clock(name, self._places(TREND, start, stop))
        reader = inner.readers[inner.names.index(_home(name))]
        return self._gathered(name, reader, start, stop)

    def _label(self, name: str, reader: Reader, start: int, stop: int) -> Column:
        return self._gathered(name, reader, start, stop, key=f"\0{name}")

    def _gathered(self, name: str, reader: Reader, start: int, stop: int, key: str = "") -> Column:
        """Return some rows of a column: a range of the table, or any of its rows if they are not in order."""
        if self.windows.order is not None:
            home = key or _home(name)
            if home not in self._whole:
                self._whole[home] = np.asarray(reader(0, len(self.clock.step)))
            return np.asarray(self._whole[home][self.windows.order[self._places(name, start, stop)]])
        low, high = self._range(start, stop, (name,))
        return self._picked(name, reader(low, high), low, start, stop)

    def _picked(self, name: str, block: Column | None, low: int, start: int, stop: int) -> Column:
        if block is None:
            return self._of_clock(name, self._places(name, start, stop))
        return np.asarray(np.asarray(block)[self._places(name, start, stop) - low])

    def _places(self, name: str, start: int, stop: int) -> IntArray:
        """Return where a column's values of some usable rows lie in the order of units and times."""
        plain = name.removesuffix(FIRST)
        rows = self.windows.at if plain == name else self.windows.first
        return np.asarray(rows[start:stop] - at(plain).lag)

    def _range(self, start: int, stop: int, names: Iterable[str]) -> tuple[int, int]:
        """Return the rows of the table, in order, that some usable rows and their past lie in."""
        first = any(name.endswith(FIRST) for name in names)
        low = (self.windows.first if first else self.windows.at)[start]
        return int(low) - self.lags, int(self.windows.at[min(stop, len(self.windows.at)) - 1]) + 1

    def _of_clock(self, name: str, places: IntArray) -> Column:
        rows = places if self.windows.order is None else self.windows.order[places]
        if name == TREND:
            return np.asarray(self.clock.step[rows], dtype=np.float64)
        return self.clock.season(rows, self.period, int(name.removeprefix(SEASON)) - 1)


def _home(name: str) -> str:
    """Return the column of the table that a column with its past is read from."""
    return at(name.removesuffix(FIRST)).name


def first_columns(variables: Iterable[str], lags: int) -> tuple[str, ...]:
    """Return the columns of what was before the first row of each unit."""
    return tuple(past(name, lag) + FIRST for lag in range(1, lags + 1) for name in variables)


class Lagged:
    """The way in for tables that were opened with their past."""

    @staticmethod
    def takes(table: Any) -> bool:
        """Is this such a table?"""
        return isinstance(table, LaggedSource)

    def __call__(self, table: LaggedSource, names: Any = None) -> LaggedSource:
        """Return the table: it is open."""
        del names
        return table
