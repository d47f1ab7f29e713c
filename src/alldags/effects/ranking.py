"""The most probable graphs."""

from __future__ import annotations

import heapq

from alldags.effects.classes import block_graphs, by_class
from alldags.effects.top import TopGraph
from alldags.models.blocks import NodeBlock
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.order_block import OrderBlock

_MOST_GRAPHS = 2000  # of which classes are made


def top_classes(models: Mixture[FittedGraph], size: int) -> list[TopGraph] | None:
    """Return the most probable Markov classes, each with its members, among the most probable graphs."""
    graphs = top_graphs(models, _MOST_GRAPHS)
    return None if graphs is None else by_class(graphs, models.items[0].graph.variables)[:size]


def top_graphs(models: Mixture[FittedGraph], size: int) -> list[TopGraph] | None:
    """Return the `size` most probable graphs, most probable first; None if the engine has no parent sets.

    A graph that several models have counts with the probability of all of them together.
    """
    found = models.map(lambda model: top_graphs_of(model, size))
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

    Blocks are independent: the best graphs are made of each block's best ones, merged one block at a time.
    """
    best = [TopGraph((), 1.0)]
    for block in model.blocks(name for name in model.graph.variables if model.graph.parents(name)):
        choices = block_graphs(block, size) if isinstance(block, OrderBlock) else _node_graphs(block, size)
        if choices is None:
            return None
        merged = (
            TopGraph((*item.edges, *choice.edges), item.probability * choice.probability)
            for item in best
            for choice in choices
        )
        best = heapq.nlargest(size, merged, key=lambda item: item.probability)
    return best


def _node_graphs(block: NodeBlock, size: int) -> list[TopGraph] | None:
    sets = block.node.top_parent_sets(size)
    if sets is None:
        return None
    return [TopGraph(tuple((parent, block.child) for parent in one.parents), one.probability) for one in sets]
