"""Fit a node that is not normal: expand, weigh, and where that is not good enough, sample."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from alldags.engines.weighted.design import Design
from alldags.engines.weighted.expansion import Expanded, expanded_again, expanded_around, expanded_posterior
from alldags.engines.weighted.posterior import FamilyDiagnostics, WeightedPosterior
from alldags.engines.weighted.weighing import WeightedDraws, draws_for, weigh
from alldags.families.base import Draws, Family, RowSums
from alldags.nodes.build import NodeTerms
from alldags.nodes.posterior import Engine
from alldags.nodes.rows import NodeRows
from alldags.priors.prior import Prior

_FLAT = (0.85, 0.75)  # factors of the information where weights cannot be trusted
_FEWER = 4  # times fewer draws in each of several tables


def fit_rows(
    rows: NodeRows,
    terms: NodeTerms,
    prior: Prior,
    engine: Engine,
    rng: np.random.Generator,
    size: int | None = None,
    samples: bool = True,
    like: WeightedPosterior | None = None,
) -> WeightedPosterior:
    """Return the posterior of one node that is not normal, over its columns.

    Parameters
    ----------
    rows
        Of the child.
    terms
        Its columns with their prior probabilities.
    prior
        As given to `fit`; the family makes that of the predictor's scale from it.
    engine
        Computes the posterior under the quadratic.
    rng
        Generator.
    size
        Number of weighted draws; by the number of rows if not given.
    samples
        Whether chains are run where weights fail.
    like
        The same node in one of several tables that are much alike: it is expanded where that was.
    """
    from alldags.engines.weighted.averaged import averaged

    def fit(family: Family, stream: np.random.Generator) -> WeightedPosterior:
        own = replace(design, rows=replace(rows, family=family))
        return fit_sums(own, terms, prior, engine, stream, size, samples, like)

    design = Design.of(rows)
    variants = rows.family.variants(design)
    return averaged(rows.family, variants, fit, rng) if variants else fit(rows.family, rng)


def fit_sums(
    rows: RowSums,
    terms: NodeTerms,
    prior: Prior,
    engine: Engine,
    rng: np.random.Generator,
    size: int | None = None,
    samples: bool = True,
    like: WeightedPosterior | None = None,
) -> WeightedPosterior:
    """Return the same from sums over rows that may be elsewhere; where weights fail, only rows at hand are sampled."""
    expand_rng, weigh_rng, sample_rng = rng.spawn(3)
    if like is None:
        expanded = expanded_posterior(rows, terms, prior, engine, expand_rng)
    else:
        expanded = expanded_again(rows, terms, prior, engine, expand_rng, Expanded(like.quadratic, like.base))
    if size is None:
        size = draws_for(expanded.quadratic.rows) // (1 if like is None else _FEWER)
    draws = weigh(rows, expanded, size, weigh_rng)
    if not (samples and _has_sampler(rows, expanded)):
        expanded, draws = _reached(rows, terms, prior, engine, sample_rng, expanded, draws)
    return _gate(rows, expanded, draws, sample_rng, samples=samples and engine.scope is None)


def _has_sampler(rows: RowSums, expanded: Expanded) -> bool:
    """Tell whether there are chains to fall back on; rows that are elsewhere are asked no more often than needed."""
    from alldags.engines.weighted.chains import sampler_of

    return not isinstance(rows, Design) or sampler_of(rows, expanded.posterior.problem) is not None


def _reached(
    rows: RowSums,
    terms: NodeTerms,
    prior: Prior,
    engine: Engine,
    rng: np.random.Generator,
    expanded: Expanded,
    draws: WeightedDraws,
) -> tuple[Expanded, WeightedDraws]:
    """Expand again, around the weighted draws and flatter, as long as weights cannot be trusted; return the best."""
    for flat in _FLAT:
        if draws.can_be_trusted(rows.family.most_k_hat):
            break
        expand_rng, weigh_rng = rng.spawn(2)
        around = draws.taken(draws.size, expand_rng)
        again = expanded_around(rows, terms, prior, engine, expand_rng, around, flat)
        found = weigh(rows, again, draws.size, weigh_rng)
        if found.k_hat < draws.k_hat:
            expanded, draws = again, found
    return expanded, draws


def _gate(
    rows: RowSums, expanded: Expanded, draws: WeightedDraws, rng: np.random.Generator, samples: bool
) -> WeightedPosterior:
    """Return the weighted posterior if it can be trusted, else the sampled one, else it with a warning."""
    from alldags.engines.weighted.chains import sampled_posterior, sampler_of

    trusted = draws.can_be_trusted(rows.family.most_k_hat)
    if isinstance(rows, Design) and samples and (rows.family.is_rare(expanded.quadratic) or not trusted):
        sampler = sampler_of(rows, expanded.posterior.problem)
        if sampler is not None:
            return sampled_posterior(rows, sampler, expanded, draws, _diagnostics(rows, expanded, draws, True), rng)
    center = rows.rows.center if isinstance(rows, Design) else None
    return WeightedPosterior(rows.family, expanded, draws, _diagnostics(rows, expanded, draws, trusted), center)


def _diagnostics(rows: RowSums, expanded: Expanded, draws: WeightedDraws, trusted: bool) -> FamilyDiagnostics:
    base, quadratic = expanded.posterior.diagnostics, expanded.quadratic
    mean = expanded.posterior.mean
    middle = Draws(np.atleast_1d(quadratic.intercept(mean)), mean[None], np.ones(1))
    warning = (
        f"the regression of {rows.child!r} is far from its expansion (k-hat {draws.k_hat:.2f}, "
        f"{100 * draws.effective_share:.0f}% of the draws count) and could not be sampled: numbers may be off; leave "
        "out causes that you can rule out"
    )
    return FamilyDiagnostics(
        engine=base.engine,
        warnings=(*base.warnings, *rows.family.remarks(rows, middle), *(() if trusted else (warning,))),
        family=rows.family.name,
        rows=quadratic.rows,
        events=quadratic.events,
        draws=draws.size,
        ess=draws.effective_share,
        k_hat=draws.k_hat,
        total_variation=draws.total_variation,
        converged=trusted and base.is_reliable,
        df=getattr(rows.family, "df", math.nan),
        light=quadratic.light,
        least_weight=quadratic.weights[0],
        largest_weight=quadratic.weights[1],
    )
