"""Fitting and drawing the regressions that a hidden cause touches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alldags.effects.hidden.conditional import NodeSample, sample_settings
from alldags.effects.hidden.model import HiddenModel, NodeDraws
from alldags.effects.hidden.spikes import free_of_spikes, spikes
from alldags.effects.span import Span
from alldags.effects.total import variable_streams
from alldags.errors import AlldagsError
from alldags.models.fitted import FittedGraph
from alldags.nodes.build import Cleared, mixing
from alldags.nodes.onto import over_columns
from alldags.nodes.posterior import NodePosterior
from alldags.wording import option

_LEAST = 0.01  # probability with which a cause of a hit node shows up in the regressions of later ones
_MOST_VALUES = 600_000  # draws times answers about absent edges
_MOST_ANSWERS = 4096


def hidden_model(
    model: FittedGraph, treatment: str, outcome: str, hits: Sequence[str], size: int, rng: np.random.Generator
) -> HiddenModel:
    """Fit and draw what is needed in one graph.

    Parameters
    ----------
    model
        Linked to the treatment.
    treatment, outcome
        Names.
    hits
        Nodes that the hidden cause acts on besides the treatment.
    size
        Number of draws.
    rng
        Each variable draws from a stream of its own.
    """
    span = Span.between(model.graph, treatment, outcome)
    streams = variable_streams(model, rng)
    inside = [name for name in span.reached if name in hits]
    source = _sample(model.extended_node(treatment, (), {}), size, streams[treatment])
    model.prepare(name for name in span.reached if name not in inside)
    nodes = tuple(
        _hit_node(model, treatment, span, name, (treatment, *inside[: inside.index(name)]), size, streams[name])
        if name in inside
        else _plain_node(model, span, name, size, streams[name])
        for name in span.reached
    )
    found = HiddenModel(
        treatment, outcome, (treatment, *inside), np.sqrt(source.variance), source, nodes,
        _has_structure(model, span),
    )  # fmt: skip
    if found.answers > _MOST_ANSWERS:
        raise AlldagsError(
            f"a hidden cause of {len(found.hits)} variables leaves {found.answers:,} answers to which edges between "
            f"them are absent, more than {_MOST_ANSWERS:,}; name fewer in hits="
        )
    few = _MOST_VALUES // found.answers
    return found if few >= size else found.take(slice(0, max(few, 100)))


def _has_structure(model: FittedGraph, span: Span) -> bool:
    return all(model.node(name).inclusion is not None for name in span.reached)


def _sample(node: NodePosterior, size: int, rng: np.random.Generator) -> NodeSample:
    """Draw a node over its columns: the levels of a category enter and leave together."""
    found = over_columns(node)
    coefficients, variance = found.draw(size, rng)
    return NodeSample(found.problem, coefficients, variance, np.zeros(size, dtype=np.int64))


def _plain_node(model: FittedGraph, span: Span, child: str, size: int, rng: np.random.Generator) -> NodeDraws:
    sample = _sample(model.extended_node(child, (), {}), size, rng)
    terms = sample.problem.terms
    parents = tuple(name for name in terms if name in span.places)
    columns = [terms.index(name) for name in parents]
    return NodeDraws(child, parents, sample.coefficients[:, columns], np.sqrt(sample.variance), (), (), sample)


def _hit_node(
    model: FittedGraph, treatment: str, span: Span, child: str, before: Sequence[str], size: int,
    rng: np.random.Generator,
) -> NodeDraws:  # fmt: skip
    """Refit a hit node: the nodes hit before are in its regression, and what drives them may be.

    Covariates that drive the treatment strongly are instruments where they do not act on the outcome. Shrinking their
    coefficients, or leaving them out, would draw the treatment's towards its effect *without* the hidden cause, whose
    bias is then taken away once more. Hence the nodes hit before are cleared of them.
    """
    added = phantoms(model, treatment, child, before)
    structured = model.node(child).inclusion is not None
    certain = before if structured else ()
    plain = model.extended_problem(child, certain, added)
    terms = plain.terms
    missing = [name for name in before if name not in terms]
    if missing:
        raise AlldagsError(
            f"there is no candidate edge {missing[0]!r} -> {child!r}, and this engine cannot hold it absent while a "
            f"hidden cause acts on both; add the edge, or use {option('engine', 'auto')}"
        )
    cleared = tuple(cleared_of_drivers(model, treatment, terms, name) for name in before)
    sample = _sample(model.extended_node(child, certain, added, cleared), size, rng)
    parents = tuple(name for name in terms if name in span.places)
    columns = [terms.index(name) for name in parents]
    if structured:
        sample = sample_settings(sample.problem, sample.coefficients, sample.variance, rng)
        stated = model.extended_problem(child, (), added)
        found = tuple(spikes(sample, stated, before, parents))
    else:
        found = (free_of_spikes(size, len(parents)),)
    forced = tuple(parents.index(name) for name in before)
    observed = NodeSample(plain, sample.coefficients @ mixing(terms, cleared).T, sample.variance, sample.setting)
    return NodeDraws(child, parents, sample.coefficients[:, columns], np.sqrt(sample.variance), forced, found, observed)


def cleared_of_drivers(model: FittedGraph, treatment: str, terms: Sequence[str], source: str) -> Cleared:
    """Return a hit node cleared of those terms that come before the treatment and drive it, as far as they do.

    Not by least squares: covariates as many as rows would leave nothing.
    """
    after = model.graph.descendants(treatment) | {treatment}
    slopes = model.driving(source, treatment)
    of = tuple(name for name in terms if name in slopes and name not in after)
    return Cleared(source, of, tuple(slopes[name] for name in of))


def phantoms(model: FittedGraph, treatment: str, child: str, before: Sequence[str]) -> dict[str, float]:
    """Return causes of earlier hit nodes, which the regression of `child` may show whether or not they act on it.

    The value is the probability with which they drive one of those nodes.
    """
    own = {child, *before}
    spared: dict[str, float] = {}
    for source in before:
        for name, value in model.drives(source, treatment).items():
            if name not in own:
                spared[name] = spared.get(name, 1.0) * (1.0 - value)
    return {name: min(1.0 - value, 1.0 - 1e-9) for name, value in spared.items() if 1.0 - value >= _LEAST}
