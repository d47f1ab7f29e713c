"""`TopGraph`: a graph, or a Markov class of graphs, with its posterior probability."""

from __future__ import annotations

from dataclasses import dataclass

from alldags.graph.edges import Edge


@dataclass(frozen=True, slots=True)
class TopGraph:
    """A graph with its posterior probability.

    Parameters
    ----------
    edges
        The edges present, as (cause, effect).
    probability
        Posterior probability among all candidate graphs; of a class, of all its members together.
    members
        Of a Markov class: the graphs that no number of observational rows can tell apart from this one, itself first;
        empty for a single graph.
    """

    edges: tuple[Edge, ...]
    probability: float
    members: tuple[TopGraph, ...] = ()

    def __str__(self) -> str:
        arrows = ", ".join(f"{cause} {self._sign(cause, effect)} {effect}" for cause, effect in self.edges)
        count = f" ({len(self.members)} graphs)" if len(self.members) > 1 else ""
        return f"{self.probability:.4g}{count}: {arrows or '(no edge)'}"

    def _sign(self, cause: str, effect: str) -> str:
        """Return an arrow, or a line where members of the class have different directions."""
        return "--" if any((effect, cause) in item.edges for item in self.members) else "->"
