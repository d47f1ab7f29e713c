"""Blocks: the factors of one fitted graph's posterior.

A factor holds one variable, given those before it, where its candidate parents are known to come first: `NodeBlock`. A
group of variables whose order is open is one factor, too. What a total effect needs of a factor is the same for both:
to carry its moments, or draws of it, from the variables before the block to those inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from alldags.graph.edges import Edge
from alldags.nodes.posterior import Diagnostics, NodePosterior
from alldags.typing import FloatArray

Places: TypeAlias = Mapping[str, int]
"""Positions of variables in vectors of effects."""

SecondMoments: TypeAlias = Callable[[NodePosterior, list[int]], FloatArray]
"""Which second moments of some of a node's coefficients are meant, shape (m, m)."""


def all_moments(node: NodePosterior, places: list[int]) -> FloatArray:
    """Return second moments of a node's coefficients."""
    return node.second_moments(places)


def between_graphs(node: NodePosterior, places: list[int]) -> FloatArray:
    """Return second moments of a node's conditional means over parent sets."""
    moments = node.second_moments_between(places)
    if moments is None:
        raise TypeError("this engine has no notion of a parent set")
    return moments


class BlockDraws(Protocol):
    """Draws of a block's coefficients and noise."""

    def carry(self, places: Places, effect: FloatArray) -> None:
        """Write the effect (v, size) on the block's variables, given those before it."""

    def edges(self) -> Iterator[tuple[Edge, FloatArray]]:
        """Yield each candidate edge with the draws of its coefficient, shape (size,)."""


class Block(Protocol):
    """A factor of a fitted graph's posterior."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables inside."""

    @property
    def diagnostics(self) -> Diagnostics:
        """How it was computed."""

    @property
    def set_draws(self) -> float:
        """Number of draws behind probabilities of graphs; infinite where those are computed."""

    @property
    def has_structure(self) -> bool:
        """Whether edges can be present or absent."""

    def carry_first(self, places: Places, mean: FloatArray) -> None:
        """Write E[t] of the block's variables into `mean`, shape (v,), given those before it."""

    def carry_second(self, places: Places, square: FloatArray, of: SecondMoments) -> None:
        """Write E[t t'] of the block's variables with all before into `square`, shape (v, v)."""

    def draw(self, size: int, rng: np.random.Generator) -> BlockDraws:
        """Draw the block's coefficients and noise variances."""


@dataclass(frozen=True, eq=False)
class NodeBlock:
    """A block of one variable: its node."""

    child: str
    node: NodePosterior

    @property
    def variables(self) -> tuple[str, ...]:
        """The one variable inside."""
        return (self.child,)

    @property
    def diagnostics(self) -> Diagnostics:
        """How it was computed."""
        return self.node.diagnostics

    @property
    def set_draws(self) -> float:
        """Number of draws behind probabilities of whole parent sets."""
        return self.node.set_draws

    @property
    def has_structure(self) -> bool:
        """Whether its engine has a notion of a parent set."""
        return self.node.inclusion is not None

    def carry_first(self, places: Places, mean: FloatArray) -> None:
        """Write ``E[t_j] = mean_j . E[t_C]``."""
        own, others = parent_places(self.node, places)
        if own:
            mean[places[self.child]] = self.node.mean[own] @ mean[others]

    def carry_second(self, places: Places, square: FloatArray, of: SecondMoments) -> None:
        """Write ``E[t_j t_a] = mean_j . E[t_C t_a]`` and ``E[t_j^2] = sum(M_j * E[t_C t_C'])``."""
        own, others = parent_places(self.node, places)
        if own:
            j = places[self.child]
            square[j, :j] = weighted_rows(self.node.mean[own], square[others, :j])
            square[:j, j] = square[j, :j]
            square[j, j] = weighted_sum(of(self.node, own), square[np.ix_(others, others)])

    def draw(self, size: int, rng: np.random.Generator) -> NodeDraws:
        """Draw coefficients (size, k) and noise variances (size,)."""
        return NodeDraws(self, *self.node.draw(size, rng))


@dataclass(frozen=True, eq=False)
class NodeDraws:
    """Draws of one node: coefficients (size, k), zero where absent, and noise variances (size,)."""

    block: NodeBlock
    coefficients: FloatArray
    variance: FloatArray

    def carry(self, places: Places, effect: FloatArray) -> None:
        """Write the effect on the child: its coefficients times the effects on its parents."""
        own, others = parent_places(self.block.node, places)
        effect[places[self.block.child]] = np.einsum("sp,ps->s", self.coefficients[:, own], effect[others])

    def edges(self) -> Iterator[tuple[Edge, FloatArray]]:
        """Yield each candidate edge with the draws of its coefficient, shape (size,)."""
        child = self.block.child
        return (((name, child), self.coefficients[:, i]) for i, name in enumerate(self.block.node.parents))


def parent_places(node: NodePosterior, places: Places) -> tuple[list[int], list[int]]:
    """Return, for the parents that have a place, their positions in the node's list and in the vector."""
    pairs = [(own, places[name]) for own, name in enumerate(node.parents) if name in places]
    return [own for own, _ in pairs], [other for _, other in pairs]


def weighted_sum(moments: FloatArray, weights: FloatArray) -> float:
    """Return ``sum(moments * weights)``; infinite if one that counts is, which one of weight zero does not."""
    return float(_sum_of_products(moments, weights, axis=None))


def weighted_rows(weights: FloatArray, moments: FloatArray) -> FloatArray:
    """Return ``weights @ moments``, shape (j,), infinite where a moment is that counts."""
    if np.isfinite(moments).all():
        return np.asarray(weights @ moments)
    return _sum_of_products(weights[:, None], moments, axis=0)


def _sum_of_products(a: FloatArray, b: FloatArray, axis: int | None) -> FloatArray:
    """Return the sum of ``a * b``; zero times infinity is zero, and infinities of both signs make one: no moment."""
    with np.errstate(invalid="ignore"):
        products = np.where((a == 0.0) | (b == 0.0), 0.0, a * b)
        total = products.sum(axis=axis)
    return np.asarray(np.where(np.isnan(total) & np.isinf(products).any(axis=axis), np.inf, total))
