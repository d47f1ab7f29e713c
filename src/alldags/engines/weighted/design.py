"""`Design`: the rows of one node, as often as they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alldags.families.base import Batch, ChainRows, Draws, Family, Point
from alldags.families.canonical import Canonical
from alldags.families.quadratic import Quadratic
from alldags.nodes.rows import NodeRows
from alldags.typing import FloatArray

_KEPT_VALUES = 2**24  # standardised columns are kept in memory up to so many values


@dataclass(frozen=True, eq=False)
class Design:
    """The rows of one node.

    Parameters
    ----------
    rows
        Of the child.
    kept
        The same in memory; None if they are too many.
    """

    rows: NodeRows
    kept: tuple[Batch, ...] | None = None

    @classmethod
    def of(cls, rows: NodeRows) -> Design:
        """Return the design; small ones are kept in memory."""
        small = rows.table.columns.rows * (len(rows.columns) + 1) <= _KEPT_VALUES
        return cls(rows, tuple(rows.batches()) if small else None)

    @property
    def family(self) -> Family:
        """The child's family."""
        return self.rows.family

    @property
    def child(self) -> str:
        """Name of the child."""
        return self.rows.child

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, k of them."""
        return self.rows.names

    @property
    def count(self) -> float:
        """Number of rows."""
        return sum(batch.count for batch in self.batches())

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.rows.table.marks.weight is not None

    def batches(self) -> Sequence[Batch]:
        """Return the rows, batch by batch."""
        return tuple(self.rows.batches()) if self.kept is None else self.kept

    def totals(self) -> tuple[float, float]:
        """Return the sum of the child, and of what its mean is in proportion to without causes."""
        total, weight = 0.0, 0.0
        for batch in self.batches():
            total += float(batch.weighted(batch.child).sum())
            weight += batch.count if batch.offset is None else float(batch.weighted(np.exp(batch.offset)).sum())
        return total, weight

    def quadratic(self, point: Point, root: FloatArray | None = None) -> Quadratic:
        """Return the log-likelihood around a point."""
        return self.family.quadratic(self.names, self.batches(), point, root)

    def log_likelihoods(self, draws: Draws) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,), in one pass over the rows."""
        return self.family.log_likelihoods(self.batches(), draws)

    def squared_residuals(self, draws: Draws) -> float:
        """Return the sum of squared residuals of one draw over their variance (Pearson)."""
        assert isinstance(self.family, Canonical)
        square = 0.0
        for batch in self.batches():
            mean = self.family.mean(batch.predictor(draws.coefficients)[:, 0] + draws.intercept)
            square += float(batch.weighted((batch.child - mean) ** 2 / self.family.variance(mean)).sum())
        return square

    def chain_rows(self) -> ChainRows:
        """Return all rows together, as samplers take them."""
        batches = self.batches()
        columns = np.concatenate([batch.columns for batch in batches])
        offsets = [np.zeros(len(batch.child)) if batch.offset is None else batch.offset for batch in batches]
        child = np.concatenate([batch.child for batch in batches])
        return ChainRows(np.column_stack([np.ones(len(columns)), columns]), child, np.concatenate(offsets))
