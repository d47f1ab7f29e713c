"""Draws of an effect together with the regressions that they come from, model by model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from alldags.answers.base import Answer
from alldags.answers.inner import Change, InnerAnswer
from alldags.answers.nodes import NodeSample, sample_node
from alldags.answers.pushed import PushedAnswer
from alldags.columns.base import Columns, RowValues
from alldags.columns.line import Line
from alldags.effects.total import TotalEffect, variable_streams
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.families.base import Family
from alldags.models.blocks import parent_places
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.order_block import OrderBlock, OrderDraws
from alldags.nodes.data import WorkingData
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.problem import Origin
from alldags.nodes.spec import straight_columns
from alldags.nodes.toward import TowardPosterior
from alldags.typing import BoolArray, FloatArray, IntArray

_DRAWS = 5000  # behind the jackknife of a closed answer: the factor then has about 1% of error
_VALUES = 4e7  # draws times columns squared that are added up, at most


@dataclass(frozen=True, eq=False)
class Regressed:
    """Draws of one child's regression, over its columns.

    Parameters
    ----------
    child, family
        Its name, and how it depends on its predictor; None: normal noise around it.
    columns
        What it is regressed on, k of them.
    coefficients
        Intercept first, at the means of the columns, in working units, shape (draws, k + 1).
    precision
        Of the noise, shape (arms, draws); one arm, unless both arms of a treatment have noise of their own.
    center, unit
        What is taken off the child, and user's units per working unit.
    share
        Variance of the intercept over the noise variance, where `coefficients` do not have it.
    curved
        The regression, if it is one on derived columns.
    nuisance
        Mean of what else its family has in each draw, shape (q,).
    """

    child: str
    family: Family | None
    columns: Columns
    coefficients: FloatArray
    precision: FloatArray
    center: float
    unit: float
    share: float = 0.0
    curved: CurvedPosterior | None = None
    nuisance: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def is_straight(self) -> bool:
        """Whether moments of rows determine its log-likelihood."""
        return self.family is None and self.curved is None

    def arm(self, rows: RowValues) -> BoolArray | None:
        """Return which rows have the noise of the second arm, shape (rows,); None if all have the same."""
        arms = None if self.curved is None else self.curved.found.arms
        if arms is None or self.curved is None:
            return None
        return np.asarray(rows.values[str(self.curved.found.spec.treatment)] == arms[1])

    def fold(self, values: Mapping[str, FloatArray]) -> IntArray | None:
        """Return the part of the data that each of some rows belongs to, shape (rows,), if columns were learned."""
        return None if self.curved is None else self.curved.found.spec.rows.rows.fold(values)


@dataclass(frozen=True, eq=False)
class Joint:
    """Draws from one model.

    Parameters
    ----------
    effect
        In the user's units, exact zeros where there is no path, shape (draws,).
    regressed
        The regressions behind the draws that tell the model's rows what they are worth.
    table, place
        Numbers of the completed table that the model is of, and of the model.
    """

    effect: FloatArray
    regressed: tuple[Regressed, ...]
    table: int = 0
    place: int = 0

    def first(self, size: int) -> Joint:
        """Return the first draws."""
        regressed = tuple(
            replace(of, coefficients=of.coefficients[:size], precision=of.precision[:, :size]) for of in self.regressed
        )
        return replace(self, effect=self.effect[:size], regressed=regressed)


def joint_draws(
    answer: Answer, totals: Mixture[TotalEffect], models: Mixture[FittedGraph], rng: np.random.Generator
) -> list[Joint]:
    """Draw an effect and the regressions on its way; with several models, those that they differ in, too.

    Parameters
    ----------
    answer
        How the effect is computed.
    totals
        The way in each model.
    models
        The models whose evidence their weights are made of, in the same order.
    rng
        Of the draws.
    """
    if isinstance(answer, PushedAnswer) and answer.samples is not None:
        (total,) = totals.items
        return [Joint(answer.outcomes.difference, _regressed(total.model, answer.samples))]
    size, per_table = _size(answer, totals), len(totals.items) // totals.weights.tables
    counts = rng.multinomial(size, totals.weights.posterior)
    found = []
    for place, (count, stream) in enumerate(zip(counts.tolist(), rng.spawn(len(counts)), strict=True)):
        if count:
            own, other = stream.spawn(2)
            effect, inside = _drawn(answer, place, totals.items[place], count, own)
            outside: tuple[Regressed, ...] = ()
            if per_table > 1:
                first = place - place % per_table
                alike = models.items[first : first + per_table]
                outside = _outside(alike, place - first, {item.child for item in inside}, count, other)
            found.append(Joint(effect, (*inside, *outside), place // per_table, place))
    return found


def _size(answer: Answer, totals: Mixture[TotalEffect]) -> int:
    """Return the number of draws: fewer where regressions have many columns."""
    if not isinstance(answer, PushedAnswer | InnerAnswer):
        widest = max((len(node.parents) + 1 for total in totals.items for node in total.nodes()), default=1)
        return int(np.clip(_VALUES / widest**2, 1000, _DRAWS))
    return answer.size


def _drawn(
    answer: Answer, place: int, total: TotalEffect, size: int, rng: np.random.Generator
) -> tuple[FloatArray, tuple[Regressed, ...]]:
    """Return draws of the effect in one model, and of the regressions on its way."""
    if not total.span.variables:
        return np.zeros(size), ()
    if isinstance(answer, PushedAnswer):
        response = answer.responses.items[place]
        samples = response.sample(size, rng)
        return response.outcomes(samples, answer.question.comparison).difference, _regressed(total.model, samples)
    if isinstance(answer, InnerAnswer):
        return _of_change(answer.changes.items[place], total, size, rng)
    effect, regressed = _along(total, size, rng)
    return answer.unit * effect, regressed  # type: ignore[attr-defined]


def _of_change(
    change: Change, total: TotalEffect, size: int, rng: np.random.Generator
) -> tuple[FloatArray, tuple[Regressed, ...]]:
    sample = sample_node(total.model, change.question.outcome, size, rng)
    effect = change.unit * sample.coefficients @ change.weights
    return effect, _regressed(total.model, {change.question.outcome: sample})


# -- along straight lines ----------------------------------------------------------------------------------------------


def _along(total: TotalEffect, size: int, rng: np.random.Generator) -> tuple[FloatArray, tuple[Regressed, ...]]:
    """Return draws of a total effect in working units, and of the nodes and blocks that it runs through."""
    places, streams = total.span.places, variable_streams(total.model, rng)
    effect = np.zeros((len(total.span), size))
    effect[0] = 1.0
    found: list[Regressed] = []
    for block in total.blocks:
        stream = streams[block.variables[0]]
        if isinstance(block, OrderBlock):
            drawn = block.draw(size, stream)
            drawn.carry(places, effect)
            found += _members(drawn, total.model.data)
        else:
            sample = sample_node(total.model, block.child, size, stream)
            effect[places[block.child]] = _carried(sample, places, effect)
            found.append(_of_sample(total.model, block.child, sample))
    return effect[-1], tuple(found)


def _carried(sample: NodeSample, places: Mapping[str, int], effect: FloatArray) -> FloatArray:
    """Return the effect on a child: the coefficients of its lines times the effects on these, shape (draws,)."""
    if isinstance(sample.node, TowardPosterior):
        toward, before = parent_places(sample.node, places)
        slopes = (sample.coefficients @ sample.node.onto.T)[:, toward]
        return np.asarray(np.einsum("sp,ps->s", slopes, effect[before]))
    lines = [(i, places[made.variable]) for i, made in enumerate(sample.columns.made)
             if isinstance(made, Line) and made.variable in places]  # fmt: skip
    own, others = [i for i, _ in lines], [place for _, place in lines]
    return np.asarray(np.einsum("sp,ps->s", sample.coefficients[:, own], effect[others]))


def _members(drawn: OrderDraws, data: WorkingData) -> Iterator[Regressed]:
    """Yield the regressions of a block's variables."""
    problem = drawn.block.problem
    for j, node in enumerate(problem.nodes):
        columns = straight_columns(node.terms, data)
        coefficients, origin = drawn.coefficients[:, problem.rows(j), j], node.origin
        share = 1.0 / node.rows if node.rows > node.n else 0.0
        yield _straight(node.child, columns, coefficients, drawn.variance[:, j], origin, share, data)


# -- records -----------------------------------------------------------------------------------------------------------


def _regressed(model: FittedGraph, samples: Mapping[str, NodeSample]) -> tuple[Regressed, ...]:
    return tuple(_of_sample(model, child, sample) for child, sample in samples.items())


def _of_sample(model: FittedGraph, child: str, sample: NodeSample) -> Regressed:
    family, data = model.data.model(child).family, model.data
    place = data.pooled.index[child]
    unit = float(data.scale[place])
    center, own = (float(data.pooled.mean[place]) * unit, unit) if family is None or family.has_noise else (0.0, 1.0)
    if isinstance(sample.node, CurvedPosterior):
        return _of_curved(child, sample, family, center if family is not None else sample.node.found.center, own)
    if family is None:
        known = sample.known
        assert isinstance(known, NodePosterior)
        share, origin = known.intercept_share, known.problem.origin
        return _straight(child, sample.columns, sample.coefficients, sample.variance, origin, share, data)
    both = np.column_stack([sample.intercept, sample.coefficients])
    middle = sample.nuisance.mean(axis=0)
    return Regressed(child, family, sample.columns, both, 1.0 / sample.variance[None], center, own, nuisance=middle)


def _of_curved(child: str, sample: NodeSample, family: Family | None, center: float, unit: float) -> Regressed:
    """Return a regression on derived columns, of which many are in no draw."""
    assert isinstance(sample.node, CurvedPosterior)
    used = np.asarray(sample.coefficients.any(axis=0))
    both = np.column_stack([sample.intercept, sample.coefficients[:, used]])
    ratio = np.ones(sample.size) if sample.ratio is None else sample.ratio
    precision = np.array([1.0 / sample.variance, 1.0 / (sample.variance * ratio)])
    columns, middle = sample.columns.taken(used), sample.nuisance.mean(axis=0)
    return Regressed(child, family, columns, both, precision, center, unit, curved=sample.node, nuisance=middle)


def _straight(
    child: str,
    columns: Columns,
    coefficients: FloatArray,
    variance: FloatArray,
    origin: Origin | None,
    share: float,
    data: WorkingData,
) -> Regressed:
    """Return a normal regression on lines and levels, whose line passes through the means of the child's own rows."""
    unit = float(data.scale[data.pooled.index[child]])
    own = Origin(0.0, np.zeros(len(columns))) if origin is None else origin
    intercept = coefficients @ (columns.center / columns.scale - own.terms)
    both = np.column_stack([intercept, coefficients])
    return Regressed(child, None, columns, both, 1.0 / variance[None], own.child * unit, unit, share)


def _outside(
    models: Sequence[FittedGraph], place: int, known: set[str], size: int, rng: np.random.Generator
) -> tuple[Regressed, ...]:
    """Return draws of the regressions outside of the way that are not the same in all models: they decide weights."""
    model = models[place]
    streams = variable_streams(model, rng)
    found: list[Regressed] = []
    for block in model.blocks(model.graph.variables):
        if block.variables[0] in model.data.categories:
            continue  # its regression gives no evidence
        if known.isdisjoint(block.variables) and _differs(models, block.variables[0]):
            if isinstance(block, OrderBlock):
                found += _members(block.draw(size, streams[block.variables[0]]), model.data)
            else:
                sample = sample_node(model, block.child, size, streams[block.child])
                found.append(_of_sample(model, block.child, sample))
    return tuple(found)


def _differs(models: Sequence[FittedGraph], child: str) -> bool:
    """Tell whether a variable's regression is not the same in all models."""
    blocks = [model.order_block(child) for model in models]
    behind = {id(m.node(child)) if b is None else id(b.posterior) for m, b in zip(models, blocks, strict=True)}
    return len(behind) > 1
