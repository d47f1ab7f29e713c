"""Hidden common causes of two variables, candidate edges with two heads; and instruments, which speak of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias

from alldags import checks
from alldags.errors import GraphError, did_you_mean
from alldags.graph.edges import Edge

Believed: TypeAlias = float | tuple[float, float]
"""What is believed of a correlation: the shape of its prior, or a range."""

Valid: TypeAlias = float | Literal["some"]
"""Probability that an instrument has no other way to the outcome; ``"some"``: that of several of them is unknown."""


def checked_hidden(pairs: Mapping[Edge, float], variables: Sequence[str]) -> dict[Edge, float]:
    """Return ``{(first, second): probability}`` with both ends known, in the order of the variables, none of zero."""
    place = {name: i for i, name in enumerate(variables)}
    checked: dict[Edge, float] = {}
    for (first, second), probability in pairs.items():
        arrow = f"{first!r} <-> {second!r}"
        for name in (first, second):
            if name not in place:
                raise GraphError(
                    f"{arrow} names {name!r}, which is not among the variables{did_you_mean(name, variables)}"
                )
        if first == second:
            raise GraphError(f"{arrow} joins a variable with itself; a hidden common cause acts on two")
        if isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 <= probability <= 1:
            raise GraphError(f"{arrow} has probability {probability!r}; it must be a number from 0 to 1")
        pair = (first, second) if place[first] < place[second] else (second, first)
        if pair in checked:
            raise GraphError(f"{arrow} is given twice; keep one")
        if probability > 0:
            checked[pair] = float(probability)
    return checked


def checked_correlations(
    given: Mapping[Edge, Believed], hidden: Mapping[Edge, float], variables: Sequence[str]
) -> dict[Edge, Believed]:
    """Return what is believed of the correlation of each pair with a hidden common cause, where it was said."""
    place = {name: i for i, name in enumerate(variables)}
    found = {}
    for (first, second), believed in given.items():
        pair = (first, second) if place.get(first, -1) < place.get(second, -1) else (second, first)
        if pair in hidden:
            found[pair] = _believed(believed, f"{first!r} <-> {second!r}")
    return found


def _believed(given: object, arrow: str) -> Believed:
    if checks.is_number(given) and 0.5 <= given <= 100:
        return float(given)
    if isinstance(given, tuple | list) and len(given) == 2 and all(map(checks.is_number, given)):
        low, high = map(float, given)
        if -1 <= low < high <= 1:
            return low, high
    raise GraphError(
        f"{arrow} has correlation {given!r}; give the shape of its prior, a number from 0.5 to 100 (1: all values "
        "alike, 2: the default), or a range (low, high) between -1 and 1"
    )


def checked_instruments(given: Mapping[Edge, Valid], edges: Collection[Edge]) -> dict[Edge, Valid]:
    """Return ``{(instrument, treatment): valid}`` of those whose edge is still a candidate."""
    return {pair: checked_valid(valid) for pair, valid in given.items() if pair in edges}


def checked_valid(valid: object) -> Valid:
    """Return a probability above 0, or the word."""
    if valid == "some":
        return "some"
    if not checks.is_number(valid) or not 0 < valid <= 1:
        raise GraphError(f"valid must be a probability above 0, or 'some', got {valid!r}")
    return float(valid)


def invalid_edges(
    edges: Mapping[Edge, float], names: Sequence[str], after: Collection[str], valid: Valid
) -> dict[Edge, float]:
    """Return the edges if instruments may act on what comes after the treatment with the rest of the probability."""
    kept = {edge: p for edge, p in edges.items() if edge[0] not in names or edge[1] not in after}
    other = 0.5 if valid == "some" else 1.0 - valid
    return kept | {(name, effect): other for name in names for effect in after if other > 0.0}


def pair_among(hidden: Collection[Edge], names: Collection[str]) -> tuple[str, ...]:
    """Return the first pair with a hidden common cause of which both are among some variables; empty without one.

    Examples
    --------
    >>> from alldags.graph.hidden import pair_among
    >>> pair_among([("a", "b"), ("c", "d")], ["b", "c", "d"])
    ('c', 'd')
    """
    return next((pair for pair in hidden if set(pair) <= set(names)), ())


def pair_with(hidden: Collection[Edge], names: Collection[str]) -> tuple[str, ...]:
    """Return the first pair with a hidden common cause of which one is among some variables; empty without one.

    Examples
    --------
    >>> from alldags.graph.hidden import pair_with
    >>> pair_with([("a", "b"), ("c", "d")], ["d", "e"])
    ('c', 'd')
    """
    return next((pair for pair in hidden if not set(pair).isdisjoint(names)), ())


def districts(hidden: Collection[Edge]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of variables that hidden common causes join, one after the other.

    Examples
    --------
    >>> from alldags.graph.hidden import districts
    >>> districts([("a", "b"), ("c", "d"), ("b", "e")])
    (('a', 'b', 'e'), ('c', 'd'))
    """
    found: list[list[str]] = []
    for pair in hidden:
        joined = [group for group in found if not set(pair).isdisjoint(group)]
        names = [name for group in joined for name in group]
        found = [group for group in found if group not in joined]
        found.append([*names, *(name for name in pair if name not in names)])
    return tuple(sorted(map(tuple, found)))
