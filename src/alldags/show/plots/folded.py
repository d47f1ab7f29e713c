"""The part of a large graph that matters for one effect, with the rest folded into one box a tier."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from alldags.show.plots.layout import Edge

_UNIQUE = "\u200b"  # has no width: names of boxes must differ, what is read must not


@dataclass(frozen=True)
class FoldedGraph:
    """Some variables and edges of a graph, for `alldags.show.plots.graph.plot_graph`.

    Parameters
    ----------
    variables
        Names, with those of the boxes that stand for folded variables.
    edges
        Probability of each edge.
    layers
        The variables in layers, causes first.
    folded
        Names of the boxes that stand for several variables.
    """

    variables: tuple[str, ...]
    edges: Mapping[Edge, float]
    layers: tuple[tuple[str, ...], ...]
    folded: frozenset[str]

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """Return the layers."""
        return self.layers


def folded(tiers: Sequence[Sequence[str]], edges: Mapping[Edge, float], kept: Collection[str]) -> FoldedGraph:
    """Return the graph of the variables in `kept`, with one box for the others of each tier.

    Parameters
    ----------
    tiers
        All variables in layers, causes first.
    edges
        Probability of each edge between variables that are kept.
    kept
        Names.

    Examples
    --------
    >>> from alldags.show.plots.folded import folded
    >>> graph = folded([["a", "b", "c"], ["y"]], {("a", "y"): 0.5}, {"a", "y"})
    >>> [[name.strip(chr(0x200B)) for name in tier] for tier in graph.tiers()]
    [['a', '2 more'], ['y']]
    """
    layers, boxes = [], []
    for place, tier in enumerate(tiers):
        inside = [name for name in tier if name in kept]
        if rest := len(tier) - len(inside):
            boxes.append(f"{rest} more{_UNIQUE * (place + 1)}")
            inside.append(boxes[-1])
        layers.append(tuple(inside))
    shown = tuple(layer for layer in layers if layer)
    return FoldedGraph(tuple(name for layer in shown for name in layer), edges, shown, frozenset(boxes))


def most_connected(
    tiers: Sequence[Sequence[str]], edges: Mapping[Edge, float], limit: int, named: Collection[str | None] = ()
) -> FoldedGraph:
    """Return the graph of the variables with the most probable edges, the rest folded.

    Parameters
    ----------
    tiers
        All variables in layers, causes first.
    edges
        Probability of each edge.
    limit
        How many variables are kept.
    named
        Variables that are kept in any case.

    Examples
    --------
    >>> from alldags.show.plots.folded import most_connected
    >>> graph = most_connected([["a", "b", "c"], ["y"]], {("a", "y"): 0.1, ("b", "y"): 0.9}, 2)
    >>> list(graph.edges), len(graph.folded)
    ([('b', 'y')], 1)
    """
    weight = {name: 0.0 for tier in tiers for name in tier}
    for edge, probability in edges.items():
        for name in edge:
            weight[name] += probability
    kept = set(sorted(weight, key=lambda name: (name not in named, -weight[name]))[:limit])
    return folded(tiers, {edge: p for edge, p in edges.items() if kept.issuperset(edge)}, kept)
