"""Effects of single rows, and the mean outcome over values of the treatment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alldags.answers.held import HeldEffect
from alldags.answers.treatment_values import treatment_word
from alldags.columns.base import RowValues
from alldags.data.levels import with_levels
from alldags.data.source import Source, open_source
from alldags.effects.quantity import Quantity
from alldags.errors import AlldagsError, DataError
from alldags.show.table import Table
from alldags.typing import FloatArray

_ROW_VALUES = 4_000_000  # rows times draws behind the effects of single rows


def effects_of_rows(effect: HeldEffect, rows: RowValues, level: float, rng: np.random.Generator) -> Table:
    """Return mean, sd and interval of the effect of each row."""
    size = int(np.clip(_ROW_VALUES // max(rows.count, 1), 200, 2000))
    mean, drawn = effect.answer.of_rows(rows, size, rng)
    drawn = effect.uncertainty.widened(drawn)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    found = {"mean": mean, "sd": drawn.std(axis=0, ddof=1), "low": low, "high": high}
    return Table({name: values.tolist() for name, values in found.items()})


def response_curve(effect: HeldEffect, points: Sequence[float], level: float) -> Table:
    """Return the mean outcome with the treatment set to each of some values, with intervals."""
    answer, stream = effect.answer, effect.posterior.workings.stream
    found = [Quantity(effect.uncertainty.widened_level(answer.level(x, answer.size, stream()))) for x in points]
    ends = [item.interval(level) for item in found]
    return Table(
        {
            effect.treatment: [treatment_word(effect, x) for x in points],
            "mean": [answer.level_mean(x) for x in points],
            "sd": [item.sd for item in found],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        }
    )


def fitted_rows(effect: HeldEffect) -> dict[str, FloatArray]:
    """Return the rows of the fit, all variables that are numbers."""
    workings = effect.posterior.workings
    table = workings.data.table
    if table is None and workings.table is not None:
        table = workings.table.rows(workings.data.pooled.names)
    if table is None:
        raise AlldagsError("the rows of the fit are not at hand; give by() the rows that you mean")
    return {name: table.column(name) for name in table.columns.names}


def row_values(effect: HeldEffect, rows: Any) -> RowValues:
    """Return given rows, or those of the fit, with the columns that are needed."""
    if rows is None:
        return RowValues(fitted_rows(effect))
    names = _needed(effect)
    source = _coded(effect, open_source(rows), names)
    missing = [name for name in names if isinstance(rows, Mapping) and name not in rows]
    if missing:
        lacking = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        raise DataError(f"rows need the column{'s' * (len(names) > 1)} {', '.join(names)}; {lacking}")
    written = effect.posterior.workings.data.columns
    columns = source.numbers(written(names)) if names else source.numbers()
    values = {
        name: np.asarray(column, dtype=float)
        for name, column in zip(columns.names, columns.read(0, columns.rows), strict=True)
    }
    for name, column in values.items():
        if np.isnan(column).any():
            raise DataError(f"column {name!r} of the rows has missing values; leave those rows out")
    start = {name: np.zeros(columns.rows) for name in written((effect.treatment,))}
    return RowValues({**start, **{name: values[name] for name in written(names)}})


def _needed(effect: HeldEffect) -> list[str]:
    """Return the columns that the effect of a row depends on: none where it is the same for all."""
    if effect.answer.lacks.get("plots.rows"):
        return []
    reached, models = effect.workings.reached, effect.workings.models
    needed = {name for model in models.items for child in reached for name in model.columns(child).variables}
    needed -= set(reached)
    return sorted(needed - {effect.treatment} if effect.answer.question.comparison.values is not None else needed)


def _coded(effect: HeldEffect, source: Source, names: Sequence[str]) -> Source:
    """Return given rows with words as numbers, as they were in the fit."""
    seen = effect.posterior.workings.data.seen
    levels = {} if seen is None else {name: seen.levels[name] for name in names if name in seen.levels}
    return with_levels(source, levels)
