"""Single paths and mediators."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from alldags.effects.span import Span
from alldags.effects.total import TotalEffect, second_moments
from alldags.graph.edges import Edge
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.typing import FloatArray


def edge_means(total: TotalEffect) -> dict[Edge, float]:
    """Return the mean coefficient of every candidate edge on a path."""
    inside = set(total.span.variables)
    return {
        (parent, child): float(value)
        for child in total.span.reached
        for parent, value in zip(total.model.graph.parents(child), total.model.node(child).mean, strict=True)
        if parent in inside
    }


def candidate_paths(totals: Mixture[TotalEffect], limit: int) -> list[tuple[str, ...]]:
    """Return the paths that are among the `limit` largest of some model."""
    found: dict[tuple[str, ...], None] = {}
    for total in totals.items:
        if total.span.variables:
            ranked = largest_paths(edge_means(total), total.span.variables)
            found.update(dict.fromkeys(itertools.islice(ranked, limit)))
    return list(found)


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


def path_moments(model: FittedGraph, path: tuple[str, ...]) -> FloatArray:
    """Return mean and second moment of a path's product of coefficients, and P(all its edges present), shape (3,).

    Zeros if an edge of it is not a candidate of this graph; the probability is nan if the engine has no notion of it.
    """
    moments = np.ones(3)
    for cause, effect in itertools.pairwise(path):
        if (cause, effect) not in model.graph.edges:
            return np.zeros(3)
        node = model.node(effect)
        place = node.parents.index(cause)
        present = math.nan if node.inclusion is None else node.inclusion[place]
        moments *= [node.mean[place], node.second_moment[place, place], present]
    return moments


def mediator_moments(total: TotalEffect, mediator: str) -> FloatArray:
    """Return mean and second moment of the effect that passes through a variable, shape (2,); zeros if none can.

    ``E[T_Xk] E[T_kY]`` and ``E[T_Xk^2] E[T_kY^2]``: the two legs involve different nodes.
    """
    if mediator not in total.span.variables[1:-1]:
        return np.zeros(2)
    model, place = total.model, total.span.places[mediator]
    onward = Span.between(model.graph, mediator, total.span.variables[-1])
    second = second_moments(model, onward)[-1, -1]
    return np.array([total.reach[place] * total.onward[mediator], total.square[place, place] * second])
