"""Worlds in which mediators are as they would be under the other value of the treatment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from alldags.answers.nodes import Samples
from alldags.answers.response import Response
from alldags.answers.world import World
from alldags.answers.worlds import Worlds, world_blocks
from alldags.graph.candidate import CandidateGraph
from alldags.typing import FloatArray


def with_mediators(
    world: World, graph: CandidateGraph, read: Sequence[tuple[Sequence[str], World]], *, afresh: bool = False
) -> World:
    """Return a world in which all that mediators act on reads them elsewhere.

    Parameters
    ----------
    world
        What is set.
    graph
        Says what a mediator may act on.
    read
        Mediators, and the world in which they are read.
    afresh
        Whether rows have the noise of others there.
    """
    reads: dict[str, dict[str, World]] = {}
    for names, other in read:
        for name in names:
            for child in graph.children(name):
                reads.setdefault(child, {})[name] = other
    return World(world.settings, reads, afresh)


def natural_worlds(graph: CandidateGraph, through: Sequence[str], low: World, high: World) -> list[World]:
    """Return worlds from the low to the high value of the treatment: all mediators as under low, all but the first ...

    The first is low itself, the second high with all mediators as under low, and in each further one the last of those
    that stay is let go, until in high none stays.
    """
    kept = [through[:count] for count in range(len(through), 0, -1)]
    return [low, *(with_mediators(high, graph, [(names, low)]) for names in kept), high]


def afresh_worlds(graph: CandidateGraph, through: Sequence[str], low: World, high: World) -> list[World]:
    """Return the same where mediators are drawn anew, from what rows with the same covariates have under a value."""
    before = World(low.settings, afresh=True)
    found = [with_mediators(low, graph, [(through, before)])]
    for count in range(len(through), -1, -1):
        kept, free = through[:count], through[count:]
        after = with_mediators(high, graph, [(kept, before)], afresh=True)
        found.append(with_mediators(high, graph, [(kept, before), (free, after)]))
    return found


def path_worlds(graph: CandidateGraph, path: Sequence[str], low: World, high: World) -> list[World]:
    """Return the low world, and that in which what the treatment does is passed on along one path alone."""
    inside = graph.descendants(path[0])
    passed, last = high, low
    for cause, child in pairwise(path):
        others = {name: low for name in graph.parents(child) if name in inside and name != cause}
        last = World(low.settings, {child: {**others, cause: passed}})
        passed = last
    return [low, last]


class Nested(NamedTuple):
    """Mean outcomes in some worlds, shape (worlds, draws), and how their steps vary over rows.

    The second is a covariance of the steps from each world to the next, divided by the number of rows, shape
    (draws, worlds - 1, worlds - 1).
    """

    levels: FloatArray
    spread: FloatArray


def nested_outcomes(response: Response, samples: Samples, worlds: Sequence[World]) -> Nested:
    """Return the mean outcomes of all draws; of many yes/no nodes, or of one in two worlds, values are drawn in all."""
    size, steps = next(iter(samples.values())).size, len(worlds) - 1
    levels, products, total, count = np.zeros((steps + 1, size)), np.zeros((size, steps, steps)), 0.0, 0
    for rows in response.batches():
        total, count = total + rows.total, count + rows.count
        for block in world_blocks(rows.count, samples):
            pushed = Worlds(rows, samples, block)
            drawn = not all(pushed.can_average(world, response.outcome) for world in worlds)
            found = np.array([pushed.mean(world, response.outcome, drawn=drawn) for world in worlds])
            levels[:, block] += np.array([rows.sums(one) for one in found])
            gaps = np.diff(found, axis=0)
            weighted = gaps if rows.weight is None else gaps * rows.weight[:, None]
            products[block] += np.einsum("and,bnd->dab", weighted, gaps)
    mean = np.diff(levels / total, axis=0).T
    return Nested(levels / total, (products / total - np.einsum("da,db->dab", mean, mean)) / count)
