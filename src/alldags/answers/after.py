"""`AfterSteps`: what a change does after some steps, by draws of all regressions on the way, model by model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from alldags import meetings
from alldags.answers.held import HeldPosterior
from alldags.answers.joint import Joint, order_members
from alldags.answers.nodes import sample_node
from alldags.answers.regressed import Regressed, of_sample
from alldags.answers.robust import stretch_of_joints
from alldags.effects.jackknife import Stretch
from alldags.effects.steps.arrival import Nodes, arrivals, never, none_by
from alldags.effects.steps.recursion import linear_part, long_run, responses, settles
from alldags.effects.steps.way import Way
from alldags.effects.total import variable_streams
from alldags.errors import AlldagsError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import Edge
from alldags.models.blocks import NodeBlock
from alldags.models.capabilities import family_asks
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture, Slope
from alldags.models.order_block import OrderBlock
from alldags.nodes.data import WorkingData
from alldags.steps import at
from alldags.typing import BoolArray, FloatArray, IntArray

SIZE = 4000


class Drawn(NamedTuple):
    """Draws from one model: matrices (draws, lags + 1, m, m) in the user's units, and the regressions behind them."""

    place: int
    way: Way
    matrices: FloatArray
    regressed: tuple[Regressed, ...]


class Chance(NamedTuple):
    """A probability, and its Monte-Carlo standard error; 0 where it was computed."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class AfterSteps:
    """What a change of a treatment does to an outcome after 0, 1, ... steps.

    Parameters
    ----------
    posterior
        What was fitted.
    treatment, outcome
        Names.
    steps
        How many steps to go.
    lasting
        Whether the change stays.
    size
        Number of draws.
    """

    posterior: HeldPosterior
    treatment: str
    outcome: str
    steps: int
    lasting: bool = False
    size: int = SIZE

    @cached_property
    def models(self) -> Mixture[FittedGraph]:
        """The models that it is asked of: as they are, without the link to what drives the treatment.

        That is for confounders inside the step; along later steps it made errors no smaller.
        """
        behind = self.posterior.workings
        found = behind.straight(self.treatment, linked=False)
        for model in found.items:
            way = Way.between(model.graph, self.treatment, self.outcome)
            _check_way(way, model, behind.data)
            model.prepare(way.regressed)
        return found

    @cached_property
    def drawn(self) -> tuple[Drawn, ...]:
        """The draws of each model that some fall to."""
        rng = self.posterior.workings.stream()
        counts = rng.multinomial(self.size, self.models.weights.posterior)
        streams = rng.spawn(len(counts))
        return tuple(
            self._drawn(place, int(count), stream)
            for place, (count, stream) in enumerate(zip(counts, streams, strict=True))
            if count
        )

    def _drawn(self, place: int, size: int, rng: np.random.Generator) -> Drawn:
        model = self.models.items[place]
        way = Way.between(model.graph, self.treatment, self.outcome)
        streams = variable_streams(model, rng)
        found: list[tuple[Edge, FloatArray]] = []
        regressed: list[Regressed] = []
        for block in model.blocks(way.regressed):
            stream = streams[block.variables[0]]
            if isinstance(block, OrderBlock):
                draws = block.draw(size, stream)
                found += draws.edges()
                regressed += order_members(draws, model.data)
            else:
                sample = sample_node(model, block.child, size, stream)
                by_column = dict(zip(sample.columns.names, sample.coefficients.T, strict=True))
                found += [((name, block.child), by_column[name]) for name in block.node.parents if name in by_column]
                regressed.append(of_sample(model, block.child, sample))
        return Drawn(place, way, way.matrices(found, size, model.data), tuple(regressed))

    # -- responses -----------------------------------------------------------------------------------------------------

    @cached_property
    def plain(self) -> FloatArray:
        """Draws of the effect after 0, 1, ... steps, shape (steps + 1, draws), as the model has them."""
        return np.concatenate(self._parts, axis=1)

    @cached_property
    def _parts(self) -> list[FloatArray]:
        return [self._responses(one) for one in self.drawn]

    def _responses(self, one: Drawn) -> FloatArray:
        if not one.way.variables:
            return np.zeros((self.steps + 1, len(one.matrices)))
        found = responses(one.matrices, 0, self.steps, lasting=self.lasting)
        return np.asarray(found[:, :, one.way.place[self.outcome]].T)

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means and their Monte-Carlo errors, shape (steps + 1,) each: with what is linear taken out."""
        pairs = zip(self._parts, self.drawn, strict=True)
        together = np.concatenate([part - self._linear(one) for part, one in pairs], axis=1)
        left = together.std(axis=1) / math.sqrt(self._worth)
        if self._worth == self.size:
            return together.mean(axis=1), left
        sampled = [self.models.error(partial(self._slopes, step=step)) for step in range(self.steps + 1)]
        return together.mean(axis=1), np.hypot(left, sampled)

    def _slopes(self, model: FittedGraph, step: int) -> Iterator[Slope]:
        """Yield how the mean after some steps answers to the mean coefficients of each regression."""
        way = self._way(model)
        if not way.variables:
            return
        mean = way.matrices(_mean_edges(model, way), 1, self._data)[0]
        slope = linear_part(mean, 0, way.place[self.outcome], step, lasting=self.lasting)
        for block in model.blocks(way.regressed):
            if isinstance(block, NodeBlock):
                own = [self._slope(way, slope, name, block.child) for name in block.node.parents]
                yield Slope(block.child, block.node, np.array(own))

    def _slope(self, way: Way, slope: FloatArray, cause: str, effect: str) -> float:
        source = at(cause)
        if source.name not in way.place:
            return 0.0
        return float(slope[source.lag, way.place[source.name], way.place[effect]]) * self._data.unit(cause, effect)

    @property
    def _worth(self) -> float:
        """Number of independent draws that there are."""
        blocks = (block for model in self.models.items for block in model.blocks(self._way(model).regressed))
        return min(float(self.size), *(block.set_draws for block in blocks), math.inf)

    def _way(self, model: FittedGraph) -> Way:
        return Way.between(model.graph, self.treatment, self.outcome)

    def _linear(self, one: Drawn) -> FloatArray:
        """Return the part of each draw that is linear in the coefficients, about its mean, shape (steps + 1, draws)."""
        if not one.way.variables:
            return np.zeros((self.steps + 1, len(one.matrices)))
        mean = one.way.matrices(_mean_edges(self.models.items[one.place], one.way), 1, self._data)[0]
        target, gap = one.way.place[self.outcome], one.matrices - mean
        slopes = [linear_part(mean, 0, target, h, lasting=self.lasting) for h in range(self.steps + 1)]
        return np.array([np.tensordot(gap, slope, axes=3) for slope in slopes])

    @property
    def _data(self) -> WorkingData:
        return self.posterior.workings.data

    @cached_property
    def stretches(self) -> tuple[Stretch | None, ...]:
        """What makes the draws after each number of steps as wide as rows or clusters say."""
        return tuple(stretch_of_joints(self.posterior, self._joints(step)) for step in range(self.steps + 1))

    def _joints(self, step: int) -> list[Joint]:
        pairs = zip(self._parts, self.drawn, strict=True)
        return [Joint(effect[step], one.regressed, 0, one.place) for effect, one in pairs]

    @cached_property
    def draws(self) -> FloatArray:
        """Draws of the effect after 0, 1, ... steps, shape (steps + 1, draws), as wide as rows or clusters say."""
        pairs = zip(self.plain, self.stretches, strict=True)
        return np.array([row if stretch is None else stretch(row) for row, stretch in pairs])

    # -- whether it arrives --------------------------------------------------------------------------------------------

    @cached_property
    def none_by(self) -> tuple[Chance, ...]:
        """The probability that nothing has arrived after 0, 1, ... steps."""
        return tuple(self._none_by(step) for step in range(self.steps + 1))

    def _none_by(self, step: int) -> Chance:
        exact = self.models.average_known(lambda model: self._exactly(model, step))
        return Chance(exact, 0.0) if exact is not None else self._none_by_draws(step)

    def _exactly(self, model: FittedGraph, step: int) -> float | None:
        nodes = _nodes(model, self._way(model))
        return None if nodes is None else none_by(nodes, step)

    def _none_by_draws(self, step: int) -> Chance:
        """Return the same by draws of all regressions but the outcome's, which is summed over where it can be."""
        parts = np.concatenate([self._spared(one, step) for one in self.drawn])
        return Chance(float(parts.mean()), float(parts.std() / math.sqrt(self._worth)))

    def _spared(self, one: Drawn, step: int) -> FloatArray:
        if not one.way.variables:
            return np.ones(len(one.matrices))
        target = one.way.place[self.outcome]
        present = one.matrices != 0.0
        arrived = arrivals(present, 0, target, step)
        nodes = _nodes(self.models.items[one.place], one.way)
        exact = None if nodes is None else nodes.spared(self.outcome, arrived, step)
        return _spared_by(present[:, :, :, target], arrived, step) if exact is None else exact

    @cached_property
    def never(self) -> Chance:
        """The probability that nothing ever arrives."""
        exact = self.models.average_known(self._never)
        if exact is not None:
            return Chance(exact, 0.0)
        return self._none_by_draws(max(len(self._way(model).variables) for model in self.models.items) * self._lags)

    def _never(self, model: FittedGraph) -> float | None:
        nodes = _nodes(model, self._way(model))
        return None if nodes is None else never(nodes)

    @property
    def _lags(self) -> int:
        return max(self._way(model).lags for model in self.models.items)

    @cached_property
    def prior_never(self) -> float | None:
        """The probability, before the data, that nothing ever arrives; None where edges depend on each other."""
        models = self.posterior.workings.models
        if any(model.prior.edges is not None or model.graph.blocks for model in models.items):
            return None
        found = [_prior_never(model.graph, self._way(model)) for model in models.items]
        if any(value is None for value in found):
            return None
        return float(np.dot(models.weights.prior, np.array(found, dtype=float)))

    # -- in the long run -----------------------------------------------------------------------------------------------

    @cached_property
    def long_run(self) -> tuple[FloatArray, float]:
        """Draws of what a lasting change does in the end, of those in which it settles, and the share in which not."""
        parts, settled = [], []
        for one in self.drawn:
            if not one.way.variables:
                parts.append(np.zeros(len(one.matrices)))
                settled.append(np.ones(len(one.matrices), dtype=bool))
                continue
            stable = settles(one.matrices, 0)
            settled.append(stable)
            parts.append(long_run(one.matrices[stable], 0, one.way.place[self.outcome]))
        share = float(np.concatenate(settled).mean())
        return np.concatenate(parts), 1.0 - share


def _check_way(way: Way, model: FittedGraph, data: WorkingData) -> None:
    """Refuse what draws of coefficients cannot carry on; `data` has the families of all children."""
    asked = family_asks({name: family for name, family in data.families.items() if name in way.variables})
    words = tuple(name for name in way.variables if name in data.categories)
    meetings.check({"later steps": (), **asked, **({"categories": words} if words else {})})
    blocks = list(model.blocks(way.regressed))
    for block in blocks:
        if not block.has_structure:
            name = block.diagnostics.engine
            raise meetings.refusal("later steps", "scale mixtures", {"scale mixtures": (name,)})
    if not way.lags:
        raise AlldagsError(
            "after= needs a graph with variables of earlier steps, CandidateGraph.over_time(..., lags=2), and "
            "fit(..., time=): without a past nothing is carried on"
        )


def _nodes(model: FittedGraph, way: Way) -> Nodes | None:
    """Return what is asked of the regressions on a way; None where they are not independent of each other."""
    if any(model.order_block(name) is not None for name in way.regressed) or model.data.traits is not None:
        return None
    found = {name: model.node(name) for name in way.regressed}
    return Nodes(way, {name: node.parents for name, node in found.items()},
                 {name: node.probability_disjoint for name, node in found.items()})  # fmt: skip


def _prior_never(graph: CandidateGraph, way: Way) -> float | None:
    columns = {name: graph.parents(name) for name in way.regressed}
    absent = {name: np.array([1.0 - graph.edges[cause, name] for cause in causes]) for name, causes in columns.items()}
    free = {name: lambda masks, absent=absent[name]: _all_absent(masks, absent) for name in columns}
    return never(Nodes(way, columns, free))


def _all_absent(masks: BoolArray, absent: FloatArray) -> FloatArray:
    return np.asarray(np.where(masks, absent, 1.0).prod(axis=1))


def _spared_by(present: BoolArray, arrived: IntArray, step: int) -> FloatArray:
    """Return in which draws no present edge leads to the outcome by a step; `present` is (draws, lags + 1, m)."""
    lags = np.arange(present.shape[1])[None, :, None]
    return np.asarray(~((arrived[:, None, :] + lags <= step) & present).any(axis=(1, 2)), dtype=np.float64)


def _mean_edges(model: FittedGraph, way: Way) -> Iterator[tuple[Edge, FloatArray]]:
    """Yield the mean coefficient of each candidate edge, in working units, shape (1,)."""
    for block in model.blocks(way.regressed):
        if isinstance(block, OrderBlock):
            for j, node in enumerate(block.problem.nodes):
                for row, name in zip(block.problem.rows(j), node.terms, strict=True):
                    yield (name, node.child), block.posterior.mean[[row], [j]]
        else:
            yield from (((name, block.child), block.node.mean[[i]]) for i, name in enumerate(block.node.parents))
