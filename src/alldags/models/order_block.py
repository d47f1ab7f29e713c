"""`OrderBlock`: a factor of several variables whose order is open.

What comes in are moments of a number ``t`` (the effect of a source) at the variables before the block, or the source is
inside; what goes out are those of the block's variables. A mean is linear in what comes in. Second moments with earlier
variables follow from the mean total effects inside the block: given the earlier ones they are independent of the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from alldags.graph.edges import Edge
from alldags.models.blocks import Places, SecondMoments, between_graphs
from alldags.nodes.posterior import Diagnostics
from alldags.orders.problem import BlockDraws, BlockPosterior, BlockProblem, Start
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class OrderBlock:
    """A block of two or more variables; the variable at place 0 is the source."""

    posterior: BlockPosterior

    @property
    def problem(self) -> BlockProblem:
        """What its engine was asked."""
        return self.posterior.problem

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables inside."""
        return self.problem.variables

    @property
    def diagnostics(self) -> Diagnostics:
        """How it was computed."""
        return self.posterior.diagnostics

    @property
    def set_draws(self) -> float:
        """Number of draws behind probabilities of graphs; infinite where those are computed."""
        return self.posterior.set_draws

    @property
    def has_structure(self) -> bool:
        """True: a block is an average over graphs."""
        return True

    # -- what comes in -------------------------------------------------------------------------------------------------

    def source(self, places: Places) -> int | None:
        """Return the column of the source if it is inside."""
        return next((j for j, name in enumerate(self.variables) if places.get(name) == 0), None)

    def before(self, places: Places) -> Iterator[tuple[int, int]]:
        """Yield which earlier cause has which place."""
        return ((i, places[name]) for i, name in enumerate(self.problem.earlier) if name in places)

    def start(self, places: Places, mean: FloatArray, square: FloatArray | None = None, through: str | None = None,
              *, value: float = 1.0, noise: bool = False) -> Start:  # fmt: skip
        """Return what comes into the block, from moments at all places."""
        pairs = list(self.before(places))
        rows, others = [i for i, _ in pairs], [place for _, place in pairs]
        e = len(self.problem.earlier)
        first, second = np.zeros(e), np.zeros((e, e))
        first[rows] = mean[others]
        if square is not None:
            second[np.ix_(rows, rows)] = square[np.ix_(others, others)]
        passing = None if through is None else self.variables.index(through)
        return Start(first, second, self.source(places), value, passing, noise)

    # -- moments -------------------------------------------------------------------------------------------------------

    def carry_first(self, places: Places, mean: FloatArray, through: str | None = None) -> None:
        """Write E[t] of the block's variables; with `through`, of what passes through that one."""
        mean[self._places(places)] = self.posterior.first(self.start(places, mean, through=through))

    def carry_second(self, places: Places, square: FloatArray, of: SecondMoments, through: str | None = None) -> None:
        """Write E[t t'] of the block's variables with each other and all before."""
        own = self._places(places)
        start = self.start(places, np.zeros(len(square)), square, through)
        between = of is between_graphs
        pairs = list(self.before(places))
        if pairs and through is None:
            causes, others = np.array(pairs).T
            across = self.posterior.outer[causes].T @ square[others, : min(own)]
            square[own, : min(own)] = across
            square[: min(own), own] = across.T
        square[np.ix_(own, own)] = self.posterior.second(start, between=between)

    def _places(self, places: Places) -> list[int]:
        return [places[name] for name in self.variables]

    def draw(self, size: int, rng: np.random.Generator) -> OrderDraws:
        """Draw graphs, coefficients and noise variances."""
        return OrderDraws(self, self.posterior.draw(size, rng))


@dataclass(frozen=True, eq=False)
class OrderDraws:
    """Draws of a block."""

    block: OrderBlock
    drawn: BlockDraws

    @property
    def coefficients(self) -> FloatArray:
        """Shape (size, b + e, b), zero where an edge is absent."""
        return self.drawn.coefficients

    @property
    def variance(self) -> FloatArray:
        """Noise variances, shape (size, b)."""
        return self.drawn.variance

    def edges(self) -> Iterator[tuple[Edge, FloatArray]]:
        """Yield each candidate edge with the draws of its coefficient, shape (size,)."""
        for j, node in enumerate(self.block.problem.nodes):
            for row, name in zip(self.block.problem.rows(j), node.terms, strict=True):
                yield (name, node.child), self.coefficients[:, row, j]

    def holding(self, names: Collection[str]) -> OrderDraws:
        """Return the same draws with some variables held: nothing acts on them."""
        places = [i for i, name in enumerate(self.block.variables) if name in names]
        if not places:
            return self
        coefficients = self.coefficients.copy()
        coefficients[:, :, places] = 0.0
        return replace(self, drawn=replace(self.drawn, coefficients=coefficients))

    def carry(self, places: Places, effect: FloatArray) -> None:
        """Write the effect (v, size) on the block's variables, given those before it."""
        entering = np.zeros((effect.shape[1], len(self.block.variables)))
        for i, place in self.block.before(places):
            entering += self.coefficients[:, len(self.block.variables) + i] * effect[place][:, None]
        source = self.block.source(places)
        found = carry_along(self.coefficients, entering, source, 1.0)
        for j, name in enumerate(self.block.variables):
            effect[places[name]] = found[:, j]


def carry_along(coefficients: FloatArray, entering: FloatArray, source: int | None, value: float) -> FloatArray:
    """Return t of the block's variables for every draw, shape (size, b); exact zeros where no path leads.

    ``t = entering + t B``, iterated: no path inside is longer than the block. `source` is held at `value`.
    """
    b = entering.shape[1]
    inside = coefficients[:, :b]
    base = entering.copy()
    if source is not None:
        inside = inside.copy()
        inside[:, :, source] = 0.0
        base[:, source] = value
    t = base
    for _ in range(b - 1):
        longer = base + np.einsum("si,sij->sj", t, inside)
        if np.array_equal(longer, t):
            break
        t = longer
    return t
