"""`Effect.checks.placebo`: the same question about a treatment that was shuffled, which has no effect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import fill

import numpy as np

from alldags import checks, meetings
from alldags.assumptions.examined import ExaminedEffect, ExaminedPosterior
from alldags.data.batches import RowTable
from alldags.data.columns import columns_of
from alldags.models.capabilities import data_asks
from alldags.models.components import on_other_data
from alldags.nodes.data import WorkingData
from alldags.show.numbers import number, percent
from alldags.text import line_width, printable
from alldags.typing import FloatArray, IntArray, RandomSource


@dataclass(frozen=True, slots=True)
class Placebo:
    """Effects of a treatment whose values were shuffled among the rows.

    Parameters
    ----------
    treatment, outcome
        Names.
    mean
        Of the effect itself, in units of the outcome.
    means
        Of each placebo's.
    excluded
        Share of placebos whose 95% interval leaves out zero.
    """

    treatment: str
    outcome: str
    mean: float
    means: tuple[float, ...]
    excluded: float

    @property
    def p_value(self) -> float:
        """Share of placebos, counting the data themselves as one, whose mean effect is at least as large."""
        larger = sum(abs(value) >= abs(self.mean) for value in self.means)
        return (1 + larger) / (1 + len(self.means))

    def __str__(self) -> str:
        count, largest = len(self.means), max(map(abs, self.means))
        larger = sum(abs(value) >= abs(self.mean) for value in self.means)
        text = (
            f"With {self.treatment} shuffled among the rows, {count} times, its mean effect on {self.outcome} "
            f"was at most {number(largest)} in size, against {number(abs(self.mean))} in the data: {larger} of "
            f"{count} were as large (p = {self.p_value:.2g}). The 95% interval left out zero in "
            f"{percent(self.excluded)} of them."
        )
        return fill(printable(text), line_width())


def placebo(effect: ExaminedEffect, permutations: int, rng: RandomSource) -> Placebo:
    """Ask the question again for permuted values of the treatment.

    Parameters
    ----------
    effect
        The answer for the data.
    permutations
        How often.
    rng
        Seed or generator; None: from the seed given to `fit`.
    """
    count = checks.whole("permutations", permutations, 1, 100_000)
    posterior = effect.posterior
    table = _rows(posterior)
    arrays = {name: table.column(name) for name in table.columns.names}
    generator = posterior.workings.stream() if rng is None else np.random.default_rng(rng)
    means, excluded = [], 0
    for child in generator.spawn(count):
        order = child.permutation(len(arrays[effect.outcome]))
        dealt = _dealt(posterior.workings.data, arrays, effect.treatment, order)
        found = _on(posterior, dealt).asked(effect.answer.question)
        low, high = found.interval(0.95)
        means.append(found.mean)
        excluded += low > 0.0 or high < 0.0
    return Placebo(effect.treatment, effect.outcome, effect.mean, tuple(means), excluded / count)


def _rows(posterior: ExaminedPosterior) -> RowTable:
    """Return all complete rows, or say why values cannot be dealt out among them."""
    table = posterior.workings.table
    asked = {"moments": ()} if table is None else dict.fromkeys(table.asked, ())
    meetings.check({"placebo": (), **asked, **data_asks(posterior.workings.data)})
    assert table is not None
    return posterior.workings.data.table or RowTable(table.source().numbers(posterior.workings.data.pooled.names))


def _on(posterior: ExaminedPosterior, data: WorkingData) -> ExaminedPosterior:
    store = posterior.workings.store.empty()
    return posterior.derived(on_other_data(posterior.workings.models, [data], store), store)


def _dealt(data: WorkingData, arrays: dict[str, FloatArray], name: str, order: IntArray) -> WorkingData:
    """Return the data with one variable's values in another order of rows."""
    columns = data.columns((name,))
    changed = {**arrays, **{column: arrays[column][order] for column in columns}}
    pooled, scatter = data.pooled, data.pooled.scatter.copy()
    for column in columns:
        place = pooled.index[column]
        value = changed[column] / data.scale[place] - pooled.mean[place]
        for other, i in pooled.index.items():
            if other not in columns:
                scatter[i, place] = scatter[place, i] = value @ (changed[other] / data.scale[i] - pooled.mean[i])
    table = RowTable(columns_of(changed, len(order)))
    return replace(data, pooled=replace(pooled, scatter=scatter), table=table if data.children else None)
