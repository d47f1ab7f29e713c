"""dagitty: ``dag { x [exposure]; x -> y; {a b} -> x <- c }``; probabilities in the edge attribute ``probability``.

Roles (``exposure``, ``outcome``, ``adjusted``), positions and ``beta`` are ignored; ``a <-> b`` is a hidden common
cause of two variables, a variable marked as latent is an error. The direction of ``a -- b`` is open; its
``probability`` is that of either direction, half each, or ``forward`` and ``backward`` give one for each.
"""

from __future__ import annotations

from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.arrows import Dialect, parse_arrows, write_arrows

_DAGITTY = Dialect("dagitty", types=("dag", "pdag", "digraph"), keywords=frozenset(), dot=False)


def parse(text: str, probability: float) -> CandidateGraph:
    """Read a graph from dagitty text."""
    return parse_arrows(text, probability, _DAGITTY)


def write(graph: CandidateGraph) -> str:
    """Write a graph as dagitty text."""
    return write_arrows(graph, "dag" if graph.is_ordered else "pdag", _DAGITTY)
