"""Single paths and mediators."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from alldags.effects.propagate import Nodes, first_moments, path_variables, second_moments, total
from alldags.graph.candidate import CandidateGraph

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PathMoments:
    """Posterior moments of the product of coefficients along one path.

    Parameters
    ----------
    path
        Variables from source to target.
    mean, second
        Moments in working units.
    probability
        That all its edges are present; None if the engine has no notion of presence.
    """

    path: tuple[str, ...]
    mean: float
    second: float
    probability: float | None


def edge_means(graph: CandidateGraph, nodes: Nodes, source: str, target: str) -> dict[Edge, float]:
    """Return the mean coefficient of every candidate edge on a path from source to target."""
    variables = path_variables(graph, source, target)
    inside = set(variables)
    return {
        (parent, child): float(value)
        for child in variables[1:]
        for parent, value in zip(graph.parents(child), nodes(child).mean, strict=True)
        if parent in inside
    }


def largest_paths(means: Mapping[Edge, float], variables: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the paths from the first to the last of `variables`, largest absolute product of `means` first.

    `variables` are in topological order. Best-first search: the best completion of every vertex is known from a
    backward pass, so that a path costs a number of steps proportional to its length times the vertices' degree, however
    many paths there are.
    """
    children: dict[str, list[str]] = {name: [] for name in variables}
    for cause, effect in means:
        children[cause].append(effect)
    best = {variables[-1]: 1.0}
    for name in reversed(variables[:-1]):
        best[name] = max((abs(means[name, child]) * best[child] for child in children[name]), default=0.0)
    count = itertools.count()
    heap: list[tuple[float, int, tuple[str, ...], float]] = [(-best[variables[0]], next(count), (variables[0],), 1.0)]
    while heap:
        _, _, path, product = heapq.heappop(heap)
        if path[-1] == variables[-1]:
            yield path
            continue
        for child in children[path[-1]]:
            longer = product * abs(means[path[-1], child])
            heapq.heappush(heap, (-longer * best[child], next(count), (*path, child), longer))


def path_moments(graph: CandidateGraph, nodes: Nodes, path: tuple[str, ...]) -> PathMoments | None:
    """Return the moments of one path; None if an edge of it is not a candidate of this graph."""
    mean, second, probability = 1.0, 1.0, 1.0
    for cause, effect in itertools.pairwise(path):
        if (cause, effect) not in graph.edges:
            return None
        node, place = nodes(effect), graph.parents(effect).index(cause)
        mean *= float(node.mean[place])
        second *= float(node.second_moment[place, place])
        probability *= math.nan if node.inclusion is None else float(node.inclusion[place])
    return PathMoments(path, mean, second, None if math.isnan(probability) else probability)


def mediator_moments(graph: CandidateGraph, nodes: Nodes, source: str, target: str) -> dict[str, tuple[float, float]]:
    """Return mean and second moment of the effect that passes through each variable between source and target.

    ``E[T_Xk] E[T_kY]`` and ``E[T_Xk^2] E[T_kY^2]``: the two legs involve different nodes.
    """
    variables = path_variables(graph, source, target)
    if not variables:
        return {}
    reach = first_moments(graph, nodes, variables)
    reach_second = second_moments(graph, nodes, variables, total)
    result = {}
    for position, name in enumerate(variables[1:-1], start=1):
        onward = path_variables(graph, name, target)
        mean = first_moments(graph, nodes, onward)[-1]
        second = second_moments(graph, nodes, onward, total)[-1, -1]
        result[name] = (float(reach[position] * mean), float(reach_second[position, position] * second))
    return result
