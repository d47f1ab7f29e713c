"""The most probable graphs of a block of unknown order, and the Markov classes they belong to."""

from __future__ import annotations

from collections import Counter

import numpy as np

from alldags.effects.top import TopGraph
from alldags.graph.edges import Edge
from alldags.graph.markov import ClassKey, Parents, class_key, class_members, edges_of, parents_of
from alldags.models.order_block import OrderBlock
from alldags.orders.exact import ExactBlock

_DRAWS = 4000
_MOST_MEMBERS = 500  # of a class that are looked at
_CLASSES = 4  # as many classes as graphs are wanted, times this


def block_graphs(block: OrderBlock, size: int) -> list[TopGraph]:
    """Return the most probable graphs of a block: among 4,000 draws and the members of their Markov classes.

    Their probabilities are exact where the block's are, otherwise the share of the draws.
    """
    counts = _drawn(block)
    if not isinstance(block.posterior, ExactBlock):
        shares = {graph: count / _DRAWS for graph, count in counts.items()}
    else:
        shares = _exact(block.posterior, counts, size)
    ranked = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))[:size]
    return [TopGraph(_edges(block, graph), probability) for graph, probability in ranked]


def _drawn(block: OrderBlock) -> Counter[Parents]:
    """Count the graphs of draws with a seed of their own, so that the list is the same at every call."""
    draws = block.posterior.draw(_DRAWS, np.random.default_rng(0))
    return Counter(parents_of(one) for one in draws.coefficients != 0.0)


def _exact(posterior: ExactBlock, counts: Counter[Parents], size: int) -> dict[Parents, float]:
    """Return the probabilities of the graphs drawn most often and of the members of their classes."""
    classes: dict[ClassKey, Parents] = {}
    weight: Counter[ClassKey] = Counter()
    for graph, count in counts.items():
        key = class_key(graph)
        classes.setdefault(key, graph)
        weight[key] += count
    rows, found = len(posterior.problem.causes), {}
    for key, _ in weight.most_common(_CLASSES * size):
        for member in class_members(classes[key], _MOST_MEMBERS) or (classes[key],):
            found[member] = posterior.graph_probability(edges_of(member, rows))
    for graph, _ in counts.most_common(_CLASSES * size):
        found.setdefault(graph, posterior.graph_probability(edges_of(graph, rows)))
    return {graph: probability for graph, probability in found.items() if probability > 0.0}


def _edges(block: OrderBlock, graph: Parents) -> tuple[Edge, ...]:
    causes = block.problem.causes
    present = np.argwhere(edges_of(graph, len(causes)))
    return tuple(dict.fromkeys((block.problem.owner(causes[i]), causes[j]) for i, j in present))


def by_class(graphs: list[TopGraph], variables: tuple[str, ...]) -> list[TopGraph]:
    """Put graphs that no number of observational rows can tell apart together, most probable class first."""
    place = {name: i for i, name in enumerate(variables)}
    groups: dict[ClassKey, list[TopGraph]] = {}
    for item in graphs:
        present = np.zeros((len(variables), len(variables)), dtype=bool)
        for cause, effect in item.edges:
            present[place[cause], place[effect]] = True
        groups.setdefault(class_key(parents_of(present)), []).append(item)
    classes = [
        TopGraph(members[0].edges, sum(item.probability for item in members), tuple(members))
        for members in groups.values()
    ]
    return sorted(classes, key=lambda item: -item.probability)
