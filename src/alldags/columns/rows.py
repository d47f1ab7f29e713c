"""`Rows`: the rows that columns are made from, in batches that are the same on every pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from alldags.columns.base import RowValues
from alldags.data.batches import RowTable
from alldags.typing import FloatArray, IntArray

FOLDS = 5
_FINE = 1e4  # steps per standard deviation in which values are told apart
_MIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of the data that a row belongs to, for cross-fitting: by what is in it.

    Neither the order of rows or columns, nor names, nor units matter; equal rows are in the same part.

    Parameters
    ----------
    center, scale
        Mean and standard deviation of each variable that is looked at.
    """

    center: Mapping[str, float]
    scale: Mapping[str, float]

    def of(self, values: Mapping[str, FloatArray]) -> IntArray:
        """Return the part of each row, shape (rows,)."""
        with np.errstate(over="ignore"):
            total = sum(_mixed((values[name] - self.center[name]) / self.scale[name]) for name in self.center)
        return np.asarray((np.asarray(total) >> np.uint64(11)) % np.uint64(FOLDS), dtype=np.int64)


def _mixed(values: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return numbers without pattern, equal where values are (splitmix64), shape (rows,)."""
    z = np.rint(np.clip(values, -1e12, 1e12) * _FINE).astype(np.int64).view(np.uint64) + _MIX[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX[1]
    z = (z ^ (z >> np.uint64(27))) * _MIX[2]
    return np.asarray(z ^ (z >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table.

    Parameters
    ----------
    table
        The rows.
    parts
        Parts of the data for cross-fitting; None if nothing is learned from them.
    """

    table: RowTable
    parts: Parts | None = None

    def batches(self) -> list[RowValues]:
        """Return the rows in batches."""
        return [RowValues(values, self.fold(values)) for values in self.table.values()]

    def fold(self, values: Mapping[str, FloatArray]) -> IntArray | None:
        """Return the part of the data that each of some rows belongs to, shape (rows,); None without parts."""
        return None if self.parts is None else self.parts.of(values)
