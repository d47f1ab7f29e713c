"""From an `Effect` to the record that everything shown is made from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from alldags.answers.closed import ClosedAnswer
from alldags.answers.pushed import PushedAnswer
from alldags.answers.ratios import has_ratio
from alldags.answers.tables import straight_probability
from alldags.answers.treatment_values import treatment_word
from alldags.assumptions.notes import no_line, through_levels
from alldags.effects.influence import edge_probability, edge_raised
from alldags.effects.prior_reach import prior_no_effect
from alldags.effects.quantity import Quantity
from alldags.effects.regression import Regression, on_either_side
from alldags.engines import engine_words
from alldags.engines.weighted.posterior import FamilyDiagnostics
from alldags.families.base import Family
from alldags.families.categorical import Categorical
from alldags.families.survival import Survival
from alldags.kinds import MEASURES
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.pair import as_averaged
from alldags.nodes.data import ChildData, WorkingData
from alldags.nodes.divided import parts_of
from alldags.results.effect_checks import least_squares_on
from alldags.results.hidden_line import has_sensitivity, hidden_line
from alldags.results.linked import bends
from alldags.show.summary import (
    Adjustment,
    ClusterSpread,
    EffectSummary,
    Explained,
    GivenEffect,
    HeavyTails,
    LeastSquares,
    MissingShare,
    NoiseSpread,
    NotNormal,
    OpenDirection,
    Ratio,
)

if TYPE_CHECKING:
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior


def summarize(effect: Effect, level: float) -> EffectSummary:
    """Write down what there is to say about an effect."""
    posterior = effect.posterior
    low, high = effect.interval(level)
    low_error, high_error = effect.uncertainty.interval_error(level)
    only = _only_engine(effect)
    words = None if only is None else engine_words(only)
    found = EffectSummary(
        treatment=effect.treatment,
        outcome=effect.outcome,
        mean=effect.mean,
        mean_error=effect.uncertainty.mean_error,
        mean_bound=effect.uncertainty.mean_bound,
        sd=effect.sd,
        sd_structure=effect.uncertainty.structure,
        sd_coefficients=effect.uncertainty.coefficients,
        level=level,
        low=low,
        high=high,
        low_error=low_error,
        high_error=high_error,
        probability_positive=effect.probability.positive,
        probability_negative=effect.probability.negative,
        probability_no_effect=effect.probability_no_effect,
        probability_no_effect_error=effect.probability.no_effect_error,
        has_path=_leads(posterior, effect.treatment, effect.outcome),
        has_reverse_path=_leads(posterior, effect.outcome, effect.treatment),
        rows=posterior.rows,
        rows_outcome=_rows_outcome(effect),
        candidates=len(posterior.graphs),
        log10_graphs=posterior.log10_graphs,
        learns_hyperparameters=posterior.has_hyperparameters,
        scope=None if words is None else words.scope,
        estimate="posterior mean" if words is None else words.estimate,
        engine=engine_line(posterior.engine, effect.uncertainty.engines.values()),
        notes=tuple(effect.notes),
        adjusted=adjusted_for(effect),
        least_squares=_least_squares(effect.checks.least_squares),
        mean_without_link=_without_link(effect),
        converged=effect.uncertainty.converged,
        given_effect=_given_effect(effect, level),
        prior_no_effect=_prior_no_effect(effect),
        is_binary=posterior.workings.data.look(effect.treatment).is_yes_no,
        least_squares_alone=_least_squares(least_squares_on(effect, ())),
        explained=_explained(effect),
        computed=computed_line(engine_names(effect).values()),
        heavy_tails=_heavy_tails(effect),
        sd_hidden=effect.uncertainty.hidden,
        correlated=tuple(effect.hidden.causes.values()),
        hidden=None if effect.hidden.causes else hidden_line(effect, level),
        missing=_missing(effect),
        clusters=_clusters(effect),
        noise=_noise(effect),
        measure=effect.measure,
        treatment_words=posterior.workings.data.look(effect.treatment).words,
        outcome_words=_outcome_words(effect),
        shapes=_shapes(effect),
        is_randomized=_is_randomized(effect),
        has_sensitivity=has_sensitivity(effect),
        **_directions(effect),
    )
    return replace(found, **_by_kind(effect, level))


def _shapes(effect: Effect) -> tuple[tuple[str, float], ...]:
    """Return how probable straight lines and curves are in the outcome's regression; nothing if it was not asked."""
    straight = straight_probability(effect.workings.totals, effect.outcome)
    return () if straight is None else (("straight", straight), ("curves", 1.0 - straight))


def _is_randomized(effect: Effect) -> bool:
    seen = effect.posterior.workings.data.seen
    return seen is not None and effect.treatment in seen.randomized


def _outcome_words(effect: Effect) -> tuple[str, str] | None:
    """Return what 0 and 1 stand for in the outcome: of a category, all other levels and the one asked about."""
    data = effect.posterior.workings.data
    family = data.families.get(effect.outcome)
    return ("", str(family.level)) if isinstance(family, Categorical) else data.look(effect.outcome).words


def _by_kind(effect: Effect, level: float) -> dict[str, Any]:
    """Return the fields that only some kinds of effect have."""
    contrast = effect._question.comparison.values
    levels: dict[str, Any] = {"levels": None if _is_closed(effect) else _levels(effect, contrast)}
    if contrast is not None and effect.treatment in effect.posterior.workings.data.categories:
        words = [str(treatment_word(effect, value)) for value in contrast]
        contrast, levels["treatment_words"] = (0.0, 1.0), (words[0], words[1])
    if _is_closed(effect):
        found = {"contrast": contrast, **levels}
        if effect._question.on_link:
            found |= {"not_normal": _not_normal(effect), "least_squares_alone": None}
        return found
    return {
        "contrast": contrast,
        "over": effect.over,
        **levels,
        "risk_ratio": _ratio(effect.on("ratio"), level) if has_ratio(effect.measure) else None,
        "odds_ratio": _ratio(effect.on("odds ratio"), level) if effect.measure == "risk" else None,
        "not_normal": _not_normal(effect),
        "mean_straight_line": None if no_line(effect) else effect.checks.straight_line.mean,
    }


def _has_values(effect: Effect) -> bool:
    return effect.posterior.workings.data.has_values(effect.outcome)


def _is_closed(effect: Effect) -> bool:
    return isinstance(effect.answer, ClosedAnswer)


def _levels(effect: Effect, contrast: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the mean outcome under both values; they differ by the effect, as far as its mean is not more exact."""
    if effect.measure in MEASURES or isinstance(effect.answer, PushedAnswer):
        low, high = (float(level) for level in effect.levels)
        apart = 0.5 * (effect.mean - (high - low))
        return low - apart, high + apart
    return None if contrast is None else (effect.answer.level_mean(contrast[0]), effect.answer.level_mean(contrast[1]))


def _ratio(quantity: Quantity, level: float) -> Ratio:
    return Ratio(quantity.median, *quantity.interval(level))


def _seen(data: WorkingData, child: str, family: Family) -> float:
    """Return the number of events of a survival time, of rows with some of an amount, else the sum of the values."""
    assert data.table is not None
    if isinstance(family, Survival):
        return float(data.table.column(family.event).sum())
    look = data.look(child)
    return float((data.table.column(child) > 0.0).sum()) if family.parts else round(look.mean * look.rows, 6)


def _not_normal(effect: Effect) -> tuple[NotNormal, ...]:
    """Return the variables on the way to the outcome, and itself, that are not normal."""
    found: dict[str, NotNormal] = {}
    for total in effect.workings.totals.items:
        for child in total.span.reached:
            family = total.model.data.families.get(child)
            if family is not None:
                events, until = _seen(total.model.data, child, family), getattr(family, "until", None)
                look = total.model.data.look(child)
                rows = total.model.data.pooled.rows if math.isnan(look.rows) else look.rows
                found[child] = NotNormal(child, family.name, events, rows, until)
    return tuple(found.values())


def engine_names(effect: Effect) -> dict[str, str]:
    """Return, for each regression that the effect runs through, how it was computed."""
    names = dict(effect.uncertainty.engines)
    for total in effect.workings.totals.items:
        for node in total.nodes():
            parts = [part.diagnostics for part in parts_of(node)]
            if all(isinstance(found, FamilyDiagnostics) and not found.fallback for found in parts):
                names[node.problem.child] = "weighted"
    return names


def _heavy_tails(effect: Effect) -> tuple[HeavyTails, ...]:
    found = {}
    for total in effect.workings.totals.items if effect.posterior.workings.data.heavy else ():
        for node in total.nodes():
            its = node.diagnostics
            if isinstance(its, FamilyDiagnostics) and math.isfinite(its.df):
                name = node.problem.child
                found[name] = HeavyTails(name, its.df, its.light, its.rows, its.least_weight, its.df_sd)
    return tuple(found.values())


def _rows_outcome(effect: Effect) -> float | None:
    """Return the number of rows in the regression of the outcome, where that is less than all."""
    data = effect.posterior.workings.data
    own = data.own.get(effect.outcome)
    return None if own is None or own.rows > data.rows - 0.5 else own.rows


def _missing(effect: Effect) -> MissingShare | None:
    if effect.uncertainty.missing is None or effect.uncertainty.missing_information is None:
        return None
    tables = effect.workings.totals.weights.tables
    return MissingShare(
        tables, effect.uncertainty.missing, effect.uncertainty.missing_information, effect.uncertainty.imputation_error
    )


def _clusters(effect: Effect) -> ClusterSpread | None:
    check = effect.uncertainty.clusters
    if check is None:
        return None
    return ClusterSpread(check.clusters, check.sd_independent, check.sd_clusters, check.design_effect)


def _noise(effect: Effect) -> NoiseSpread | None:
    check = effect.uncertainty.jackknife
    if check is None or check.kind in ("clusters", "errors") or check.factor == 1.0:
        return None
    return NoiseSpread(effect.answer.sd, effect.sd / effect.answer.sd)


def _directions(effect: Effect) -> dict[str, Any]:
    """Return what is known of directions that were left open; nothing if none was."""
    graphs, (x, y) = effect.posterior.graphs, (effect.treatment, effect.outcome)
    found: dict[str, Any] = {}
    if effect.probability.open_pairs:
        either = on_either_side(effect.posterior.graphs, effect.treatment)
        found["either_side"] = tuple(name for name in either if name != effect.outcome)
        found["open_pairs"] = tuple(
            OpenDirection(pair.first, pair.second, pair.forward, pair.backward)
            for pair in effect.probability.open_pairs
        )
        found["sd_direction"] = effect.uncertainty.direction
    if any(y in graph.descendants(x) for graph in graphs) and any(x in graph.descendants(y) for graph in graphs):
        found["probability_reverse"] = effect.probability.reverse
        found["probability_neither"] = effect.probability.neither
    return found


def _without_link(effect: Effect) -> float | None:
    """Return the mean without the confounder link; None without one, and where curves would have to be fitted anew."""
    if not effect.posterior.workings.link or bends(effect) or through_levels(effect):
        return None
    return effect.checks.confounder_link.mean_without


def _given_effect(effect: Effect, level: float) -> GivenEffect | None:
    """Return mean and interval given a path; None if that is certain, impossible or not defined."""
    atom = effect.probability_no_effect
    if atom is None or not 0.0 < atom < 1.0:
        return None
    present = effect.uncertainty.sample.without_atom
    if present is None:
        return None
    low, high = (present.quantile(0.5 + sign * level / 2) for sign in (-1, 1))
    return GivenEffect(effect.mean / (1.0 - atom), low, high)


def _prior_no_effect(effect: Effect) -> float | None:
    models = effect.posterior.workings.models
    if any(model.prior.edges is not None or model.graph.blocks for model in models.items):
        return None
    if any(model.uncounted(child) for model in models.items for child in effect.workings.reached):
        return None
    asked = effect.treatment, effect.outcome
    return models.prior_average(lambda model: prior_no_effect(as_averaged(model.graph, model.data), *asked))


def _explained(effect: Effect) -> tuple[Explained, ...]:
    """Return the share of variance that each regression explains, averaged over models.

    Not of heavy tails, where the variance of the child is mostly that of a few rows, and of nothing that has no noise.
    """
    models, tables = effect.workings.models, effect.posterior.workings.tables
    found = []
    for child in effect.workings.reached:
        if child in effect.posterior.workings.data.heavy or child in effect.posterior.workings.data.families:
            continue
        variance = sum(_variance(data.of(child), child) for data in tables) / len(tables)
        noise = models.average(lambda model, child=child: model.margin(child).noise_variance)  # type: ignore[misc]
        if math.isfinite(noise):
            found.append(Explained(child, 1.0 - noise / variance))
    return tuple(found)


def _variance(own: ChildData, child: str) -> float:
    return float(own.scatter[own.index[child], own.index[child]] / own.n)


def _least_squares(plain: Regression | None) -> LeastSquares | None:
    if plain is None:
        return None
    return LeastSquares(plain.estimate, plain.low, plain.high, len(plain.covariates))


def adjusted_for(effect: Effect) -> tuple[Adjustment, ...]:
    """Return the covariates in the outcome's regression, most probable first."""
    models, outcome = effect.workings.models, effect.outcome
    inside = {name for total in effect.workings.totals.items for name in total.span.variables}
    names = dict.fromkeys(name for model in models.items for name in model.graph.parents(outcome) if name not in inside)
    found = [_adjustment(models, name, outcome) for name in names] if inside and effect.workings.has_structure else []
    return tuple(sorted(found, key=lambda item: -round(item.probability, 3)))  # what is printed alike stays in order


def _adjustment(models: Mixture[FittedGraph], name: str, outcome: str) -> Adjustment:
    probability = models.average(lambda model: edge_probability(model, (name, outcome)))
    raised = models.average(lambda model: edge_raised(model, (name, outcome)))
    return Adjustment(name, min(probability, 1.0), raised)  # sums of weights round to a little more


def _only_engine(effect: Effect) -> str | None:
    """Return the one engine used for all nodes of an effect, or None if there were several, or no node."""
    used = set(effect.uncertainty.engines.values())
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


_COMPUTED = {
    "exact": "exactly",
    "certified": "up to a proven remainder",
    "mcmc": "by sampling",
    "partition": "by sampling orders",
    "gibbs": "by Gibbs sampling",
    "polya-gamma": "by Polya-Gamma sampling",
    "metropolis": "by Metropolis sampling",
    "row-weights": "by sampling weights of rows",
    "weighted": "by weighted draws",
    "vb": "by a variational approximation",
    "em": "by its most probable coefficients",
    "k2": "in one graph that was searched for",
    "full": "in the full graph",
}


def computed_line(used: Iterable[str]) -> str:
    """Say how the regressions were computed, and how many of them how.

    Examples
    --------
    >>> from alldags.results.summarize import computed_line
    >>> computed_line(["exact", "exact", "mcmc"])
    '2 regressions exactly, 1 by sampling'
    >>> computed_line(["exact"])
    '1 regression exactly'
    """
    counts = Counter(used)
    parts = [f"{count} {_COMPUTED.get(name, f'by {name}')}" for name, count in sorted(counts.items())]
    if not parts:
        return ""
    first = next(iter(sorted(counts.items())))[1]
    parts[0] = parts[0].replace(f"{first} ", f"{first} regression{'s' if first > 1 else ''} ", 1)
    return ", ".join(parts)
