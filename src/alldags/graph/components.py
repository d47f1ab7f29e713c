"""Who comes before whom: neighbours, order, and the blocks of variables whose order is open.

A set of edges has a cycle only if one of its components has, so each component of two or more variables is a *block* of
its own; a component of one variable is an ordinary node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from alldags.errors import GraphError
from alldags.graph.edges import Edge, neighbours, path_between, topological_order

Component: TypeAlias = tuple[str, ...]

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Structure:
    """The neighbours and the order of variables under candidate edges; each part is found when it is asked for."""

    variables: tuple[str, ...]
    edges: Mapping[Edge, float]

    @cached_property
    def parents(self) -> dict[str, Component]:
        """The candidate parents of each variable, in the order of `variables`."""
        return neighbours(self.variables, self.edges, key=1)

    @cached_property
    def children(self) -> dict[str, Component]:
        """What each variable may cause directly, in the order of `variables`."""
        return neighbours(self.variables, self.edges, key=0)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The strongly connected components, causes first; raises `GraphError` if the edges contradict each other."""
        found = components(self.variables, self.edges)
        if len(found) < len(self.variables):
            check_directions(self.variables, self.edges)
        return found

    @cached_property
    def home(self) -> dict[str, Component]:
        """The component of each variable."""
        return {name: component for component in self.components for name in component}

    def tiers(self) -> tuple[Component, ...]:
        """Return the variables in layers, each as early as its parents outside its own component allow."""
        depth: dict[str, int] = {}
        for component in self.components:
            before = {parent for name in component for parent in self.parents[name]}.difference(component)
            depth |= dict.fromkeys(component, 1 + max((depth[parent] for parent in before), default=-1))
        layers: list[list[str]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
        for name in self.variables:
            layers[depth[name]].append(name)
        return tuple(map(tuple, layers))


def components(variables: Sequence[str], edges: Mapping[Edge, float]) -> tuple[Component, ...]:
    """Return the strongly connected components, causes first; inside each in the order of `variables`."""
    order = topological_order(variables, edges)
    if len(order) == len(variables):
        return tuple((name,) for name in order)
    groups = _strongly_connected(variables, edges)
    first = {name: group[0] for group in groups.values() for name in group}
    between = dict.fromkeys((first[a], first[b]) for a, b in edges if first[a] != first[b])
    return tuple(groups[name] for name in topological_order(list(groups), between))


def _strongly_connected(variables: Sequence[str], edges: Mapping[Edge, float]) -> dict[str, Component]:
    """Return the components by their first member, in the order of `variables`."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(variables)
    graph.add_edges_from(edges)
    position = {name: i for i, name in enumerate(variables)}
    found = [tuple(sorted(group, key=position.__getitem__)) for group in nx.strongly_connected_components(graph)]
    return {group[0]: group for group in sorted(found, key=lambda group: position[group[0]])}


def check_directions(variables: Sequence[str], edges: Mapping[Edge, float]) -> None:
    """Raise an error if a pair leaves no room for "no edge", or if certain edges forbid a candidate edge."""
    for (cause, effect), probability in edges.items():
        reverse = edges.get((effect, cause), 0.0)
        if reverse and probability + reverse >= 1.0 - _ROUNDING:
            raise GraphError(_too_probable(cause, effect, probability, reverse))
    sure = [edge for edge, probability in edges.items() if probability == 1.0]
    certain = neighbours(variables, sure, key=0)
    place = {name: i for i, name in enumerate(topological_order(variables, sure))}
    for cause, effect in edges:
        if place[cause] < place[effect]:
            continue  # certain edges lead forward only, so none leads back
        back = path_between(effect, cause, certain)
        if back:
            raise GraphError(
                f"the candidate edge {cause!r} -> {effect!r} can never be present: it would close the cycle "
                f"{' -> '.join(map(repr, [cause, *back]))} with certain edges; leave it out"
            )


def _too_probable(cause: str, effect: str, probability: float, reverse: float) -> str:
    pair = f"{cause!r} -> {effect!r} has probability {probability:g} and {effect!r} -> {cause!r} {reverse:g}"
    if 1.0 in (probability, reverse):
        certain = (cause, effect) if probability == 1.0 else (effect, cause)
        return f"{pair}: if one is certain, the other must be left out; with_edge({certain[0]!r}, {certain[1]!r}, 1.0)"
    return (
        f"{pair}, together {probability + reverse:g}: both directions and no edge share one, so the two must add to "
        f"less than 1; say with_pair({cause!r}, {effect!r}, {0.8 * probability:.2g}, {0.8 * reverse:.2g}), or pass a "
        "list of two graphs to fit() if an edge is certain and only its direction is open"
    )
