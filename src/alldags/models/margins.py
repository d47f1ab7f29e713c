"""`Margin`: what is known of one variable's edges and coefficients by themselves.

It says nothing of how they go together with those of other variables: inside a block of unknown order, products of
margins are not the means of products. So totals, paths and reach never use it; tables of edges and coefficients do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from alldags.nodes.posterior import Diagnostics, NodePosterior
from alldags.orders.problem import BlockPosterior
from alldags.typing import FloatArray


class Margin(Protocol):
    """Marginal posterior of the edges into one variable; arrays are ordered like `parents`."""

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the candidate parents, k of them."""

    @property
    def diagnostics(self) -> Diagnostics:
        """How it was computed."""

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of the coefficients, shape (k,)."""

    @property
    def square(self) -> FloatArray:
        """Posterior mean of the squared coefficients, shape (k,)."""

    @property
    def noise_variance(self) -> float:
        """Posterior mean of the noise variance."""

    @property
    def inclusion(self) -> FloatArray | None:
        """Posterior probability of each edge, shape (k,); None without a notion of it."""

    @property
    def settled_inclusion(self) -> FloatArray | None:
        """The same as exact as a table of all edges shows it."""

    @property
    def shrinkage(self) -> FloatArray | None:
        """How much of each coefficient survives under a continuous prior, shape (k,)."""

    @property
    def stated_inclusion(self) -> FloatArray:
        """Prior probability of each edge before any link, shape (k,)."""

    @property
    def raised(self) -> FloatArray:
        """What a link added to the prior, shape (k,)."""


@dataclass(frozen=True, eq=False)
class NodeMargin:
    """The margin of a variable with a regression of its own."""

    node: NodePosterior

    @property
    def parents(self) -> tuple[str, ...]:
        return self.node.parents

    @property
    def diagnostics(self) -> Diagnostics:
        return self.node.diagnostics

    @property
    def mean(self) -> FloatArray:
        return self.node.mean

    @property
    def square(self) -> FloatArray:
        return self.node.squares

    @property
    def noise_variance(self) -> float:
        return self.node.noise_variance

    @property
    def inclusion(self) -> FloatArray | None:
        return self.node.inclusion

    @property
    def settled_inclusion(self) -> FloatArray | None:
        return self.node.settled_inclusion

    @property
    def shrinkage(self) -> FloatArray | None:
        return self.node.shrinkage

    @property
    def stated_inclusion(self) -> FloatArray:
        return self.node.stated_inclusion

    @property
    def raised(self) -> FloatArray:
        return self.node.raised


@dataclass(frozen=True, eq=False)
class BlockMargin:
    """The margin of a variable of a block.

    Parameters
    ----------
    posterior
        Of the block.
    variable
        Column of the variable.
    stated_inclusion
        Prior probability of each edge among acyclic graphs, shape (k,).
    """

    posterior: BlockPosterior
    variable: int
    stated_inclusion: FloatArray

    @cached_property
    def _edges(self) -> dict[str, int]:
        return self.posterior.problem.edges_into(self.variable)

    @cached_property
    def _rows(self) -> list[int]:
        rows = self.posterior.problem.rows(self.variable)
        return [int(rows[place]) for place in self._edges.values()]

    def _of_lines(self, values: FloatArray) -> FloatArray:
        """Return values of the coefficients; zero for a category, whose coefficient is not one number."""
        problem = self.posterior.problem
        terms = problem.nodes[self.variable].terms
        lines = [terms[place] == name for name, place in self._edges.items()]
        return np.where(lines, values[self._rows, self.variable], 0.0)

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(self._edges)

    @property
    def diagnostics(self) -> Diagnostics:
        return self.posterior.diagnostics

    @property
    def mean(self) -> FloatArray:
        return self._of_lines(self.posterior.mean)

    @property
    def square(self) -> FloatArray:
        return self._of_lines(self.posterior.square)

    @property
    def noise_variance(self) -> float:
        return float(self.posterior.noise_variance[self.variable])

    @property
    def inclusion(self) -> FloatArray | None:
        return np.asarray(self.posterior.inclusion[self._rows, self.variable])

    @property
    def settled_inclusion(self) -> FloatArray | None:
        return self.inclusion

    @property
    def shrinkage(self) -> FloatArray | None:
        return None

    @property
    def raised(self) -> FloatArray:
        linked = self.posterior.problem.nodes[self.variable].linked
        return np.zeros(len(self._rows)) if linked is None else linked.raised[list(self._edges.values())]
