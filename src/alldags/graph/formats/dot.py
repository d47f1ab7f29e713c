r"""DOT, the language of Graphviz; probabilities in the edge attribute ``probability``.

The direction of ``a -- b``, in an undirected graph, and of ``a -> b [dir=none]`` is open; its ``probability`` is that
of either direction, half each, or the attributes ``forward`` and ``backward`` give one for each. Written are two
arrows, which every program understands.

Other attributes are ignored. ``edge [probability=0.2]`` sets the default for the edges after it. In quoted names
``\\`` is read as one backslash, so that every name can be written; Graphviz shows it as one, too.
"""

from __future__ import annotations

from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.arrows import Dialect, parse_arrows, write_arrows

_DOT = Dialect(
    "DOT",
    types=("digraph", "graph"),
    keywords=frozenset({"node", "edge", "graph", "digraph", "subgraph", "strict"}),
    dot=True,
)


def parse(text: str, probability: float | None) -> CandidateGraph:
    """Read a graph from DOT."""
    return parse_arrows(text, probability, _DOT)


def write(graph: CandidateGraph) -> str:
    """Write a graph as DOT."""
    return write_arrows(graph, "digraph", _DOT)
