"""Columns that were learned from the rows, part by part: along a direction, and what trees predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from alldags.columns.base import RowValues
from alldags.kernels.trees import add_trees
from alldags.typing import FloatArray, IntArray

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
        score = rows.once(self.direction, self.direction.variables, self.direction.score)
        if self.shape == "square":
            score = score**2
        elif self.shape == "bend":
            score = np.maximum(score - self.knot, 0.0)
        found = np.asarray(score.mean(axis=0))
        return found[:, None] if rows.values[self.direction.variables[0]].ndim == 2 else found


@dataclass(frozen=True, eq=False)
class Forest:
    """Boosted trees, some for each part of the data that was left out.

    Parameters
    ----------
    edges
        Upper ends of all bins but the last of each variable, shape (p, bins - 1); infinite where there are fewer.
    feature, cut
        The trees' questions, shape (folds, rounds, questions) each; see `alldags.kernels.trees`.
    value
        What each leaf adds, shape (folds, rounds, leaves).
    """

    edges: FloatArray
    feature: IntArray
    cut: IntArray
    value: FloatArray

    def binned(self, matrix: FloatArray) -> IntArray:
        """Return the bin of each value, shape (p, rows), of values of shape (rows, p)."""
        pairs = zip(self.edges, matrix.T, strict=True)
        return np.array([np.searchsorted(edges, values, side="left") for edges, values in pairs], dtype=np.int64)

    def predicted(self, bins: IntArray, fold: IntArray | None) -> FloatArray:
        """Return what trees predict for rows with bins of shape (p, rows): of each row's own part, or the mean."""
        folds = range(len(self.value))
        if fold is None:
            return np.asarray(np.mean([self._of(part, bins) for part in folds], axis=0))
        out = np.zeros(bins.shape[1])
        for part in folds:
            own = fold == part
            out[own] = self._of(part, np.ascontiguousarray(bins[:, own]))
        return out

    def _of(self, part: int, bins: IntArray) -> FloatArray:
        out = np.zeros(bins.shape[1])
        add_trees(bins, self.feature[part], self.cut[part], self.value[part], out)
        return out


@dataclass(frozen=True, eq=False)
class Grown:
    """What boosted trees predict beside straight lines.

    Parameters
    ----------
    name
        What it stands for.
    inputs
        Variables that trees ask about, p of them.
    variables
        The causes behind those that they ask about often.
    forest
        The trees.
    drives
        Whether it was learned from the treatment, and not from the child.
    """

    name: str
    inputs: tuple[str, ...]
    variables: tuple[str, ...]
    forest: Forest
    drives: bool = False

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        found = rows.once(self, self.inputs, self._predicted)
        return found[:, None] if rows.values[self.inputs[0]].ndim == 2 else found

    def _predicted(self, rows: RowValues) -> FloatArray:
        return self.forest.predicted(rows.once(self.forest.edges, self.inputs, self._binned), rows.fold)

    def _binned(self, rows: RowValues) -> IntArray:
        return self.forest.binned(np.column_stack([rows.values[name] for name in self.inputs]))
