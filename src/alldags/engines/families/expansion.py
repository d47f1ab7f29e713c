"""Where to expand: around the posterior mean over all parent sets, found by expanding, averaging, expanding again.

An expansion at the mode of the full model is off where there are many candidates and few rows, because no plausible
parent set is near it; the mean over parent sets is near all of them. There the derivatives are averaged over the
posterior found so far: a normal distribution with these is nearer to a skewed posterior than one with the derivatives
at a point. The last expansion is made a little flatter, so that draws from it reach as far as the posterior does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

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
_BLOCK_VALUES = 2**17  # rows times draws looked at together: they stay in the cache
_EXPANSIONS = 3
_FLATTER = 0.85  # the last expansion has this many times the information: weights of draws then have light tails
_STEPS = 60
_DECREMENT = 1e-6  # of Newton's iteration: the point need not be the mode itself
SURE = 0.5  # log-odds: where no row's predictor is less sure, the posterior is normal for all that matters
_SHORT_SWEEPS = 4000  # of a sampled node on the way to the point of the last expansion


class RowSums(Protocol):
    """What a node that is not normal needs of its rows: sums over them, wherever they are."""

    @property
    def child(self) -> str:
        """Name of the child."""

    @property
    def family(self) -> AnyFamily:
        """The child's family."""

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms, k of them."""

    @property
    def count(self) -> float:
        """Number of rows."""

    def totals(self) -> tuple[float, float]:
        """Return the sum of the child, and of what its mean is in proportion to without causes."""

    def statistics(self, at: FloatArray, root: FloatArray | None = None) -> QuadraticStatistics:
        """Return the expansion at one point, shape (k + 1,), or around it, see `expand`."""

    def log_likelihoods(self, intercept: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,), of intercepts and coefficients (draws, k)."""

    def squared_residuals(self, intercept: float, coefficients: FloatArray) -> float:
        """Return the sum of squared residuals over their variance (Pearson)."""


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

    @property
    def child(self) -> str:
        """Name of the child."""
        return self.rows.child

    @property
    def count(self) -> float:
        """Number of rows."""
        return float(self.rows.table.columns.rows)

    def batches(self) -> Iterable[Batch]:
        """Return the rows, batch by batch."""
        return self.rows.batches(self.terms) if self.kept is None else self.kept

    def totals(self) -> tuple[float, float]:
        """Return the sum of the child, and of what its mean is in proportion to without causes."""
        total, weight = 0.0, 0.0
        for batch in self.batches():
            total += float(batch.child.sum())
            weight += float(len(batch.child) if batch.offset is None else np.exp(batch.offset).sum())
        return total, weight

    def statistics(self, at: FloatArray, root: FloatArray | None = None) -> QuadraticStatistics:
        """Return the expansion at one point, shape (k + 1,), or around it, see `expand`."""
        return expand(self.family, self.terms, self.batches(), at, root)

    def log_likelihoods(self, intercept: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,), in one pass over the rows."""
        value, slopes = np.zeros(len(intercept)), np.vstack([coefficients.T, intercept, np.ones(len(intercept))])
        for batch in self.batches():
            offset = np.zeros(len(batch.child)) if batch.offset is None else batch.offset
            rows = np.column_stack([batch.terms, np.ones(len(batch.child)), offset])
            value += (batch.child @ rows) @ slopes + self.family.constant(batch.child)
            for part in row_blocks(len(rows), len(value)):
                value -= self.family.total_cumulant(rows[part] @ slopes)
        return value

    def squared_residuals(self, intercept: float, coefficients: FloatArray) -> float:
        """Return the sum of squared residuals over their variance (Pearson)."""
        square = 0.0
        for batch in self.batches():
            mean = self.family.mean(batch.predictor(coefficients[None, :])[:, 0] + intercept)
            square += float(((batch.child - mean) ** 2 / self.family.variance(mean)).sum())
        return square


def row_blocks(rows: int, draws: int) -> Iterator[slice]:
    """Yield slices of rows that, times all draws, stay in the cache."""
    step = max(_BLOCK_VALUES // max(draws, 1), 8)
    return (slice(start, start + step) for start in range(0, rows, step))


@dataclass(frozen=True, eq=False)
class Expanded:
    """An expansion and the posterior under it, which an engine computed."""

    statistics: QuadraticStatistics
    posterior: NodePosterior


def expanded_posterior(
    design: RowSums, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator
) -> Expanded:
    """Expand at the mode of the full model, then twice (where rows are sure: once) around the mean over sets."""
    statistics = design.statistics(penalized_mode(design, _typical_slab(prior, design)))
    quick, last = short_engine(engine), False
    for left in reversed(range(_EXPANSIONS)):
        problem = expanded_problem(statistics, terms, prior)
        posterior = (engine if last else quick)(problem, rng.spawn(1)[0])
        if last:
            break
        point = np.concatenate([[float(statistics.intercept(posterior.mean))], posterior.mean])
        statistics = design.statistics(point, _root(statistics, posterior))
        last = left == 1 or statistics.spread <= SURE
        statistics = statistics.flatter(_flatness(statistics) if last else 1.0)
    return Expanded(statistics, posterior)


def _flatness(statistics: QuadraticStatistics) -> float:
    """Return the factor of the last expansion's information: nearer to one where the posterior is all but normal."""
    return 1.0 - (1.0 - _FLATTER) * min(statistics.spread / SURE, 1.0)


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


def _typical_slab(prior: Prior, design: RowSums) -> float:
    """Return the slab variance of the first expansion: the middle one."""
    own = link_scale_prior(prior)
    if own.slab is None:
        return own.fixed_slab
    values, _ = own.slab.values(design.count)
    return float(np.median(values)) if own.slab.kind == "independent" else 1.0


def penalized_mode(design: RowSums, slab_variance: float) -> FloatArray:
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
    raise EngineError(f"the regression of {design.child!r} has no mode that could be found; check its columns")


def _start(design: RowSums) -> FloatArray:
    """Return the null model: the intercept at which the mean is the child's."""
    total, weight = design.totals()
    start = np.zeros(len(design.terms) + 1)
    start[0] = design.family.link(total / weight)
    return start
