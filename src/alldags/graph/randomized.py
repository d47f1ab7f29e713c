"""Randomised treatments: nothing in the table acts on what was drawn by lot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alldags.errors import GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.notes import Note


def randomized_names(given: str | Iterable[str], graph: CandidateGraph) -> tuple[str, ...]:
    """Return the names of randomised variables, checked against the graph.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.graph.randomized import randomized_names
    >>> randomized_names("treat", ad.CandidateGraph.from_order(["age", "treat", "wage"]))
    ('treat',)
    """
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in graph.variables:
            raise GraphError(
                f"randomized names {name!r}, which is not in the graph{did_you_mean(str(name), graph.variables)}"
            )
    return names


def without_causes(graph: CandidateGraph, names: Sequence[str]) -> CandidateGraph:
    """Return the graph without the edges into these variables."""
    for cause, effect in graph.edges:
        if effect in names:
            if graph.edges[cause, effect] >= 1.0:
                raise GraphError(
                    f"the edge {cause!r} -> {effect!r} is certain, but randomized= says that nothing acts on it; "
                    "leave out one of the two"
                )
            graph = graph.without_edge(cause, effect)
    return graph


def randomized_note(names: Sequence[str]) -> tuple[Note, ...]:
    """Say whose causes were left out."""
    if not names:
        return ()
    listed = ", ".join(map(repr, names))
    return (Note(f"edges into {listed} were left out: randomised, so nothing in the table acts on it"),)
