"""What all readers share: collecting variables and edges, with errors that say where in the text they arose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import EVEN, CompletedEdges, Edge, completed_edges, with_default

_NO = {"no", "false", "0"}
_YES = {"yes", "true", "1"}
_HIDDEN = {"latent", "unobserved"}


class Collector:
    """Variables in order of appearance and the edges between them.

    Parameters
    ----------
    probability
        For edges given without one; None: even odds.
    """

    def __init__(self, probability: float | None) -> None:
        self.probability = probability
        self.variables: dict[str, None] = {}
        self.edges: dict[Edge, float | None] = {}
        self.hidden: dict[Edge, float] = {}
        self.correlations: dict[Edge, Any] = {}
        self.declared: dict[Edge, Any] = {}
        self.calibrate = True

    def variable(self, name: str, where: str) -> None:
        """Note a variable; a second mention changes nothing."""
        if not name:
            raise GraphError(f"{where}: a variable name is empty")
        self.variables.setdefault(name)

    def edge(self, cause: str, effect: str, probability: Any, where: str) -> None:
        """Note an edge; `probability` may be None (the default), a number or its text."""
        self.variable(cause, where)
        self.variable(effect, where)
        if cause == effect:
            raise GraphError(f"{where}: {cause!r} -> {effect!r} is a self-loop; a variable cannot cause itself")
        if (cause, effect) in self.edges:
            raise GraphError(f"{where}: the edge {cause!r} -> {effect!r} is given twice; keep one")
        if probability is not None:
            probability = checked_probability(probability, f"{where}: the edge {cause!r} -> {effect!r}")
        self.edges[cause, effect] = probability

    def pair(self, first: str, second: str, values: Mapping[str, Any], where: str) -> None:
        """Note an edge whose direction is open.

        `values` may hold the ``probability`` of an edge in either direction, or those of each, ``forward`` and
        ``backward``.
        """
        both = values.get("probability")
        each = [values.get("forward"), values.get("backward")]
        if (each[0] is None) != (each[1] is None) or (both is not None and each[0] is not None):
            raise GraphError(
                f"{where}: the pair {first!r} -- {second!r} needs a probability for either direction, or both forward "
                "and backward"
            )
        if both is not None:
            each = [checked_probability(both, f"{where}: the pair {first!r} -- {second!r}") / 2] * 2
        self.edge(first, second, each[0], where)
        self.edge(second, first, each[1], where)

    def hidden_cause(self, first: str, second: str, probability: Any, where: str) -> None:
        """Note a hidden common cause of two variables; `probability` as for an edge."""
        self.variable(first, where)
        self.variable(second, where)
        if (first, second) in self.hidden or (second, first) in self.hidden:
            raise GraphError(f"{where}: {first!r} <-> {second!r} is given twice; keep one")
        default = EVEN if self.probability is None else self.probability
        value = default if probability is None else probability
        self.hidden[first, second] = checked_probability(value, f"{where}: {first!r} <-> {second!r}")

    def correlation(self, first: str, second: str, given: Any) -> None:
        """Note what is believed of the correlation that a hidden common cause makes: numbers, or their text."""
        if given is not None:
            self.correlations[first, second] = believed(given)

    def instrument(self, name: str, treatment: str, valid: Any) -> None:
        """Note an instrument; `valid` may be a number, its text, or a word."""
        self.declared[name, treatment] = 1.0 if valid is None else _numbers(valid, valid)

    def graph(self) -> CandidateGraph:
        """Return the finished graph."""
        return self.completed(tuple(self.variables), {}, self.calibrate)

    def completed(self, variables: tuple[str, ...], base: Mapping[Edge, float], calibrate: bool) -> CandidateGraph:
        """Return the graph with these edges besides those given one by one, which override what instruments say."""
        edges = self.complete_edges()
        kept = set(getattr(base, "unstated", ())) - edges.keys()
        every = completed_edges({**base, **edges}, edges.unstated | kept)
        graph = CandidateGraph(variables, every, calibrate, hidden=self.hidden, correlations=self.correlations)
        for (name, treatment), valid in self.declared.items():
            graph = graph.instruments([name], treatment, valid)
        return replace(graph, edges={**graph.edges, **edges}) if self.declared else graph

    def complete_edges(self) -> CompletedEdges:
        """Return the edges, those without a probability with the default one; opposite ones share it."""
        return with_default(self.edges, self.probability)


def believed(given: Any) -> Any:
    """Return a shape or a range of a correlation, given as numbers or as their text."""
    if isinstance(given, str):
        parts = [_numbers(part, part) for part in given.replace(",", " ").split()]
        return parts[0] if len(parts) == 1 else tuple(parts)
    return tuple(given) if isinstance(given, list) else given


def _numbers(text: Any, otherwise: Any) -> Any:
    try:
        return float(text) if isinstance(text, str) else text
    except ValueError:
        return otherwise


def checked_probability(value: Any, where: str) -> float:
    """Return `value` (a number or its text) as a probability, or raise an error that starts with `where`."""
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if not 0 <= number <= 1:
        raise GraphError(f"{where} has probability {value!r}; it must be a number from 0 to 1")
    return number


def checked_flag(value: Any, where: str) -> bool:
    """Return a yes or no, given as such or as text."""
    if str(value).lower() in _NO:
        return False
    if str(value).lower() in _YES:
        return True
    raise GraphError(f"{where}: calibrate must be true or false, got {value!r}")


def check_observed(name: str, attributes: dict[str, Any], where: str) -> None:
    """Refuse variables that a graph program marked as hidden or as selected on."""
    flags = {key.lower() for key, value in attributes.items() if str(value).lower() not in _NO}
    hidden = flags & _HIDDEN or str(attributes.get("observed", "yes")).lower() in _NO
    if hidden:
        raise GraphError(
            f"{where}: the variable {name!r} is marked as latent; write a hidden common cause of two variables as "
            "x <-> y in their place, or leave it out if it is not a common cause"
        )
    if "selected" in flags:
        raise GraphError(
            f"{where}: the variable {name!r} is marked as selected; selection bias is not supported, leave it out"
        )


def check_no_hidden(graph: CandidateGraph, format: str) -> None:
    """Refuse to write hidden common causes in a format that has no place for them."""
    for first, second in graph.hidden:
        raise GraphError(
            f"{format} has no place for the hidden common cause {first!r} <-> {second!r}; use TOML, JSON, dagitty, DOT"
        )
    for name, treatment in graph.declared:
        raise GraphError(
            f"{format} has no place for the instrument {name!r} of {treatment!r}; use TOML, JSON, dagitty, DOT"
        )
