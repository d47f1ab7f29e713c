"""Names and edges, before they are a graph: checks, neighbours, order, cycles."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from alldags.errors import GraphError, did_you_mean

Edge: TypeAlias = tuple[str, str]
EVEN = 0.5  # the probability of an edge of which none is stated
T = TypeVar("T")


def neighbours(variables: Sequence[str], edges: Iterable[Edge], key: int) -> dict[str, tuple[str, ...]]:
    """Group edges by their end `key` (1: by effect, giving parents; 0: by cause, giving children)."""
    position = {name: i for i, name in enumerate(variables)}
    groups: dict[str, list[str]] = {name: [] for name in variables}
    for edge in edges:
        groups[edge[key]].append(edge[1 - key])
    return {name: tuple(sorted(group, key=position.__getitem__)) for name, group in groups.items()}


def reach(start: str, neighbours: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """Return all that can be reached from `start`, itself excluded."""
    seen: set[str] = set()
    stack = list(neighbours[start])
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            stack.extend(neighbours[name])
    return frozenset(seen - {start})  # a cycle leads back to it


def path_between(start: str, end: str, neighbours: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the names along a shortest path, both ends included, or an empty list; the ends must differ."""
    before = {start: start}
    waiting = deque([start])
    while waiting and end not in before:
        name = waiting.popleft()
        for following in neighbours[name]:
            if following not in before:
                before[following] = name
                waiting.append(following)
    if end not in before:
        return []
    walk = [end]
    while walk[-1] != start:
        walk.append(before[walk[-1]])
    return walk[::-1]


def topological_order(variables: Sequence[str], edges: Iterable[Edge]) -> tuple[str, ...]:
    """Return Kahn's order, earliest in `variables` first; shorter than `variables` if there is a cycle."""
    parents = neighbours(variables, edges, key=1)
    children = neighbours(variables, edges, key=0)
    waiting = {name: len(parents[name]) for name in variables}
    ready = deque(name for name in variables if waiting[name] == 0)
    order = []
    while ready:
        name = ready.popleft()
        order.append(name)
        for child in children[name]:
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return tuple(order)


def find_cycle(variables: Sequence[str], edges: Mapping[Edge, float]) -> list[str]:
    """Return the names along one cycle, first = last, or an empty list."""
    ordered = set(topological_order(variables, edges))
    inside = [name for name in variables if name not in ordered]
    if not inside:
        return []
    parents = neighbours(variables, edges, key=1)
    # every variable left over has a parent that is left over: walking backwards must revisit one
    place: dict[str, int] = {}
    name = inside[0]
    while name not in place:
        place[name] = len(place)
        name = next(parent for parent in parents[name] if parent not in ordered)
    return [*list(place)[place[name] :], name][::-1]


def names_tuple(names: Iterable[T], what: str) -> tuple[T, ...]:
    """Return `names` as a tuple; a bare string would silently become single letters."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        parts = [part.strip() for part in names.split(",")] if isinstance(names, str) else [names]
        raise GraphError(f"{what} must be a list, got {names!r}; write {parts!r}")
    return tuple(names)


def checked_variables(variables: Iterable[str]) -> tuple[str, ...]:
    """Return the names as a tuple; each must be text, and listed once."""
    variables = names_tuple(variables, "variables")
    if not variables:
        raise GraphError("a candidate graph needs at least one variable")
    seen: set[str] = set()
    for name in variables:
        if not isinstance(name, str) or not name:
            raise GraphError(f"variable names must be non-empty strings, got {name!r}")
        if name in seen:
            raise GraphError(f"the variable {name!r} is listed twice")
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise GraphError(f"the name {name!r} holds half a character (a surrogate); it could not be saved")
        seen.add(name)
    return variables


def checked_edges(edges: Mapping[Edge, float], variables: Sequence[str]) -> dict[Edge, float]:
    """Return the edges without those of probability zero; their ends must be known."""
    if not isinstance(edges, Mapping):
        raise GraphError(f"edges must be {{(cause, effect): probability}}, got {type(edges).__name__}; use from_edges")
    known = set(variables)
    checked = {}
    for edge, probability in edges.items():
        cause, effect = _pair(edge)
        for name in (cause, effect):
            if name not in known:
                hint = did_you_mean(name, variables)
                raise GraphError(
                    f"the edge {cause!r} -> {effect!r} names {name!r}, which is not among the variables{hint}"
                )
        if cause == effect:
            raise GraphError(f"the edge {cause!r} -> {effect!r} is a self-loop; a variable cannot cause itself")
        if not _is_probability(probability):
            raise GraphError(
                f"the edge {cause!r} -> {effect!r} has probability {probability!r}; it must be a number from 0 to 1"
            )
        if probability > 0:
            checked[cause, effect] = float(probability)
    return checked


def _is_probability(value: object) -> bool:
    """Tell whether `value` is a number in [0, 1]; True and False are refused, because they hide a choice."""
    return (
        isinstance(value, int | float | np.floating | np.integer)
        and not isinstance(value, bool)
        and bool(0 <= value <= 1)
    )


def _pair(edge: object) -> Edge:
    if not isinstance(edge, tuple) or len(edge) != 2:
        raise GraphError(f"an edge is a pair (cause, effect), got {edge!r}")
    return edge


def edge_triples(
    edges: Mapping[Edge, float | None] | Iterable[Edge | tuple[str, str, float]],
) -> list[tuple[str, str, float | None]]:
    """Return edges in any of the forms a user may give them in as (cause, effect, probability or None)."""
    if isinstance(edges, Mapping):
        return [(*_pair(edge), value) for edge, value in edges.items()]
    triples: list[tuple[str, str, float | None]] = []
    for edge in names_tuple(edges, "edges"):
        if not isinstance(edge, tuple | list) or len(edge) not in (2, 3):
            raise GraphError(f"an edge is (cause, effect) or (cause, effect, probability), got {edge!r}")
        triples.append((edge[0], edge[1], edge[2] if len(edge) == 3 else None))
    return triples


def mapping_without_duplicates(
    triples: Iterable[tuple[str, str, float | None]], probability: float | None
) -> dict[Edge, float]:
    """Return ``{(cause, effect): probability}``; `probability` is for edges given without one, None: even odds."""
    mapping: dict[Edge, float | None] = {}
    for cause, effect, value in triples:
        if not isinstance(cause, str) or not isinstance(effect, str):
            raise GraphError(f"the edge {cause!r} -> {effect!r} must join two names in quotes")
        if (cause, effect) in mapping:
            raise GraphError(f"the edge {cause!r} -> {effect!r} is given twice; keep one")
        mapping[cause, effect] = value
    return with_default(mapping, probability)


class CompletedEdges(dict[Edge, float]):
    """Edges with their probabilities, of which some were not stated; a graph made from them keeps which."""

    unstated: frozenset[Edge] = frozenset()


def completed_edges(edges: Mapping[Edge, float], unstated: Iterable[Edge]) -> CompletedEdges:
    """Return edges that know which of them were not stated."""
    found = CompletedEdges(edges)
    found.unstated = frozenset(unstated)
    return found


def with_default(edges: Mapping[Edge, float | None], probability: float | None) -> CompletedEdges:
    """Give `probability` to the edges that have none; two opposite ones share it, half each. None: even odds."""
    default = EVEN if probability is None else probability
    valid = _is_probability(default)  # if not, the check of the edges says so
    unstated = [edge for edge, value in edges.items() if value is None] if probability is None else []
    return completed_edges(_completed(edges, default, valid), unstated)


def still_unstated(edges: Mapping[Edge, float], unstated: Iterable[Edge]) -> frozenset[Edge]:
    """Return those of some edges that are there with the probability that an edge has of which none is stated."""
    given = {edge for edge in unstated if edge in edges}
    return frozenset(edge for edge in given if edges[edge] == (EVEN / 2 if edge[::-1] in given else EVEN))


def _completed(edges: Mapping[Edge, float | None], probability: float, valid: bool) -> dict[Edge, float]:
    return {
        (cause, effect): value
        if value is not None
        else probability / 2
        if valid and (effect, cause) in edges and edges[effect, cause] is None
        else probability
        for (cause, effect), value in edges.items()
    }


def per_tier(within: float | Sequence[float | None] | None, tiers: int) -> list[float]:
    """Return the probability that two variables of a tier are joined, one for each tier; none means 0."""
    values = list(within) if isinstance(within, list | tuple | np.ndarray) else [within] * tiers
    if len(values) != tiers:
        raise GraphError(f"within has {len(values)} probabilities for {tiers} tiers; give one, or one for each tier")
    chosen: list[Any] = [0.0 if value is None else value for value in values]
    for value in chosen:
        if not _is_probability(value) or value == 1:
            raise GraphError(
                f"within is {value!r}; the probability that two variables of a tier are joined, in either direction, "
                "must be a number from 0 to below 1"
            )
    return chosen


def tier_edges(tiers: Sequence[Sequence[str]], probability: float | None, within: Sequence[float]) -> dict[Edge, float]:
    """Return the edges from each tier to all later ones, and both directions inside tiers, half of `within` each."""
    edges: dict[Edge, float | None] = {}
    for position, (tier, inside) in enumerate(zip(tiers, within, strict=True)):
        edges |= {(cause, effect): probability for earlier in tiers[:position] for cause in earlier for effect in tier}
        if inside:
            edges |= {(cause, effect): inside / 2 for cause in tier for effect in tier if cause != effect}
    return with_default(edges, probability)
