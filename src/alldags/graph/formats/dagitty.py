"""dagitty: ``dag { x [exposure]; x -> y; {a b} -> x <- c }``, or arrows alone.

Probabilities are in the edge attribute ``probability``.

Roles (``exposure``, ``outcome``, ``adjusted``), positions and ``beta`` are ignored; ``a <-> b`` is a hidden common
cause of two variables, a variable marked as latent is an error. The direction of ``a -- b`` is open; its
``probability`` is that of either direction, half each, or ``forward`` and ``backward`` give one for each.
"""

from __future__ import annotations

from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.arrows import Dialect, parse_arrows, write_arrows

_DAGITTY = Dialect("dagitty", types=("dag", "pdag", "digraph"), keywords=frozenset(), dot=False)


def parse(text: str, probability: float | None) -> CandidateGraph:
    """Read a graph from dagitty text, or from its inside alone: lines such as ``smoking -> risk``."""
    return parse_arrows(f"dag {{ {text}\n}}" if is_bare(text) else text, probability, _DAGITTY)


def is_bare(text: str) -> bool:
    """Tell whether a text is arrows without ``dag { }`` around them.

    Examples
    --------
    >>> from alldags.graph.formats.dagitty import is_bare
    >>> is_bare("age -> risk <- sex"), is_bare("dag { age -> risk }"), is_bare("y ~ x")
    (True, False, False)
    """
    return "{" not in text and any(arrow in text for arrow in ("->", "<-", "--"))


def write(graph: CandidateGraph) -> str:
    """Write a graph as dagitty text."""
    return write_arrows(graph, "dag" if graph.is_ordered else "pdag", _DAGITTY)
