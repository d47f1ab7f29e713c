"""Randomised treatments: nothing in the table, and nothing unmeasured, acts on what was drawn by lot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alldags.errors import GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import Edge
from alldags.notes import Note
from alldags.wording import option


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
    """Return the graph without the edges into these variables, and without hidden common causes of them.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.graph.randomized import without_causes
    >>> graph = ad.CandidateGraph.from_order(["age", "treat", "wage"]).with_hidden("treat", "wage", 0.3)
    >>> lots = without_causes(graph, ["treat"])
    >>> lots.parents("treat"), dict(lots.hidden)
    ((), {})
    """
    for (cause, effect), probability in graph.edges.items():
        if effect in names:
            _check_uncertain(f"the edge {cause!r} -> {effect!r}", probability)
            graph = graph.without_edge(cause, effect)
    for first, second in _hidden_of(graph, names):
        _check_uncertain(f"the hidden common cause {first!r} <-> {second!r}", graph.hidden[first, second])
        graph = graph.with_hidden(first, second, 0.0)
    return graph


def _check_uncertain(what: str, probability: float) -> None:
    if probability >= 1.0:
        raise GraphError(
            f"{what} is certain, but {option('randomized')} says that nothing acts on it; leave out one of the two"
        )


def _hidden_of(graph: CandidateGraph, names: Sequence[str]) -> list[Edge]:
    """Return the pairs with a hidden common cause of which one was drawn by lot."""
    return [pair for pair in graph.hidden if not set(pair).isdisjoint(names)]


def randomized_note(names: Sequence[str], graphs: Sequence[CandidateGraph]) -> tuple[Note, ...]:
    """Say whose causes were left out; `graphs` as they were given."""
    if not names:
        return ()
    listed = ", ".join(map(repr, names))
    said = (Note(f"edges into {listed} were left out: randomised, so nothing in the table acts on it"),)
    pairs = dict.fromkeys(pair for graph in graphs for pair in _hidden_of(graph, names))
    if not pairs:
        return said
    hidden = ", ".join(f"{first!r} <-> {second!r}" for first, second in pairs)
    text = f"hidden common causes were left out, too ({hidden}): nothing unmeasured acts on what lots decide"
    return (*said, Note(text))
