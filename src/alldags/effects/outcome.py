"""The outcome's distribution under an intervention: exact mean and variance, and the posterior mixture of normals.

Every node has its own intercept, by the means of child and parents over its own rows (`NodePosterior.origin`). With
``u_j`` a new unit's value of ``j`` less the mean of all rows, ``c_j`` and ``d_ij`` the deviations of the node's own
means from those (zero where the node has all rows), ``u_source`` held fixed, and in topological order::

    u_j = c_j + sum_i theta_ij (u_i + d_ij) + noise_j,     Var(noise_j) = (1 + 1 / rows_j) / s_j

the nodes' independence gives mean and covariance of ``u`` in one pass, as for the effects themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags import checks
from alldags.effects.span import Span
from alldags.effects.total import variable_streams
from alldags.errors import AlldagsError
from alldags.models.blocks import NodeBlock, NodeDraws, Places, weighted_rows, weighted_sum
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.order_block import OrderBlock, OrderDraws, carry_along
from alldags.nodes.data import WorkingData
from alldags.nodes.posterior import NodePosterior
from alldags.notes import Note
from alldags.orders.exact import intercept_share
from alldags.orders.problem import Start
from alldags.typing import FloatArray

_FARTHEST = 1e100  # working units from the mean; beyond, variances overflow


@dataclass(frozen=True, eq=False)
class HeldFixed:
    """The target of one model while the source is held fixed; values in working units, less the mean of all rows."""

    model: FittedGraph
    source: str
    target: str

    @cached_property
    def _span(self) -> Span:
        return Span.behind(self.model.graph, self.source, self.target)

    def prepare(self) -> None:
        """Fit the nodes it needs."""
        self.model.prepare(self._span.variables)

    def moments(self, value: float, noise: bool = True) -> tuple[float, float]:
        """Return mean and variance of a new unit's target when the source has this value; of its mean without noise."""
        places = {self.source: 0, **{name: i + 1 for name, i in self._span.places.items()}}
        mean, covariance = np.zeros(len(places)), np.zeros((len(places), len(places)))
        mean[0] = value
        for block in self.model.blocks(self._span.variables):
            if isinstance(block, OrderBlock):
                self._carry_block(block, places, mean, covariance, noise)
            else:
                self._carry_node(block, places, mean, covariance, noise)
        j = places[self.target]
        return float(mean[j]), float(covariance[j, j])

    def _carry_node(
        self, block: NodeBlock, places: Places, mean: FloatArray, covariance: FloatArray, noise: bool
    ) -> None:
        """Write mean and covariances of one node's child."""
        node, j = block.node, places[block.child]
        c, d = self._offsets(block.child, node)
        parents = [places.get(name, -1) for name in node.parents]
        inside = [i for i, place in enumerate(parents) if place >= 0]
        others = [parents[i] for i in inside]
        moved = mean[others] + d[inside]
        mean[j] = c + node.mean[inside] @ moved
        covariance[j, :j] = covariance[:j, j] = weighted_rows(node.mean[inside], covariance[others, :j])
        covariance[j, j] = _variance(node, inside, moved, covariance[np.ix_(others, others)], noise)

    def _carry_block(
        self, block: OrderBlock, places: Places, mean: FloatArray, covariance: FloatArray, noise: bool
    ) -> None:
        """Write means and covariances of the variables of a block; the source stays where it is held."""
        self._check_rows(block)
        square = covariance + np.outer(mean, mean)
        start = block.start(places, mean, square, value=float(mean[0]), noise=noise)
        kept = [(j, places[name]) for j, name in enumerate(block.variables) if name != self.source]
        rows, own = np.array(kept).T
        first = block.posterior.first(start)[rows]
        mean[own] = first
        pairs = list(block.before(places))
        if pairs:
            causes, others = np.array(pairs).T
            across = self._cut_effects(block, causes.tolist())[:, rows].T @ covariance[others, : own.min()]
            covariance[own, : own.min()] = across
            covariance[: own.min(), own] = across.T
        second = block.posterior.second(start)[np.ix_(rows, rows)]
        covariance[np.ix_(own, own)] = second - np.outer(first, first)

    def _cut_effects(self, block: OrderBlock, earlier: list[int]) -> FloatArray:
        """Return the mean effects of earlier causes on a block's variables along paths that avoid the source."""
        if self.source not in block.variables:
            return block.posterior.outer[earlier]
        e, source = len(block.problem.earlier), block.variables.index(self.source)
        units = np.eye(e)[earlier]
        found = [block.posterior.first(Start(unit, np.outer(unit, unit), source, 0.0)) for unit in units]
        return np.array(found).reshape(len(earlier), len(block.variables))

    def _check_rows(self, block: OrderBlock) -> None:
        """Refuse a block whose regressions have rows of their own, and so means of their own."""
        own = [name for name in block.variables if name in self.model.data.own]
        if own:
            raise AlldagsError(
                f"do() is not available where the order of {', '.join(map(repr, block.variables))} is open and the "
                f"regression of {own[0]!r} has other rows than all; give these variables an order"
            )

    def _offsets(self, child: str, node: NodePosterior) -> tuple[float, FloatArray]:
        """Return how far the node's own mean of the child is above all rows', and those of its parents below."""
        pooled = self.model.data.pooled
        reference = pooled.mean[[pooled.index[name] for name in node.parents]]
        return node.origin.child - float(pooled.mean[pooled.index[child]]), reference - node.origin.terms

    def draws(self, value: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw mean and variance of a new unit's target given graph, coefficients and noise, shape (2, size)."""
        streams = variable_streams(self.model, rng)
        blocks = list(self.model.blocks(self._span.variables))
        drawn = [block.draw(size, streams[block.variables[0]]) for block in blocks]
        return np.array([self._centers(value, drawn, size), self._variances(drawn, size)])

    def _centers(self, value: float, drawn: list[NodeDraws | OrderDraws], size: int) -> FloatArray:
        center = {self.source: np.full(size, value)}
        for draws in drawn:
            if isinstance(draws, OrderDraws):
                center.update(_block_centers(draws, center, self.source, value))
                continue
            child, node = draws.block.child, draws.block.node
            c, d = self._offsets(child, node)
            center[child] = np.full(size, c)
            for i, parent in enumerate(node.parents):
                if parent in center:
                    center[child] += draws.coefficients[:, i] * (center[parent] + d[i])
        return center[self.target]

    def _variances(self, drawn: list[NodeDraws | OrderDraws], size: int) -> FloatArray:
        """Return ``sum_k U_k^2 (1 + 1 / rows_k) / s_k``; U_k is the effect of k along paths that avoid the source."""
        reach = {self.target: np.ones(size)}
        variance = np.zeros(size)
        for draws in reversed(drawn):
            if isinstance(draws, OrderDraws):
                variance += _block_variance(draws, reach, self.source, size)
                continue
            name, node = draws.block.child, draws.block.node
            variance += reach[name] ** 2 * draws.variance * (1.0 + node.intercept_share)
            for i, parent in enumerate(node.parents):
                if parent != self.source:
                    reach[parent] = reach.get(parent, 0.0) + draws.coefficients[:, i] * reach[name]
        return variance


def _block_centers(
    draws: OrderDraws, center: dict[str, FloatArray], source: str, value: float
) -> dict[str, FloatArray]:
    """Return the mean of each variable of a block for every draw."""
    names = draws.block.variables
    entering = np.zeros(draws.variance.shape)
    for i, name in enumerate(draws.block.problem.earlier, start=len(names)):
        if name in center:
            entering += draws.coefficients[:, i] * center[name][:, None]
    held = names.index(source) if source in names else None
    found = carry_along(draws.coefficients, entering, held, value)
    return {name: found[:, j] for j, name in enumerate(names)}


def _block_variance(draws: OrderDraws, reach: dict[str, FloatArray], source: str, size: int) -> FloatArray:
    """Return what the noise of a block's variables adds to the variance; extend `reach` to what acts on the block."""
    names, problem = draws.block.variables, draws.block.problem
    ahead = np.stack([reach.get(name, np.zeros(size)) for name in names], axis=1)
    inside = draws.coefficients[:, : len(names)].copy()
    held = names.index(source) if source in names else None
    if held is not None:
        ahead[:, held] = 0.0
        inside[:, held] = 0.0  # nothing goes on from the source, nor through it
        inside[:, :, held] = 0.0
    found = carry_along(inside.transpose(0, 2, 1), ahead, None, 0.0)
    shares = np.array([1.0 + intercept_share(node) for node in problem.nodes])
    for i, name in enumerate(problem.earlier, start=len(names)):
        if name != source:
            coefficients = draws.coefficients[:, i].copy()
            if held is not None:
                coefficients[:, held] = 0.0
            reach[name] = reach.get(name, 0.0) + (coefficients * found).sum(axis=1)
    variances = draws.variance if held is None else np.where(np.arange(len(names)) == held, 0.0, draws.variance)
    return np.asarray((found**2 * variances * shares).sum(axis=1))


def outcome_distribution(
    models: Mixture[FittedGraph], source: str, target: str, x: float, size: int, rng: np.random.Generator
) -> OutcomeDistribution:
    """Return p(target | do(source = x)), in the user's units, with `size` posterior draws behind its density."""
    (mean, sd), (centers, variances), origin, unit = _held(models, source, target, x, size, rng, noise=True)
    return OutcomeDistribution(
        x=x,
        mean=unit * (origin + mean),
        sd=unit * sd,
        centers=unit * (origin + centers),
        spreads=unit * np.sqrt(variances),
    )


def outcome_mean(
    models: Mixture[FittedGraph], source: str, target: str, x: float, size: int, rng: np.random.Generator
) -> tuple[float, float, FloatArray, FloatArray]:
    """Return mean, standard deviation and draws of the mean of target when source is held at x, and units' variances.

    Every node is at the intercept of its own rows: where all nodes have all rows, that is their mean of the target plus
    the total effect times what the source is moved by. Draws, and the variance of single units in each, have shape
    (size,).
    """
    (mean, sd), (centers, variances), origin, unit = _held(models, source, target, x, size, rng, noise=False)
    return unit * (origin + mean), unit * sd, unit * (origin + centers), unit**2 * variances


def check_near(data: WorkingData, source: str, x: float) -> float:
    """Return a value of the source in working units, less the mean of all rows; refuse one too far off to compute."""
    value = x / data.scale_of(source) - float(data.pooled.mean[data.pooled.index[source]])
    if abs(value) > _FARTHEST:
        raise AlldagsError(
            f"do({x:g}) is too far from the data: {abs(value):.1g} of the prior's units from the mean of {source!r}, "
            f"more than {_FARTHEST:g}; give a value in the units of its column"
        )
    return value


def _held(
    models: Mixture[FittedGraph],
    source: str,
    target: str,
    x: float,
    size: int,
    rng: np.random.Generator,
    noise: bool,
) -> tuple[tuple[float, float], FloatArray, float, float]:
    """Return the target's mean and sd, draws of mean and variance, (2, size), in working units; its mean; its unit."""
    data = models.items[0].data
    value = check_near(data, source, x)
    parts = models.map(lambda model: HeldFixed(model, source, target))
    for part in parts.items:
        part.prepare()
    shifts = {part.model.data: _shifts(part.model.data, data, source, target) for part in parts.items}
    moments = parts.map(lambda part: _moved(part, value, shifts[part.model.data], noise))
    mean = moments.average(lambda pair: pair[0])
    variance = moments.average(lambda pair: pair[1] + (pair[0] - mean) ** 2)
    drawn = parts.draw(
        size, rng, lambda part, count, stream: _moved_draws(part, value, shifts[part.model.data], count, stream)
    )
    origin = float(data.pooled.mean[data.pooled.index[target]])
    return (mean, math.sqrt(variance)), drawn, origin, data.scale_of(target)


def _shifts(data: WorkingData, reference: WorkingData, source: str, target: str) -> tuple[float, float]:
    """Return how far the means of source and target are above those of the table that values are counted from."""
    place = data.pooled.index
    shift = data.pooled.mean - reference.pooled.mean
    return float(shift[place[source]]), float(shift[place[target]])


def _moved(part: HeldFixed, value: float, shift: tuple[float, float], noise: bool) -> tuple[float, float]:
    mean, variance = part.moments(value - shift[0], noise)
    return mean + shift[1], variance


def _moved_draws(
    part: HeldFixed, value: float, shift: tuple[float, float], count: int, stream: np.random.Generator
) -> FloatArray:
    centers, variances = part.draws(value - shift[0], count, stream)
    return np.array([centers + shift[1], variances])


def _variance(
    node: NodePosterior, inside: list[int], moved: FloatArray, covariance: FloatArray, with_noise: bool
) -> float:
    """Return ``sum(M * Cov(u)) + E[u]' Cov(theta) E[u]``, and the noise's variance if it is asked for."""
    square = node.second_moments(inside)
    spread = square - np.outer(node.mean[inside], node.mean[inside])
    noise = (1.0 + node.intercept_share) * node.noise_variance if with_noise else 0.0
    return weighted_sum(square, covariance) + max(weighted_sum(spread, np.outer(moved, moved)), 0.0) + noise


def check_level(level: float) -> None:
    """Refuse a probability that is not strictly between 0 and 1."""
    if not 0 < checks.finite("level", level) < 1:
        raise AlldagsError(f"level must lie strictly between 0 and 1, got {level!r}; 0.95 means 95%")


@dataclass(frozen=True, eq=False)
class OutcomeDistribution:
    """p(outcome | do(treatment = x)), in the user's units.

    The posterior mixture of normals, which is the estimate of the distribution that is optimal under Kullback-Leibler
    loss (Horii and Suko 2019). Mean and standard deviation are exact where the engine is; density, distribution
    function and quantiles average over posterior draws.

    Parameters
    ----------
    x
        The value the treatment is set to.
    mean, sd
        Of the outcome of a new unit.
    centers, spreads
        Mean and standard deviation of the outcome for each posterior draw, shape (draws,).
    notes
        What a reader should know, such as that `x` is outside the observed values.
    """

    x: float
    mean: float
    sd: float
    centers: FloatArray
    spreads: FloatArray
    notes: tuple[Note, ...] = ()

    def density(self, y: float | FloatArray) -> FloatArray:
        """Return the density at `y`."""
        z = (np.atleast_1d(np.asarray(y, dtype=float))[:, None] - self.centers) / self.spreads
        values = (np.exp(-0.5 * z**2) / (self.spreads * np.sqrt(2 * np.pi))).mean(axis=1)
        return np.asarray(values if np.ndim(y) else values[0])

    def cdf(self, y: float | FloatArray) -> FloatArray:
        """Return the probability of an outcome of at most `y`."""
        from scipy.special import ndtr

        z = (np.atleast_1d(np.asarray(y, dtype=float))[:, None] - self.centers) / self.spreads
        values = ndtr(z).mean(axis=1)
        return np.asarray(values if np.ndim(y) else values[0])

    def quantile(self, level: float) -> float:
        """Return the outcome below which a new unit falls with probability `level`."""
        from scipy.optimize import brentq

        check_level(level)
        low = float((self.centers - 40 * self.spreads).min())
        high = float((self.centers + 40 * self.spreads).max())
        return float(brentq(lambda y: float(self.cdf(y)) - level, low, high, xtol=1e-10 * (high - low)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds a new unit's outcome with probability `level`."""
        check_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def __repr__(self) -> str:
        noted = "".join(f"; note: {note}" for note in self.notes)
        return f"OutcomeDistribution(do(x = {self.x:g}): mean {self.mean:.4g}, sd {self.sd:.4g}{noted})"
