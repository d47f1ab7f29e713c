"""A category as the treatment: a change from one level to another is a number, and before two are named there is none.

A change moves all columns of the category by known numbers. To the nodes that the category acts on it is one number
(`alldags.nodes.toward`), so that all that is computed of a line is computed of a change of levels, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alldags.answers.question import Question, Target
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.nodes.data import WorkingData
from alldags.typing import FloatArray
from alldags.wording import either

_OPEN = frozenset(
    {
        "paths", "mediation", "direct", "standardized", "log odds", "levels", "modifiers", "structures", "sensitivity",
        "plots.rows",
    }
)  # fmt: skip


def is_category(data: WorkingData, question: Question) -> bool:
    """Tell whether the treatment of a question is a category."""
    return question.treatment in data.categories


def is_open(data: WorkingData, question: Question) -> bool:
    """Tell whether a question is about a category of which no two levels were named."""
    return is_category(data, question) and question.comparison.values is None


def along(models: Mixture[FittedGraph], question: Question) -> Mixture[FittedGraph]:
    """Return the models in which the treatment, where it is a category, is the change that is asked about."""
    data = models.items[0].data
    if not is_category(data, question) or question.comparison.values is None:
        return models
    return models.map(lambda model: model.toward(question.treatment, change_of(model.data, question)))


def change_of(data: WorkingData, question: Question) -> FloatArray:
    """Return by how much the change that is asked about moves the columns of a category, in working units."""
    assert question.comparison.values is not None
    low, high = (data.level_columns(question.treatment, value) for value in question.comparison.values)
    return data.move(question.treatment, high - low)


def from_rows(
    totals: Mixture[TotalEffect], question: Question, level: float, target: Target | None
) -> Mixture[TotalEffect]:
    """Return the effect of changing the treatment of every row to one level: a change from the rows' mean columns."""
    name = question.treatment

    def one(total: TotalEffect) -> TotalEffect:
        data = total.model.data
        change = data.level_columns(name, level) - _mean_columns(total.model, name, target)
        return TotalEffect(total.model.toward(name, data.move(name, change)), total.span)

    return totals.map(one)


def row_means(model: FittedGraph, columns: Sequence[str]) -> FloatArray:
    """Return the means of some columns over all rows, in the user's units, shape (columns,)."""
    data = model.data
    if not model.prior.intercept and data.seen is not None:  # working data do not hold them then
        return np.asarray(data.seen.moments.mean[[data.seen.moments.index[name] for name in columns]])
    places = [data.pooled.index[name] for name in columns]
    return np.asarray(data.pooled.mean[places] * data.scale[places])


def _mean_columns(model: FittedGraph, category: str, target: Target | None) -> FloatArray:
    """Return the mean of each column of a category over the rows asked about, shape (columns,)."""
    columns = model.data.categories[category]
    if target is None:
        return row_means(model, columns)
    return target.means(columns)


@dataclass(frozen=True, eq=False)
class OpenAnswer:
    """What is said of a category before two of its levels are named: whatever is asked, that they must be.

    Parameters
    ----------
    question
        What is asked.
    words
        The levels.
    """

    question: Question
    words: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why there is no answer."""
        first, last = self.words[0], self.words[-1]
        two = either(f"contrast({first!r}, {last!r})", f"--contrast '{first}:{last}'")
        return (
            f"the treatment {self.question.treatment!r} is a category with {len(self.words)} levels, which has no "
            f"unit to be raised by: name two of them, {two}, or ask for all pairs, {either('contrasts()', '--json')}"
        )

    @property
    def lacks(self) -> Mapping[str, str]:
        """All but what holds for every pair of levels."""
        return dict.fromkeys(_OPEN, self.reason)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AlldagsError(self.reason)
