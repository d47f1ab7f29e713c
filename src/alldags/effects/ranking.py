"""The most probable graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from alldags.graph.edges import Edge
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.typing import FloatArray, IntArray


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


def top_graphs(models: Mixture[FittedGraph], size: int) -> list[TopGraph] | None:
    """Return the `size` most probable graphs, most probable first; None if the engine has no parent sets.

    A graph that several models have counts with the probability of all of them together.
    """
    if len(models.items) == 1:
        return top_graphs_of(models.items[0], size)
    # completed copies of a table rank the same graphs a little differently: look further down in each
    depth = size if models.weights.tables == 1 else max(8 * size, 60)
    found = models.map(lambda model: top_graphs_of(model, depth))
    if not found.all(lambda best: best is not None):
        return None
    tables = found.map(lambda best: {frozenset(item.edges): item.probability for item in best or ()})
    graphs = dict.fromkeys(edges for table in tables.items for edges in table)
    shown = {edges: item.edges for best in found.items for item in best or () for edges in [frozenset(item.edges)]}
    total = {edges: tables.average(lambda table, edges=edges: table.get(edges, 0.0)) for edges in graphs}  # type: ignore[misc]
    ranked = sorted(total.items(), key=lambda pair: -pair[1])[:size]
    return [TopGraph(shown[edges], probability) for edges, probability in ranked]


def top_graphs_of(model: FittedGraph, size: int) -> list[TopGraph] | None:
    """Return the most probable graphs of one model.

    Nodes are independent: the best graphs are made of each node's best parent sets, merged one node at a time.
    """
    probability, chosen = np.ones(1), np.zeros((1, 0), dtype=np.int64)  # of each graph; place of each node's set
    edges: list[list[tuple[Edge, ...]]] = []
    for child in model.graph.variables:
        if not model.graph.parents(child):
            continue
        sets = model.node(child).top_parent_sets(size)
        if sets is None:
            return None
        edges.append([tuple((parent, child) for parent in item.parents) for item in sets])
        before, added, probability = _best_pairs(probability, np.array([item.probability for item in sets]), size)
        chosen = np.column_stack([chosen[before], added])
    return [
        TopGraph(tuple(chain.from_iterable(own[j] for own, j in zip(edges, places, strict=True))), value)
        for places, value in zip(chosen.tolist(), probability.tolist(), strict=True)
    ]


def _best_pairs(first: FloatArray, second: FloatArray, size: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the `size` largest products of two falling sequences: both places, and the products, largest first.

    The i-th with the j-th is no larger than i * j products (counted from one): more than `size` of them, and it need
    not be looked at.
    """
    counts = np.minimum(len(second), size // np.arange(1, len(first) + 1))
    before = np.repeat(np.arange(len(first)), counts)
    added = np.arange(len(before)) - np.repeat(np.cumsum(counts) - counts, counts)
    products = first[before] * second[added]
    best = np.argsort(-products, kind="stable")[:size]
    return before[best], added[best], products[best]
