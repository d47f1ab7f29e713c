"""Draws of an effect together with the regressions that they come from, model by model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from alldags.answers.base import Answer
from alldags.answers.inner import Change, InnerAnswer
from alldags.answers.nodes import NodeSample, sample_node
from alldags.answers.paired import paired_regressions, row_regressions
from alldags.answers.pushed import PushedAnswer
from alldags.answers.regressed import Regressed, of_sample, straight_regression
from alldags.columns.line import Line
from alldags.effects.total import TotalEffect, variable_streams
from alldags.models.blocks import parent_places
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.order_block import OrderBlock, OrderDraws
from alldags.nodes.data import WorkingData
from alldags.nodes.spec import straight_columns
from alldags.nodes.toward import TowardPosterior
from alldags.typing import FloatArray

_DRAWS = 5000  # behind the jackknife of a closed answer: the factor then has about 1% of error
_VALUES = 4e7  # draws times columns squared that are added up, at most


@dataclass(frozen=True, eq=False)
class Joint:
    """Draws from one model.

    Parameters
    ----------
    effect
        In the user's units, exact zeros where there is no path, shape (draws,); several, shape (effects, draws).
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
        return replace(self, effect=self.effect[:size], regressed=tuple(of.first(size) for of in self.regressed))


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
        return [Joint(answer.outcomes.difference, row_regressions(total.model, answer.samples))]

    def draw(place: int, total: TotalEffect, count: int, stream: np.random.Generator) -> Drawn:
        return _drawn(answer, place, total, count, stream)

    return joints_of(totals, models, _size(answer, totals), rng, draw)


Drawn: TypeAlias = tuple[FloatArray, tuple[Regressed, ...]]
"""Draws of an effect, or of several, shape (..., draws), and of the regressions on its way."""

Draw: TypeAlias = Callable[[int, TotalEffect, int, np.random.Generator], Drawn]
"""Draws from one model: its place, the way in it, and the number of draws are given."""


def joints_of(
    totals: Mixture[TotalEffect],
    models: Mixture[FittedGraph],
    size: int,
    rng: np.random.Generator,
    draw: Draw,
) -> list[Joint]:
    """Draw from each model as often as falls to it, by its place, its way and the number of draws."""
    per_table = len(totals.items) // totals.weights.tables
    counts = rng.multinomial(size, totals.weights.posterior)
    found = []
    for place, (count, stream) in enumerate(zip(counts.tolist(), rng.spawn(len(counts)), strict=True)):
        if count:
            own, other = stream.spawn(2)
            effect, inside = draw(place, totals.items[place], count, own)
            others: tuple[Regressed, ...] = ()
            if per_table > 1:
                first = place - place % per_table
                alike = models.items[first : first + per_table]
                others = outside(alike, place - first, {item.child for item in inside}, count, other)
            found.append(Joint(effect, (*inside, *others), place // per_table, place))
    return found


def _size(answer: Answer, totals: Mixture[TotalEffect]) -> int:
    """Return the number of draws: fewer where regressions have many columns."""
    if not isinstance(answer, PushedAnswer | InnerAnswer):
        widest = max((len(node.parents) + 1 for total in totals.items for node in total.nodes()), default=1)
        return int(np.clip(_VALUES / widest**2, 1000, _DRAWS))
    return answer.size


def _drawn(answer: Answer, place: int, total: TotalEffect, size: int, rng: np.random.Generator) -> Drawn:
    """Return draws of the effect in one model, and of the regressions on its way."""
    if not total.span.variables:
        return np.zeros(size), ()
    if isinstance(answer, PushedAnswer):
        response = answer.responses.items[place]
        samples = response.sample(size, rng)
        return response.outcomes(samples, answer.question.comparison).difference, row_regressions(total.model, samples)
    if isinstance(answer, InnerAnswer):
        return _of_change(answer.changes.items[place], total, size, rng)
    effects, regressed = along_lines(total, size, rng)
    return answer.unit * effects[0, -1], regressed  # type: ignore[attr-defined]


def _of_change(change: Change, total: TotalEffect, size: int, rng: np.random.Generator) -> Drawn:
    sample = sample_node(total.model, change.question.outcome, size, rng)
    effect = change.unit * sample.coefficients @ change.weights
    return effect, row_regressions(total.model, {change.question.outcome: sample})


# -- along straight lines ----------------------------------------------------------------------------------------------


def along_lines(
    total: TotalEffect, size: int, rng: np.random.Generator, held: Sequence[Collection[str]] = ((),)
) -> Drawn:
    """Return draws of effects on all variables of a way, in working units, shape (effects, v, draws), and of its nodes.

    Parameters
    ----------
    total
        The way, which is not empty.
    size, rng
        Number of draws, and where they come from.
    held
        For each effect, the variables that it does not run through.
    """
    places, streams = total.span.places, variable_streams(total.model, rng)
    effects = np.zeros((len(held), len(total.span), size))
    effects[:, 0] = 1.0
    found: list[Regressed] = []
    for block in total.blocks:
        stream = streams[block.variables[0]]
        if isinstance(block, OrderBlock):
            drawn = block.draw(size, stream)
            for effect, without in zip(effects, held, strict=True):
                drawn.holding(without).carry(places, effect)
            found += order_members(drawn, total.model.data)
        else:
            sample = sample_node(total.model, block.child, size, stream)
            for effect, without in zip(effects, held, strict=True):
                effect[places[block.child]] = 0.0 if block.child in without else _carried(sample, places, effect)
            if sample.pair is None:
                found.append(of_sample(total.model, block.child, sample))
            elif block.child not in {one.child for one in found}:
                found += paired_regressions(total.model, block.child, sample.pair)
    return effects, tuple(found)


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


def order_members(drawn: OrderDraws, data: WorkingData) -> Iterator[Regressed]:
    """Yield the regressions of a block's variables."""
    problem = drawn.block.problem
    for j, node in enumerate(problem.nodes):
        columns = straight_columns(node.terms, data)
        coefficients, origin = drawn.coefficients[:, problem.rows(j), j], node.origin
        share = 1.0 / node.rows if node.rows > node.n else 0.0
        yield straight_regression(node.child, columns, coefficients, drawn.variance[:, j], origin, share, data)


# -- regressions outside of the way ------------------------------------------------------------------------------------


def outside(
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
                found += order_members(block.draw(size, streams[block.variables[0]]), model.data)
            else:
                sample = sample_node(model, block.child, size, streams[block.child])
                found.append(of_sample(model, block.child, sample))
    return tuple(found)


def _differs(models: Sequence[FittedGraph], child: str) -> bool:
    """Tell whether a variable's regression is not the same in all models."""
    blocks = [model.order_block(child) for model in models]
    behind = {id(m.node(child)) if b is None else id(b.posterior) for m, b in zip(models, blocks, strict=True)}
    return len(behind) > 1
