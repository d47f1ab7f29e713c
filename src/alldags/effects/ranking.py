"""The most probable graphs."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from alldags.effects.propagate import Nodes
from alldags.graph.candidate import CandidateGraph

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TopGraph:
    """A graph with its posterior probability.

    Parameters
    ----------
    edges
        The edges present, as (cause, effect).
    probability
        Posterior probability among all candidate graphs.
    """

    edges: tuple[Edge, ...]
    probability: float

    def __str__(self) -> str:
        arrows = ", ".join(f"{cause} -> {effect}" for cause, effect in self.edges)
        return f"{self.probability:.4g}: {arrows or '(no edge)'}"


def top_graphs(graph: CandidateGraph, nodes: Nodes, size: int) -> list[TopGraph] | None:
    """Return the `size` most probable graphs, most probable first; None if the engine has no parent sets.

    Nodes are independent: the best graphs are made of each node's best parent sets, merged one node at a time.
    """
    best = [TopGraph((), 1.0)]
    for child in graph.variables:
        if not graph.parents(child):
            continue
        sets = nodes(child).top_parent_sets(size)
        if sets is None:
            return None
        merged = (
            TopGraph(
                (*item.edges, *((parent, child) for parent in choice.parents)), item.probability * choice.probability
            )
            for item in best
            for choice in sets
        )
        best = heapq.nlargest(size, merged, key=lambda item: item.probability)
    return best
