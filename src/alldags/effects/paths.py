"""Single paths and mediators."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from alldags.effects.span import Span
from alldags.effects.total import TotalEffect, second_moments, variable_streams
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import Edge, topological_order
from alldags.models.blocks import NodeBlock, all_moments, parent_places, weighted_rows, weighted_sum
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.order_block import OrderBlock
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
        if total.order_blocks:
            found.update(dict.fromkeys(open_paths(total, limit)))
        elif total.span.variables:
            ranked = largest_paths(edge_means(total), total.span.variables)
            found.update(dict.fromkeys(itertools.islice(ranked, limit)))
    return list(found)


# -- paths through blocks of unknown order ---------------------------------------------------------------------------

_FEW = 200  # paths that are all looked at
_JOINT_DRAWS = 20_000  # of paths through two regressions with correlated errors
_DRAWS = 400  # graphs that are drawn to find the largest of more paths
_OF_EACH = 30  # paths taken from each of them


def open_paths(total: TotalEffect, limit: int) -> list[tuple[str, ...]]:
    """Return candidate paths where products of means do not rank them: all if they are few, else the largest drawn."""
    source, target = total.span.variables[0], total.span.variables[-1]
    inside = set(total.span.variables)
    few = list(itertools.islice(simple_paths(total.model.graph, source, target, inside), _FEW + 1))
    if len(few) <= _FEW:
        return few
    size: Counter[tuple[str, ...]] = Counter()
    for means in _drawn_coefficients(total):
        for path in itertools.islice(largest_paths(means, _order(total.span.variables, means)), _OF_EACH):
            size[path] += abs(math.prod(means[edge] for edge in itertools.pairwise(path)))  # type: ignore[assignment]
    return [path for path, _ in size.most_common(max(limit, 1))]


def simple_paths(graph: CandidateGraph, source: str, target: str, inside: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield the candidate paths that visit no variable twice."""
    waiting: list[tuple[str, ...]] = [(source,)]
    while waiting:
        path = waiting.pop()
        if path[-1] == target:
            yield path
            continue
        waiting.extend((*path, child) for child in graph.children(path[-1]) if child in inside and child not in path)


def _drawn_coefficients(total: TotalEffect) -> Iterator[dict[Edge, float]]:
    """Yield the coefficients of graphs drawn with a seed of their own, so that the list is the same at every call."""
    streams = variable_streams(total.model, np.random.default_rng(0))
    drawn: list[tuple[Edge, FloatArray]] = []
    for block in total.blocks:
        draws = block.draw(_DRAWS, streams[block.variables[0]])
        drawn.extend(pair for pair in draws.edges() if pair[0][0] in total.span.places)
    source, target = total.span.variables[0], total.span.variables[-1]
    useful = [(edge, values) for edge, values in drawn if edge[1] != source and edge[0] != target]
    for i in range(_DRAWS):
        yield {edge: float(values[i]) for edge, values in useful if values[i] != 0.0}


def _order(variables: Sequence[str], edges: Mapping[Edge, float]) -> tuple[str, ...]:
    """Return the variables in an order of these edges, the first one first and the last one last."""
    order = topological_order(variables, edges)
    return (variables[0], *(name for name in order if name not in (variables[0], variables[-1])), variables[-1])


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
    Blocks are independent: a path is cut where it enters one.
    """
    moments = np.ones(3)
    if any(edge not in model.graph.edges for edge in itertools.pairwise(path)):
        return np.zeros(3)
    if model.joins(path[1:]):
        drawn = path_draws(model, path, _JOINT_DRAWS, np.random.default_rng(0))
        return np.array([drawn.mean(), np.mean(drawn**2), np.mean(drawn != 0.0)])
    for piece in _pieces(model, path):
        moments *= _piece_moments(model, piece)
    return moments


def path_draws(model: FittedGraph, path: tuple[str, ...], size: int, rng: np.random.Generator) -> FloatArray:
    """Draw a path's product of coefficients, shape (size,); zeros where an edge of it is not there."""
    found, streams = np.ones(size), variable_streams(model, rng)
    if any(edge not in model.graph.edges for edge in itertools.pairwise(path)):
        return np.zeros(size)
    wanted = set(itertools.pairwise(path))
    for block in model.blocks(path[1:]):
        drawn = block.draw(size, streams[block.variables[0]])
        found *= math.prod((values for edge, values in drawn.edges() if edge in wanted), start=np.ones(size))
    return found


def _pieces(model: FittedGraph, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Cut a path into pieces all of whose edges lead into the same block."""
    for _, edges in itertools.groupby(itertools.pairwise(path), key=lambda edge: model.graph.component(edge[1])):
        first, *others = edges
        yield (*first, *(effect for _, effect in others))


def _piece_moments(model: FittedGraph, piece: tuple[str, ...]) -> FloatArray:
    block = model.order_block(piece[-1])
    if block is not None:
        return block.posterior.path([block.problem.place[name] for name in piece])
    cause, effect = piece
    node = model.node(effect)
    place = node.parents.index(cause)
    present = math.nan if node.inclusion is None else node.inclusion[place]
    return np.array([node.mean[place], node.second_moments([place])[0, 0], present])


# -- mediators ---------------------------------------------------------------------------------------------------------


def avoiding(total: TotalEffect, held: Collection[str]) -> tuple[FloatArray, FloatArray]:
    """Return mean (v,) and second moments (v, v) of the effect on each variable along paths through none of some."""
    mean, square = np.zeros(len(total.span)), np.zeros((len(total.span), len(total.span)))
    mean[:1], square[:1, :1] = 1.0, 1.0
    for block in total.blocks:
        block.carry_first(total.span.places, mean)
        block.carry_second(total.span.places, square, all_moments)
        places = [total.span.places[name] for name in block.variables if name in held]
        mean[places], square[places], square[:, places] = 0.0, 0.0, 0.0
    return mean, square


def avoiding_moments(total: TotalEffect, held: Collection[str]) -> FloatArray:
    """Return mean and second moment of the effect along paths that run through none of some variables, shape (2,)."""
    mean, square = avoiding(total, held)
    return np.array([mean[-1], square[-1, -1]]) if total.span.variables else np.zeros(2)


def first_through_moments(total: TotalEffect, mediator: str, before: Collection[str]) -> FloatArray:
    """Return the same of paths through a variable that run through none of those `before` it, shape (2,).

    ``E[T_Xk] E[T_kY]`` and ``E[T_Xk^2] E[T_kY^2]``: the two legs involve different nodes. Inside a block of unknown
    order they do not, and the block is asked for what passes through.
    """
    if mediator not in total.span.variables[1:-1]:
        return np.zeros(2)
    block = total.model.order_block(mediator)
    if block is not None:
        return _through_block(total, block, mediator)
    place, (mean, square) = total.span.places[mediator], avoiding(total, before)
    onward = Span.between(total.model.graph, mediator, total.span.variables[-1])
    second = second_moments(total.model, onward)[-1, -1]
    return np.array([mean[place] * total.onward(mediator), square[place, place] * second])


def _through_block(total: TotalEffect, block: OrderBlock, mediator: str) -> FloatArray:
    """Carry the effect to the block, keep there what passes through the mediator, and carry that on."""
    places, count = total.span.places, len(total.span)
    inside = [places[name] for name in block.variables]
    before = total.reach.copy(), total.square.copy()
    block.carry_first(places, before[0], through=mediator)
    block.carry_second(places, before[1], all_moments, through=mediator)
    mean, square = np.zeros(count), np.zeros((count, count))
    mean[inside] = before[0][inside]
    square[np.ix_(inside, inside)] = before[1][np.ix_(inside, inside)]
    later = total.blocks[1 + next(i for i, other in enumerate(total.blocks) if other is block) :]
    for other in later:
        other.carry_first(places, mean)
        other.carry_second(places, square, all_moments)
    return np.array([mean[-1], square[-1, -1]])


def through_moments(total: TotalEffect, held: Collection[str]) -> FloatArray:
    """Return the same of all paths that run through at least one of some variables, shape (2,).

    Second moments are of two effects on each variable: along all paths, and along those through one of them.
    """
    count, places = len(total.span), total.span.places
    if not count:
        return np.zeros(2)
    square = np.zeros((2 * count, 2 * count))
    square[0, 0] = 1.0
    for block in total.blocks:
        assert isinstance(block, NodeBlock)
        own, others = parent_places(block.node, places)
        here, moments = places[block.child], all_moments(block.node, own)
        copies = [others, others if block.child in held else [count + i for i in others]]
        rows = [weighted_rows(block.node.mean[own], square[copy]) for copy in copies]
        both = [[weighted_sum(moments, square[np.ix_(one, two)]) for two in copies] for one in copies]
        for i, row in enumerate(rows):
            square[here + i * count] = square[:, here + i * count] = row
        square[np.ix_([here, here + count], [here, here + count])] = both
    return np.array([total.mean - avoiding_moments(total, held)[0], square[-1, -1]])
