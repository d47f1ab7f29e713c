"""Independences that every candidate graph implies.

Given all its candidate causes, a variable is independent of whatever else comes before it: that holds in the graph with
all candidate edges, and leaving out edges takes no independence away. Where an order is open it holds for the group
as a whole. With several candidate graphs only what holds in each of them is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from alldags.graph.candidate import CandidateGraph


@dataclass(frozen=True, slots=True)
class Independence:
    """Two variables that are independent given others, in every candidate graph.

    Parameters
    ----------
    child, other
        The two; `other` may come before `child`, never after it.
    given
        What has to be held fixed.
    """

    child: str
    other: str
    given: tuple[str, ...]

    def __str__(self) -> str:
        given = f" given {', '.join(self.given)}" if self.given else ""
        return f"{self.child} and {self.other}{given}"


def implied_independences(graphs: Sequence[CandidateGraph]) -> tuple[Independence, ...]:
    """Return one for each pair of variables that some set separates in all graphs.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.assumptions.independences import implied_independences
    >>> graph = ad.CandidateGraph.from_edges({("x", "m"): 0.5, ("m", "y"): 1.0, ("z", "y"): 0.5})
    >>> [str(item) for item in implied_independences([graph])]
    ['y and x given m, z', 'm and z given x', 'z and x']
    """
    found = list(_of_one(graphs[0]))
    for graph in graphs[1:]:
        found += _of_one(graph)
    pairs: dict[frozenset[str], Independence] = {}
    for item in found:
        pair = frozenset((item.child, item.other))
        if pair not in pairs and all(_holds(graph, item) for graph in graphs):
            pairs[pair] = item
    return tuple(pairs.values())


def _of_one(graph: CandidateGraph) -> Iterator[Independence]:
    """Yield what follows from each variable's, or open group's, causes; none where hidden causes meet open orders."""
    if graph.hidden and graph.blocks:
        return
    seen: set[frozenset[str]] = set()
    for child in reversed(graph.order):  # the later of two is regressed on the causes it has
        group = set(graph.component(child)) | {child}
        causes = {name for member in group for name in graph.parents(member)} - group
        after = set().union(*(graph.descendants(member) for member in group)) | group
        given = tuple(name for name in graph.variables if name in causes)
        for other in graph.variables:
            pair = frozenset((child, other))
            if other in after or other in causes or pair in seen:
                continue
            item = Independence(child, other, given)
            if not graph.hidden or _separated(graph, item):
                seen.add(pair)
                yield item


def _holds(graph: CandidateGraph, item: Independence) -> bool:
    """Tell whether an independence holds in every graph of one candidate graph."""
    if graph.blocks:
        return item in set(_of_one(graph))
    return _separated(graph, item)


def _separated(graph: CandidateGraph, item: Independence) -> bool:
    """Tell whether two variables are separated with all candidate edges and hidden causes there."""
    import networkx as nx  # long to import, and only asked for by several graphs

    drawn: nx.DiGraph[Any] = nx.DiGraph()
    drawn.add_nodes_from(graph.variables)
    drawn.add_edges_from(graph.edges)
    for pair in graph.hidden:
        drawn.add_edges_from((("hidden", pair), name) for name in pair)
    return bool(nx.is_d_separator(drawn, {item.child}, {item.other}, set(item.given)))
