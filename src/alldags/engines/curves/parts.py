"""One structure's regression over all columns, whatever noise the child has: what the average is made of.

All columns are the base columns; with a yes/no treatment, whose arm is the first, the others are there again under it.
A structure's coefficients are read onto them by its matrix: draws of all structures are draws of one regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.structures import StructureFit
from alldags.engines.weighted.posterior import WeightedPosterior
from alldags.nodes.posterior import Diagnostics, NodePosterior
from alldags.typing import BoolArray, FloatArray


class ColumnDraws(NamedTuple):
    """Draws over all columns: coefficients (size, columns), and (size,) each: intercepts, noise variances, their ratio.

    The ratio is that of the second arm's variance to the first's, one without arms; `nuisance` is what else a family
    draws, shape (size, q).
    """

    coefficients: FloatArray
    intercept: FloatArray
    variance: FloatArray
    ratio: FloatArray
    nuisance: FloatArray


class Part(Protocol):
    """A structure's regression, in working units of the child."""

    @property
    def name(self) -> str:
        """Of the structure."""

    @property
    def node(self) -> NodePosterior:
        """The regression on the structure's own columns."""

    @property
    def diagnostics(self) -> Diagnostics:
        """How it was computed."""

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of the coefficients, shape (columns,)."""

    @property
    def noise_variance(self) -> float:
        """Posterior mean of the noise variance; nan where the child has none."""

    def draw(self, size: int, rng: np.random.Generator) -> ColumnDraws:
        """Return draws."""

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error of ``weights @ mean``."""

    def squared_between(self, weights: FloatArray) -> float:
        """Return the mean square of the mean of ``weights @ coefficients`` given the columns present."""

    def probability_absent(self, members: BoolArray) -> float:
        """Return the probability that none of some columns, shape (columns,), is present."""


class _Spread:
    """What both kinds of parts have: a node over a structure's own columns, read onto all."""

    node: NodePosterior
    matrix: FloatArray

    def linear_error(self, weights: FloatArray) -> float:
        return self._unit * self.node.linear_error(weights @ self.matrix)

    @property
    def _unit(self) -> float:
        return 1.0

    def squared_between(self, weights: FloatArray) -> float:
        own, between = weights @ self.matrix, self.node.second_moment_between
        mean = float(self.node.mean @ own)
        inside = 0.0 if between is None else max(float(own @ between @ own) - mean**2, 0.0)
        return self._unit**2 * (mean**2 + inside)

    def probability_absent(self, members: BoolArray) -> float:
        mask = (self.matrix[members] != 0.0).any(axis=0)
        absent = self.node.probability_disjoint(mask[None]) if mask.any() else None
        return 1.0 if absent is None else float(absent[0])


@dataclass(frozen=True, eq=False)
class NormalPart(_Spread):
    """A structure of a normal child.

    Parameters
    ----------
    fit
        Its posterior, in standardised units.
    matrix
        From its coefficients to those of all columns, shape (columns, k).
    unit
        Working units of the child per standardised unit.
    """

    fit: StructureFit
    matrix: FloatArray
    unit: float

    @property
    def name(self) -> str:
        return self.fit.structure.name

    @property
    def node(self) -> NodePosterior:  # type: ignore[override]
        return self.fit.node

    @property
    def diagnostics(self) -> Diagnostics:
        return self.fit.node.diagnostics

    @property
    def _unit(self) -> float:
        return self.unit

    @property
    def moments(self) -> ArmMoments:
        """Standardised."""
        return self.fit.moments

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self.unit * self.matrix @ self.fit.mean)

    @property
    def noise_variance(self) -> float:
        """Averaged over the rows of both arms."""
        rows = self.moments.rows
        share = float(rows @ np.array([1.0, self.fit.ratio])[: len(rows)]) / rows.sum()
        return float(self.unit**2 * self.fit.node.noise_variance * share)

    def draw(self, size: int, rng: np.random.Generator) -> ColumnDraws:
        draws, rows = self.fit.draw(size, rng), self.moments.rows
        counts = rows[:, None] / (np.ones((1, size)) if len(rows) == 1 else np.array([np.ones(size), draws.ratio]))
        noise = rng.standard_normal(size) * np.sqrt(draws.variance / counts.sum(axis=0))
        left = np.array([self._left(arm, draws.coefficients) for arm in range(len(rows))])
        intercept = (counts * left).sum(axis=0) / counts.sum(axis=0) + noise
        theta = draws.coefficients @ self.matrix.T
        variance, none = self.unit**2 * draws.variance, np.zeros((size, 0))
        return ColumnDraws(self.unit * theta, self.unit * intercept, variance, draws.ratio, none)

    def _left(self, arm: int, theta: FloatArray) -> FloatArray:
        """Return what coefficients (draws, k) leave of an arm's mean, shape (draws,)."""
        mean = self.moments.mean[arm]
        return np.asarray(mean[-1] - theta @ self.fit.structure.at(arm, mean[:-1]))


@dataclass(frozen=True, eq=False)
class FamilyPart(_Spread):
    """A structure of a child that is not normal.

    Parameters
    ----------
    name
        Of the structure.
    node
        Its posterior, over the structure's columns.
    matrix
        From its coefficients to those of all columns, shape (columns, k).
    """

    name: str
    node: WeightedPosterior
    matrix: FloatArray

    @property
    def diagnostics(self) -> Diagnostics:
        return self.node.diagnostics

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self.matrix @ self.node.mean)

    @property
    def noise_variance(self) -> float:
        return self.node.noise_variance

    def draw(self, size: int, rng: np.random.Generator) -> ColumnDraws:
        drawn = self.node.draw_with_intercept(size, rng)
        theta, variance = drawn.coefficients @ self.matrix.T, 1.0 / drawn.precision
        return ColumnDraws(theta, drawn.intercept, variance, np.ones(size), drawn.nuisance)


def average(parts: tuple[Part, ...], weights: FloatArray, of: Callable[[Part], float]) -> float:
    """Return an average over parts that carry weight."""
    return float(sum(weight * of(part) for part, weight in zip(parts, weights, strict=True) if weight > 0.0))
