"""Rows of a table, read again and again, a batch at a time: what models that moments do not determine are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from alldags.data.columns import Columns
from alldags.typing import FloatArray

BATCH_ROWS = 8192  # rows of a batch: what is computed from one stays in the cache
_KEPT_VALUES = 2**24  # a table with so many values or fewer is converted once and kept (128 MB)


@dataclass(frozen=True)
class Marks:
    """Which columns of a table say something of its rows instead of being variables.

    Parameters
    ----------
    weight
        How much each row counts; None: all the same.
    effective
        Whether weights are those of a sample: rows then count as their effective number.
    was_set
        For each variable that was ever set from outside, a column that is 1 in the rows in which it was.
    cluster
        Number of each row's cluster; None: rows are independent.
    unseen
        For each variable that acts on nothing and is sometimes missing, a column that is 1 where it was filled in: such
        rows say nothing of it, but of all else.
    """

    weight: str | None = None
    effective: bool = False
    was_set: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None
    unseen: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RowTable:
    """Complete rows of named columns, the same and in the same order on every pass.

    Parameters
    ----------
    columns
        All columns that will be asked for; a row with a missing value in any of them is left out, and one that counts
        for nothing.
    marks
        Those of them that are about the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.batches import RowTable
    >>> from alldags.data.source import open_source
    >>> table = RowTable(open_source({"x": [1.0, np.nan, 3.0], "y": [0, 1, 1]}).numbers(["x", "y"]))
    >>> [batch.tolist() for batch in table.batches(["y", "x"])]
    [[[0.0, 1.0], [1.0, 3.0]]]
    """

    columns: Columns
    marks: Marks = Marks()

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[FloatArray]:
        """Yield the rows of some columns, shape (at most `size`, len(names)) each."""
        places = [self.columns.names.index(name) for name in names]
        for block in self._blocks(size):
            yield block[:, places]

    def values(self, size: int = BATCH_ROWS) -> Iterator[dict[str, FloatArray]]:
        """Yield all columns by name, shape (at most `size`,) each."""
        for block in self._blocks(size):
            yield dict(zip(self.columns.names, block.T, strict=True))

    def column(self, name: str) -> FloatArray:
        """Return one column, shape (rows,)."""
        return np.concatenate([batch[:, 0] for batch in self.batches([name])])

    @cached_property
    def count(self) -> int:
        """Number of complete rows."""
        return sum(map(len, self._blocks(BATCH_ROWS)))

    def _blocks(self, size: int) -> Iterator[FloatArray]:
        if self._kept is None:
            yield from self._read(size)
            return
        for start in range(0, len(self._kept), size):
            yield self._kept[start : start + size]

    @cached_property
    def _kept(self) -> FloatArray | None:
        """All complete rows, shape (rows, columns), if they are few enough to be kept."""
        if self.columns.rows * len(self.columns.names) > _KEPT_VALUES:
            return None
        return np.concatenate(list(self._read(BATCH_ROWS)))

    def _read(self, size: int) -> Iterator[FloatArray]:
        for start in range(0, self.columns.rows, size):
            block = np.column_stack(self.columns.read(start, min(self.columns.rows, start + size))).astype(np.float64)
            kept = ~np.isnan(block).any(axis=1)
            if self.marks.weight is not None:
                kept &= block[:, self.columns.names.index(self.marks.weight)] != 0.0
            yield block if kept.all() else block[kept]
