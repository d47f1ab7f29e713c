"""GML, through networkx: node labels are the names, the edge attribute ``probability`` their probabilities.

The direction of edges of an undirected graph is open: each direction has half of the probability.
"""

from __future__ import annotations

from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.collect import check_no_hidden, check_observed, checked_flag, checked_probability


def parse(text: str, probability: float | None) -> CandidateGraph:
    """Read a graph from GML."""
    import networkx as nx

    try:
        graph = nx.parse_gml(text)
    except Exception as error:  # networkx lets many kinds of exception out of malformed text
        raise GraphError(f"this is not valid GML: {_one_line(error)}") from error
    for name, attributes in graph.nodes(data=True):
        check_observed(name, attributes, "GML")
    graph.graph["calibrate"] = checked_flag(graph.graph.get("calibrate", True), "GML")
    for cause, effect, attributes in graph.edges(data=True):
        if "probability" in attributes:
            where = f"the edge {cause!r} -> {effect!r}"
            attributes["probability"] = checked_probability(attributes["probability"], where)
    return CandidateGraph.from_networkx(graph, probability)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def write(graph: CandidateGraph) -> str:
    """Write a graph as GML; characters outside ASCII become numeric references, as the format demands."""
    check_no_hidden(graph, "GML")
    import networkx as nx

    return "\n".join(nx.generate_gml(graph.to_networkx())) + "\n"
