"""Fit a node that is not normal: expand, weigh, and where that is not good enough, sample."""

from __future__ import annotations

import numpy as np

from alldags.engines.families.expansion import Design, Expanded, expanded_posterior
from alldags.engines.families.gates import trusted_weights
from alldags.engines.families.posterior import FamilyDiagnostics, FamilyPosterior
from alldags.engines.families.weighing import WeightedDraws, draws_for, weigh
from alldags.nodes.build import NodeTerms
from alldags.nodes.family import Bernoulli
from alldags.nodes.posterior import Engine
from alldags.nodes.quadratic import FamilyRows, QuadraticStatistics
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

MOST_DISPERSION = 1.5
LEAST_EVENTS = 5  # with fewer, or fewer than half the candidates, k-hat can miss what the expansion gets wrong


def fit_family(
    rows: FamilyRows, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator, size: int | None = None
) -> FamilyPosterior:
    """Return the posterior of one node that is not normal.

    Parameters
    ----------
    rows
        Of the child.
    terms
        Of its regression, with prior probabilities.
    prior
        As given to `fit`; the slab on the link scale is made from it.
    engine
        Computes the posterior of the expansion.
    rng
        Generator.
    size
        Number of weighted draws; by the number of rows if not given.
    """
    design = Design.of(rows, terms.names)
    expand_rng, weigh_rng, sample_rng = rng.spawn(3)
    expanded = expanded_posterior(design, terms, prior, engine, expand_rng)
    draws = weigh(design, expanded, draws_for(expanded.statistics.rows) if size is None else size, weigh_rng)
    return _gate(design, expanded, draws, sample_rng, samples=engine.scope is None)


def _gate(
    design: Design, expanded: Expanded, draws: WeightedDraws, rng: np.random.Generator, samples: bool
) -> FamilyPosterior:
    """Return the weighted posterior if it can be trusted, else the sampled one, else it with a warning."""
    from alldags.engines.families.fallback import can_fall_back, sampled_posterior

    few = _rarer(design, expanded.statistics) < max(LEAST_EVENTS, len(design.terms) / 2)
    trusted = trusted_weights(draws)
    falls_back = samples and (few or not trusted) and can_fall_back(design, expanded.posterior.problem)
    diagnostics = _diagnostics(design, expanded, draws, trusted or falls_back)
    if falls_back:
        return sampled_posterior(design, expanded, draws, diagnostics, rng)
    return FamilyPosterior(design.family, expanded, draws, diagnostics)


def _rarer(design: Design, statistics: QuadraticStatistics) -> float:
    """Return the number of events, or of their absence, whichever is rarer."""
    if isinstance(design.family, Bernoulli):
        return min(statistics.events, statistics.rows - statistics.events)
    return statistics.events


def dispersion(design: Design, coefficients: FloatArray, intercept: float) -> float:
    """Return how many times the spread of counts around their means exceeds that of Poisson ones (Pearson)."""
    square, rows = 0.0, 0
    for batch in design.batches():
        mean = design.family.mean(batch.predictor(coefficients[None, :])[:, 0] + intercept)
        square += float(((batch.child - mean) ** 2 / mean).sum())
        rows += len(mean)
    return square / max(rows - 1 - int((np.abs(coefficients) > 0).sum()), 1)


def _count_warnings(design: Design, expanded: Expanded) -> tuple[str, ...]:
    if isinstance(design.family, Bernoulli):
        return ()
    mean = expanded.posterior.mean
    found = dispersion(design, mean, float(expanded.statistics.intercept(mean)))
    if found <= MOST_DISPERSION:
        return ()
    return (
        f"the counts of {design.rows.child!r} spread {found:.1f} times as much as Poisson ones: intervals are too "
        "short",
    )


def _diagnostics(design: Design, expanded: Expanded, draws: WeightedDraws, trusted: bool) -> FamilyDiagnostics:
    base = expanded.posterior.diagnostics
    warning = (
        f"the regression of {design.rows.child!r} is far from its expansion (k-hat {draws.k_hat:.2f}, "
        f"{100 * draws.effective_share:.0f}% of the draws count) and could not be sampled: numbers may be off; leave "
        "out causes that you can rule out"
    )
    return FamilyDiagnostics(
        engine=base.engine,
        warnings=(*base.warnings, *_count_warnings(design, expanded), *(() if trusted else (warning,))),
        family=design.family.name,
        rows=expanded.statistics.rows,
        events=expanded.statistics.events,
        draws=draws.size,
        ess=draws.effective_share,
        k_hat=draws.k_hat,
        total_variation=draws.total_variation,
        converged=trusted and base.is_reliable,
    )
