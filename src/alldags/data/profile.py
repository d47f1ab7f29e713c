"""`Profile`: what rows show and moments do not, collected in the same pass, merged as moments are.

Only what is nearly free: the extremes of every column (of an eighth of the rows, if there are very many); how many rows
have one that looks like a code for "missing", and how far the rest is from it; and, from the first rows of each part,
whether values are whole and rise from row to row.
Whether a column has two values, or is a permutation of the row numbers, follows from extremes and moments together.

Both ends of a column are kept alike: its smallest value, and the smallest of its negative, shape (2, m).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alldags.data.columns import Column
from alldags.typing import BoolArray, FloatArray

HEAD_ROWS = 256  # of a part of the table, looked at for what cannot be added up
_GLIMPSE = 8  # of these, which settle it for most columns
_WILD = 2.0  # times the variance of the first rows: a part with a cell that carries half of all squares has more
_SIGNS = np.array([[1.0], [-1.0]])
_ROUNDING = 1e-9
_FOLD = 16  # rows side by side: reductions over short rows are slow
_CODES = frozenset(sign * float(digit * count) for sign in (-1, 1) for digit in "789" for count in range(1, 7))


@dataclass(frozen=True, eq=False)
class Profile:
    """Extremes of m columns in the user's units, and what their first rows look like.

    Parameters
    ----------
    ends
        Smallest values, and minus the largest, shape (2, m).
    counts
        Rows that have them, where they look like a code such as -99, else 0; shape (2, m).
    rest
        Smallest of the other values, and minus the largest of the others, where there is such a code; shape (2, m).
    whole
        Whether the values looked at are whole numbers, shape (m,).
    rising
        Whether each of the values looked at is larger than the one before it, shape (m,).

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> seen = ad.Moments.from_table({"age": [30.0, -99.0, 50.0, -99.0]}).profile
    >>> seen.low.tolist(), seen.high.tolist(), seen.counts[0].tolist(), seen.rest[0].tolist()
    ([-99.0], [50.0], [2.0], [30.0])
    """

    ends: FloatArray
    counts: FloatArray
    rest: FloatArray
    whole: BoolArray
    rising: BoolArray

    @property
    def low(self) -> FloatArray:
        """Smallest values, shape (m,)."""
        return np.asarray(self.ends[0])

    @property
    def high(self) -> FloatArray:
        """Largest values, shape (m,)."""
        return np.asarray(-self.ends[1])

    def select(self, places: Sequence[int]) -> Profile:
        """Return the profile of these columns."""
        return Profile(
            self.ends[:, places], self.counts[:, places], self.rest[:, places], self.whole[places], self.rising[places]
        )

    def __add__(self, other: Profile) -> Profile:
        ends = np.minimum(self.ends, other.ends)
        counts = self.counts * (self.ends == ends) + other.counts * (other.ends == ends)
        rest = np.minimum(_others(self, ends), _others(other, ends))
        return Profile(ends, counts, rest, self.whole & other.whole, self.rising & other.rising)


def _others(profile: Profile, ends: FloatArray) -> FloatArray:
    """Return the smallest values of a part apart from these ends, shape (2, m)."""
    return np.where(profile.ends == ends, profile.rest, profile.ends)


def profile_of(
    block: Sequence[Column], ends: FloatArray, shift: FloatArray, variance: FloatArray, is_partial: bool
) -> Profile:
    """Return the profile of a part of a table.

    Parameters
    ----------
    block
        Its columns, looked at again only where an end looks like a code.
    ends
        Of the rows looked at, less `shift`, shape (2, m).
    shift
        Shape (m,).
    variance
        Of all rows of the part, shape (m,).
    is_partial
        Whether not all rows were looked at: columns that vary far more than in their first rows then are.
    """
    moved = _snapped(ends + _SIGNS * shift, shift)
    first = np.array([column[:HEAD_ROWS] for column in block], dtype=np.float64)
    if is_partial:
        for place in np.flatnonzero(~(variance <= _WILD * first.var(axis=1))).tolist():
            moved[:, place] = ends_of(np.asarray(block[place], dtype=np.float64)[None])[:, 0]
    counts, rest = np.zeros(ends.shape), np.full(ends.shape, np.inf)
    for side, row in enumerate(moved.tolist()):
        for place, end in enumerate(row):
            if end in _CODES:
                counts[side, place], rest[side, place] = _apart(block[place], end, float(_SIGNS[side, 0]))
    return Profile(moved, counts, rest, *_first_rows(first))


def ends_of(values: FloatArray) -> FloatArray:
    """Return the ends of columns, gaps apart, shape (m, rows) to (2, m)."""
    low, high = (f.reduce(values, axis=1, initial=sign * np.inf) for f, sign in ((np.fmin, 1), (np.fmax, -1)))
    return np.array([low, -high])


def ends_of_rows(values: FloatArray) -> FloatArray:
    """Return the ends of a table whose rows lie one after the other in memory, shape (rows, m) to (2, m)."""
    rows, m = values.shape
    even = rows - rows % _FOLD
    rest = ends_of(values[even:].T)
    if not even:
        return rest
    folded = values[:even].reshape(-1, _FOLD * m)
    both = np.fmin.reduce(folded, axis=0), np.fmax.reduce(folded, axis=0)
    return np.fmin(rest, ends_of(np.vstack([end.reshape(_FOLD, m) for end in both]).T))


def _apart(column: Column, end: float, sign: float) -> tuple[float, float]:
    """Return how many values are at an end, and the smallest (of the negative, if `sign` is -1) of the others."""
    values = sign * np.asarray(column, dtype=np.float64)
    others = values[values > end]
    at_end = float(np.count_nonzero(values == end))
    return at_end, float(others.min()) if others.size else np.inf


def _snapped(ends: FloatArray, shift: FloatArray) -> FloatArray:
    """Return ends with what a shift rounded off repaired, where they are whole numbers."""
    nearest = np.round(ends)
    return np.where(np.abs(ends - nearest) <= _ROUNDING * np.abs(shift), nearest, ends)


def _first_rows(first: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return which columns are whole, and which rise, in their first rows, shape (m, rows) to (m,) each."""
    glimpse = first[:, :_GLIMPSE]
    gaps = np.isnan(glimpse).any(axis=1)
    whole: BoolArray = np.asarray(gaps | (glimpse == np.floor(glimpse)).all(axis=1))
    rising: BoolArray = np.asarray(gaps | (np.diff(glimpse, axis=1) > 0).all(axis=1))
    for place in np.flatnonzero(whole | rising):
        seen = first[place][~np.isnan(first[place])]
        whole[place] = (seen == np.floor(seen)).all()
        rising[place] = (np.diff(seen) > 0).all()
    return whole, rising
