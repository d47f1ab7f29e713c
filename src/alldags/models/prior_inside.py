"""The prior of the edges into the variables of a block."""

from __future__ import annotations

import math

import numpy as np

from alldags.graph.candidate import CandidateGraph
from alldags.nodes.build import NodeTerms, linear_terms
from alldags.orders.exact import ExactBlock
from alldags.orders.problem import BlockPosterior
from alldags.priors.prior import Prior


def block_terms(graph: CandidateGraph, prior: Prior, block: tuple[str, ...]) -> tuple[NodeTerms, ...]:
    """Return the terms of each variable of a block; mates have their odds against no edge as probabilities."""
    if prior.edges is not None:
        return tuple(_even_terms(graph, prior, child, block) for child in block)
    inside = graph.block_odds(block).probability
    found = []
    for child in block:
        plain = linear_terms(graph, child)
        chances = tuple(inside.get((name, child), p) for name, p in zip(plain.names, plain.probability, strict=True))
        found.append(NodeTerms(child, plain.names, chances))
    return tuple(found)


def _even_terms(graph: CandidateGraph, prior: Prior, child: str, block: tuple[str, ...]) -> NodeTerms:
    """Return even odds for every uncertain edge, where the prior of edges takes the place of the graph's.

    Edges inside and edges from before may be stated differently, but each must have one probability.
    """
    plain = linear_terms(graph, child)
    for inside in (True, False):
        stated = [p for name, p in zip(plain.names, plain.probability, strict=True) if (name in block) == inside]
        prior.edges_of(np.array(stated), child)
    return NodeTerms(child, plain.names, tuple(0.5 if p < 1.0 else 1.0 for p in plain.probability))


def log_acyclic(graph: CandidateGraph, prior: Prior, block: tuple[str, ...]) -> float | None:
    """Return the log prior probability that independent edges have no cycle; None if it is for the engine to find."""
    if prior.edges is not None:
        return None
    value = graph.block_odds(block).log_acyclic
    return None if math.isnan(value) else value


def stated_inside(graph: CandidateGraph, prior: Prior, posterior: BlockPosterior, column: int) -> list[float]:
    """Return the prior probability of each edge into a variable of a block, among acyclic graphs."""
    node, edges = posterior.problem.nodes[column], posterior.problem.edges_into(column)
    if prior.edges is not None:
        if not isinstance(posterior, ExactBlock):
            return [math.nan] * len(edges)
        rows = posterior.problem.rows(column)[list(edges.values())]
        return [float(value) for value in posterior.prior.inclusion[rows, column]]
    realized = graph.edges if graph.calibrate else graph.realized_probabilities()
    return [realized[name, node.child] for name in edges]
