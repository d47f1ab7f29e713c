"""`Way`: the variables that carry an effect on from step to step, and the coefficients between them as matrices.

``A[l, i, j]`` is the coefficient of variable i, l steps ago, in the regression of variable j: row = cause, column =
effect, for each lag; lag 0 is the same step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import Edge
from alldags.nodes.data import WorkingData
from alldags.steps import at, lags_of
from alldags.typing import FloatArray


@dataclass(frozen=True)
class Way:
    """The variables, m of them, on any candidate walk over steps from a treatment to an outcome.

    Parameters
    ----------
    variables
        The treatment first; empty if there is no walk.
    treatment, outcome
        Names.
    lags
        Number of steps back that causes may be.
    edges
        The candidate edges between them.
    """

    variables: tuple[str, ...]
    treatment: str
    outcome: str
    lags: int
    edges: tuple[Edge, ...]

    @classmethod
    def between(cls, graph: CandidateGraph, treatment: str, outcome: str) -> Way:
        """Return the way from a treatment to an outcome.

        Examples
        --------
        >>> import alldags as ad
        >>> from alldags.effects.steps.way import Way
        >>> Way.between(ad.CandidateGraph.over_time(["a", "b", "c"], lags=1), "a", "c").variables
        ('a', 'b', 'c')
        """
        below: dict[str, set[str]] = {}
        above: dict[str, set[str]] = {}
        for cause, effect in graph.edges:
            below.setdefault(at(cause).name, set()).add(effect)
            above.setdefault(effect, set()).add(at(cause).name)
        reached, leading = _closure(treatment, below), _closure(outcome, above)
        if outcome not in reached:
            return cls((), treatment, outcome, lags_of(graph.variables), ())
        inner = (reached & leading) - {treatment}
        names = (treatment, *(name for name in graph.variables if name in inner))
        kept = tuple(edge for edge in graph.edges if at(edge[0]).name in names and edge[1] in names)
        return cls(names, treatment, outcome, lags_of(graph.variables), kept)

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of each variable."""
        return {name: i for i, name in enumerate(self.variables)}

    @property
    def regressed(self) -> tuple[str, ...]:
        """The variables whose regressions an effect runs through: all but a treatment on which nothing acts."""
        into = {effect for _, effect in self.edges}
        return tuple(name for name in self.variables if name in into)

    def matrices(self, coefficients: Iterable[tuple[Edge, FloatArray]], size: int, data: WorkingData) -> FloatArray:
        """Return coefficients in the user's units, shape (size, lags + 1, m, m), from those in working units."""
        found = np.zeros((size, self.lags + 1, len(self.variables), len(self.variables)))
        for (cause, effect), values in coefficients:
            source = at(cause)
            if source.name in self.place and effect in self.place:
                unit = data.unit(cause, effect)
                found[:, source.lag, self.place[source.name], self.place[effect]] = unit * values
        return found


def _closure(start: str, neighbours: Mapping[str, set[str]]) -> set[str]:
    """Return a variable and all that can be reached from it."""
    found, new = {start}, [start]
    while new:
        for name in neighbours.get(new.pop(), set()) - found:
            found.add(name)
            new.append(name)
    return found
