"""Times of rows as whole numbers of steps: whole numbers themselves, or dates on equal steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alldags.data.columns import Column
from alldags.errors import DataError
from alldags.typing import BoolArray, FloatArray, IntArray
from alldags.wording import option

_MONTHS = {1: ("month", 12), 3: ("quarter", 4), 12: ("year", 1)}
_DAYS = {1: ("day", 7), 7: ("week", 52)}
_DAY = 86_400_000_000  # microseconds
_LARGEST = 2.0**53


@dataclass(frozen=True, eq=False)
class Clock:
    """When rows were seen.

    Parameters
    ----------
    step
        Number of the step of each row, from the first of all, shape (rows,).
    word
        What a step is called.
    period
        Number of steps after which seasons come again; None if that is not known.
    phase
        Place of step 0 in its period.
    """

    step: IntArray
    word: str = "step"
    period: int | None = None
    phase: int = 0

    def season(self, rows: IntArray, period: int, number: int) -> FloatArray:
        """Return in which of some rows it is so many steps after the beginning of a period, shape (rows,)."""
        return np.asarray((self.step[rows] + self.phase) % period == number, dtype=np.float64)


def read_clock(values: Column, name: str) -> Clock:
    """Read the times of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.clock import read_clock
    >>> read_clock(np.array([2004, 2000, 2002]), "year").step.tolist()
    [2, 0, 1]
    >>> months = read_clock(np.array(["2021-11-01", "2021-12-01", "2022-02-01"], dtype="datetime64[D]"), "month")
    >>> months.step.tolist(), months.word, months.period
    ([0, 1, 3], 'month', 12)
    """
    if _has_gaps(values):
        raise without_time(name)
    dates = _dates(values)
    if dates is not None:
        return _from_dates(dates)
    numbers = _whole(values, name)
    return Clock(*_stepped(numbers))


def _has_gaps(values: Column) -> bool:
    if values.dtype.kind in "iub":
        return False
    return any(value is None or value != value or value == "" for value in values.tolist())  # noqa: PLR0124  - NaN


def _dates(values: Column) -> Column | None:
    """Return dates and times as such; None if they are none."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    if values.dtype.kind == "O" and hasattr(values[0], "isoformat"):
        return np.array([np.datetime64(value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value, "us")
                         for value in values])  # fmt: skip
    if values.dtype.kind in "OU" and isinstance(values[0], str):
        try:
            return np.array([np.datetime64(value, "us") for value in values.tolist()])
        except ValueError:
            return None
    return None


def _whole(values: Column, name: str) -> IntArray:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all() or (numbers != np.round(numbers)).any() or np.abs(numbers).max() > _LARGEST:
        raise DataError(
            f"{option('time', name)} must have whole numbers or dates, such as 1, 2, 3 or 2024-01-31: rows are a step "
            "apart if their times are, so that they have to lie on a grid; number the steps"
        )
    return numbers.astype(np.int64)


def _stepped(numbers: IntArray) -> tuple[IntArray]:
    """Return numbers of steps from the first, with the greatest common divisor of all differences as the step."""
    apart = np.diff(np.unique(numbers))
    step = int(np.gcd.reduce(apart)) if len(apart) else 1
    return ((numbers - numbers.min()) // step,)


def _from_dates(dates: Column) -> Clock:
    """Return the clock of dates: months if all lie on one day of the month (or its last), else days or less."""
    months = dates.astype("datetime64[M]").astype(np.int64)
    inside = dates - dates.astype("datetime64[M]")
    last = (dates.astype("datetime64[M]") + 1).astype("datetime64[us]") - dates
    if len(np.unique(months)) > 1 and (_same(inside) or _same(last)):
        return _calendar(months)
    since = dates.astype(np.int64)
    (step,) = _stepped(since)
    width = int(np.gcd.reduce(np.diff(np.unique(since)))) if len(np.unique(since)) > 1 else _DAY
    word, period = _DAYS.get(width // _DAY, ("step", None)) if width % _DAY == 0 else ("step", None)
    return Clock(step, word, period, int(since.min() // _DAY) % 7 if period == 7 else 0)


def _same(values: Column) -> bool:
    return bool((values == values[0]).all())


def _calendar(months: IntArray) -> Clock:
    (step,) = _stepped(months)
    width = int(np.gcd.reduce(np.diff(np.unique(months))))
    word, period = _MONTHS.get(width, ("step", None))
    phase = int(months.min() % 12) // width if period and period > 1 else 0
    return Clock(step, word, period if period and period > 1 else None, phase)


@dataclass(frozen=True, eq=False)
class Windows:
    """The rows that have their past.

    Parameters
    ----------
    order
        Places of all rows of the table in the order of units and times, shape (rows,); None if they are in it.
    at
        Places, in that order, of the rows that have all their lags, shape (usable,).
    first
        Place, in that order, of the first usable row of the same unit, shape (usable,).
    units
        Number of each usable row's unit, shape (usable,).
    times
        Step of each usable row, shape (usable,).
    """

    order: IntArray | None
    at: IntArray
    first: IntArray
    units: IntArray
    times: IntArray

    @property
    def by_waves(self) -> tuple[IntArray, IntArray]:
        """Units that were seen at the same times, rows of each without break: their number, and that of their rows."""
        start = np.unique(self.units, return_index=True)[1]
        both = np.column_stack([self.times[start], self.per_unit])
        found, counts = np.unique(both, axis=0, return_counts=True)
        return counts, found[:, 1]

    @property
    def per_unit(self) -> IntArray:
        """Number of usable rows of each unit that has any."""
        return np.unique(self.units, return_counts=True)[1]


def windows(clock: Clock, units: IntArray | None, lags: int, *, unbroken: bool = False) -> Windows:
    """Return the rows whose last `lags` steps are there, of the same unit.

    With `unbroken` only those of the first unbroken run of each unit.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.clock import Clock, windows
    >>> windows(Clock(np.array([0, 1, 2, 4, 5, 0, 1])), np.array([0, 0, 0, 0, 0, 1, 1]), 1).at.tolist()
    [1, 2, 4, 6]
    """
    unit = np.zeros(len(clock.step), dtype=np.int64) if units is None else units
    order: IntArray | None = np.lexsort((clock.step, unit))
    assert order is not None
    time, unit = clock.step[order], unit[order]
    _check_once(time, unit, order)
    if (order == np.arange(len(order))).all():
        order = None
    usable = np.flatnonzero(_usable(time, unit, lags))
    if unbroken:
        usable = usable[_in_first_run(usable, unit[usable])]
    starts = np.unique(unit[usable], return_index=True, return_inverse=True)
    return Windows(order, usable, usable[starts[1]][starts[2]], unit[usable], time[usable])


def _usable(time: IntArray, unit: IntArray, lags: int) -> BoolArray:
    found = np.ones(len(time), dtype=bool)
    found[:lags] = False
    for lag in range(1, lags + 1):
        found[lag:] &= (unit[lag:] == unit[:-lag]) & (time[lag:] == time[:-lag] + lag)
    return found


def _in_first_run(usable: IntArray, unit: IntArray) -> BoolArray:
    """Return which usable rows follow each other without break from the first of their unit."""
    rank = np.arange(len(usable)) - np.searchsorted(unit, unit)
    return np.asarray(usable - rank == usable[np.searchsorted(unit, unit)])


def _check_once(time: IntArray, unit: IntArray, order: IntArray) -> None:
    twice = np.flatnonzero((time[1:] == time[:-1]) & (unit[1:] == unit[:-1]))
    if len(twice):
        rows = sorted(int(order[twice[0] + i]) + 1 for i in (0, 1))
        raise same_time(f"rows {rows[0]:,} and {rows[1]:,}")


def same_time(rows: str) -> DataError:
    """Return the error that some rows are of the same unit and step."""
    return DataError(
        f"{rows} have the same time (and unit): a series has one row at each step; say which rows belong together with "
        f"{option('unit')}, or add up or average rows of the same step"
    )


def without_time(name: str) -> DataError:
    """Return the error that the time of some rows is not known."""
    return DataError(f"{option('time', name)} has rows without a time; leave these rows out")


def unit_numbers(labels: Sequence[Any], name: str) -> IntArray:
    """Return the number of each row's unit, in the order in which units appear, shape (rows,)."""
    known: dict[Any, int] = {}
    found = np.empty(len(labels), dtype=np.int64)
    for place, label in enumerate(labels):
        if label is None or label != label or label == "":  # noqa: PLR0124  - NaN
            raise DataError(f"{option('unit', name)}: row {place + 1:,} has no unit; leave it out")
        found[place] = known.setdefault(label, len(known))
    return found
