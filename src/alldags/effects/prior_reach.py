"""The probability, before any data, that no directed path leads from source to target."""

from __future__ import annotations

import math

import numpy as np

from alldags.effects.span import Span
from alldags.graph.candidate import CandidateGraph

_MOST_STATES = 1024  # sets of reached variables that are followed exactly
_DRAWS = 4000  # graphs drawn where there are more
_SEED = 20210413  # of those draws: the same graph always gets the same answer


def prior_no_effect(graph: CandidateGraph, source: str, target: str) -> float:
    """Return P(no directed path) under the stated edge probabilities, edges being independent.

    Exact while few sets of reached variables have to be told apart; else the share among drawn graphs, with a standard
    error below 0.8%.

    Parameters
    ----------
    graph
        A candidate graph whose directions are known.
    source, target
        Names.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.effects.prior_reach import prior_no_effect
    >>> graph = ad.CandidateGraph.from_order(["x", "m", "y"], 0.5)
    >>> prior_no_effect(graph, "x", "y")  # neither x -> y nor x -> m -> y
    0.375
    """
    span = Span.between(graph, source, target)
    if not span.variables:
        return 1.0
    exact = _followed(graph, span)
    return _drawn(graph, span) if exact is None else exact


def _followed(graph: CandidateGraph, span: Span) -> float | None:
    """Go through the variables with a table over sets of reached ones that still matter; None if it grows too large."""
    states: dict[frozenset[str], float] = {frozenset(span.variables[:1]): 1.0}
    for place, child in enumerate(span.reached, start=1):
        parents = {name: graph.edges[name, child] for name in graph.parents(child) if name in span.places}
        needed = {name for later in span.variables[place + 1 :] for name in graph.parents(later)}
        after: dict[frozenset[str], float] = {}
        for reached, weight in states.items():
            missed = math.prod(1.0 - p for name, p in parents.items() if name in reached)
            for state, share in ((reached, missed), (reached | {child}, 1.0 - missed)):
                kept = state & needed if child != span.variables[-1] else state & {child}
                after[kept] = after.get(kept, 0.0) + weight * share
        states = {state: weight for state, weight in after.items() if weight > 0.0}
        if len(states) > _MOST_STATES:
            return None
    return states.get(frozenset(), 0.0)


def _drawn(graph: CandidateGraph, span: Span) -> float:
    """Draw graphs and count those without a path."""
    rng = np.random.default_rng(_SEED)
    reached = np.zeros((len(span), _DRAWS), dtype=bool)
    reached[0] = True
    for place, child in enumerate(span.reached, start=1):
        for name in graph.parents(child):
            if name in span.places:
                reached[place] |= reached[span.places[name]] & (rng.random(_DRAWS) < graph.edges[name, child])
    return float(1.0 - reached[-1].mean())
