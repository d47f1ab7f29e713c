"""`CurvedPosterior`: the regression of one child on derived columns, averaged over structures of effect modification.

Every structure is a linear combination of the same columns: the base columns F, and with a yes/no treatment T its arm
and ``T F``. In these ``common`` has no ``T F``, ``shared`` has some, and ``arms``, whose columns are ``(1 - T) F`` and
``T F``, has the difference of both arms' coefficients there. So draws of all structures are draws of one regression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.columns.base import Columns
from alldags.columns.products import OnArm, Times, Under
from alldags.columns.rows import Rows
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.structures import Draws, StructureFit
from alldags.errors import AlldagsError
from alldags.graph.terms import ChildTerms
from alldags.nodes.posterior import Diagnostics, NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray

NEGLIGIBLE = 0.01  # weight of a structure below which it is left out


@dataclass(frozen=True, eq=False)
class CurvedSpec:
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
class Averaged:
    """The structures of one regression, their posteriors and weights.

    Parameters
    ----------
    spec
        What it was made from.
    arms
        The two values of a yes/no treatment whose arms have intercepts of their own, shape (2,); else None.
    base
        Base columns, K of them, standardised.
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

    spec: CurvedSpec
    arms: FloatArray | None
    base: Columns
    raw: ArmMoments
    fits: tuple[StructureFit, ...]
    weights: FloatArray
    plain: tuple[StructureFit, ...]
    shares: FloatArray
    no_effect: float = 0.0
    evidence_error: float = 0.0

    @cached_property
    def moments(self) -> ArmMoments:
        """Standardised moments."""
        return self.raw.standardised()

    @property
    def unit(self) -> float:
        """User's units of the child per standardised unit."""
        return float(self.raw.scale[-1])

    @property
    def center(self) -> float:
        """Mean of the child."""
        return float(self.raw.pooled[0][-1])

    def intercept(self, fit: StructureFit, draws: Draws, arm: int, noise: FloatArray | float = 0.0) -> FloatArray:
        """Return the intercept of an arm in standardised units, shape (draws,); `noise` are standard normal numbers."""
        mean = self.moments.mean[arm]
        variance = draws.variance * (draws.ratio if arm else 1.0) / self.moments.rows[arm]
        return np.asarray(mean[-1] - draws.coefficients @ fit.structure.at(arm, mean[:-1]) + noise * np.sqrt(variance))


class CurvedColumns:
    """The regression over its columns, in working units of the child: what effects are made of.

    Parameters
    ----------
    found
        The structures.
    scale
        User's units of the child per working unit.
    """

    second_moment_between = None

    def __init__(self, found: Averaged, scale: float) -> None:
        self.found = found
        self._unit = found.unit / scale
        self._scale = scale

    @cached_property
    def columns(self) -> Columns:
        """Base columns; with arms before them the treatment's, and after them the base columns under treatment."""
        base, arms, treatment = self.found.base, self.found.arms, self.found.spec.treatment
        if arms is None or treatment is None:
            return base
        high, k = float(arms[1]), len(base)
        under = [Under(*one, treatment, high) for one in zip(base.made, base.center, base.scale, strict=True)]
        center, scale = np.r_[0.0, base.center, np.zeros(k)], np.r_[1.0, base.scale, np.ones(k)]
        return Columns((OnArm(treatment, high), *base.made, *under), center, scale)

    def _spread(self, fit: StructureFit) -> FloatArray:
        """Return the matrix from a structure's coefficients to those of all columns, shape (columns, k)."""
        structure, k = fit.structure, len(self.found.base)
        out = np.zeros((len(self.columns), len(structure.places)))
        places = np.arange(len(structure.places))
        if self.found.arms is None:
            out[structure.places, places] = 1.0
            return out
        first, second = structure.active.astype(float)
        out[1 + structure.places, places] = first
        out[1 + k + structure.places, places] = second - first
        out[0] = structure.at(0, self.found.moments.mean[0, :-1]) - structure.at(1, self.found.moments.mean[1, :-1])
        return out

    @cached_property
    def _parts(self) -> list[tuple[float, StructureFit, FloatArray]]:
        weights, fits = self.found.weights, self.found.fits
        return [(float(w), fit, self._spread(fit)) for w, fit in zip(weights, fits, strict=True) if w > 0.0]

    @cached_property
    def _offset(self) -> FloatArray:
        """What coefficients are where a structure's are all zero, shape (columns,): the arms' means differ."""
        out = np.zeros(len(self.columns))
        if self.found.arms is not None:
            out[0] = self.found.moments.mean[1, -1] - self.found.moments.mean[0, -1]
        return out

    @cached_property
    def _there(self) -> FloatArray:
        """Probability with which each column is not ruled out by the treatment being no cause, shape (columns,)."""
        there = np.ones(len(self.columns))
        if self.found.arms is not None:
            there[0] = there[1 + len(self.found.base) :] = 1.0 - self.found.no_effect
        return there

    @cached_property
    def mean(self) -> FloatArray:
        """Posterior mean of the coefficients, shape (columns,)."""
        total = sum(weight * (self._offset + spread @ fit.mean) for weight, fit, spread in self._parts)
        return np.asarray(self._unit * self._there * total)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return coefficients (size, columns), intercepts and noise variances (size,) each, in working units."""
        theta, intercept, variance, _ = self.draw_with_ratio(size, rng)
        return theta, intercept, variance

    def draw_with_ratio(
        self, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the same draws, and the second arm's noise variance over the first's, shape (size,)."""
        counts = rng.multinomial(size, [weight for weight, *_ in self._parts])
        pieces = [
            self._drawn(fit, spread, int(count), rng)
            for count, (_, fit, spread) in zip(counts, self._parts, strict=True)
        ]
        theta, intercept, variance, ratio = (np.concatenate(part) for part in zip(*pieces, strict=True))
        order = rng.permutation(size)
        absent = rng.random(size) < self.found.no_effect
        theta[np.ix_(absent, self._there < 1.0)] = 0.0
        return self._unit * theta[order], self._unit * intercept[order], self._unit**2 * variance[order], ratio[order]

    def _drawn(
        self, fit: StructureFit, spread: FloatArray, count: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        draws = fit.draw(count, rng)
        theta = draws.coefficients @ spread.T + self._offset
        noise = rng.standard_normal((2, count))
        intercept = self.found.intercept(fit, draws, 0, noise[0])
        if self.found.arms is not None:
            rows = self.found.moments.rows
            theta[:, 0] += noise[1] * np.sqrt(draws.variance * draws.ratio / rows[1])
            theta[:, 0] -= noise[0] * np.sqrt(draws.variance / rows[0])
        return theta, intercept, draws.variance, draws.ratio

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error of ``weights @ mean``; to first order also what weights of structures add."""
        own = [weight * fit.node.linear_error(weights @ spread) for weight, fit, spread in self._parts]
        shares = np.array([weight for weight, *_ in self._parts])
        means = np.array([weights @ (self._offset + spread @ fit.mean) for _, fit, spread in self._parts])
        moved = shares * (means - shares @ means) * self.found.evidence_error
        return float(self._unit * math.hypot(math.sqrt(sum(value**2 for value in own)), float(np.linalg.norm(moved))))

    def variance_between(self, weights: FloatArray) -> float:
        """Return the variance of the mean of ``weights @ coefficients`` given structure and columns present."""
        first, second = 0.0, 0.0
        for weight, fit, spread in self._parts:
            own, between = weights @ spread, fit.node.second_moment_between
            mean = float(fit.node.mean @ own)
            inside = 0.0 if between is None else float(own @ between @ own) - mean**2
            value = float(weights @ self._offset) + mean
            first += weight * value
            second += weight * (value**2 + max(inside, 0.0))
        there = 1.0 - self.found.no_effect
        return self._unit**2 * max(there * second - (there * first) ** 2, 0.0)


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
    scale
        User's units of the child per working unit.
    """

    def __init__(self, found: Averaged, problem: NodeProblem, scale: float) -> None:
        self.found = found
        self.problem = problem
        self.over_columns = CurvedColumns(found, scale)
        self._scale = scale
        self.diagnostics: CurvedDiagnostics
        heavy = [fit.node.diagnostics for w, fit in zip(found.weights, found.fits, strict=True) if w > NEGLIGIBLE]
        self.diagnostics = CurvedDiagnostics(
            engine=heavy[0].engine,
            converged=all(one.is_reliable for one in heavy),
            r_hat=max((float(getattr(one, "asked_r_hat", 1.0)) for one in heavy), default=1.0),
            structures=tuple((f.structure.name, float(w)) for w, f in zip(found.shares, found.plain, strict=True)),
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
        rows, unit = self.found.moments.rows, self.found.unit / self._scale
        noise = 0.0
        for weight, fit in zip(self.found.weights, self.found.fits, strict=True):
            share = float(rows @ np.array([1.0, fit.ratio])[: len(rows)]) / rows.sum()
            noise += weight * fit.node.noise_variance * share
        return float(noise * unit**2)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Refused: a bent line has no one slope."""
        del size, rng
        raise AlldagsError(f"the regression of {self.problem.child!r} may bend, so that a cause has no one coefficient")

    @cached_property
    def inclusion(self) -> FloatArray:
        return np.array([1.0 - float(self._disjoint({name})) for name in self.parents])

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        names = np.array(self.parents, dtype=object)
        return np.array([self._disjoint(set(names[mask])) for mask in masks])

    def _disjoint(self, causes: set[str]) -> float:
        """Return the probability that no column of some causes is present."""
        treatment = self.found.spec.treatment
        armed = self.found.arms is not None and treatment in causes
        others = causes - {treatment} if armed else causes
        parts = zip(self.found.weights, self.found.fits, strict=True)
        whole = sum(weight * self._absent(fit, others) for weight, fit in parts if weight > 0.0)
        return float(whole * (self.found.no_effect if armed else 1.0))

    def _absent(self, fit: StructureFit, causes: set[str]) -> float:
        members = np.zeros(len(self.found.base), dtype=bool)
        for name in causes:
            members |= self.found.base.members(name)
        mask = members[fit.structure.places]
        absent = fit.node.probability_disjoint(mask[None]) if mask.any() else None
        return 1.0 if absent is None else float(absent[0])

    @property
    def log_evidence(self) -> float:
        """Log evidence up to a constant that regressions of the same child with the same arms share."""
        prior = -math.log(len(self.found.plain))
        return float(np.logaddexp.reduce([fit.log_evidence + prior for fit in self.found.plain]))

    @property
    def set_draws(self) -> float:
        return math.inf

    def without_link(self) -> CurvedPosterior:
        """Return the regression in which no column is raised for driving the treatment."""
        plain = replace(self.found, fits=self.found.plain, weights=self.found.shares)
        return CurvedPosterior(plain, self.problem, self._scale)

    def modification(self, covariate: str) -> float:
        """Return the posterior probability that the effect of the treatment differs with a covariate."""
        found = self.found
        members = found.base.members(covariate)
        if found.arms is None:
            members = members & np.array([isinstance(column, Times) for column in found.base.made], dtype=bool)
        total = 0.0
        for weight, fit in zip(found.weights, found.fits, strict=True):
            mask = members[fit.structure.places]
            if fit.structure.name == "shared" and found.arms is not None:
                mask = mask & ~fit.structure.active[0]
            if fit.structure.name == "common" or not mask.any() or weight == 0.0:
                continue
            absent = fit.node.probability_disjoint(mask[None])
            total += weight * (0.0 if absent is None else 1.0 - float(absent[0]))
        return (1.0 - found.no_effect) * total
