"""`EffectChecks.stability`: the answer under other edge probabilities, slabs, without the link, by another engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from alldags.assumptions.examined import ExaminedEffect, ExaminedPosterior
from alldags.errors import AlldagsError
from alldags.models.fitted import FittedGraph
from alldags.priors.prior import Prior
from alldags.show.table import Table

_ODDS = (1 / 3, 3.0)
_SLABS = (0.1, 1.0, 10.0)


def stability(effect: ExaminedEffect) -> Table:
    """Return one row a variant: mean, interval, probability of no effect; a note if the answer turns."""
    rows = [("as fitted", effect)]
    rows += [(name, posterior.asked(effect.answer.question)) for name, posterior in _variants(effect)]
    ends = [found.interval(0.95) for _, found in rows]
    sides = {_side(low, high) for low, high in ends}
    columns: dict[str, list[Any]] = {
        "variant": [name for name, _ in rows],
        "mean": [found.mean for _, found in rows],
        "low": [low for low, _ in ends],
        "high": [high for _, high in ends],
        "probability_no_effect": [found.probability_no_effect for _, found in rows],
    }
    return Table(columns, _note(sides) if len(sides) > 1 else "")


def _side(low: float, high: float) -> str:
    """Return on which side of zero an interval lies."""
    if low > 0.0:
        return "above"
    return "below" if high < 0.0 else "around"


def _note(sides: set[str]) -> str:
    if {"above", "below"} <= sides:
        return "the sign of the effect depends on these choices: do not report one of them alone"
    return "whether the 95% interval holds zero depends on these choices: say so where you report it"


def _variants(effect: ExaminedEffect) -> Iterator[tuple[str, ExaminedPosterior]]:
    posterior = effect.posterior
    prior = posterior.workings.models.items[0].prior
    if prior.coefficients is not None:
        raise AlldagsError("stability varies edge probabilities and slabs, which scale mixtures do not have")
    if prior.edges is None and all(graph.is_ordered for graph in posterior.graphs):
        for factor in _ODDS:
            words = f"edge odds {'3 times' if factor > 1 else 'a third'}"
            yield words, _changed(posterior, partial(_with_edge_odds, factor))
    for value in _SLABS:
        if (prior.slab, prior.slab_variance) != (None, value):
            fixed = replace(prior, slab=None, slab_variance=value)
            yield f"slab variance {value:g}", _with_prior(posterior, fixed)
    if prior.slab is None and replace(prior, slab_variance=None).slab is not None:
        yield "slab learned", _with_prior(posterior, replace(prior, slab_variance=None))
    if posterior.workings.link:
        yield "without the link", _with_prior(posterior, replace(prior, link=0.0))
    yield from _every_edge(effect)


def _every_edge(effect: ExaminedEffect) -> Iterator[tuple[str, ExaminedPosterior]]:
    """Yield the answer of the engine that takes every candidate edge for present, where it can be asked."""
    posterior, data = effect.posterior, effect.posterior.workings.data
    special = data.families or data.categories or data.curved
    if special or any(graph.blocks or graph.hidden for graph in posterior.graphs):
        return
    if posterior.engine != "full":
        yield "engine full: every edge", _changed(posterior, _with_every_edge)


def _with_every_edge(model: FittedGraph) -> FittedGraph:
    """Return the model in which every candidate edge is present for certain: what the engine ``full`` computes."""
    return model.changed(graph=replace(model.graph, edges=dict.fromkeys(model.graph.edges, 1.0)))


def _with_prior(posterior: ExaminedPosterior, prior: Prior) -> ExaminedPosterior:
    return _changed(posterior, lambda model: model.changed(prior=prior))


def _changed(posterior: ExaminedPosterior, change: Callable[[FittedGraph], FittedGraph]) -> ExaminedPosterior:
    models = posterior.workings.models
    items = [change(model) for model in models.items]
    return posterior.derived(models.of(items, models.weights.prior, models.weights.tables))


def _with_edge_odds(factor: float, model: FittedGraph) -> FittedGraph:
    """Return the model with the odds of every uncertain edge multiplied, but of those whose number is learned."""
    learned = {(cause, child) for child in model.graph.variables for cause in model.uncounted(child)}
    edges = model.graph.edges.items()
    changed = {edge: p if p == 1.0 or edge in learned else factor * p / (1.0 - p + factor * p) for edge, p in edges}
    return model.changed(graph=replace(model.graph, edges=changed))
