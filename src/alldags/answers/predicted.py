"""`Posterior.predict`: outcomes of new rows, with what is set and all noise."""

from __future__ import annotations

import numpy as np

from alldags.answers.new_rows import NewRows
from alldags.answers.new_worlds import NewWorlds
from alldags.answers.nodes import sample_nodes
from alldags.answers.push import PushedRows
from alldags.answers.rows_given import OtherRows
from alldags.answers.scenario import ScenarioAnswer
from alldags.answers.worlds import world_blocks
from alldags.columns.base import RowValues
from alldags.memory import check_memory
from alldags.models.fitted import FittedGraph
from alldags.show.table import Table
from alldags.typing import FloatArray

_DRAWS = 2000


def predictions(answer: ScenarioAnswer, level: float) -> Table:
    """Return the outcome of each row of another table in the first scenario.

    Means, standard deviations and intervals are of single rows' outcomes, with their noise; of a yes/no outcome, or
    a level, they are of its probability.
    """
    other = answer.over
    assert isinstance(other, OtherRows)
    answer.prepare()
    check_memory(8.0 * other.count * _DRAWS, f"{other.count:,} rows", "ask for fewer rows at a time")
    drawn = answer.models.draw(_DRAWS, answer.workings.stream(), lambda *asked: _drawn(answer, other, *asked))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=1)
    mean, sd = drawn.mean(axis=1), drawn.std(axis=1, ddof=1)
    return Table({"mean": mean.tolist(), "sd": sd.tolist(), "low": low.tolist(), "high": high.tolist()})


def _drawn(
    answer: ScenarioAnswer, other: OtherRows, model: FittedGraph, size: int, rng: np.random.Generator
) -> FloatArray:
    """Return outcomes of all rows, each with noise of its own in every draw, shape (rows, size)."""
    nodes = answer.moved(model)
    samples = sample_nodes(model, nodes, size, rng)
    new = NewRows(model, other, nodes, answer.needed(model))
    values, count = new.values()
    levels = {name: rng.random((count, size)) for name in nodes}
    rows, drawn = PushedRows(RowValues(values), model.data, levels), new.draws(samples, rng)
    family = model.data.families.get(answer.outcome)
    chance = family is not None and family.measure == "risk"
    parts = []
    for block in world_blocks(count, samples):
        worlds = NewWorlds(rows, drawn, block)
        parts.append((worlds.mean if chance else worlds.value)(answer.worlds[0], answer.outcome))
    return np.concatenate(parts, axis=1)
