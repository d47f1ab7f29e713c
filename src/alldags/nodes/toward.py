"""`TowardPosterior`: a node in which one category is a number, the way from one of its levels to another."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from alldags.nodes.onto import ParentsPosterior
from alldags.nodes.posterior import NodePosterior
from alldags.typing import FloatArray


class TowardPosterior(ParentsPosterior):
    """The posterior of a node, where the coefficient of one category is what a change of its levels does.

    A change moves the columns of the category by known numbers, so that its effect is linear in their coefficients: its
    moments, draws and errors follow from those over columns.

    Parameters
    ----------
    node
        Read onto its parents.
    category
        One of them.
    move
        By how much the change moves each of its columns, in working units, shape (columns,).
    """

    def __init__(self, node: ParentsPosterior, category: str, move: FloatArray) -> None:
        super().__init__(node.columns, node.parents)
        self._moved = self.parents.index(category), move

    @cached_property
    def onto(self) -> FloatArray:
        """By what coefficients over columns are multiplied, shape (p, k)."""
        found = np.zeros((self.problem.k, self.columns.problem.k))
        found[self.lines, self.places] = 1.0
        place, move = self._moved
        found[place, self._owner == place] = move
        return found

    def _spread(self, values: FloatArray) -> FloatArray:
        return self._read(values, self.onto)

    @staticmethod
    def _read(values: FloatArray, onto: FloatArray) -> FloatArray:
        """Return ``onto values`` or ``onto values onto'``; infinite where a moment that counts is."""
        with np.errstate(invalid="ignore"):
            found = onto @ values if values.ndim == 1 else onto @ values @ onto.T
        if np.isfinite(values).all():
            return np.asarray(found)
        there = (onto != 0.0).astype(float)
        infinite = ~np.isfinite(values)
        counts = there @ infinite if values.ndim == 1 else there @ infinite @ there.T
        finite = np.where(infinite, 0.0, values)
        plain = onto @ finite if values.ndim == 1 else onto @ finite @ onto.T
        return np.where(counts > 0, np.inf, plain)

    def second_moments(self, places: list[int]) -> FloatArray:
        onto, used = self._part(places)
        return self._read(self.columns.second_moments(used), onto)

    def second_moments_between(self, places: list[int]) -> FloatArray | None:
        onto, used = self._part(places)
        between = self.columns.second_moments_between(used)
        return None if between is None else self._read(between, onto)

    def _part(self, places: list[int]) -> tuple[FloatArray, list[int]]:
        """Return the rows of `onto` for some parents, without the columns that none of them needs, and the others."""
        rows = self.onto[places]
        used = np.flatnonzero(rows.any(axis=0))
        return rows[:, used], used.tolist()

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        coefficients, variance = self.columns.draw(size, rng)
        return coefficients @ self.onto.T, variance

    def linear_error(self, weights: FloatArray) -> float:
        return self.columns.linear_error(np.asarray(weights, dtype=float) @ self.onto)

    @property
    def mean_bound(self) -> FloatArray:
        return np.asarray(np.abs(self.onto) @ self.columns.mean_bound)


def toward(node: NodePosterior, category: str, move: FloatArray) -> NodePosterior:
    """Return a node with a category as a number; itself, if the category is none of its parents."""
    if not isinstance(node, ParentsPosterior) or category not in node.parents:
        return node
    key = (category, *move.tolist())
    if key not in node.views:
        node.views[key] = TowardPosterior(node, category, move)
    return node.views[key]
