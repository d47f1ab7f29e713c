"""The most probable graphs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from alldags.effects.classes import block_graphs, by_class
from alldags.effects.top import TopGraph
from alldags.graph.edges import Edge
from alldags.models.blocks import NodeBlock
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.order_block import OrderBlock
from alldags.typing import FloatArray, IntArray

_MOST_GRAPHS = 2000  # of which classes are made
_DEEPEST = 4000  # graphs of each model that are looked at, where there are several
_UNSEEN = 1e-3  # share of the last probability returned that may be missing from it


def top_classes(models: Mixture[FittedGraph], size: int) -> list[TopGraph] | None:
    """Return the most probable Markov classes, each with its members, among the most probable graphs."""
    graphs = top_graphs(models, _MOST_GRAPHS)
    return None if graphs is None else by_class(graphs, models.items[0].graph.variables)[:size]


def top_graphs(models: Mixture[FittedGraph], size: int) -> list[TopGraph] | None:
    """Return the `size` most probable graphs, most probable first; None if the engine has no parent sets.

    A graph that several models have counts with the probability of all of them together.
    """
    if len(models.items) == 1:
        return top_graphs_of(models.items[0], size)
    for depth in _depths(size):
        found = models.map(lambda model, depth=depth: top_graphs_of(model, depth))  # type: ignore[misc]
        if not found.all(lambda best: best is not None):
            return None
        ranked = _merged(found)[:size]
        # what the lists leave out of any graph: less than the last that each of them names
        unseen = found.average(lambda best, depth=depth: _last(best or [], depth))  # type: ignore[misc]
        if unseen <= _UNSEEN * (ranked[-1].probability if ranked else 0.0):
            break
    return ranked


def _depths(size: int) -> Iterator[int]:
    """Yield how far down each model's list is read: models rank the same graphs differently."""
    depth = max(size, min(8 * size, _DEEPEST), 60)
    yield depth
    while depth < _DEEPEST:
        depth = min(4 * depth, _DEEPEST)
        yield depth


def _last(best: list[TopGraph], depth: int) -> float:
    """Return the least probability in a list, which all that it leaves out fall below; 0 if it has all."""
    return best[-1].probability if len(best) >= depth else 0.0


def _merged(found: Mixture[list[TopGraph] | None]) -> list[TopGraph]:
    """Return the graphs of all lists, most probable first; one that several have counts with all of them."""
    tables = found.map(lambda best: {frozenset(item.edges): item.probability for item in best or ()})
    graphs = dict.fromkeys(edges for table in tables.items for edges in table)
    shown = {edges: item.edges for best in found.items for item in best or () for edges in [frozenset(item.edges)]}
    total = {edges: tables.average(lambda table, edges=edges: table.get(edges, 0.0)) for edges in graphs}  # type: ignore[misc]
    ranked = sorted(total.items(), key=lambda pair: -pair[1])
    return [TopGraph(shown[edges], probability) for edges, probability in ranked]


def top_graphs_of(model: FittedGraph, size: int) -> list[TopGraph] | None:
    """Return the most probable graphs of one model.

    Blocks are independent: the best graphs are made of each block's best ones, merged one block at a time.
    """
    probability, chosen = np.ones(1), np.zeros((1, 0), dtype=np.int64)  # of each graph; place of each block's choice
    edges: list[list[tuple[Edge, ...]]] = []
    listed = {name: i for i, name in enumerate(model.graph.variables)}
    blocks = model.blocks(name for name in listed if model.graph.parents(name))
    for block in sorted(blocks, key=lambda block: listed[block.variables[0]]):
        choices = block_graphs(block, size) if isinstance(block, OrderBlock) else _node_graphs(block, size)
        if choices is None:
            return None
        edges.append([item.edges for item in choices])
        before, added, probability = _best_pairs(probability, np.array([item.probability for item in choices]), size)
        chosen = np.column_stack([chosen[before], added])
    return [
        TopGraph(tuple(chain.from_iterable(own[j] for own, j in zip(edges, places, strict=True))), value)
        for places, value in zip(chosen.tolist(), probability.tolist(), strict=True)
    ]


def _node_graphs(block: NodeBlock, size: int) -> list[TopGraph] | None:
    sets = block.node.top_parent_sets(size)
    if sets is None:
        return None
    return [TopGraph(tuple((parent, block.child) for parent in one.parents), one.probability) for one in sets]


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
