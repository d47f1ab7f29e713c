"""Draws of the nodes on the way, over their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, cast

import numpy as np

from alldags.columns.base import Columns
from alldags.effects.total import variable_streams
from alldags.engines.conjugate.partner import draw_partners
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.engines.weighted.posterior import WeightedPosterior
from alldags.families.base import Family, Values
from alldags.models.fitted import FittedGraph, columns_of
from alldags.nodes.data import WorkingData
from alldags.nodes.divided import DividedPosterior
from alldags.nodes.onto import ParentsPosterior
from alldags.nodes.posterior import NodePosterior
from alldags.pairs.member import MemberPosterior
from alldags.pairs.posterior import PairDraws
from alldags.typing import FloatArray


class OverColumns(Protocol):
    """What is known of a regression's coefficients, ordered by its columns."""

    @property
    def mean(self) -> FloatArray:
        """Posterior mean, shape (k,)."""

    @property
    def second_moment_between(self) -> FloatArray | None:
        """Second moment of the mean given the columns present, shape (k, k); None if it is not known."""

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error of ``weights @ mean``."""


@dataclass(frozen=True, eq=False)
class NodeSample:
    """Draws of one node on the way.

    Parameters
    ----------
    node
        Its posterior.
    known
        What is known of its coefficients, by columns.
    columns
        Its columns.
    family
        How it depends on its predictor; None for a normal node, which keeps each row's residual.
    coefficients
        Shape (draws, k), in working units.
    intercept
        Shape (draws,), at the means of the columns, in working units.
    variance
        Of the noise, shape (draws,); ones for a node that has none.
    ratio
        Where both arms of a treatment have noise of their own, that of the second over the first's, shape (draws,).
    beside
        What the family has beside its predictor, shape (draws, m); None for nothing.
    pair
        Of one of two variables with correlated errors, the draws of both; else None.
    parts
        Draws of each regression of a child that is several: coefficients and intercept of the second are imaginary.
    """

    node: NodePosterior
    known: OverColumns
    columns: Columns
    family: Family | None
    coefficients: FloatArray
    intercept: FloatArray
    variance: FloatArray
    ratio: FloatArray | None = None
    beside: FloatArray | None = None
    pair: PairDraws | None = None
    parts: tuple[NodeSample, ...] = ()

    @property
    def size(self) -> int:
        """Number of draws."""
        return len(self.coefficients)

    def apart(self, block: slice = slice(None)) -> FloatArray:
        """Return what the family has apart from its predictor, in some draws, shape (m, draws)."""
        return apart(self.variance[block], None if self.beside is None else self.beside[block])

    @property
    def several(self) -> tuple[int, ...]:
        """The number of predictors, if there are several."""
        return () if self.family is None or self.family.predictors == 1 else (self.family.predictors,)

    def slopes(self, block: slice = slice(None)) -> FloatArray:
        """Return the coefficients of some draws, shape (draws, k); with several predictors, these come first."""
        own = self.coefficients[block]
        return own if self.family is None else self.family.by_predictor(own)

    def predictor(self, design: FloatArray, block: slice = slice(None)) -> FloatArray:
        """Return the predictor, shape (rows, draws), at columns (rows, k); with several, these come first."""
        eta = design @ np.swapaxes(self.slopes(block), -1, -2)
        beside = None if self.beside is None else self.beside[block]
        first = self.intercept[block]
        eta += first if self.family is None else self.family.intercepts(first, beside)[..., None, :]
        return np.asarray(eta)

    def first(self, size: int) -> NodeSample:
        """Return the first draws."""
        if self.parts:
            return self._of([part.first(size) for part in self.parts])
        beside = None if self.beside is None else self.beside[:size]
        return replace(self._with(self.coefficients[:size], self.intercept[:size], self.variance[:size]), beside=beside)

    def at_mean(self) -> NodeSample:
        """Return one draw, in which every coefficient is at its posterior mean."""
        if self.parts:
            return self._of([part.at_mean() for part in self.parts])
        own = self._with(self.known.mean[None], np.array([self.intercept.mean()]), np.array([self.variance.mean()]))
        return replace(own, beside=None if self.beside is None else self.beside.mean(axis=0, keepdims=True))

    def partner(self, rng: np.random.Generator) -> NodeSample:
        """Return draws of the same node with the same columns present and other coefficients."""
        if self.parts:
            return self._of([part.partner(rng) for part in self.parts])
        assert isinstance(self.known, NodePosterior)
        other = draw_partners(self.known.problem, self.coefficients, self.variance, rng)
        if not isinstance(self.known, WeightedPosterior):
            return self._with(other, self.intercept, self.variance)
        quadratic = self.known.quadratic
        spread = rng.standard_normal(self.size) * quadratic.intercept_spread(1.0 / self.variance)
        return self._with(other, quadratic.intercept(other) + spread, self.variance)

    def mean(self, eta: FloatArray, block: slice, values: Values) -> FloatArray:
        """Return the mean of a node that is not normal at predictors of some draws, shape (rows, draws)."""
        assert self.family is not None
        return self.family.mean_given(eta, self.apart(block), values)

    @property
    def numbers(self) -> FloatArray:
        """The coefficients as real numbers, in the order of what is known of them, shape (draws, k)."""
        return self.coefficients if not self.parts else np.asarray(self.coefficients.real + self.coefficients.imag)

    def _of(self, parts: Sequence[NodeSample]) -> NodeSample:
        return together(self.node, self.family, self.columns, parts)

    def _with(self, coefficients: FloatArray, intercept: FloatArray, variance: FloatArray) -> NodeSample:
        return replace(self, coefficients=coefficients, intercept=intercept, variance=variance, ratio=None, pair=None)


@dataclass(frozen=True, eq=False)
class KnownTogether:
    """What is known of the coefficients of several regressions, which are independent; one after the other."""

    parts: tuple[OverColumns, ...]

    @property
    def mean(self) -> FloatArray:
        """Posterior mean."""
        return np.concatenate([part.mean for part in self.parts])

    @property
    def second_moment_between(self) -> FloatArray | None:
        """Second moment of the mean given the columns present; None if it is not known of all."""
        inside = [part.second_moment_between for part in self.parts]
        if any(one is None for one in inside):
            return None
        found, start = np.outer(self.mean, self.mean), 0
        for one in inside:
            stop = start + len(cast("FloatArray", one))
            found[start:stop, start:stop] = one
            start = stop
        return found

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error of ``weights @ mean``."""
        own = np.split(weights, np.cumsum([len(part.mean) for part in self.parts])[:-1])
        return float(np.hypot.reduce([part.linear_error(one) for part, one in zip(self.parts, own, strict=True)]))


def together(node: NodePosterior, family: Family | None, columns: Columns, parts: Sequence[NodeSample]) -> NodeSample:
    """Return draws of two regressions as those of one with complex coefficients; see `alldags.families.hurdle`."""
    first, second = parts
    coefficients = np.concatenate([first.coefficients, 1j * second.coefficients], axis=1)
    known = KnownTogether((first.known, second.known))
    own = cast("FloatArray", coefficients), cast("FloatArray", first.intercept + 1j * second.intercept)
    return NodeSample(node, known, columns, family, *own, first.variance, parts=(first, second))


def apart(variance: FloatArray, beside: FloatArray | None) -> FloatArray:
    """Return what a family has apart from its predictor, shape (m, draws): what is beside it, or the noise variance."""
    return variance[None] if beside is None or not beside.shape[1] else beside.T


Samples: TypeAlias = Mapping[str, NodeSample]


def sample_nodes(model: FittedGraph, children: tuple[str, ...], size: int, rng: np.random.Generator) -> Samples:
    """Draw several nodes, each from a stream of its own."""
    streams = variable_streams(model, rng)
    return {name: sample_node(model, name, size, streams[name]) for name in children}


def sample_node(model: FittedGraph, child: str, size: int, rng: np.random.Generator) -> NodeSample:
    """Draw one node over its columns."""
    return _sampled(model.node(child), model.data, model.data.families.get(child), size, rng)


def _sampled(
    node: NodePosterior, data: WorkingData, family: Family | None, size: int, rng: np.random.Generator
) -> NodeSample:
    columns = columns_of(node, data)
    if isinstance(node, DividedPosterior) and family is not None:
        pieces = zip(node.parts, family.parts, rng.spawn(len(node.parts)), strict=True)
        parts = [_sampled(part, data, own.family, size, stream) for part, own, stream in pieces]
        return together(node, family, columns, parts)
    if isinstance(node, CurvedPosterior):
        return NodeSample(node, node.over_columns, columns, family, *node.over_columns.draw_with_ratio(size, rng))
    known = node.columns if isinstance(node, ParentsPosterior) else node
    if isinstance(known, WeightedPosterior):
        drawn = known.draw_with_intercept(size, rng)
        noise = 1.0 / drawn.precision
        return NodeSample(node, known, columns, family, drawn.coefficients, drawn.intercept, noise, beside=drawn.beside)
    if isinstance(known, MemberPosterior):
        pair = known.pair.draw(size, rng)
        own = known.coefficients(pair), np.zeros(size), known.variances(pair)
        return NodeSample(node, known, columns, family, *own, pair=pair)
    coefficients, variance = known.draw(size, rng)
    return NodeSample(node, known, columns, family, coefficients, np.zeros(size), variance)
