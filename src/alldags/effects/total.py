"""`TotalEffect`: moments and draws of a total effect in one fitted graph.

With ``t_j`` the total effect of a source on ``j`` (``t_source = 1``) and nodes independent a posteriori, in
topological order::

    E[t_j]     = mean_j . E[t_C]
    E[t_j t_a] = mean_j . E[t_C t_a]      for every earlier a
    E[t_j^2]   = sum(M_j * E[t_C t_C'])   M_j = E[theta_j theta_j'], C = candidate parents of j

A directed path enters each vertex at most once, so a product of coefficients along it is a product over different,
independent nodes: that is why no sampling and no sum over graphs is needed. Each block of the model carries the
moments one step further (`alldags.models.blocks`). That holds between blocks; inside a block of unknown order products
of means are not means of products, and the block itself is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.effects.span import Span
from alldags.models.blocks import NodeBlock, SecondMoments, all_moments, between_graphs, parent_places
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Slope
from alldags.models.order_block import OrderBlock
from alldags.nodes.posterior import NodePosterior
from alldags.typing import FloatArray

_JOINT_DRAWS = 20_000  # behind moments where correlated errors join two regressions on the way


@dataclass(frozen=True, eq=False)
class TotalEffect:
    """The total effect of a span's first variable on its last, in one fitted model and in working units.

    Without a candidate path (an empty span) the effect is zero.
    """

    model: FittedGraph
    span: Span

    @classmethod
    def of(cls, model: FittedGraph, source: str, target: str) -> TotalEffect:
        """Return the total effect of `source` on `target`."""
        return cls(model, Span.between(model.graph, source, target))

    def prepare(self) -> None:
        """Fit the nodes and blocks it needs."""
        self.model.prepare(self.span.reached)

    @cached_property
    def has_structure(self) -> bool:
        """Whether every block it runs through has a notion of a graph."""
        return all(block.has_structure for block in self.blocks)

    @cached_property
    def blocks(self) -> list[NodeBlock | OrderBlock]:
        """The blocks it runs through, causes first; that of the source only if its order is open."""
        return list(self.model.blocks(self.span.reached))

    @property
    def order_blocks(self) -> list[OrderBlock]:
        """Those of them whose order is open."""
        return [block for block in self.blocks if isinstance(block, OrderBlock)]

    def nodes(self) -> Iterator[NodePosterior]:
        """Yield the nodes with a regression of their own that it runs through."""
        return (block.node for block in self.blocks if isinstance(block, NodeBlock))

    # -- moments -----------------------------------------------------------------------------------------------------

    @cached_property
    def reach(self) -> FloatArray:
        """Mean effect of the source on each variable of the span, shape (v,)."""
        return first_moments(self.model, self.span)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(self.reach[-1]) if self.span.variables else 0.0

    @cached_property
    def square(self) -> FloatArray:
        """Second moments of the effect of the source on the variables of the span, shape (v, v)."""
        return second_moments(self.model, self.span, all_moments)

    @property
    def second(self) -> float:
        """Second moment."""
        return float(self.square[-1, -1]) if self.span.variables else 0.0

    @property
    def second_between(self) -> float:
        """Second moment, over graphs, of the mean given the graph."""
        return float(second_moments(self.model, self.span, between_graphs)[-1, -1]) if self.span.variables else 0.0

    @cached_property
    def _ahead(self) -> dict[str, float]:
        """Mean effect of each variable on the last one, along paths that leave its own block at once."""
        ahead = dict.fromkeys(self.span.variables, 0.0)
        if self.span.variables:
            ahead[self.span.variables[-1]] = 1.0
        for block in reversed(self.blocks):
            for name, value in zip(*_passed_on(block, ahead), strict=True):
                if name in ahead:
                    ahead[name] += float(value)
        return ahead

    def ahead(self, block: OrderBlock) -> FloatArray:
        """Return the mean effect of a block's variables on the last one, along paths that leave the block at once."""
        return np.array([self._ahead[name] for name in block.variables])

    def onward(self, name: str) -> float:
        """Return the mean effect of a variable of the span on the last one."""
        block = self.model.order_block(name)
        if block is None:
            return self._ahead[name]
        return float(block.posterior.effects[block.variables.index(name)] @ self.ahead(block))

    def slopes(self) -> Iterator[Slope]:
        """Yield how the mean answers to each node: ``E[t_C]`` times the mean effect of the node on the target.

        To a block of unknown order it answers by the mean effects inside: what comes in times what goes out.
        """
        for block in self.blocks:
            if isinstance(block, NodeBlock):
                own, others = parent_places(block.node, self.span.places)
                slope = np.zeros(len(block.node.parents))
                slope[own] = self.reach[others] * self.onward(block.child)
                yield Slope(block.child, block.node, slope)
            else:
                yield Slope(block.variables[0], block.posterior, self._block_slope(block))

    def _block_slope(self, block: OrderBlock) -> FloatArray:
        """Return what multiplies each mean effect inside a block, shape (b + e, b)."""
        start = block.start(self.span.places, self.reach)
        entering = np.concatenate([np.zeros(len(block.variables)), start.mean])
        if start.source is not None:
            entering[start.source] = 1.0
        return np.outer(entering, self.ahead(block))

    @property
    def bound(self) -> float:
        """Bound of the mean's error from parent sets left out, to first order; 0 if none was."""
        return sum(
            float(np.abs(part.slope) @ part.node.mean_bound)
            for part in self.slopes()
            if isinstance(part.node, NodePosterior)
        )

    # -- draws -------------------------------------------------------------------------------------------------------

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return independent draws, shape (size,); exact zeros where there is no path."""
        if not self.span.variables:
            return np.zeros(size)
        return np.asarray(drawn_effects(self.model, self.span, size, rng)[-1])


def _passed_on(block: NodeBlock | OrderBlock, ahead: dict[str, float]) -> tuple[tuple[str, ...], FloatArray]:
    """Return the causes before a block, and the mean effect of each on the last variable by way of the block."""
    if isinstance(block, NodeBlock):
        return block.node.parents, block.node.mean * ahead[block.child]
    return block.problem.earlier, block.posterior.outer @ np.array([ahead[name] for name in block.variables])


def first_moments(model: FittedGraph, span: Span) -> FloatArray:
    """Return E[t] of the span's first variable on each of its variables, shape (v,)."""
    if model.joins(span.reached):
        return np.asarray(_joint_effects(model, span).mean(axis=1))
    mean = np.zeros(len(span))
    mean[:1] = 1.0
    for block in model.blocks(span.reached):
        block.carry_first(span.places, mean)
    return mean


def second_moments(model: FittedGraph, span: Span, of: SecondMoments = all_moments) -> FloatArray:
    """Return E[t t'] over the span, shape (v, v), with `of(node)` in place of each node's second moments."""
    if of is all_moments and model.joins(span.reached):
        drawn = _joint_effects(model, span)
        return np.asarray(drawn @ drawn.T / drawn.shape[1])
    square = np.zeros((len(span), len(span)))
    square[:1, :1] = 1.0
    for block in model.blocks(span.reached):
        block.carry_second(span.places, square, of)
    return square


def drawn_effects(model: FittedGraph, span: Span, size: int, rng: np.random.Generator) -> FloatArray:
    """Return draws of the effect of the span's first variable on each of its variables, shape (v, size)."""
    effect = np.zeros((len(span), size))
    effect[0] = 1.0
    streams = variable_streams(model, rng)
    for block in model.blocks(span.reached):
        block.draw(size, streams[block.variables[0]]).carry(span.places, effect)
    return effect


def _joint_effects(model: FittedGraph, span: Span) -> FloatArray:
    """Return draws with a seed of their own: products of two variables with correlated errors have no closed form."""
    return drawn_effects(model, span, _JOINT_DRAWS, np.random.default_rng(0))


def variable_streams(model: FittedGraph, rng: np.random.Generator) -> dict[str, np.random.Generator]:
    """Return a generator for every variable, so that a node's draws do not depend on which others are drawn.

    Two variables with correlated errors have equal ones: draws of both then go together.
    """
    names = model.graph.variables
    streams = dict(zip(names, rng.spawn(len(names)), strict=True))
    for first, *others in model.graph.districts() if model.graph.hidden else ():
        streams.update({name: deepcopy(streams[first]) for name in others})
    return streams


def effect_moments(model: FittedGraph, sources: Iterable[str]) -> FloatArray:
    """Return first and second moments of the effects of some variables on all, shape (2, m, m); zeros for others."""
    place = {name: i for i, name in enumerate(model.graph.variables)}
    moments = np.zeros((2, len(place), len(place)))
    for source in sources:
        span = Span.below(model.graph, source)
        model.prepare(span.reached)
        columns = [place[name] for name in span.variables]
        moments[0, place[source], columns] = first_moments(model, span)
        moments[1, place[source], columns] = np.diag(second_moments(model, span))
    return moments
