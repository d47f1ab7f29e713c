"""`Effect.by("column")`: the effect in each group of rows, and how groups differ."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from alldags.answers.choose import rows_at_hand
from alldags.answers.over import as_given
from alldags.answers.question import Question
from alldags.answers.rows_given import OtherRows, RowWeights
from alldags.errors import AlldagsError, did_you_mean
from alldags.show.table import Table
from alldags.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_DRAWS = 1000  # of each group's effect, the same in all where rows are pushed
_MOST_VALUES = 8  # of a column of numbers that are groups; more are cut at their quartiles
_MOST_GROUPS = 30


def effect_by_column(effect: Effect, column: str, level: float) -> Table:
    """Return the effect in each group of rows, then the difference of every two groups."""
    groups = groups_of(effect.posterior, effect.answer.question, column)
    found = {words: _asked(effect, mask) for words, mask in groups.items()}
    size = min(one.answer.size for one in found.values())
    draws = {words: one.draws(size) for words, one in found.items()}
    means = {words: one.mean for words, one in found.items()}
    rows = [(words, means[words], values) for words, values in draws.items()]
    for one, other in itertools.combinations(draws, 2):
        rows.append((f"{other} less {one}", means[other] - means[one], draws[other] - draws[one]))
    ends = np.array([np.quantile(values, [(1 - level) / 2, (1 + level) / 2]) for _, _, values in rows])
    return Table(
        {
            column: [words for words, _, _ in rows],
            "mean": [mean for _, mean, _ in rows],
            "sd": [float(values.std(ddof=1)) for _, _, values in rows],
            "low": ends[:, 0].tolist(),
            "high": ends[:, 1].tolist(),
        }
    )


def _asked(effect: Effect, mask: BoolArray) -> Effect:
    """Return the same effect over the rows of one group."""
    question = effect.answer.question
    asked = replace(question, over=over_group(question.over, mask), named="")
    return type(effect)(effect.posterior, asked, most_draws=_DRAWS)


def over_group(over: Any, mask: BoolArray) -> Any:
    """Return the rows of one group, of all that are asked about."""
    if isinstance(over, OtherRows):
        return OtherRows(over.source, mask.astype(float) if over.weight is None else mask * over.weight)
    return RowWeights(mask * over.values) if isinstance(over, RowWeights) else mask


def groups_of(posterior: Posterior, question: Question, column: str) -> dict[str, BoolArray]:
    """Return the rows of each group, shape (rows,) each, by how the group is called."""
    values, chosen = _values(posterior, question, column), _chosen(posterior, question)
    inside = values if chosen is None else values[chosen]
    masks = {words: mask if chosen is None else mask & chosen for words, mask in _cut(column, values, inside).items()}
    return {words: mask for words, mask in masks.items() if mask.any()}


def _chosen(posterior: Posterior, question: Question) -> BoolArray | None:
    if isinstance(question.over, OtherRows):
        return None
    return question.chosen(rows_at_hand(posterior.workings))


def _values(posterior: Posterior, question: Question, column: str) -> AnyArray:
    """Return a column of the rows asked about, of the graph or beside it, shape (rows,)."""
    workings, over = posterior.workings, question.over
    if isinstance(over, OtherRows):
        if column not in over.source.columns:
            raise _unknown(column, over.source.columns)
        return over.source.labels(column)(0, over.count)
    table = rows_at_hand(workings)
    if column in posterior.variables:
        return as_given(column, table, workings.data)
    source = None if workings.table is None else workings.table.source()
    if source is None or column not in source.columns:
        raise _unknown(column, posterior.variables if source is None else source.columns)
    values = source.labels(column)(0, 2**62)
    if len(values) != table.count:
        raise AlldagsError(
            f"column {column!r} is not in the graph, and rows with missing values were left out: it is not known which "
            "of its rows these are; add it to the graph, or leave them out of the table"
        )
    return values


def _unknown(column: str, names: tuple[str, ...]) -> AlldagsError:
    return AlldagsError(f"there is no column {column!r} to group by{did_you_mean(column, names)}")


def _cut(column: str, values: AnyArray, inside: AnyArray) -> dict[str, BoolArray]:
    """Return groups of equal words or numbers, or between quartiles of many numbers."""
    if values.dtype.kind in "biuf":
        kinds = np.unique(inside[~np.isnan(inside.astype(float))])
        if len(kinds) > _MOST_VALUES:
            return _quartiles(values.astype(float), inside.astype(float))
        return {f"{kind:g}" if values.dtype.kind != "b" else str(kind): values == kind for kind in kinds.tolist()}
    words = np.array([str(value) for value in values.tolist()])
    groups = sorted({str(value) for value in inside.tolist()})
    if len(groups) > _MOST_GROUPS:
        raise AlldagsError(
            f"column {column!r} has {len(groups)} different values, more than {_MOST_GROUPS} groups; join some of them"
        )
    return {group: words == group for group in groups}


def _quartiles(values: FloatArray, inside: FloatArray) -> dict[str, BoolArray]:
    ends = np.unique(np.quantile(inside, [0.0, 0.25, 0.5, 0.75, 1.0]))
    found = {}
    for i, (low, high) in enumerate(itertools.pairwise(ends.tolist())):
        last = i == len(ends) - 2
        found[f"{low:.4g} to {high:.4g}"] = (values >= low) & ((values <= high) if last else (values < high))
    return found
