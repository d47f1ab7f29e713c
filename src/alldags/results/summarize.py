"""From an `Effect` to the record that everything shown is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from alldags.effects.influence import edge_probability, edge_raised
from alldags.effects.regression import Regression
from alldags.engines import engine_words
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.show.summary import Adjustment, ClusterSpread, EffectSummary, LeastSquares, MissingShare

if TYPE_CHECKING:
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior


def summarize(effect: Effect, level: float) -> EffectSummary:
    """Write down what there is to say about an effect."""
    posterior = effect.posterior
    low, high = effect.interval(level)
    low_error, high_error = effect.interval_error(level)
    only = _only_engine(effect)
    words = None if only is None else engine_words(only)
    return EffectSummary(
        treatment=effect.treatment,
        outcome=effect.outcome,
        mean=effect.mean,
        mean_error=effect.mean_error,
        mean_bound=effect.mean_bound,
        sd=effect.sd,
        sd_structure=effect.sd_structure,
        sd_coefficients=effect.sd_coefficients,
        level=level,
        low=low,
        high=high,
        low_error=low_error,
        high_error=high_error,
        probability_positive=effect.probability_positive,
        probability_negative=effect.probability_negative,
        probability_no_path=effect.probability_no_path,
        probability_no_path_error=effect.probability_no_path_error,
        has_path=_leads(posterior, effect.treatment, effect.outcome),
        has_reverse_path=_leads(posterior, effect.outcome, effect.treatment),
        rows=_rows(effect),
        candidates=len(posterior.graphs),
        log10_graphs=posterior.log10_graphs,
        learns_hyperparameters=posterior.has_hyperparameters,
        scope=None if words is None else words.scope,
        estimate="posterior mean" if words is None else words.estimate,
        engine=engine_line(posterior.engine, effect.engines_used.values()),
        notes=effect.notes,
        adjusted=adjusted_for(effect),
        least_squares=_least_squares(effect.regression),
        mean_without_link=effect.link_check.mean_without if posterior._link else None,
        converged=effect.converged,
        missing=_missing(effect),
        clusters=_clusters(effect),
    )


def _rows(effect: Effect) -> float:
    """Return the number of rows of the table, whatever they count as."""
    counted = effect.posterior.rows
    return counted if effect.clusters is None else round(counted * effect.clusters.design_effect, 6)


def _missing(effect: Effect) -> MissingShare | None:
    if effect.sd_missing is None or effect.missing_information is None:
        return None
    tables = effect._totals.weights.tables
    return MissingShare(tables, effect.sd_missing, effect.missing_information, effect.imputation_error)


def _clusters(effect: Effect) -> ClusterSpread | None:
    check = effect.clusters
    if check is None:
        return None
    return ClusterSpread(check.clusters, check.sd_independent, check.sd_clusters, check.design_effect)


def _least_squares(plain: Regression | None) -> LeastSquares | None:
    if plain is None:
        return None
    return LeastSquares(plain.estimate, plain.low, plain.high, len(plain.covariates))


def adjusted_for(effect: Effect) -> tuple[Adjustment, ...]:
    """Return the covariates in the outcome's regression, most probable first."""
    models, outcome = effect._models, effect.outcome
    inside = {name for total in effect._totals.items for name in total.span.variables}
    names = dict.fromkeys(name for model in models.items for name in model.graph.parents(outcome) if name not in inside)
    found = [_adjustment(models, name, outcome) for name in names] if inside and effect.sd_structure is not None else []
    return tuple(sorted(found, key=lambda item: -item.probability))


def _adjustment(models: Mixture[FittedGraph], name: str, outcome: str) -> Adjustment:
    probability = models.average(lambda model: edge_probability(model, (name, outcome)))
    raised = models.average(lambda model: edge_raised(model, (name, outcome)))
    return Adjustment(name, probability, raised)


def _only_engine(effect: Effect) -> str | None:
    """Return the one engine used for all nodes of an effect, or None if there were several, or no node."""
    used = set(effect.engines_used.values())
    return used.pop() if len(used) == 1 else None


def _leads(posterior: Posterior, cause: str, effect: str) -> bool:
    """Whether any candidate graph has a path from one variable to another."""
    return any(effect in graph.descendants(cause) for graph in posterior.graphs)


def engine_line(named: str, used: Iterable[str]) -> str:
    """Say which engine was asked for and, where that says more, which were used and for how many nodes.

    Examples
    --------
    >>> from alldags.results.summarize import engine_line
    >>> engine_line("auto", ["exact", "exact", "mcmc"])
    'auto (exact: 2 nodes, mcmc: 1 node)'
    >>> engine_line("exact", ["exact"])
    'exact'
    """
    counts = Counter(used)
    detail = ", ".join(f"{name}: {count} node{'s' if count > 1 else ''}" for name, count in sorted(counts.items()))
    return f"{named} ({detail})" if detail and (named == "auto" or len(counts) > 1) else named
