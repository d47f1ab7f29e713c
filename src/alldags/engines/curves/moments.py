"""Cross-products of a child and its derived columns, for each arm of a yes/no treatment: the second of two passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.columns.base import Column, RowValues, matrix_of
from alldags.typing import FloatArray, IntArray

_ALIKE = 1.0 - 1e-9  # correlation of columns of which one is enough
_FLAT = 1e-9  # of a column's size, below which it does not vary


@dataclass(frozen=True, eq=False)
class ArmMoments:
    """Counts, means and centred cross-products of k columns and, last, the child; one of each for A arms.

    Parameters
    ----------
    rows
        Shape (A,).
    mean
        Shape (A, k + 1).
    scatter
        Centred within the arm, shape (A, k + 1, k + 1).
    """

    rows: FloatArray
    mean: FloatArray
    scatter: FloatArray

    def __add__(self, other: ArmMoments) -> ArmMoments:
        rows = self.rows + other.rows
        share = np.divide(other.rows, rows, out=np.zeros_like(rows), where=rows > 0)
        gap = other.mean - self.mean
        between = (self.rows * share)[:, None, None] * (gap[:, :, None] * gap[:, None, :])
        return ArmMoments(rows, self.mean + share[:, None] * gap, self.scatter + other.scatter + between)

    @cached_property
    def pooled(self) -> tuple[FloatArray, FloatArray]:
        """Mean (k + 1,) and centred cross-products (k + 1, k + 1) of all rows together."""
        mean = self.rows @ self.mean / self.rows.sum()
        gap = self.mean - mean
        return mean, self.scatter.sum(axis=0) + np.einsum("a,ai,aj->ij", self.rows, gap, gap)

    @property
    def scale(self) -> FloatArray:
        """Standard deviation over all rows, shape (k + 1,); 1 where a column does not vary."""
        mean, scatter = self.pooled
        sd = np.sqrt(np.maximum(np.diag(scatter), 0.0) / self.rows.sum())
        return np.where(sd > _FLAT * np.maximum(np.abs(mean), 1e-300), sd, 1.0)

    def distinct(self, first: Sequence[int] = ()) -> IntArray:
        """Return the places of columns that vary and are no copies of an earlier one; some come before all others."""
        mean, scatter = self.pooled
        sd = np.sqrt(np.maximum(np.diag(scatter), 0.0) / self.rows.sum())[:-1]
        varies = sd > _FLAT * np.maximum(np.abs(mean[:-1]), 1e-300)
        unit = np.where(varies, sd, 1.0) * np.sqrt(self.rows.sum())
        alike = np.abs(scatter[:-1, :-1] / np.outer(unit, unit)) > _ALIKE
        kept: list[int] = []
        for place in dict.fromkeys([*first, *range(len(varies))]):
            if varies[place] and not alike[place, kept].any():
                kept.append(place)
        return np.array(sorted(kept), dtype=np.int64)

    def chosen(self, places: IntArray) -> ArmMoments:
        """Return the moments of some columns and the child."""
        own = np.r_[places, self.mean.shape[1] - 1]
        return ArmMoments(self.rows, self.mean[:, own], self.scatter[:, own[:, None], own])

    def standardised(self) -> ArmMoments:
        """Return the moments of all columns and the child in units of their standard deviation, about their means."""
        mean, _ = self.pooled
        scale = self.scale
        return ArmMoments(self.rows, (self.mean - mean) / scale, self.scatter / np.outer(scale, scale))


def arm_moments(
    columns: tuple[Column, ...],
    child: str,
    treatment: str | None,
    levels: FloatArray,
    batches: Iterable[tuple[RowValues, FloatArray | None]],
) -> ArmMoments:
    """Return the moments of derived columns and the child.

    Parameters
    ----------
    columns
        k of them.
    child
        Its name.
    treatment
        What the arms are of; None for one arm.
    levels
        Its values, shape (A,); ignored without treatment.
    batches
        The rows, and how much each counts.
    """
    total: ArmMoments | None = None
    for rows, weight in batches:
        matrix = np.column_stack([matrix_of(columns, rows), rows.values[child]])
        inside = [slice(None)] if treatment is None else [rows.values[treatment] == level for level in levels]
        arms = [_moments(matrix[arm], None if weight is None else weight[arm]) for arm in inside]
        part = ArmMoments(*(np.array(numbers) for numbers in zip(*arms, strict=True)))
        total = part if total is None else total + part
    if total is None:
        raise ValueError("there are no rows")
    return total


def _moments(matrix: FloatArray, weight: FloatArray | None) -> tuple[float, FloatArray, FloatArray]:
    """Return the number of rows, their mean and centred cross-products, each row counted by its weight."""
    rows = float(len(matrix)) if weight is None else float(weight.sum())
    if rows == 0.0:
        return 0.0, np.zeros(matrix.shape[1]), np.zeros((matrix.shape[1],) * 2)
    mean = matrix.mean(axis=0) if weight is None else weight @ matrix / rows
    centered = matrix - mean
    return rows, mean, np.asarray((centered if weight is None else centered * weight[:, None]).T @ centered)
