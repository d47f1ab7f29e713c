"""`Rows`: the rows that columns are made from, in batches that are the same on every pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.columns.base import RowValues
from alldags.data.batches import RowTable
from alldags.typing import IntArray

FOLDS = 5
_LOOKED_AT = 20_000  # rows, at most, from which knots and directions are learned


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table.

    Parameters
    ----------
    table
        The rows.
    seed
        Of the parts of the data for cross-fitting; None if nothing is learned from them.
    """

    table: RowTable
    seed: tuple[int, ...] | None = None

    def batches(self, every: int = 1) -> list[RowValues]:
        """Return the rows, or every so-many-th of them, in batches."""
        rng = None if self.seed is None else np.random.default_rng(self.seed)
        found, start = [], 0
        for values in self.table.values():
            count = len(next(iter(values.values())))
            fold = None if rng is None else rng.integers(FOLDS, size=count)
            kept = slice(-start % every, None, every)
            part = values if every == 1 else {name: column[kept] for name, column in values.items()}
            found.append(RowValues(part, None if fold is None else fold[kept]))
            start += count
        return found

    def folds(self) -> IntArray:
        """Return the part of the data that each row belongs to, shape (rows,)."""
        return np.concatenate([part.fold for part in self.batches() if part.fold is not None])

    def sample(self) -> RowValues:
        """Return all rows, or an even part of them if there are many, as one batch."""
        every = max(1, -(-self.table.columns.rows // _LOOKED_AT))
        parts = self.batches(every)
        values = {name: np.concatenate([part.values[name] for part in parts]) for name in self.table.columns.names}
        folds = [part.fold for part in parts if part.fold is not None]
        return RowValues(values, np.concatenate(folds) if folds else None)
