"""Fitting and drawing the regressions that a hidden cause touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alldags.effects.hidden.conditional import NodeSample, sample_settings
from alldags.effects.hidden.model import HiddenModel, NodeDraws
from alldags.effects.hidden.spikes import free_of_spikes, spikes
from alldags.effects.span import Span
from alldags.effects.total import variable_streams
from alldags.errors import AlldagsError
from alldags.models.fitted import FittedGraph

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
    source = _sample(model, treatment, (), {}, size, streams[treatment])
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


def _sample(
    model: FittedGraph, child: str, certain: Sequence[str], added: Mapping[str, float], size: int,
    rng: np.random.Generator,
) -> NodeSample:  # fmt: skip
    node = model.extended_node(child, certain, added)
    if node.problem.loadings is not None:
        raise AlldagsError(
            f"the regression of {child!r} has terms that are not variables; sensitivity needs plain ones"
        )
    coefficients, variance = node.draw(size, rng)
    return NodeSample(node.problem, coefficients, variance, np.zeros(size, dtype=np.int64))


def _plain_node(model: FittedGraph, span: Span, child: str, size: int, rng: np.random.Generator) -> NodeDraws:
    sample = _sample(model, child, (), {}, size, rng)
    terms = sample.problem.terms
    parents = tuple(name for name in terms if name in span.places)
    columns = [terms.index(name) for name in parents]
    return NodeDraws(child, parents, sample.coefficients[:, columns], np.sqrt(sample.variance), (), (), sample)


def _hit_node(
    model: FittedGraph, treatment: str, span: Span, child: str, before: Sequence[str], size: int,
    rng: np.random.Generator,
) -> NodeDraws:  # fmt: skip
    """Refit a hit node: the nodes hit before are in its regression, and what drives them may be."""
    added = phantoms(model, treatment, child, before)
    structured = model.node(child).inclusion is not None
    sample = _sample(model, child, before if structured else (), added, size, rng)
    terms = sample.problem.terms
    missing = [name for name in before if name not in terms]
    if missing:
        raise AlldagsError(
            f"there is no candidate edge {missing[0]!r} -> {child!r}, and this engine cannot hold it absent while a "
            "hidden cause acts on both; add the edge, or use engine='auto'"
        )
    parents = tuple(name for name in terms if name in span.places)
    columns = [terms.index(name) for name in parents]
    if structured:
        sample = sample_settings(sample.problem, sample.coefficients, sample.variance, rng)
        stated = model.extended_problem(child, (), added)
        found = tuple(spikes(sample, stated, before, parents))
    else:
        found = (free_of_spikes(size, len(parents)),)
    forced = tuple(parents.index(name) for name in before)
    return NodeDraws(child, parents, sample.coefficients[:, columns], np.sqrt(sample.variance), forced, found, sample)


def phantoms(model: FittedGraph, treatment: str, child: str, before: Sequence[str]) -> dict[str, float]:
    """Return causes of earlier hit nodes that the graph keeps from `child`, but that its regression may show.

    The value is the probability with which they drive one of those nodes.
    """
    own = set(model.graph.parents(child)) | {child, *before}
    spared: dict[str, float] = {}
    for source in before:
        for name, value in model.drives(source, treatment).items():
            if name not in own:
                spared[name] = spared.get(name, 1.0) * (1.0 - value)
    return {name: min(1.0 - value, 1.0 - 1e-9) for name, value in spared.items() if 1.0 - value >= _LEAST}
