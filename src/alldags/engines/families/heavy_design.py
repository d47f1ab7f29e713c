"""Rows of a node with heavy tails, its match, and how far draws under the match are off: likelihood over match."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alldags.engines.families.expansion import row_blocks
from alldags.nodes.family import log_product
from alldags.nodes.heavy import HeavyRows, MatchedStatistics, Student
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.problem import Origin
from alldags.nodes.quadratic import Batch
from alldags.typing import FloatArray

_KEPT_VALUES = 2**24  # standardised rows are kept in memory up to so many values


@dataclass(frozen=True, eq=False)
class HeavyDesign:
    """The rows of one node, in working units, as often as they are wanted."""

    rows: HeavyRows
    terms: tuple[str, ...]
    kept: tuple[Batch, ...] | None = None

    @classmethod
    def of(cls, rows: HeavyRows, terms: tuple[str, ...]) -> HeavyDesign:
        """Return the design; small ones are kept in memory."""
        small = rows.table.columns.rows * (len(terms) + 1) <= _KEPT_VALUES
        return cls(rows, terms, tuple(rows.batches(terms)) if small else None)

    @property
    def family(self) -> Student:
        """How heavy the tails are."""
        return self.rows.family

    @property
    def center(self) -> Origin:
        """Means of child and terms over all rows, in working units."""
        means = [self.rows.center[name] / self.rows.scale[name] for name in (self.rows.child, *self.terms)]
        return Origin(means[0], np.array(means[1:]))

    def batches(self) -> Sequence[Batch]:
        """Return the rows, batch by batch."""
        return tuple(self.rows.batches(self.terms)) if self.kept is None else self.kept


@dataclass(frozen=True, eq=False)
class Matched:
    """A match and the posterior under it, which an engine computed."""

    statistics: MatchedStatistics
    posterior: NodePosterior


def log_weights_of(
    design: HeavyDesign,
    statistics: MatchedStatistics,
    intercept: FloatArray,
    coefficients: FloatArray,
    precision: FloatArray,
) -> FloatArray:
    """Return the log of likelihood over match at intercepts, coefficients (draws, k) and precisions, shape (draws,).

    The flat intercept of a normal node has ``sqrt(rows)`` in its evidence, by convention: so it has here, so that
    evidences of normal and heavy-tailed nodes of one child can be compared.
    """
    spread = 1.0 / np.sqrt(precision * statistics.information[0, 0])
    normals = (intercept - statistics.intercept(coefficients)) / spread
    proposal = -0.5 * normals**2 - np.log(spread) - 0.5 * math.log(2.0 * math.pi)
    value = log_likelihoods(design.family, design.batches(), intercept, coefficients, precision)
    convention = 0.5 * math.log(statistics.rows)
    return np.asarray(value + convention - proposal - statistics.log_integral(coefficients, precision))


def log_likelihoods(
    family: Student, batches: Sequence[Batch], intercept: FloatArray, coefficients: FloatArray, precision: FloatArray
) -> FloatArray:
    """Return the log-likelihood of each draw, shape (draws,), of intercepts, coefficients (draws, k) and precisions."""
    value = np.zeros(len(intercept))
    root = np.sqrt(precision / family.df)  # residuals in these units: one plus their squares is what is multiplied
    slopes = np.vstack([(coefficients * root[:, None]).T, intercept * root, root])
    for batch in batches:
        value += len(batch.child) * (family.constant + 0.5 * np.log(precision))
        rows = np.column_stack([batch.terms, np.ones(len(batch.child)), -batch.child])
        for part in row_blocks(len(rows), len(value)):
            left = rows[part] @ slopes
            np.multiply(left, left, out=left)
            left += 1.0
            value -= 0.5 * (family.df + 1.0) * log_product(left)
    return value
