"""Total effects between very many variables, a few nodes at a time: none is kept once it has been read.

Given that the order is known and all regressions are straight, coefficients of different nodes are independent, and
the effect of every variable on one outcome follows from one walk against the arrows::

    t_y = 1,   t_c = sum over children j of c:  theta_jc t_j

for the means and for each draw alike; the effects on every variable follow from one walk along them, for all sources
at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from alldags.effects.total import variable_streams
from alldags.models.fitted import FittedGraph
from alldags.nodes.posterior import NodePosterior
from alldags.typing import FloatArray

_SOURCES = 64  # whose second moments are carried at once


class Regressed(NamedTuple):
    """What is kept of a node: the places of its causes, their mean coefficients and second moments.

    `second` is None if it was not asked for.
    """

    place: int
    causes: list[int]
    mean: FloatArray
    second: FloatArray | None


def toward(model: FittedGraph, outcome: str, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the mean effect of every variable on the outcome, shape (m,), and draws of it, shape (m, size)."""
    order = model.graph.order
    place, streams = {name: i for i, name in enumerate(order)}, variable_streams(model, rng)
    mean, draws = np.zeros(len(order)), np.zeros((len(order), size))
    mean[place[outcome]], draws[place[outcome]] = 1.0, 1.0
    inside = model.graph.ancestors(outcome) | {outcome}
    for name, node in _nodes(model, [name for name in reversed(order) if name in inside]):
        causes = [place[cause] for cause in node.parents]
        coefficients, _ = node.draw(size, streams[name])
        mean[causes] += node.mean * mean[place[name]]
        draws[causes] += coefficients.T * draws[place[name]]
    return mean, draws


def regressed(model: FittedGraph, *, second: bool) -> list[Regressed]:
    """Return what the effects of all variables on all others are made of, in causal order."""
    place = {name: i for i, name in enumerate(model.graph.order)}
    return [
        Regressed(
            place[name], [place[cause] for cause in node.parents], node.mean, node.second_moment if second else None
        )
        for name, node in _nodes(model, model.graph.order)
        if node.parents
    ]


def onward(nodes: Sequence[Regressed], count: int) -> Iterator[tuple[int, FloatArray, FloatArray | None]]:
    """Yield for each variable, in causal order, the mean of its effect on all, and its mean square, (m,) each."""
    for first in range(0, count, _SOURCES):
        sources = range(first, min(first + _SOURCES, count))
        mean = np.zeros((len(sources), count))
        mean[:, sources] = np.eye(len(sources))
        for node in nodes:
            mean[:, node.place] += mean[:, node.causes] @ node.mean
        for row, source in zip(mean, sources, strict=True):
            yield source, row, _squares(nodes, source, count)


def _squares(nodes: Sequence[Regressed], source: int, count: int) -> FloatArray | None:
    """Return the mean square of a variable's effect on all, shape (m,); see `NodeBlock.carry_second`."""
    if any(node.second is None for node in nodes):
        return None
    square = np.zeros((count, count))
    square[source, source] = 1.0
    reached = np.zeros(count, dtype=bool)
    reached[source] = True
    for place, causes, mean, second in nodes:
        own = np.flatnonzero(reached[causes])
        if second is None or own.size == 0 or place == source:
            continue
        there = np.asarray(causes)[own]
        row = mean[own] @ square[there, :place]
        square[place, :place] = square[:place, place] = row
        square[place, place] = np.sum(second[np.ix_(own, own)] * square[np.ix_(there, there)])
        reached[place] = True
    return np.diag(square).copy()


def _nodes(model: FittedGraph, names: Sequence[str]) -> Iterator[tuple[str, NodePosterior]]:
    """Yield nodes, fitted some at a time and forgotten."""
    passing = model.passing()
    for first in range(0, len(names), passing.at_once):
        some = names[first : first + passing.at_once]
        passing = model.passing()
        passing.prepare(some)
        yield from ((name, passing.node(name)) for name in some)
