"""Several people's, or several runs', edge probabilities in one graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from alldags import checks
from alldags.errors import GraphError
from alldags.graph.edges import Edge

How = Literal["linear", "log"]


def same_variables(names: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the variables of graphs to pool, in the order of the first; an error if they differ."""
    if not names:
        raise GraphError("there is no graph to pool; give at least one")
    for other in names[1:]:
        differ = sorted(set(names[0]) ^ set(other))
        if differ:
            raise GraphError(f"graphs to pool must have the same variables; these are not in all of them: {differ}")
    return names[0]


def pooled_edges(edges: Sequence[dict[Edge, float]], weights: Sequence[float] | None, how: How) -> dict[Edge, float]:
    """Return the pooled probability of every edge that some graph has.

    Parameters
    ----------
    edges
        Of each graph; an edge that is missing has probability 0.
    weights
        Of the graphs, need not add up to 1; equal by default.
    how
        ``"linear"``: weighted mean, the chance that a randomly chosen expert is right. ``"log"``: weighted mean of log
        odds, under which one expert's certainty, for or against, decides.
    """
    checks.one_of("how", how, ("linear", "log"), GraphError)
    shares = _shares(weights, len(edges))
    found = {}
    for edge in dict.fromkeys(edge for one in edges for edge in one):
        values = [one.get(edge, 0.0) for one in edges]
        pooled = _linear(shares, values) if how == "linear" else _log(shares, values)
        if pooled > 0.0:
            found[edge] = min(pooled, 1.0)
    return found


def _linear(shares: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(share * value for share, value in zip(shares, values, strict=True))


def _log(shares: Sequence[float], values: Sequence[float]) -> float:
    present, absent = (
        math.prod(value**share for share, value in zip(shares, side, strict=True))
        for side in (values, [1.0 - value for value in values])
    )
    if present == absent == 0.0:
        raise GraphError(
            "one graph has an edge for certain that another one excludes; pool such opinions with how='linear'"
        )
    return float(present / (present + absent))


def _shares(weights: Sequence[float] | None, count: int) -> list[float]:
    if weights is None:
        return [1.0 / count] * count
    if len(weights) != count:
        raise GraphError(f"{count} graphs need {count} weights, got {len(weights)}")
    values = [checks.positive("a weight of a pooled graph", weight, GraphError) for weight in weights]
    return [value / math.fsum(values) for value in values]
