"""Where to expand: around the posterior mean over all parent sets, found by expanding, averaging, expanding again.

An expansion at the mode of the full model is off where there are many candidates and few rows, because no plausible
parent set is near it; the mean over parent sets is near all of them. There the derivatives are averaged over the
posterior found so far: a normal distribution with these is nearer to a skewed posterior than one with the derivatives
at a point. The last expansion is made a little flatter, so that draws from it reach as far as the posterior does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.auto import Auto
from alldags.errors import EngineError
from alldags.nodes.build import NodeTerms
from alldags.nodes.expanded import expanded_problem, link_scale_prior
from alldags.nodes.family import AnyFamily
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.nodes.quadratic import Batch, FamilyRows, QuadraticStatistics, expand
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

_KEPT_VALUES = 2**24  # standardised terms are kept in memory up to so many values
_EXPANSIONS = 3
_FLATTER = 0.85  # the last expansion has this many times the information: weights of draws then have light tails
_STEPS = 60
_DECREMENT = 1e-6  # of Newton's iteration: the point need not be the mode itself
AMPLE_INFORMATION = 100.0  # about the intercept: the posterior is then normal, for all that matters
_SHORT_SWEEPS = 4000  # of a sampled node on the way to the point of the last expansion


@dataclass(frozen=True, eq=False)
class Design:
    """The rows of one node, as often as they are wanted.

    Parameters
    ----------
    rows
        Of the child.
    terms
        Names of the terms, k of them.
    """

    rows: FamilyRows
    terms: tuple[str, ...]
    kept: tuple[Batch, ...] | None = None

    @classmethod
    def of(cls, rows: FamilyRows, terms: tuple[str, ...]) -> Design:
        """Return the design; small ones are kept in memory."""
        small = rows.table.columns.rows * (len(terms) + 1) <= _KEPT_VALUES
        return cls(rows, terms, tuple(rows.batches(terms)) if small else None)

    @property
    def family(self) -> AnyFamily:
        """The child's family."""
        return self.rows.family

    def batches(self) -> list[Batch] | tuple[Batch, ...]:
        """Return the rows, batch by batch."""
        return tuple(self.rows.batches(self.terms)) if self.kept is None else self.kept

    def statistics(self, at: FloatArray, root: FloatArray | None = None) -> QuadraticStatistics:
        """Return the expansion at one point, shape (k + 1,), or around it, see `expand`."""
        batches = self.rows.batches(self.terms) if self.kept is None else self.kept
        return expand(self.family, self.terms, batches, at, root)


@dataclass(frozen=True, eq=False)
class Expanded:
    """An expansion and the posterior under it, which an engine computed."""

    statistics: QuadraticStatistics
    posterior: NodePosterior


def expanded_posterior(
    design: Design, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator
) -> Expanded:
    """Expand at the mode of the full model, then twice (with much information: once) around the mean over sets."""
    statistics = design.statistics(penalized_mode(design, _typical_slab(prior, design)))
    quick = short_engine(engine)
    ample = statistics.information[0, 0] >= 3.0 * AMPLE_INFORMATION
    for left in reversed(range(_EXPANSIONS - 1 if ample else _EXPANSIONS)):
        problem = expanded_problem(statistics, terms, prior)
        posterior = (quick if left else engine)(problem, rng.spawn(1)[0])
        if not left:
            break
        point = np.concatenate([[float(statistics.intercept(posterior.mean))], posterior.mean])
        statistics = design.statistics(point, _root(statistics, posterior))
        statistics = statistics.flatter(_flatness(statistics) if left == 1 else 1.0)
    return Expanded(statistics, posterior)


def _flatness(statistics: QuadraticStatistics) -> float:
    """Return the factor of the last expansion's information: nearer to one where the posterior is all but normal."""
    ample = AMPLE_INFORMATION / float(statistics.information[0, 0])
    return 1.0 - (1.0 - _FLATTER) * math.sqrt(min(ample, 1.0))


def _root(statistics: QuadraticStatistics, posterior: NodePosterior) -> FloatArray:
    """Return a square root of the covariance of intercept and coefficients over all parent sets, (k + 1, k + 1)."""
    covariance = posterior.second_moment - np.outer(posterior.mean, posterior.mean)
    values, vectors = np.linalg.eigh(covariance) if covariance.size else (np.zeros(0), np.zeros((0, 0)))
    inner = vectors * np.sqrt(np.maximum(values, 0.0))
    slope = statistics.information[0, 1:] / statistics.information[0, 0]
    root = np.zeros((len(values) + 1, len(values) + 1))
    root[1:, 1:] = inner
    root[0, 1:] = -slope @ inner
    root[0, 0] = 1.0 / np.sqrt(statistics.information[0, 0])
    return root


def short_engine(engine: Engine) -> Engine:
    """Return the engine for the expansions before the last: where it samples, for a shorter time."""
    if not isinstance(engine, Auto):
        return engine
    return replace(engine, mcmc=replace(engine.mcmc, max_sweeps=min(engine.mcmc.max_sweeps, _SHORT_SWEEPS)))


def _typical_slab(prior: Prior, design: Design) -> float:
    """Return the slab variance of the first expansion: the middle one."""
    own = link_scale_prior(prior)
    if own.slab is None:
        return own.fixed_slab
    values, _ = own.slab.values(float(design.rows.table.columns.rows))
    return float(np.median(values)) if own.slab.kind == "independent" else 1.0


def penalized_mode(design: Design, slab_variance: float) -> FloatArray:
    """Return the mode of the full model, intercept first, shape (k + 1,); Newton's iteration with step halving."""
    penalty = np.full(len(design.terms) + 1, 1.0 / slab_variance)
    penalty[0] = 0.0

    def height(found: QuadraticStatistics) -> float:
        return found.value - 0.5 * float(penalty @ found.at**2)

    current = design.statistics(_start(design))
    for _ in range(_STEPS):
        gradient = current.gradient - penalty * current.at
        step = np.linalg.solve(current.information + np.diag(penalty), gradient)
        if float(gradient @ step) < _DECREMENT:
            return current.at
        share, nearby = 1.0, design.statistics(current.at + step)
        while not height(nearby) >= height(current) - 1e-9 * abs(current.value) and share > 1e-6:
            share *= 0.5
            nearby = design.statistics(current.at + share * step)
        current = nearby
    raise EngineError(f"the regression of {design.rows.child!r} has no mode that could be found; check its columns")


def _start(design: Design) -> FloatArray:
    """Return the null model: the intercept at which the mean is the child's."""
    total, weight = 0.0, 0.0
    for batch in design.batches() if design.kept is not None else design.rows.batches(design.terms):
        total += float(batch.child.sum())
        weight += float(len(batch.child) if batch.offset is None else np.exp(batch.offset).sum())
    start = np.zeros(len(design.terms) + 1)
    start[0] = design.family.link(total / weight)
    return start
