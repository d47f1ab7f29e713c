"""`ColumnLook`: what one column looks like, decided once: yes/no, constant, category, identifier, ...

Moments and ends are enough for most of it. A column has two values, `low` and `high`, iff its variance is
``(mean - low) (high - mean)``: no column between the same ends varies more. Where rows are at hand, they decide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alldags.data.batches import RowTable
from alldags.data.levels import Levels
from alldags.data.profile import Profile
from alldags.data.record import MomentsRecord
from alldags.typing import BoolArray, FloatArray

_ROUNDING = 1e-29  # of the squared mean: what rounding of the values leaves of the variance of a constant column
_RELATIVE, _ABSOLUTE = 1e-9, 1e-13  # of a variance that two values explain
_GUESSED = ((0.0, 1.0), (1.0, 2.0))  # two values that are tried where no ends are known
_FEW_ROWS = 20  # below, one cell may weigh much, and rows may happen to rise
_SKEWED_SPREAD, _SKEWED_ENDS = 0.6, 3.0  # standard deviation over the mean; farthest value above over that below
_LARGEST_CODE = 12.0  # of a level
_KEPT = 3  # values: enough to know that there are more than two
_ID = re.compile(r"(?i:(^|[_. -])(id|ids|uuid|guid|rowid|rownr))$|[a-z0-9]I[dD]$")


@dataclass(frozen=True, slots=True)
class ColumnLook:
    """What a column looks like; whatever was not looked at is nan, None or False.

    Parameters
    ----------
    name
        Of the column.
    rows, mean, variance
        Its moments, in the user's units.
    ends
        Its smallest and largest value.
    values
        Its different values, in order and at most three, where rows were read for it.
    levels
        Those of a column of words or truth values.
    codes
        Values that look like codes for missing ones, such as -99, with the number of their rows.
    is_whole, is_rising
        Whether the rows looked at have whole numbers, and rise.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.data.look import look_at
    >>> moments = ad.Moments.from_table({"dead": [0, 1, 0, 0], "age": [30.0, 41.0, 38.0, 30.5]})
    >>> look_at(moments, "dead").is_yes_no, look_at(moments, "age").two_values
    (True, None)
    """

    name: str
    rows: float = math.nan
    mean: float = math.nan
    variance: float = math.nan
    ends: tuple[float, float] | None = None
    values: tuple[float, ...] | None = None
    levels: Levels | None = None
    codes: tuple[tuple[float, int], ...] = ()
    is_whole: bool = False
    is_rising: bool = False

    @property
    def two_values(self) -> tuple[float, float] | None:
        """The two values that it has; None if there are more, or fewer."""
        if self.values is not None:
            return (self.values[0], self.values[1]) if len(self.values) == 2 else None
        for low, high in _GUESSED if self.ends is None else (self.ends,):
            most = (self.mean - low) * (high - self.mean)
            close = math.isclose(self.variance, most, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE * (high - low) ** 2)
            if low < self.mean < high and close:
                return low, high
        return None

    @property
    def is_yes_no(self) -> bool:
        """Whether its values are 0 and 1."""
        return self.two_values == (0.0, 1.0) if self.values is None else set(self.values) <= {0.0, 1.0}

    @property
    def can_bend(self) -> bool:
        """Whether it has more than two values: the square of one with two is a line."""
        return self.two_values is None if self.values is None else len(self.values) > 2

    @property
    def is_skewed(self) -> bool:
        """Whether it has no negative value, and a long tail above: a mean that hangs on few rows, as that of costs."""
        if self.ends is None or self.ends[0] < 0.0 or self.rows < _FEW_ROWS or not self.can_bend:
            return False
        above, below = self.ends[1] - self.mean, self.mean - self.ends[0]
        return math.sqrt(self.variance) > _SKEWED_SPREAD * self.mean and above > _SKEWED_ENDS * below

    @property
    def may_be_codes(self) -> bool:
        """Whether it has three or more small whole numbers, as codes of levels have, and counts and grades, too."""
        if self.ends is None or not self.is_whole or self.rows < _FEW_ROWS or not self.can_bend:
            return False
        return self.ends[0] >= 0.0 and self.ends[1] <= _LARGEST_CODE

    @property
    def is_category(self) -> bool:
        """Whether it has more than two words."""
        return self.levels is not None and self.levels.is_category

    @property
    def words(self) -> tuple[str, str] | None:
        """What 0 and 1 stand for, in a column of two words or truth values."""
        return None if self.levels is None or self.is_category else (self.levels.words[0], self.levels.words[1])

    @property
    def is_identifier(self) -> bool:
        """Whether it has row numbers, rises with them, or has whole numbers and the name of an identifier."""
        if self.ends is None or self.rows < _FEW_ROWS or not self.is_whole:
            return False
        span = self.ends[1] - self.ends[0]
        # n whole numbers in a row, in any order, have this variance; nothing else between the same ends has by chance
        counted = span == self.rows - 1 and math.isclose(self.variance, (self.rows**2 - 1) / 12, rel_tol=_RELATIVE)
        return counted or self.is_rising or (span > 1 and _ID.search(self.name) is not None)

    @property
    def heaviest(self) -> tuple[float, float]:
        """The value farthest from the mean, and its share of the sum of squares; 0 where rows or values are few."""
        if self.ends is None or self.rows < _FEW_ROWS or not self.variance > 0 or not self.can_bend:
            return math.nan, 0.0
        value = max(self.ends, key=lambda end: abs(end - self.mean))
        return value, (value - self.mean) ** 2 / (self.rows * self.variance)


def look_at(moments: MomentsRecord, name: str, levels: Levels | None = None) -> ColumnLook:
    """Return what the moments of a table, and the profile of its rows, show of a column.

    Parameters
    ----------
    moments
        In the user's units.
    name
        Of the column.
    levels
        Of a column of words or truth values.
    """
    place, n, profile = moments.index[name], moments.n, moments.profile
    mean, variance = float(moments.mean[place]), float(moments.scatter[place, place]) / n
    if profile is None:
        return ColumnLook(name, n, mean, variance, levels=levels)
    ends = float(profile.low[place]), float(profile.high[place])
    seen = bool(profile.whole[place]), bool(profile.rising[place])
    return ColumnLook(name, n, mean, variance, ends, None, levels, _codes(profile, place), *seen)


def look_at_rows(table: RowTable, names: Sequence[str]) -> dict[str, ColumnLook]:
    """Return what rows show of some columns: one pass, which ends once all have more than two values.

    Parameters
    ----------
    table
        The rows.
    names
        Of the columns.
    """
    found: dict[str, tuple[float, ...]] = dict.fromkeys(names, ())
    for block in table.batches(names):
        for name, column in zip(names, block.T, strict=True):
            if len(found[name]) < _KEPT:
                found[name] = _different((*found[name], *_different(column)))
        if all(len(values) == _KEPT for values in found.values()):
            break
    return {name: ColumnLook(name, values=values) for name, values in found.items()}


def look_at_values(values: Any, name: str = "") -> ColumnLook:
    """Return what the values of a column show of it, shape (rows,).

    Examples
    --------
    >>> from alldags.data.look import look_at_values
    >>> look_at_values([1.0, 2.0, 1.0]).two_values, look_at_values([0, 1, 2]).can_bend
    ((1.0, 2.0), True)
    """
    return ColumnLook(name, values=_different(values))


def constant_columns(total: FloatArray, rows: float, mean: FloatArray) -> BoolArray:
    """Return which columns do not vary beyond rounding, shape (m,), by their sums of squares and means, (m,) each."""
    with np.errstate(over="ignore"):  # beside a mean of 1e200 all that a number can hold is rounding
        return np.asarray(total <= _ROUNDING * rows * mean**2)


def _different(values: Any) -> tuple[float, ...]:
    """Return the different values of a column, in order; one between the ends stands for all others."""
    column = np.asarray(values, dtype=np.float64)
    if not column.size:
        return ()
    low, high = float(column.min()), float(column.max())
    between = column[(column != low) & (column != high)]
    return tuple(sorted({low, high, *between[:1].tolist()}))


def _codes(profile: Profile, place: int) -> tuple[tuple[float, int], ...]:
    """Return the values such as -99 that are apart from all others, with the number of their rows."""
    found = []
    for side, sign in ((0, 1.0), (1, -1.0)):
        end, rest, other = profile.ends[side, place], profile.rest[side, place], -profile.ends[1 - side, place]
        count = int(profile.counts[side, place])
        if count and _is_apart(sign * end, end, rest, other, side):
            found.append((float(sign * end), count))
    return tuple(found)


def _is_apart(code: float, end: float, rest: float, other: float, side: int) -> bool:
    """Tell whether a code is away from the other values, which go from `rest` to `other`."""
    if not math.isfinite(rest) or rest >= other:
        return False  # two values, or one
    if side == 0 and code < 0 <= rest:
        return bool(code <= -9 or rest - end > other - rest)
    return bool(abs(code) >= 77 and rest - end > other - rest)
