"""Outcomes of new units under an intervention: of random rows, with the noise that is theirs."""

from __future__ import annotations

from functools import partial

import numpy as np

from alldags.answers.comparison import Comparison
from alldags.answers.new_rows import NewResponse
from alldags.answers.push import Push, PushedRows, blocks
from alldags.answers.question import Target
from alldags.answers.response import Response
from alldags.answers.world import Value, World
from alldags.answers.worlds import Worlds
from alldags.effects.total import TotalEffect
from alldags.models.mixture import Mixture
from alldags.typing import FloatArray, IntArray

_ROWS = 512  # of a batch, of which each draw gets one; of more a random part


def new_units(
    target: Target, totals: Mixture[TotalEffect], treatment: str, x: float, size: int, rng: np.random.Generator
) -> FloatArray:
    """Return outcomes of new units when the treatment is set to `x`, shape (size,).

    A unit is like a random one of the rows asked about: a normal outcome keeps that row's residual, any other is drawn.
    """
    if target.other is not None:
        others = totals.map(lambda total: NewResponse(total.model, total.span, target, treatment=treatment))
        return others.draw(size, rng, lambda response, count, stream: response.units(x, count, stream))
    responses = totals.map(lambda total: Response(total.model, total.span, target))
    return responses.draw(size, rng, lambda response, count, stream: _units(response, x, count, stream))


def _units(response: Response, x: float, size: int, rng: np.random.Generator) -> FloatArray:
    batches = list(response.batches())
    shares = np.array([batch.total for batch in batches])
    found = np.empty(size)
    picked = rng.choice(len(batches), size, p=shares / shares.sum())
    for place, batch in enumerate(batches):
        chosen = np.flatnonzero(picked == place)
        if chosen.size:
            found[chosen] = _of_batch(response, batch, x, len(chosen), rng)
    return found


def _of_batch(response: Response, batch: PushedRows, x: float, size: int, rng: np.random.Generator) -> FloatArray:
    """Return outcomes of random rows of one batch, shape (size,)."""
    weight = np.ones(batch.count) if batch.weight is None else batch.weight
    rows = np.arange(batch.count)
    if batch.count > _ROWS:
        rows, weight = rng.choice(batch.count, _ROWS, p=weight / weight.sum()), np.ones(_ROWS)
    own = rng.choice(len(rows), size, p=weight / weight.sum())
    if not response.span.variables:
        return np.asarray(batch.rows.values[response.outcome][rows][own])
    samples = response.sample(size, rng)
    part = response.part_of(batch, rows)
    route = response.route(samples)
    (moved, _), target = part.moves(route.source, Comparison(x, x)), samples[route.target]
    found = np.empty(size, dtype=target.coefficients.dtype)
    for block in blocks(part.count, size, route):
        if any(sample.several for sample in samples.values()):
            worlds, world = Worlds(part, samples, block), World({route.source: Value(x)})
            is_line = target.family is None
            values = (partial(worlds.mean, drawn=True) if is_line else worlds.predictor)(world, route.target)
        else:
            push = Push(part, samples, route, block)
            values = push.both(moved, moved)[0] if target.family is None else push.predictor(moved)
        found[block] = _picked(values, own[block])
    return found if target.family is None else target.family.draw(found, rng.random(size), target.apart())


def _picked(values: FloatArray, rows: IntArray) -> FloatArray:
    """Return one row of each draw; `values` has shape (rows, draws)."""
    return np.asarray(values[rows, np.arange(len(rows))])
