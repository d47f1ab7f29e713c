"""Which rows a child's regression is made of, how much each counts, and its columns in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.columns.base import DesignColumns, RowValues
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.families.base import Batch, Family
from alldags.nodes.problem import Origin
from alldags.nodes.stacked import names_on
from alldags.typing import BoolArray, FloatArray

_LOOKED_AT = 20_000  # rows, at most, from which knots and directions are learned


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The rows in which one child was not set from outside, each with its weight.

    Parameters
    ----------
    child
        Its name.
    rows
        Of the table.
    """

    child: str
    rows: Rows

    @property
    def table(self) -> RowTable:
        """The rows of all variables."""
        return self.rows.table

    def batches(self) -> Iterator[tuple[RowValues, FloatArray | None]]:
        """Yield the rows in batches, and how much each row counts, shape (rows,); None: each as one."""
        for rows in self.rows.batches():
            kept = self._kept(rows)
            own = rows if kept is None else rows.taken(kept)
            if own.count:
                yield own, self._weight(own)

    def sample(self) -> RowValues:
        """Return all rows, or an even part of them if there are many, as one batch."""
        every = max(1, -(-self.table.columns.rows // _LOOKED_AT))
        parts = [rows for rows, _ in self.batches()]
        values = {name: np.concatenate([one.values[name] for one in parts])[::every] for name in parts[0].values}
        folds = [one.fold for one in parts if one.fold is not None]
        return RowValues(values, np.concatenate(folds)[::every] if folds else None)

    def _kept(self, rows: RowValues) -> BoolArray | None:
        """Return in which rows the child was neither set nor filled in; None for all."""
        marks = self.table.marks.was_set.get(self.child), self.table.marks.unseen.get(self.child)
        known = [rows.values[mark] == 0.0 for mark in marks if mark is not None]
        return np.logical_and.reduce(known) if known else None

    def _weight(self, rows: RowValues) -> FloatArray | None:
        name = self.table.marks.weight
        return None if name is None else np.asarray(rows.values[name] * self._factor)

    @cached_property
    def _factor(self) -> float:
        """What weights are multiplied by: rows of a sample count as their effective number."""
        marks = self.table.marks
        if marks.weight is None or not marks.effective:
            return 1.0
        total, squares = 0.0, 0.0
        for rows in self.rows.batches():
            kept = self._kept(rows)
            weight = rows.values[marks.weight] if kept is None else rows.values[marks.weight][kept]
            total, squares = total + float(weight.sum()), squares + float(weight @ weight)
        return total / squares


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Rows of one child, with its columns.

    Parameters
    ----------
    counted
        The child's rows, and how much each counts.
    family
        How the child depends on its predictor.
    columns
        What it is regressed on.
    origin, unit
        Mean of the child, and user's units per working unit; used where the mean is a line, other families have the
        child as it is.
    """

    counted: CountedRows
    family: Family
    columns: DesignColumns
    origin: float = 0.0
    unit: float = 1.0

    @property
    def child(self) -> str:
        """Name of the child."""
        return self.counted.child

    @property
    def table(self) -> RowTable:
        """The rows of all variables."""
        return self.counted.table

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients: of the columns, each once for each predictor if there are several."""
        count, columns = self.family.predictors, self.columns.names
        return columns if count == 1 else names_on(columns, predictor_names(count))

    @property
    def center(self) -> Origin | None:
        """Means of child and columns in working units; None where the mean is no line."""
        if not self.family.is_line:
            return None
        return Origin(self.origin / self.unit, self.columns.center / self.columns.scale)

    def batches(self) -> Iterator[Batch]:
        """Yield the rows."""
        for rows, weight in self.counted.batches():
            child = np.ascontiguousarray(rows.values[self.child])
            if self.family.is_line:
                child = (child - self.origin) / self.unit
            offset = None if self.family.offset is None else rows.values[self.family.offset]
            read = tuple(rows.values[name] for name in self.family.reads)
            yield Batch(self.columns.of(rows), child, offset, weight, read)


def predictor_names(count: int) -> tuple[str, ...]:
    """Return what several predictors of one child are called: numbers."""
    return tuple(map(str, range(1, count + 1)))
