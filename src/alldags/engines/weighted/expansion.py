"""Where to expand: around the posterior mean over all sets of columns, found by expanding, averaging, expanding again.

An expansion at the mode of the full model is off where there are many candidates and few rows, because no plausible set
is near it; the mean over sets is near all of them. The last expansion is made a little flatter, so that draws from it
reach as far as the posterior does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.auto import Auto
from alldags.families.base import Draws, Point, RowSums
from alldags.families.canonical import SURE
from alldags.families.quadratic import Quadratic
from alldags.nodes.build import NodeTerms, Sums, assembled
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

_EXPANSIONS = 3
_SHORT_SWEEPS = 4000  # of a sampled node on the way to the point of the last expansion


@dataclass(frozen=True, eq=False)
class Expanded:
    """A quadratic and the posterior under it, which an engine computed."""

    quadratic: Quadratic
    posterior: NodePosterior

    @property
    def both(self) -> tuple[Quadratic, NodePosterior]:
        """The pair."""
        return self.quadratic, self.posterior


def expanded_posterior(
    rows: RowSums, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator
) -> Expanded:
    """Expand at the mode with all columns, then twice (where rows are sure: once) around the mean over sets."""
    own = rows.family.prior(prior)
    quadratic = rows.quadratic(rows.family.mode(rows, _typical_slab(own, rows.count)))
    quick, last = short_engine(engine), False
    for left in reversed(range(_EXPANSIONS)):
        problem = assembled(terms, sums_of(quadratic), own)
        posterior = (engine if last else quick)(problem, rng.spawn(1)[0])
        if last:
            break
        quadratic = rows.quadratic(_center(quadratic, posterior), _root(quadratic, posterior))
        last = left == 1 or quadratic.spread <= SURE
        quadratic = quadratic.flatter(rows.family.flatness(quadratic)) if last else quadratic
    return Expanded(quadratic, posterior)


def expanded_again(
    rows: RowSums, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator, like: Expanded
) -> Expanded:
    """Expand once, around the mean over sets of the same regression in a table that is much alike."""
    quadratic = rows.quadratic(_center(*like.both), _root(*like.both))
    quadratic = quadratic.flatter(rows.family.flatness(quadratic))
    problem = assembled(terms, sums_of(quadratic), rows.family.prior(prior))
    return Expanded(quadratic, engine(problem, rng))


def expanded_around(
    rows: RowSums, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator, draws: Draws, flat: float
) -> Expanded:
    """Expand around draws of the posterior, flatter than usual: for draws that reach where earlier ones did not."""
    both = np.column_stack([draws.intercept, draws.coefficients])
    mean = both.mean(axis=0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(both, rowvar=False)))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    beside = None if draws.beside is None else draws.beside.mean(axis=0)
    quadratic = rows.quadratic(Point(mean, float(draws.precision.mean()), beside), root).flatter(flat)
    return Expanded(quadratic, engine(assembled(terms, sums_of(quadratic), rows.family.prior(prior)), rng))


def sums_of(quadratic: Quadratic) -> Sums:
    """Return the cross-products of a normal regression with this log-likelihood."""
    return Sums(quadratic.gram, quadratic.cross, quadratic.total, quadratic.n, quadratic.rows)


def _center(quadratic: Quadratic, posterior: NodePosterior) -> Point:
    """Return intercept and coefficients at their posterior mean."""
    at = np.concatenate([[float(quadratic.intercept(posterior.mean))], posterior.mean])
    beside = None if quadratic.beside is None else quadratic.beside.mean(at - quadratic.at)
    return Point(at, 1.0 if quadratic.noise is None else quadratic.noise.precision, beside)


def _root(quadratic: Quadratic, posterior: NodePosterior) -> FloatArray | None:
    """Return a square root of the covariance of intercept and coefficients over all sets, (k + 1, k + 1)."""
    if quadratic.noise is not None:
        return None
    covariance = posterior.second_moment - np.outer(posterior.mean, posterior.mean)
    values, vectors = np.linalg.eigh(covariance) if covariance.size else (np.zeros(0), np.zeros((0, 0)))
    inner = vectors * np.sqrt(np.maximum(values, 0.0))
    slope = quadratic.information[0, 1:] / quadratic.information[0, 0]
    root = np.zeros((len(values) + 1, len(values) + 1))
    root[1:, 1:] = inner
    root[0, 1:] = -slope @ inner
    root[0, 0] = 1.0 / np.sqrt(quadratic.information[0, 0])
    return root


def short_engine(engine: Engine) -> Engine:
    """Return the engine for the expansions before the last: where it samples, for a shorter time."""
    if not isinstance(engine, Auto):
        return getattr(engine, "short", engine)
    return replace(engine, mcmc=replace(engine.mcmc, max_sweeps=min(engine.mcmc.max_sweeps, _SHORT_SWEEPS)))


def _typical_slab(prior: Prior, rows: float) -> float:
    """Return the slab variance of the first expansion: the middle one."""
    if prior.slab is None:
        return prior.fixed_slab
    values, _ = prior.slab.values(rows)
    return float(np.median(values)) if prior.slab.kind == "independent" else 1.0
