"""Columns along a direction that was learned from the rows, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from alldags.columns.base import RowValues
from alldags.typing import FloatArray

FAR = 4.0  # standard deviations beyond which a learned direction is flat


@dataclass(frozen=True, eq=False)
class Direction:
    """A learned direction of several variables, one for each part of the data that was left out.

    Parameters
    ----------
    label
        What it stands for.
    variables
        p of them.
    coefficients
        Shape (folds, p).
    intercepts
        Shape (folds,).
    heard
        Those of the variables that move it by more than a little.
    center, scale
        Its mean and standard deviation where it was learned.
    """

    label: str
    variables: tuple[str, ...]
    coefficients: FloatArray
    intercepts: FloatArray
    heard: tuple[str, ...]
    center: float = 0.0
    scale: float = 1.0

    def score(self, rows: RowValues) -> FloatArray:
        """Return the standardised direction, shape (folds, rows); one row of it for rows that belong to a part."""
        matrix = np.column_stack([rows.values[name] for name in self.variables])
        found = (self.coefficients @ matrix.T + self.intercepts[:, None] - self.center) / self.scale
        return np.clip(found if rows.fold is None else found[rows.fold, np.arange(rows.count)][None], -FAR, FAR)


@dataclass(frozen=True, eq=False)
class Along:
    """A square or a bend along a learned direction; for new rows the mean over the parts it was learned without."""

    direction: Direction
    shape: Literal["line", "square", "bend"]
    knot: float = 0.0

    @property
    def name(self) -> str:
        label = self.direction.label
        return {"line": label, "square": f"{label}^2", "bend": f"{label} above {self.knot:.3g}"}[self.shape]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.direction.heard

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        score = self.direction.score(rows)
        if self.shape == "square":
            score = score**2
        elif self.shape == "bend":
            score = np.maximum(score - self.knot, 0.0)
        found = np.asarray(score.mean(axis=0))
        return found[:, None] if rows.values[self.direction.variables[0]].ndim == 2 else found
