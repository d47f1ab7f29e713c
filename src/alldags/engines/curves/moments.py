"""Cross-products of a child and its derived columns, for each arm of a yes/no treatment: the second of two passes."""

from __future__ import annotations

from collections.abc import Iterable
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

    def distinct(self) -> IntArray:
        """Return the places of columns that vary and are no copies of an earlier one."""
        mean, scatter = self.pooled
        sd = np.sqrt(np.maximum(np.diag(scatter), 0.0) / self.rows.sum())[:-1]
        varies = sd > _FLAT * np.maximum(np.abs(mean[:-1]), 1e-300)
        unit = np.where(varies, sd, 1.0) * np.sqrt(self.rows.sum())
        alike = np.abs(scatter[:-1, :-1] / np.outer(unit, unit)) > _ALIKE
        kept: list[int] = []
        for place in np.flatnonzero(varies):
            if not alike[place, kept].any():
                kept.append(int(place))
        return np.array(kept, dtype=np.int64)

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
    columns: tuple[Column, ...], child: str, treatment: str | None, levels: FloatArray, batches: Iterable[RowValues]
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
        The rows.
    """
    total: ArmMoments | None = None
    for rows in batches:
        matrix = np.column_stack([matrix_of(columns, rows), rows.values[child]])
        arms = [matrix] if treatment is None else [matrix[rows.values[treatment] == level] for level in levels]
        part = ArmMoments(
            np.array([float(len(arm)) for arm in arms]),
            np.array([_mean(arm) for arm in arms]),
            np.array([_scatter(arm) for arm in arms]),
        )
        total = part if total is None else total + part
    if total is None:
        raise ValueError("there are no rows")
    return total


def _mean(matrix: FloatArray) -> FloatArray:
    return matrix.mean(axis=0) if len(matrix) else np.zeros(matrix.shape[1])


def _scatter(matrix: FloatArray) -> FloatArray:
    centered = matrix - _mean(matrix)
    return np.asarray(centered.T @ centered)
