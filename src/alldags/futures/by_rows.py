"""An effect after rows that do not exist yet, where moments are not enough: rows are drawn, and fitted.

Covariates of the rows to come are those of rows at hand, by lot; what follows from the treatment, or from what is set,
is drawn from a draw of its regression. Predictors are straight, also where curves are averaged: what is asked of
futures is the share of the variance that they leave, and a curved fit of each would take minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.answers.base import Answer
from alldags.answers.choose import choose, models_for, unit_of
from alldags.answers.new_rows import NewRows
from alldags.answers.new_worlds import NewWorlds
from alldags.answers.nodes import sample_nodes
from alldags.answers.push import PushedRows
from alldags.answers.question import Question
from alldags.answers.rows_given import OtherRows
from alldags.answers.world import AS_IT_IS
from alldags.columns.base import RowValues
from alldags.data.batches import Marks, RowTable
from alldags.data.columns import columns_of
from alldags.data.source import open_source
from alldags.effects.total import variable_streams
from alldags.effects.workings import EffectWorkings
from alldags.futures.moments import Design, with_future
from alldags.futures.refit import After, shares
from alldags.interrupts import checkpoint
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.workings import Workings
from alldags.nodes.data import ChildData, WorkingData
from alldags.typing import FloatArray

_DRAWS = 1000  # behind the variance of one future: known to 4%, and to less on average over futures
_WORTH = 1e4
_SET = "was set"  # the column that marks the rows of an experiment


@dataclass(frozen=True, eq=False)
class RowRefits:
    """Futures of one effect through children that are not normal, the same chance in each whatever is done.

    Parameters
    ----------
    workings
        What the posterior computes with, rows among it.
    question
        What is asked, of all rows.
    futures
        How many futures are drawn.
    """

    workings: Workings
    question: Question
    futures: int

    @cached_property
    def _now(self) -> Workings:
        """What is computed with now, with straight predictors."""
        return self._with(self.workings.data.unbent)

    @cached_property
    def variance(self) -> float:
        """Variance of the effect now, with straight predictors."""
        return self._answer(self._now).sd ** 2

    def after(self, design: Design) -> list[After]:
        """Return the effect in every future, with the rows of a design added."""
        return [self._after(design, rows) for rows in self._drawn(design)]

    def _with(self, data: WorkingData) -> Workings:
        store = self.workings.store.empty()
        models = tuple(model.on(data, store) for model in self.workings.models.items)
        return replace(self.workings, models=Mixture.of(models, self.workings.models.weights.prior), store=store)

    def _answer(self, workings: Workings) -> Answer:
        question = self.question
        unit = unit_of(workings, question)
        found = EffectWorkings(question.treatment, question.outcome, models_for(workings, question), unit)
        for total in found.totals.items:
            total.prepare()
        return choose(workings, question, found.totals, worth=_WORTH, most=_DRAWS)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _drawn(self, design: Design) -> Iterator[dict[str, FloatArray]]:
        """Yield the rows of each future, by column, shape (rows,) each."""
        rng = self.workings.stream().spawn(1)[0]
        models = models_for(self._now, self.question)
        counts = shares(np.array(models.weights.posterior), self.futures, rng)
        for model, count, stream in zip(models.items, counts, rng.spawn(len(counts)), strict=True):
            if count:
                yield from self._of_model(model, count, design, stream)

    def _of_model(
        self, model: FittedGraph, count: int, design: Design, rng: np.random.Generator
    ) -> Iterator[dict[str, FloatArray]]:
        nodes, later = self._following(model, design), rng.spawn(2)
        model.prepare(nodes)
        new = NewRows(model, OtherRows(open_source({"": np.zeros(2)})), nodes, ())
        regressed = new.draws(sample_nodes(model, nodes, count, later[0]), later[1])
        for future, stream in enumerate(rng.spawn(count)):
            rows, streams = self._covariates(design, stream), variable_streams(model, stream)
            levels = {name: streams[name].random(design.rows) for name in nodes}
            pushed = PushedRows(RowValues(rows), model.data, levels)
            worlds = NewWorlds(pushed, regressed, slice(future, future + 1))
            yield rows | {name: worlds.value(AS_IT_IS, name)[:, 0] for name in nodes}

    def _following(self, model: FittedGraph, design: Design) -> tuple[str, ...]:
        """Return what follows in rows to come: what is on the way, and what comes after a variable that is set."""
        treatment, outcome = self.question.treatment, self.question.outcome
        sources = {treatment} if design.variable is None else {treatment, design.variable}
        after = set.union(*(set(model.graph.descendants(name)) for name in sources)) - {design.variable}
        before = set(model.graph.ancestors(outcome)) | {outcome}
        return tuple(name for name in model.graph.order if name in after & before)

    def _covariates(self, design: Design, rng: np.random.Generator) -> dict[str, FloatArray]:
        """Return columns of rows at hand, by lot, with a variable set."""
        data = self._now.data
        assert data.table is not None
        chosen = rng.integers(data.table.count, size=design.rows)
        found = {name: self._columns[name][chosen] for name in self._columns}
        if design.variable is None:
            return found
        if design.variable in data.categories:
            order = rng.permutation(design.rows)
            return found | {name: found[name][order] for name in data.columns([design.variable])}
        place = data.pooled.index[design.variable]
        half = np.where(np.arange(design.rows) % 2 == 0, -design.half, design.half)
        found[design.variable] = (data.pooled.mean[place] + design.middle + half) * data.scale[place]
        return found

    @cached_property
    def _columns(self) -> dict[str, FloatArray]:
        table = self._now.data.table
        assert table is not None
        return {name: table.column(name) for name in table.columns.names}

    # -- fitted with those at hand -------------------------------------------------------------------------------------

    def _after(self, design: Design, rows: dict[str, FloatArray]) -> After:
        checkpoint()
        later = self._with(self._joined(rows, design))
        answer = self._answer(later)
        return After(answer.mean, answer.sd**2, later.models.weights.posterior, float("nan"))

    def _joined(self, rows: dict[str, FloatArray], design: Design) -> WorkingData:
        data = self._now.data
        joined = with_future(data, moments_of(data, rows), design.variable)
        columns = {name: np.concatenate([self._columns[name], rows[name]]) for name in self._columns}
        marks = Marks()
        if design.variable is not None:
            at_hand = len(next(iter(self._columns.values())))
            columns[_SET] = np.repeat([0.0, 1.0], [at_hand, design.rows])
            marks = Marks(was_set={design.variable: _SET})
        count = len(next(iter(columns.values())))
        return replace(joined, table=RowTable(columns_of(columns, count), marks))


def moments_of(data: WorkingData, rows: dict[str, FloatArray]) -> ChildData:
    """Return the moments of some rows in the working units of the data, centred as those are."""
    pooled = data.pooled
    values = np.column_stack([rows[name] for name in pooled.names]) / data.scale
    count, taken = len(values), round(pooled.rows - pooled.n)
    mean = values.mean(axis=0) if taken else np.zeros(len(pooled.names))
    scatter = (values - mean).T @ (values - mean)
    return ChildData(pooled.names, scatter, mean, count - taken, count)
