"""Hidden common causes of two variables: candidate edges with two heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from alldags.errors import GraphError, did_you_mean
from alldags.graph.edges import Edge


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
