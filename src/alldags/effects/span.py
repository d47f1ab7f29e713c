"""`Span`: the variables that a question about an effect runs through."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from alldags.graph.candidate import CandidateGraph


@dataclass(frozen=True)
class Span:
    """Variables in topological order, the source first; inside a block of unknown order in any order.

    Parameters
    ----------
    variables
        Names; empty if no candidate path leads from source to target.
    """

    variables: tuple[str, ...]

    @classmethod
    def between(cls, graph: CandidateGraph, source: str, target: str) -> Span:
        """Return the variables on candidate paths from `source` to `target`, ends included."""
        below = graph.descendants(source)
        if target not in below:
            return cls(())
        inside = (below & graph.ancestors(target)) - {source, target}
        return cls((source, *(name for name in graph.order if name in inside), target))

    @classmethod
    def below(cls, graph: CandidateGraph, source: str) -> Span:
        """Return the source and all variables it may act on."""
        inside = graph.descendants(source) - {source}
        return cls((source, *(name for name in graph.order if name in inside)))

    @classmethod
    def behind(cls, graph: CandidateGraph, source: str, target: str) -> Span:
        """Return the variables whose noise may reach the target without passing the source; whole blocks of them."""
        inside = {target}
        home = {name: block for block in graph.blocks for name in block}
        for name in reversed(graph.order):
            group = home.get(name, (name,))
            if not inside.isdisjoint(group):
                inside.update(group)
                inside.update(parent for mate in group if mate != source for parent in graph.parents(mate))
                inside.discard(source)
        return cls(tuple(name for name in graph.order if name in inside))

    @cached_property
    def places(self) -> dict[str, int]:
        """Position of each variable."""
        return {name: i for i, name in enumerate(self.variables)}

    @property
    def reached(self) -> tuple[str, ...]:
        """The variables after the source."""
        return self.variables[1:]

    def __len__(self) -> int:
        return len(self.variables)
