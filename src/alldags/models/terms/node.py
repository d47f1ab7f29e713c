"""`TermNode`: the regression of one child on derived columns, averaged over structures of effect modification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.graph.terms import ChildTerms
from alldags.models.terms.columns import Column, RowValues, matrix_of
from alldags.models.terms.make import Rows
from alldags.models.terms.moments import ArmMoments
from alldags.models.terms.structures import Draws, StructureFit
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray, IntArray

NEGLIGIBLE = 0.01  # weight of a structure below which it is left out


@dataclass(frozen=True, eq=False)
class TermSpec:
    """What a regression on derived columns is made from.

    Parameters
    ----------
    child
        Its name.
    terms
        What is wanted.
    causes
        Candidate causes with their probabilities.
    treatment
        The treatment of the question, if it is a candidate cause or may act on one; else None.
    after
        Variables that the treatment may act on.
    rows
        Where rows are read.
    prior
        Of slab, noise and link.
    """

    child: str
    terms: ChildTerms
    causes: Mapping[str, float]
    treatment: str | None
    after: frozenset[str]
    rows: Rows
    prior: Prior


@dataclass(frozen=True, eq=False)
class TermNode:
    """The posterior of a child's regression on derived columns.

    Parameters
    ----------
    spec
        What it was made from.
    arms
        The two values of a yes/no treatment whose arms have intercepts of their own, shape (2,); else None.
    columns
        Base columns, K of them.
    raw
        Their moments and the child's, in the user's units.
    fits, weights
        Structures, without and with link, and the posterior probability of each.
    plain, shares
        The structures without link, and their posterior probabilities.
    no_effect
        Posterior probability that a yes/no treatment is no cause of the child; 0 if it has no arms here.
    evidence_error
        Monte-Carlo error of the log evidences that weights were made of.
    """

    spec: TermSpec
    arms: FloatArray | None
    columns: tuple[Column, ...]
    raw: ArmMoments
    fits: tuple[StructureFit, ...]
    weights: FloatArray
    plain: tuple[StructureFit, ...]
    shares: FloatArray
    no_effect: float = 0.0
    evidence_error: float = 0.0

    @property
    def child(self) -> str:
        """Its name."""
        return self.spec.child

    @property
    def unit(self) -> float:
        """User's units of the child per standardised unit."""
        return float(self.raw.scale[-1])

    @property
    def center(self) -> float:
        """Mean of the child."""
        return float(self.raw.pooled[0][-1])

    @cached_property
    def moments(self) -> ArmMoments:
        """Standardised moments."""
        return self.raw.standardised()

    def base(self, rows: RowValues) -> FloatArray:
        """Return the standardised base columns of some rows, shape (rows, K)."""
        mean, _ = self.raw.pooled
        return np.asarray((matrix_of(self.columns, rows) - mean[:-1]) / self.raw.scale[:-1])

    def some(self, places: IntArray, rows: RowValues) -> FloatArray:
        """Return some of the standardised base columns, a row each, shape (columns, rows)."""
        matrix = matrix_of(tuple(self.columns[place] for place in places), rows)
        return np.ascontiguousarray(((matrix - self.raw.pooled[0][places]) / self.raw.scale[places]).T)

    def arm_of(self, rows: RowValues) -> IntArray:
        """Return the arm of each row, shape (rows,)."""
        if self.arms is None:
            return np.zeros(rows.count, dtype=np.int64)
        assert self.spec.treatment is not None
        return np.asarray(rows.values[self.spec.treatment] == self.arms[1], dtype=np.int64)

    def intercept(self, fit: StructureFit, draws: Draws, arm: int, noise: FloatArray | float = 0.0) -> FloatArray:
        """Return the intercept of an arm in standardised units, shape (draws,); `noise` are standard normal numbers."""
        mean = self.moments.mean[arm]
        variance = draws.variance * (draws.ratio if arm else 1.0) / self.moments.rows[arm]
        return np.asarray(mean[-1] - draws.coefficients @ fit.structure.at(arm, mean[:-1]) + noise * np.sqrt(variance))

    def members(self, variable: str) -> BoolArray:
        """Return which base columns contain a variable, shape (K,)."""
        return np.array([variable in column.variables for column in self.columns], dtype=bool)

    def edge_probability(self, cause: str) -> float:
        """Return the posterior probability that a cause is in the regression: that one of its terms is."""
        if self.arms is not None and cause == self.spec.treatment:
            return 1.0 - self.no_effect
        return float(sum(w * self._present(fit, cause) for w, fit in zip(self.weights, self.fits, strict=True)))

    def _present(self, fit: StructureFit, cause: str) -> float:
        mask = self.members(cause)[fit.structure.places]
        absent = fit.node.probability_disjoint(mask[None])
        return 0.0 if absent is None or not mask.any() else 1.0 - float(absent[0])

    @property
    def converged(self) -> bool:
        """Whether every structure that carries weight was computed, or its chains agree on what was asked."""
        return all(
            fit.node.diagnostics.is_reliable
            for weight, fit in zip(self.weights, self.fits, strict=True)
            if weight > NEGLIGIBLE
        )

    @property
    def engines(self) -> tuple[str, ...]:
        """How the structures that carry weight were computed."""
        return tuple(
            fit.node.diagnostics.engine for w, fit in zip(self.weights, self.fits, strict=True) if w > NEGLIGIBLE
        )
