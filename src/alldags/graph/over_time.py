"""The edges of a graph over time, whose variables of earlier steps are ``price[-1]``, ``price[-2]`` and so on.

Columns of the past have no causes, so that a graph over time is a candidate graph as any other: one regression for each
variable, on those of the same step that may come before it and on the past of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from alldags import checks
from alldags.errors import GraphError
from alldags.graph.edges import Edge, checked_variables, names_tuple, per_tier, tier_edges
from alldags.steps import at, current, past

MOST_LAGS = 60


def over_time_edges(
    variables: Iterable[str],
    lags: int,
    probability: float,
    own: float | None,
    within: float | None,
    order: Sequence[str] | None,
    tiers: Sequence[Sequence[str]] | None,
) -> tuple[tuple[str, ...], dict[Edge, float]]:
    """Return names and edges of a graph over time; for the meaning of each see `CandidateGraph.over_time`."""
    names = checked_variables(variables)
    for name in names:
        if at(name).lag:
            raise GraphError(f"{name!r} is the name of a column of the past; give the variable itself, and lags=")
    checks.whole("lags", lags, least=0, most=MOST_LAGS, error=GraphError)
    edges = _same_step(names, probability, within, order, tiers)
    columns = [past(name, lag) for lag in range(1, lags + 1) for name in names]
    edges |= {(column, name): probability for name in names for column in columns}
    if own is not None and lags:
        edges |= {(past(name, 1), name): own for name in names}
    return (*names, *columns), edges


def _same_step(
    names: tuple[str, ...],
    probability: float,
    within: float | None,
    order: Sequence[str] | None,
    tiers: Sequence[Sequence[str]] | None,
) -> dict[Edge, float]:
    """Return the edges inside a step."""
    if sum(given is not None for given in (within, order, tiers)) > 1:
        raise GraphError("give one of within=, order= and tiers=: each says what may act inside a step")
    if order is not None:
        tiers = [[name] for name in names_tuple(order, "order")]
    if tiers is None:
        return tier_edges([names], probability, per_tier(within, 1))
    groups = [names_tuple(tier, "a tier") for tier in tiers]
    listed = [name for group in groups for name in group]
    if sorted(listed) != sorted(names):
        raise GraphError(f"order= or tiers= must have each of the variables {list(names)} once, got {listed}")
    return tier_edges(groups, probability, [0.0] * len(groups))


def check_over_time(variables: Sequence[str], edges: Mapping[Edge, float]) -> None:
    """Refuse a graph in which something acts on the past, or the past is of no variable."""
    there = set(variables)
    for cause, effect in edges:
        if at(effect).lag:
            raise GraphError(f"the edge {cause!r} -> {effect!r} goes into the past: nothing acts backwards in time")
    for column in variables:
        if at(column).lag and at(column).name not in there:
            raise GraphError(
                f"{column!r} is the past of {at(column).name!r}, which is not in the graph; add it, without edges into "
                "it if nothing is known of what acts on it"
            )


def feeds_back(edges: Iterable[Edge]) -> bool:
    """Tell whether the past of some variable may act on itself, on whatever way."""
    below: dict[str, set[str]] = {}
    lagged = set()
    for cause, effect in edges:
        below.setdefault(at(cause).name, set()).add(at(effect).name)
        lagged.add(at(cause).name) if at(cause).lag else None
    return any(name in _reached(name, below) for name in lagged)


def _reached(start: str, below: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    new = [start]
    while new:
        for name in below.get(new.pop(), set()) - found:
            found.add(name)
            new.append(name)
    return found


def with_always(
    variables: tuple[str, ...], edges: Mapping[Edge, float], columns: Sequence[str]
) -> tuple[tuple[str, ...], dict[Edge, float]]:
    """Return a graph's variables and edges with columns that act on every variable of the present, for certain."""
    inner = [name for name in current(variables) if name not in columns]
    certain = {(column, name): 1.0 for name in inner for column in columns}
    for column, name in certain:
        if column in variables and edges.get((column, name)) != 1.0:
            raise GraphError(
                f"always= names {column!r}, which is a variable of the graph: make its edges certain instead"
            )
    new = tuple(name for name in columns if name not in variables)
    return (*variables, *new), {**edges, **certain}
