"""What single rows' outcomes would have been: what is known of a row says which noise was its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alldags import meetings
from alldags.answers.by_rows import fitted_rows
from alldags.answers.closed import ClosedAnswer
from alldags.answers.held import HeldEffect
from alldags.answers.nodes import sample_nodes
from alldags.answers.push import PushedRows
from alldags.answers.response import folds_of
from alldags.answers.rows_given import OtherRows
from alldags.answers.treatment_values import treatment_word
from alldags.answers.world import Value, World
from alldags.answers.worlds import Worlds, world_blocks
from alldags.columns.base import RowValues
from alldags.errors import AlldagsError
from alldags.memory import check_memory
from alldags.models.capabilities import outcome_asks
from alldags.models.fitted import FittedGraph
from alldags.show.table import Table
from alldags.typing import FloatArray, IntArray


def counterfactuals(effect: HeldEffect, rows: Any, values: Sequence[float], level: float) -> Table:
    """Return the outcome of each row at each value of the treatment: mean, sd and interval.

    Parameters
    ----------
    effect
        The effect.
    rows
        Numbers of rows of the fit, or a table with all that is known of other rows.
    values
        Of the treatment, as numbers.
    level
        Probability that each interval holds.
    """
    asked = outcome_asks(effect.posterior.workings.data, effect.outcome, effect.workings.reached)
    meetings.check({"counterfactuals": (), **asked})
    known, numbers, is_fitted = _known(effect, rows)
    check_memory(8.0 * known.count * effect.answer.size, f"{known.count:,} rows", "ask for fewer rows at a time")
    found: dict[str, list[Any]] = {
        name: [] for name in ("row", effect.treatment, "observed", "mean", "sd", "low", "high")
    }
    for x in values:
        mean, draws = _outcomes(effect, known, x, is_fitted)
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1)
        sd = draws.std(axis=1, ddof=1)
        sd[sd < 1e-12 * np.abs(mean)] = 0.0  # rounding
        found["row"] += numbers.tolist()
        found[effect.treatment] += [treatment_word(effect, x)] * known.count
        found["observed"] += known.values[effect.outcome].tolist()
        for name, column in zip(("mean", "sd", "low", "high"), (mean, sd, low, high), strict=True):
            found[name] += column.tolist()
    return Table(found)


def _known(effect: HeldEffect, rows: Any) -> tuple[RowValues, IntArray, bool]:
    """Return rows with all that is known of them, their numbers, and whether they are rows of the fit."""
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        other = OtherRows.of(rows)
        values = other.values(effect.posterior.workings.data, _needed(effect))
        count = len(values[effect.outcome])
        return RowValues(values), np.arange(count), False
    fitted = fitted_rows(effect)
    count, places = len(fitted[effect.outcome]), np.atleast_1d(np.asarray(rows))
    if places.dtype == bool and places.shape == (count,):
        places = np.flatnonzero(places)
    if places.ndim != 1 or places.dtype.kind not in "iu" or (places < 0).any() or (places >= count).any():
        raise AlldagsError(
            f"rows must be a table, one truth value for each of the {count} rows, or numbers of rows from 0 to "
            f"{count - 1}, got {rows!r}"
        )
    return RowValues({name: column[places] for name, column in fitted.items()}), places, True


def _needed(effect: HeldEffect) -> tuple[str, ...]:
    """Return all that has to be known of a row: treatment, outcome, what lies between, and all their causes."""
    names = {effect.treatment, effect.outcome}
    for model in effect.workings.models.items:
        if not isinstance(effect.answer, ClosedAnswer):
            names |= {cause for name in effect.workings.reached for cause in (name, *model.graph.parents(name))}
    return tuple(name for name in effect.workings.models.items[0].graph.variables if name in names)


def _outcomes(effect: HeldEffect, rows: RowValues, x: float, is_fitted: bool) -> tuple[FloatArray, FloatArray]:
    """Return the mean outcome of each row, shape (rows,), and draws of it, shape (rows, draws)."""
    size, data = effect.answer.size, effect.posterior.workings.data
    if isinstance(effect.answer, ClosedAnswer) and effect.treatment not in data.categories:
        step = (x - rows.values[effect.treatment])[:, None]
        own = rows.values[effect.outcome][:, None]
        return (own + step * effect.mean)[:, 0], own + step * effect.draws(size)
    world, stream = World({effect.treatment: Value(x)}), effect.posterior.workings.stream()

    def one(model: FittedGraph, count: int, rng: np.random.Generator) -> FloatArray:
        nodes = tuple(name for name in model.graph.order if name in effect.workings.reached)
        if not nodes:
            return np.repeat(rows.values[effect.outcome][:, None], count, axis=1)
        samples = sample_nodes(model, nodes, count, rng)
        levels = {name: rng.random((rows.count, count)) for name in nodes if name in model.data.families}
        own = PushedRows(rows, model.data, levels, None, folds_of(model, nodes, rows) if is_fitted else {})
        parts = [
            Worlds(own, samples, block, keeps=True).mean(world, effect.outcome)
            for block in world_blocks(rows.count, samples)
        ]
        return np.concatenate(parts, axis=1)

    drawn = effect.workings.models.draw(size, stream, one)
    return drawn.mean(axis=1), effect.uncertainty.widened(drawn.T).T
