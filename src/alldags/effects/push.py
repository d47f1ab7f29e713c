"""Rows pushed through the graph: draws of the nodes, the rows as the push needs them, and the push itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alldags.effects.comparison import Comparison
from alldags.engines.families.posterior import FamilyPosterior
from alldags.nodes.family import AnyFamily, Bernoulli
from alldags.nodes.posterior import NodePosterior
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.effects.response import Response

_MOST_BRANCHING = 6  # yes/no nodes on the way that are averaged over exactly; the values of more are drawn
_MOST_VALUES = 4e8  # rows, draws and branches of exact averages


@dataclass(frozen=True, eq=False)
class NodeSample:
    """Draws of one node of the span.

    Parameters
    ----------
    node
        Its posterior.
    coefficients
        Shape (draws, k).
    intercept
        Shape (draws,), at the means of the parents; None for a normal node, which keeps each row's residual.
    variance
        Of the noise, shape (draws,); None for a node that is not normal.
    """

    node: NodePosterior
    coefficients: FloatArray
    intercept: FloatArray | None = None
    variance: FloatArray | None = None

    def first(self, size: int) -> NodeSample:
        """Return the first draws."""
        intercept = None if self.intercept is None else self.intercept[:size]
        variance = None if self.variance is None else self.variance[:size]
        return NodeSample(self.node, self.coefficients[:size], intercept, variance)

    def partner(self, rng: np.random.Generator) -> NodeSample:
        """Return draws of the same node with the same parent sets and other coefficients."""
        from alldags.engines.conjugate.partner import draw_partners

        size = len(self.coefficients)
        variance = np.full(size, np.nan) if self.variance is None else self.variance
        other = draw_partners(self.node.problem, self.coefficients, variance, rng)
        if not isinstance(self.node, FamilyPosterior):
            return NodeSample(self.node, other, None, variance)
        statistics = self.node.statistics
        spread = rng.standard_normal(size) / np.sqrt(statistics.information[0, 0])
        return NodeSample(self.node, other, statistics.intercept(other) + spread)


Samples = Mapping[str, NodeSample]


@dataclass(frozen=True, eq=False)
class Route:
    """Where a push has to stop.

    Parameters
    ----------
    stops
        Nodes between treatment and outcome that are not normal, or frozen, in order.
    slopes
        Change of a stop's predictor (or of the outcome) per unit of the treatment or an earlier stop, through normal
        nodes only, by the two names; shape (draws,) each.
    frozen
        The stop that stays as it is under the low value.
    drawn
        Whether values of yes/no stops are drawn.
    """

    stops: tuple[str, ...]
    slopes: dict[tuple[str, str], FloatArray]
    frozen: str | None
    drawn: bool


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows as the push needs them.

    Parameters
    ----------
    values
        Columns in the user's units, shape (rows,) each.
    designs
        Parents of each node that is not normal in working units, shape (rows, k), and its offset.
    scale
        User's units per working unit of the variables of the span.
    uniforms
        For each mediator that is not normal one number per row, the same for all draws, shape (rows,).
    source
        The treatment.
    """

    values: dict[str, FloatArray]
    designs: dict[str, tuple[FloatArray, FloatArray | None]]
    scale: dict[str, float]
    uniforms: dict[str, FloatArray]
    source: str

    @classmethod
    def of(cls, response: Response, values: dict[str, FloatArray], start: int) -> Rows:
        """Put the columns into working units."""
        families = response.model.data.families
        designs = {}
        for name, family in response.families.items():
            rows = families[name]
            parents = response.model.node(name).parents
            columns = [(values[p] - rows.center[p]) / rows.scale[p] for p in parents]
            offset = None if family.offset is None else values[family.offset]
            count = len(next(iter(values.values())))
            designs[name] = (np.column_stack(columns) if columns else np.empty((count, 0)), offset)
        scale = {name: response.model.data.scale_of(name) for name in response.span.variables}
        streams = np.random.default_rng([response.seed, start])
        uniforms = {name: streams.random(len(next(iter(values.values())))) for name in response.mediators}
        return cls(values, designs, scale, uniforms, response.span.variables[0])

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.values[self.source])

    @property
    def treatment(self) -> FloatArray:
        """The treatment's own values, shape (rows,)."""
        return self.values[self.source]

    @property
    def treatment_scale(self) -> float:
        """User's units of the treatment per working unit."""
        return self.scale[self.source]


class Push:
    """Rows and a block of draws, pushed through the graph."""

    def __init__(self, response: Response, rows: Rows, samples: Samples, route: Route, block: slice) -> None:
        self.block = block
        self._response, self._rows, self._route = response, rows, route
        self._own = {name: self._own_predictor(name, samples[name]) for name in response.families}
        work = 2.0 ** len(route.stops) * response.table.columns.rows * len(next(iter(samples.values())).coefficients)
        yes_no = all(isinstance(response.families.get(name), Bernoulli) for name in route.stops)
        few = len(route.stops) <= _MOST_BRANCHING and work < _MOST_VALUES
        self._sums_states = yes_no and few and not route.drawn

    def _own_predictor(self, name: str, sample: NodeSample) -> FloatArray:
        """Return the predictor at the row's own values, shape (rows, draws)."""
        design, offset = self._rows.designs[name]
        eta = design @ sample.coefficients[self.block].T
        if sample.intercept is not None:
            eta += sample.intercept[self.block]
        return eta if offset is None else eta + offset[:, None]

    def sums(self, contrast: Comparison) -> FloatArray:
        """Return sums over rows of both outcomes, of their difference and of its square, shape (4, draws).

        Where both values of the treatment are the same, the outcome itself stands for the difference.
        """
        low, high = self._both(*(shift / self._rows.treatment_scale for shift in contrast.shifts(self._rows.treatment)))
        gap = low if contrast.is_level else high - low
        return np.array([low.sum(axis=0), high.sum(axis=0), gap.sum(axis=0), np.einsum("nd,nd->d", gap, gap)])

    def by_row(self, x: float) -> FloatArray:
        """Return the outcome of each row and draw with the treatment set to `x`, shape (rows, draws)."""
        shift = (x - self._rows.treatment) / self._rows.treatment_scale
        return self._both(shift, shift)[0]

    def _both(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean outcome of each row and draw, shape (rows, draws), under two moves of the treatment."""
        source = self._response.span.variables[0]
        start_low, start_high = {source: low[:, None]}, {source: high[:, None]}
        if self._sums_states:
            return self._over_states(0, start_low), self._over_states(0, start_high)
        moves = self._drawn(start_low)
        fixed = {} if self._route.frozen is None else {self._route.frozen: moves[self._route.frozen]}
        return self._last(moves), self._last(self._drawn(start_high, fixed))

    def _over_states(self, place: int, moves: dict[str, FloatArray]) -> FloatArray:
        """Average over both values of each stop from `place` on, given the moves of what comes before."""
        if place == len(self._route.stops):
            return self._last(moves)
        name = self._route.stops[place]
        mean = self._response.families[name].mean(self._moved(name, moves))
        yes = self._over_states(place + 1, {**moves, name: self._move_to(name, 1.0)})
        no = self._over_states(place + 1, {**moves, name: self._move_to(name, 0.0)})
        return np.asarray(no + mean * (yes - no))

    def _drawn(
        self, moves: dict[str, FloatArray], fixed: Mapping[str, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return the moves of all stops, yes/no and counts at the row's own level of their distribution."""
        found = dict(moves)
        for name in self._route.stops:
            if fixed and name in fixed:
                found[name] = fixed[name]
            elif name in self._response.families:
                family = self._response.families[name]
                value = _at_level(family, family.mean(self._moved(name, found)), self._rows.uniforms[name][:, None])
                found[name] = self._move_to(name, value)
            else:
                found[name] = self._add(np.zeros((self._rows.count, self._size)), name, found)
        return found

    @property
    def _size(self) -> int:
        return int(self.block.stop - self.block.start)

    def _last(self, moves: dict[str, FloatArray]) -> FloatArray:
        target = self._response.span.variables[-1]
        if target in self._response.families:
            return self._response.families[target].mean(self._moved(target, moves))
        value = self._add(np.zeros((self._rows.count, self._size)), target, moves)
        return np.asarray(self._rows.values[target][:, None] + self._rows.scale[target] * value)

    def _moved(self, name: str, moves: dict[str, FloatArray]) -> FloatArray:
        return self._add(self._own[name].copy(), name, moves)

    def _add(self, eta: FloatArray, name: str, moves: dict[str, FloatArray]) -> FloatArray:
        for source, move in moves.items():
            slope = self._route.slopes.get((source, name))
            if slope is not None:
                eta += move * slope[self.block]
        return eta

    def _move_to(self, name: str, value: float | FloatArray) -> FloatArray:
        """Return by how much a stop moves to get to this value, in working units."""
        return np.asarray((value - self._rows.values[name][:, None]) / self._rows.scale[name])


def _at_level(family: AnyFamily, mean: FloatArray, uniform: FloatArray) -> FloatArray:
    """Return the value of a yes/no or count variable at a level of its distribution, shape (rows, draws)."""
    if isinstance(family, Bernoulli):
        return np.asarray(uniform < mean, dtype=float)
    mass = np.exp(-mean)
    below, value = mass.copy(), np.zeros_like(mean)
    count = 0
    open_ = uniform > below
    while open_.any() and count < 10_000:
        count += 1
        mass = mass * mean / count
        value[open_] += 1.0
        below += mass
        open_ &= uniform > below
    return value
