"""The outcome of a new unit in a scenario: that of a random row, with the noise that is its own."""

from __future__ import annotations

import numpy as np

from alldags.answers.new_rows import NewRows, drawn_units
from alldags.answers.nodes import sample_nodes
from alldags.answers.push import PushedRows
from alldags.answers.rows_given import OtherRows
from alldags.answers.scenario import ScenarioAnswer
from alldags.answers.worlds import Worlds, world_blocks
from alldags.columns.base import RowValues
from alldags.effects.new_unit import Done, OutcomeDraws, YesNoOutcome
from alldags.models.fitted import FittedGraph
from alldags.typing import FloatArray, IntArray

_ROWS = 512  # of which each draw gets one; of more a random part
_DRAWS = 4000


def scenario_unit(answer: ScenarioAnswer, words: Done) -> OutcomeDraws | YesNoOutcome:
    """Return the outcome of a unit like a random one of the rows in the first scenario."""
    asked = answer.workings.data.families.get(answer.outcome)
    if asked is not None and asked.measure == "risk":
        return YesNoOutcome(words, float(np.clip(answer.draws((1.0,)).mean(), 0.0, 1.0)))
    answer.prepare()
    drawn = answer.models.draw(_DRAWS, answer.workings.stream(), lambda *asked: _units(answer, *asked))
    return OutcomeDraws(words, drawn)


def _units(answer: ScenarioAnswer, model: FittedGraph, size: int, rng: np.random.Generator) -> FloatArray:
    samples = sample_nodes(model, answer.moved(model), size, rng)
    if isinstance(answer.over, OtherRows):
        new = NewRows(model, answer.over, answer.moved(model), answer.needed(model))
        return drawn_units(new, new.draws(samples, rng), answer.worlds[0], answer.outcome, rng)
    rows = _some(list(answer.batches(model)), rng)
    own, last = rng.choice(rows.count, size), samples.get(answer.outcome)
    found = np.empty(size, dtype=float if last is None else last.coefficients.dtype)
    family = None if last is None else last.family
    for block in world_blocks(rows.count, samples):
        worlds, asked = Worlds(rows, samples, block), (answer.worlds[0], answer.outcome)
        values = worlds.mean(*asked) if family is None else worlds.predictor(*asked)
        found[block] = values[own[block], np.arange(values.shape[1])]
    return found if last is None or family is None else family.draw(found, rng.random(size), last.apart())


def _some(batches: list[PushedRows], rng: np.random.Generator) -> PushedRows:
    """Return random rows of all batches, by weight."""
    shares = np.concatenate([np.ones(one.count) if one.weight is None else one.weight for one in batches])
    every = np.arange(len(shares))
    few = len(every) <= _ROWS and np.ptp(shares) == 0.0
    chosen = every if few else rng.choice(len(every), _ROWS, p=shares / shares.sum())
    first = batches[0]
    values = {name: _taken([one.rows.values[name] for one in batches], chosen) for name in first.rows.values}
    uniforms = {name: _taken([one.uniforms[name] for one in batches], chosen) for name in first.uniforms}
    folds = {name: _taken([one.folds[name] for one in batches], chosen).astype(np.int64) for name in first.folds}
    return PushedRows(RowValues(values), first.data, uniforms, None, folds)


def _taken(parts: list[FloatArray] | list[IntArray], places: IntArray) -> FloatArray:
    return np.asarray(np.concatenate(parts)[places])
