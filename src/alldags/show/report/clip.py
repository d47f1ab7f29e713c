"""The part of a graph that matters for one effect, small enough to be looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from alldags.show.plots.layout import Edge
from alldags.show.report.record import EdgeFacts, Report

MOST_VARIABLES = 16
MOST_EDGES = 40


@dataclass(frozen=True)
class ClippedGraph:
    """Some variables and edges of a graph, for `alldags.show.plots.layout.lay_out`.

    Parameters
    ----------
    variables
        Names.
    edges
        Probability of each edge.
    layers
        The variables in layers, causes first.
    """

    variables: tuple[str, ...]
    edges: Mapping[Edge, float]
    layers: tuple[tuple[str, ...], ...]

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """Return the layers."""
        return self.layers


def clipped(report: Report, most: int = MOST_VARIABLES) -> ClippedGraph:
    """Return all of a small graph; of a large one the variables, then the edges, on which the effect rests most.

    Parameters
    ----------
    report
        What is known of the edges.
    most
        Number of variables that are kept.
    """
    variables = _kept_variables(report, most)
    inside = [edge for edge in report.edges if edge.cause in variables and edge.effect in variables]
    largest = MOST_EDGES * most // MOST_VARIABLES
    if len(inside) > largest:
        inside = sorted(inside, key=_rank)[:largest]
    kept = {edge.pair for edge in inside}
    edges = {edge.pair: _shown(edge) for edge in report.edges if edge.pair in kept}
    layers = (tuple(name for name in tier if name in variables) for tier in report.tiers)
    return ClippedGraph(
        tuple(name for name in report.variables if name in variables), edges, tuple(layer for layer in layers if layer)
    )


def _shown(edge: EdgeFacts) -> float:
    """Return the probability to draw: data never make an edge certain, what rounds to 1 is still shown as uncertain."""
    probability = edge.prior if edge.posterior is None else edge.posterior
    return 1.0 if edge.prior == 1.0 else min(probability, math.nextafter(1.0, 0.0))


def _kept_variables(report: Report, most: int) -> set[str]:
    if len(report.variables) <= most:
        return set(report.variables)
    kept = {report.summary.treatment: None, report.summary.outcome: None}
    for edge in sorted(report.edges, key=_rank):
        fresh = [name for name in edge.pair if name not in kept]
        if edge.bears and len(kept) + len(fresh) <= most:
            kept.update(dict.fromkeys(fresh))
    return set(kept)


def _rank(edge: EdgeFacts) -> tuple[float, float]:
    """Order by how much of the effect rests on an edge, then by its probability."""
    return -edge.weight, -(edge.prior if edge.posterior is None else edge.posterior)
