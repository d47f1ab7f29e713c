"""Candidate graphs from what other programs, and other people, hold for a graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import EVEN, Edge
from alldags.graph.io import parse_graph, read_graph

LEAST = 1e-100  # probabilities of edges are multiplied with each other, and divided by


def as_graph(given: Any, probability: float | None = None) -> CandidateGraph:
    """Return a candidate graph from anything that stands for one without doubt.

    Parameters
    ----------
    given
        A `CandidateGraph`; the path of a graph file; a text in a known format, such as ``"y ~ x + m"``; tiers, as a
        list of lists of names; ``{variable: its possible causes}``; a networkx graph; a graph of causal-learn; a fitted
        model of lingam.
    probability
        For edges that come without one; None: 1/2, and `CandidateGraph.unstated`.

    Examples
    --------
    >>> from alldags.graph.others import as_graph
    >>> sorted(as_graph("m ~ x; y ~ x + m").parents("y"))
    ['m', 'x']
    >>> as_graph({"age": [], "risk": ["age"]}).edges["age", "risk"]
    0.5
    """
    if isinstance(given, CandidateGraph):
        return given
    if isinstance(given, os.PathLike) or (isinstance(given, str) and _is_path(given)):
        return read_graph(given, probability)
    if isinstance(given, str):
        return parse_graph(given, probability=probability)
    if isinstance(given, Mapping):
        return from_parents(given, probability)
    if _is_tiers(given):
        return CandidateGraph.from_tiers(given, probability)
    return _from_object(given, probability)


def as_graphs(given: Any) -> list[CandidateGraph]:
    """Return the candidate graphs of a list of them, or the one that something else stands for; see `as_graph`."""
    if not isinstance(given, list | tuple) or _is_tiers(given):
        graphs = [as_graph(given)]
    else:
        graphs = [as_graph(one) for one in given]
    if not graphs:
        raise GraphError("the list of candidate graphs is empty")
    for one in graphs:
        check_odds(one)
    for one in graphs[1:]:
        missing = sorted(set(graphs[0].variables) ^ set(one.variables))
        if missing:
            raise GraphError(
                f"all candidate graphs must have the same variables; these are not in all of them: {missing}"
            )
    return graphs


def check_odds(graph: CandidateGraph) -> None:
    """Refuse probabilities whose odds arithmetic cannot hold."""
    for (cause, effect), probability in graph.edges.items():
        if probability < LEAST:
            raise GraphError(
                f"the edge {cause!r} -> {effect!r} has the probability {probability:g}, which is too small to compute "
                f"with; leave the edge out, or give at least {LEAST:g}"
            )


def _is_path(text: str) -> bool:
    """Tell a file from a graph, which has a line break, a tilde or a bracket."""
    return not any(sign in text for sign in "\n~{[")


def _is_tiers(given: Any) -> bool:
    return (
        isinstance(given, list | tuple)
        and len(given) > 0
        and all(isinstance(tier, list | tuple) and all(isinstance(name, str) for name in tier) for tier in given)
    )


def _from_object(given: Any, probability: float | None) -> CandidateGraph:
    """Know objects of other packages by what they offer, without importing the packages."""
    if hasattr(given, "get_graph_edges") and hasattr(given, "get_nodes"):
        return from_causal_learn(given, probability)
    if hasattr(given, "adjacency_matrix_"):
        return from_lingam(given.adjacency_matrix_, getattr(given, "feature_names_", None), probability)
    if hasattr(given, "is_directed") and hasattr(given, "edges"):
        return CandidateGraph.from_networkx(given, probability)
    raise GraphError(
        "graph must be a CandidateGraph, a path, a text such as 'y ~ x + m', tiers, a dictionary of possible causes, a "
        f"networkx graph, or a list of candidate graphs; got {type(given).__name__}"
    )


def from_parents(
    parents: Mapping[str, Sequence[str] | Mapping[str, float]], probability: float | None
) -> CandidateGraph:
    """Return a graph from ``{variable: its possible causes}``; causes may have probabilities of their own."""
    edges: dict[Edge, float | None] = {}
    names: dict[str, None] = {}
    for child, causes in parents.items():
        if isinstance(causes, str) or not isinstance(causes, Mapping | Sequence):
            raise GraphError(f"the possible causes of {child!r} must be a list of names, got {causes!r}")
        names.update(dict.fromkeys(causes))
        for cause in causes:
            edges[cause, child] = float(causes[cause]) if isinstance(causes, Mapping) else None
    names.update(dict.fromkeys(parents))
    return CandidateGraph.from_edges(edges, list(names), probability)


# -- other packages ----------------------------------------------------------------------------------------------------


def from_lingam(matrix: Any, names: Sequence[str] | None, probability: float | None = None) -> CandidateGraph:
    """Return a graph from an adjacency matrix of lingam, which is stored ``[effect, cause]``; not zero is an edge."""
    values = _square(matrix)
    labels = _labels(names, len(values))
    edges = [(labels[j], labels[i]) for i, j in np.argwhere(np.nan_to_num(values) != 0.0)]
    return CandidateGraph.from_edges(edges, labels, probability)


def from_lingam_knowledge(matrix: Any, names: Sequence[str] | None, probability: float | None = None) -> CandidateGraph:
    """Return the graph that lingam's ``prior_knowledge`` leaves open.

    It is stored ``[effect, cause]``: 0 means no path from cause to effect, 1 a path, -1 not known. A path need not be
    an edge, so 1 rules out the other direction and leaves the edge a candidate. Where both directions are open, each
    has half the probability.
    """
    values = _square(matrix)
    labels = _labels(names, len(values))
    possible = (values != 0.0) & ~(values.T == 1.0)
    np.fill_diagonal(possible, val=False)
    return CandidateGraph.from_edges([(labels[j], labels[i]) for i, j in np.argwhere(possible)], labels, probability)


def from_causal_learn(graph: Any, probability: float | None = None) -> CandidateGraph:
    """Return a graph from causal-learn's ``GeneralGraph``: arrows as they are, undirected and circled edges open."""
    names = [node.get_name() for node in graph.get_nodes()]
    edges: list[Edge] = []
    hidden = []
    for edge in graph.get_graph_edges():
        first, second = edge.get_node1().get_name(), edge.get_node2().get_name()
        ends = edge.get_endpoint1().name, edge.get_endpoint2().name
        if ends == ("ARROW", "ARROW"):
            hidden.append((first, second))
        elif ends == ("TAIL", "ARROW"):
            edges.append((first, second))
        elif ends == ("ARROW", "TAIL"):
            edges.append((second, first))
        else:
            edges += [(first, second), (second, first)]
    found = CandidateGraph.from_edges(edges, names, probability)
    for first, second in hidden:
        found = found.with_hidden(first, second, EVEN if probability is None else probability)
    return found


def _square(matrix: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise GraphError(f"a matrix of edges must be square, got shape {values.shape}")
    return values


def _labels(names: Sequence[str] | None, size: int) -> list[str]:
    labels = [f"x{i}" for i in range(size)] if names is None else [str(name) for name in names]
    if len(labels) != size:
        raise GraphError(f"{size} rows of the matrix need {size} names, got {len(labels)}")
    return labels
