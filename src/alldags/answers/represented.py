"""Draws of an effect with its representer, model by model: what a hidden cause could do to it, from rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from alldags.answers.joint import Joint
from alldags.answers.push import PushedRows
from alldags.answers.question import Question
from alldags.answers.regressed import Regressed
from alldags.columns.base import Columns, RowValues
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.effects.hidden.representer import RepresentedModel, ShortMoments
from alldags.effects.influence import edge_probability
from alldags.effects.total import TotalEffect
from alldags.nodes.data import WorkingData
from alldags.typing import BoolArray, FloatArray, IntArray

_VALUES = 2e7  # rows times draws that are predicted, at most
_OWN = 2  # covariates in a column that is said to be of each of them; learned columns have more


@dataclass(frozen=True, eq=False)
class ShortRegression:
    """The regression of an outcome on treatment and covariates, what lies in between left out.

    Parameters
    ----------
    question
        What is asked.
    total
        The way in one model.
    regressed
        Draws of the regressions on the way.
    table
        The rows.
    chosen
        Those that the effect is averaged over, shape (rows,); None: all.
    """

    question: Question
    total: TotalEffect
    regressed: tuple[Regressed, ...]
    table: RowTable
    chosen: BoolArray | None

    @property
    def _data(self) -> WorkingData:
        return self.total.model.data

    def made(self) -> tuple[list[tuple[Regressed, IntArray]], BoolArray]:
        """Return which columns of each regression are in it, each once, and which of all each draw has, (draws, k)."""
        between, known = set(self.total.span.reached), dict[str, int]()
        parts, present = [], list[BoolArray]()
        for of in self.regressed:
            new = []
            for i, column in enumerate(of.columns.made):
                there = of.coefficients[:, 1 + i] != 0.0
                if not between.isdisjoint(column.variables):
                    continue
                if column.name in known:
                    present[known[column.name]] |= there
                    continue
                known[column.name] = len(present)
                present.append(there)
                new.append(i)
            parts.append((of, np.array(new, dtype=np.int64)))
        size = len(self.regressed[0].coefficients)
        return parts, np.column_stack(present) if present else np.zeros((size, 0), dtype=bool)

    def rows(self) -> Iterator[tuple[RowValues, FloatArray, FloatArray]]:
        """Yield rows, how much each counts, and how much in the average that is asked about, shape (rows,) each."""
        start, marks = 0, self.table.marks
        reached = self.total.span.reached
        blind = [mark for marked in (marks.was_set, marks.unseen) for name, mark in marked.items() if name in reached]
        for rows in Rows(self.table).batches():
            weight = np.ones(rows.count) if marks.weight is None else rows.values[marks.weight]
            own = weight if self.chosen is None else weight * self.chosen[start : start + rows.count]
            for mark in blind:
                weight = np.where(rows.values[mark] == 0.0, weight, 0.0)
            start += rows.count
            yield rows, weight, own

    def moments(self, parts: Sequence[tuple[Regressed, IntArray]]) -> ShortMoments:
        """Return moments of its columns, and their mean change."""
        k = sum(len(places) for _, places in parts)
        gram, change, totals = np.zeros((k + 2, k + 2)), np.zeros(k + 1), np.zeros(3)
        outcome = next(of for of in self.regressed if of.child == self.question.outcome)
        for rows, weight, own in self.rows():
            low, high = (_design(parts, rows.put(values)) for values in self._set(rows))
            both = np.column_stack([_design(parts, rows), rows.values[outcome.child] - outcome.center])
            gram += (both * weight[:, None]).T @ both
            change += own @ (high - low)
            totals += weight.sum(), own.sum(), weight @ weight
        count = totals[0] if not self.table.marks.effective else totals[0] ** 2 / totals[2]
        return ShortMoments(gram / totals[0], change / totals[1], float(count))

    def _set(self, rows: RowValues) -> list[dict[str, FloatArray]]:
        """Return the treatment's columns under both values that are compared, in the user's units."""
        moves = PushedRows(rows, self._data, {}).moves(self.question.treatment, self.question.comparison)
        scale = {name: self._data.column_scale(name) for name in moves[0]}
        return [{name: rows.values[name] + scale[name] * move[:, 0] for name, move in one.items()} for one in moves]

    def left(self, moments: ShortMoments, present: BoolArray) -> FloatArray:
        """Return draws of the variance that treatment and covariates leave of the outcome, in the user's units."""
        if len(self.total.span.reached) > 1:
            return moments.left(present)
        of = self.regressed[0]
        return self._noise(of) if of.family is None else self._residuals(of)

    def _noise(self, of: Regressed) -> FloatArray:
        """Return the variance of normal noise, that of both arms by their rows where it is not the same."""
        if len(of.precision) == 1:
            return np.asarray(of.unit**2 / of.precision[0])
        inside = total = 0.0
        for rows, weight, _ in self.rows():
            second = of.arm(rows)
            inside += 0.0 if second is None else float(weight @ second)
            total += float(weight.sum())
        share = inside / total
        return np.asarray(of.unit**2 * ((1.0 - share) / of.precision[0] + share / of.precision[1]))

    def _residuals(self, of: Regressed) -> FloatArray:
        """Return the mean square of what predictions miss, from some of the rows if they are many."""
        family = of.family
        assert family is not None
        step = max(1, round(self.table.count * len(of.coefficients) / _VALUES))
        sums, total = np.zeros(len(of.coefficients)), 0.0
        for rows, weight, _ in self.rows():
            kept = np.arange(rows.count) % step == 0
            few = RowValues(rows.values, of.fold(rows.values)).taken(kept)
            eta = np.column_stack([np.ones(few.count), of.columns.of(few)]) @ of.coefficients.T
            if family.offset is not None:
                eta += few.values[family.offset][:, None]
            gap = few.values[of.child][:, None] - (of.center + of.unit * family.mean(eta, of.apart))
            sums += weight[kept] @ gap**2
            total += float(weight[kept].sum())
        return np.asarray(sums / total)

    def owners(self, parts: Sequence[tuple[Regressed, IntArray]]) -> dict[str, IntArray]:
        """Return the places of each covariate's columns; a column of many covariates is of none."""
        category = {column: name for name, columns in self._data.categories.items() for column in columns}
        found: dict[str, list[int]] = {}
        made = [of.columns.made[i] for of, places in parts for i in places]
        for place, column in enumerate(made):
            names = {category.get(name, name) for name in column.variables} - {self.question.treatment}
            for name in names if len(names) <= _OWN else ():
                found.setdefault(name, []).append(place)
        return {name: np.array(places) for name, places in found.items()}


def _design(parts: Sequence[tuple[Regressed, IntArray]], rows: RowValues) -> FloatArray:
    """Return a one and the columns of some rows, shape (rows, k + 1)."""
    found = [np.ones((rows.count, 1))]
    for of, places in parts:
        columns = Columns(
            tuple(of.columns.made[i] for i in places), of.columns.center[places], of.columns.scale[places]
        )
        found.append(
            columns.of(RowValues(rows.values, of.fold(rows.values))) if len(columns) else np.empty((rows.count, 0))
        )
    return np.concatenate(found, axis=1)


def represented(
    joint: Joint, question: Question, total: TotalEffect, table: RowTable, chosen: BoolArray | None
) -> RepresentedModel:
    """Return draws of an effect in one model, with how far a hidden cause could move each.

    Parameters
    ----------
    joint
        The draws.
    question, total
        What is asked, and the way in this model.
    table, chosen
        The rows, and those that the effect is averaged over; None: all.
    """
    reached = total.span.reached
    own = tuple(of for of in joint.regressed if of.child in reached)
    size = len(joint.effect)
    if not own:
        none = np.zeros(size)
        empty = ShortMoments(np.eye(2), np.zeros(1), 1.0)
        return RepresentedModel(
            question.outcome, (), none, none, none, 1.0, empty, np.zeros((size, 0), dtype=bool), _NO_OWNERS
        )
    short = ShortRegression(question, total, own, table, chosen)
    parts, present = short.made()
    moments = short.moments(parts)
    return RepresentedModel(
        question.outcome, reached, joint.effect, short.left(moments, present), moments.norms(present),
        _absent(joint, question, total), moments, present, short.owners(parts),
    )  # fmt: skip


_NO_OWNERS: Mapping[str, IntArray] = {}


def _absent(joint: Joint, question: Question, total: TotalEffect) -> float:
    """Return the probability of no path: exact where the outcome's is the only regression, else of the draws."""
    if len(total.span.reached) == 1:
        there = edge_probability(total.model, (question.treatment, question.outcome))
        if not np.isnan(there):
            return 1.0 - there
    return float(np.mean(joint.effect == 0.0))
