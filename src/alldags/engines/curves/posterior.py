"""`CurvedPosterior`: a child whose regression may bend, as an average over structures of effect modification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np

from alldags.columns.base import Columns
from alldags.columns.products import OnArm, Under
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.parts import ColumnDraws, Part, average
from alldags.engines.curves.spec import ITSELF, Candidates, CurvedSpec
from alldags.errors import AlldagsError
from alldags.nodes.posterior import Diagnostics, NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.typing import BoolArray, FloatArray

NEGLIGIBLE = 0.01  # weight of a structure below which how it was computed does not matter


@dataclass(frozen=True, eq=False)
class Made:
    """Columns made from rows.

    Parameters
    ----------
    arms
        The two values of a yes/no treatment, shape (2,); else None.
    candidates
        The columns, K of them, with their prior.
    raw
        Their moments and the child's, in the user's units.
    """

    arms: FloatArray | None
    candidates: Candidates
    raw: ArmMoments

    @cached_property
    def base(self) -> Columns:
        """The columns, standardised."""
        return Columns(self.candidates.columns, self.raw.pooled[0][:-1], self.raw.scale[:-1])

    @cached_property
    def moments(self) -> ArmMoments:
        """Standardised moments."""
        return self.raw.standardised()


@dataclass(frozen=True, eq=False)
class Averaged:
    """The structures of one regression, their posteriors and weights.

    Parameters
    ----------
    spec
        What it was made from.
    made
        Its columns.
    parts, weights
        Structures, and the posterior probability of each.
    log_evidence
        Up to a constant that regressions of the same child share.
    evidence_error
        Monte-Carlo error of the log evidences that weights were made of.
    """

    spec: CurvedSpec
    made: Made
    parts: tuple[Part, ...]
    weights: FloatArray
    log_evidence: float
    evidence_error: float = 0.0

    @property
    def arms(self) -> FloatArray | None:
        """The two values of a yes/no treatment, shape (2,); else None."""
        return self.made.arms

    @property
    def base(self) -> Columns:
        """Base columns, K of them, standardised."""
        return self.made.base

    @property
    def center(self) -> float:
        """Mean of the child, in the user's units."""
        return float(self.made.raw.pooled[0][-1])


def together(found: Sequence[tuple[float, Averaged]]) -> Averaged:
    """Return several regressions on the same columns as one, each with its probability."""
    first = found[0][1]
    weights = np.concatenate([share * one.weights for share, one in found])
    error = max(one.evidence_error for _, one in found)
    parts = tuple(part for _, one in found for part in one.parts)
    return replace(first, parts=parts, weights=weights / weights.sum(), evidence_error=error)


def all_columns(base: Columns) -> Columns:
    """Return the base columns; where the first is a treatment's arm, the others follow again, under treatment."""
    arm = base.made[0] if len(base) else None
    if not isinstance(arm, OnArm):
        return base
    others = zip(base.made[1:], base.center[1:], base.scale[1:], strict=True)
    under = [Under(*one, arm.treatment, arm.middle) for one in others]
    return Columns(
        (*base.made, *under), np.r_[base.center, np.zeros(len(under))], np.r_[base.scale, np.ones(len(under))]
    )


class CurvedColumns:
    """The regression over its columns, in working units of the child: what effects are made of."""

    second_moment_between = None

    def __init__(self, found: Averaged) -> None:
        self.found = found

    @cached_property
    def columns(self) -> Columns:
        """All columns."""
        return all_columns(self.found.base)

    @cached_property
    def _weighed(self) -> list[tuple[float, Part]]:
        found = zip(self.found.weights.tolist(), self.found.parts, strict=True)
        return [(weight, part) for weight, part in found if weight > 0.0]

    @cached_property
    def mean(self) -> FloatArray:
        """Posterior mean of the coefficients, shape (columns,)."""
        return np.asarray(sum(weight * part.mean for weight, part in self._weighed))

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return coefficients (size, columns), intercepts and noise variances (size,) each, in working units."""
        return self.draw_with_ratio(size, rng)[:3]

    def draw_with_ratio(self, size: int, rng: np.random.Generator) -> ColumnDraws:
        """Return the same draws, and the second arm's noise variance over the first's, shape (size,)."""
        counts = rng.multinomial(size, [weight for weight, _ in self._weighed])
        pieces = [part.draw(int(count), rng) for count, (_, part) in zip(counts, self._weighed, strict=True)]
        order = rng.permutation(size)
        return ColumnDraws(*(np.concatenate(piece)[order] for piece in zip(*pieces, strict=True)))

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error of ``weights @ mean``; to first order also what weights of structures add."""
        own = math.sqrt(sum((weight * part.linear_error(weights)) ** 2 for weight, part in self._weighed))
        shares = np.array([weight for weight, _ in self._weighed])
        means = np.array([float(weights @ part.mean) for _, part in self._weighed])
        moved = shares * (means - shares @ means) * self.found.evidence_error
        return math.hypot(own, float(np.linalg.norm(moved)))

    def variance_between(self, weights: FloatArray) -> float:
        """Return the variance of the mean of ``weights @ coefficients`` given structure and columns present."""
        first = sum(weight * float(weights @ part.mean) for weight, part in self._weighed)
        second = sum(weight * part.squared_between(weights) for weight, part in self._weighed)
        return max(second - first**2, 0.0)


@dataclass(frozen=True)
class CurvedDiagnostics(Diagnostics):
    """How a regression on derived columns was computed.

    Parameters
    ----------
    converged
        Whether every structure that carries weight was computed, or its chains agree on what was asked.
    r_hat
        Largest R-hat of what was asked.
    structures
        Posterior probability of each structure of effect modification.
    """

    converged: bool = True
    r_hat: float = 1.0
    structures: tuple[tuple[str, float], ...] = ()


class CurvedPosterior(NodePosterior):
    """A node whose regression may bend: edges are there iff one of their columns is.

    It has no one coefficient for a cause: means and moments over parents are not numbers, effects are made of
    `over_columns`.

    Parameters
    ----------
    found
        The structures.
    problem
        The straight regression on the same causes.
    """

    def __init__(self, found: Averaged, problem: NodeProblem) -> None:
        self.found = found
        self.problem = problem
        self.over_columns = CurvedColumns(found)
        self.diagnostics: CurvedDiagnostics
        pairs = list(zip(found.weights.tolist(), found.parts, strict=True))
        heavy = [part for weight, part in pairs if weight > NEGLIGIBLE]
        base = [getattr(part.node, "base", part.node).diagnostics for part in heavy]
        self.diagnostics = CurvedDiagnostics(
            engine=base[0].engine,
            warnings=tuple(dict.fromkeys(text for part in heavy for text in part.diagnostics.warnings)),
            converged=all(part.diagnostics.is_reliable for part in heavy),
            r_hat=max((float(getattr(one, "asked_r_hat", 1.0)) for one in base), default=1.0),
            structures=tuple((part.name, weight) for weight, part in pairs),
        )

    @property
    def mean(self) -> FloatArray:
        return np.full(self.problem.k, math.nan)

    @property
    def second_moment(self) -> FloatArray:
        return np.full((self.problem.k, self.problem.k), math.nan)

    @property
    def noise_variance(self) -> float:
        """Posterior mean of the noise variance, averaged over the rows of both arms."""
        return average(self.found.parts, self.found.weights, lambda part: part.noise_variance)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Refused: a curve has no single slope."""
        del size, rng
        raise AlldagsError(f"the regression of {self.problem.child!r} may bend, so that a cause has no one coefficient")

    @cached_property
    def inclusion(self) -> FloatArray:
        return np.array([1.0 - self._disjoint({name}) for name in self.parents])

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        names = np.array(self.parents, dtype=object)
        return np.array([self._disjoint(set(names[mask])) for mask in masks])

    def _disjoint(self, causes: set[str]) -> float:
        """Return the probability that no column of some causes is present."""
        found, columns = self.found, self.over_columns.columns
        members = np.zeros(len(columns), dtype=bool)
        for name in causes:
            members |= columns.members(name)
        return average(found.parts, found.weights, lambda part: part.probability_absent(members))

    @property
    def log_evidence(self) -> float:
        """Log evidence up to a constant that regressions of the same child share."""
        return self.found.log_evidence

    @cached_property
    def screened(self) -> int | None:
        """Number of causes that were looked at for curves, of very many; None if all were."""
        candidates = self.found.made.candidates
        if candidates.modifies.all():
            return None
        kept = compress(candidates.columns, candidates.modifies)
        return len({name for column in kept for name in column.variables} - {self.found.spec.mover})

    @property
    def set_draws(self) -> float:
        return math.inf

    @cached_property
    def straight_probability(self) -> float:
        """Posterior probability that causes act along straight lines only: that no column beside theirs is present."""
        found, made = self.found, self.over_columns.columns.made
        beside = np.array([not isinstance(column, ITSELF) for column in made], dtype=bool)
        return average(found.parts, found.weights, lambda part: part.probability_absent(beside))

    def modification(self, covariate: str) -> float:
        """Return the posterior probability that the effect of the treatment differs with a covariate."""
        found, columns = self.found, self.over_columns.columns
        treatment = found.spec.treatment
        both = columns.members(covariate) & (
            np.zeros(len(columns), dtype=bool) if treatment is None else columns.members(treatment)
        )
        return average(found.parts, found.weights, lambda part: 1.0 - part.probability_absent(both))
