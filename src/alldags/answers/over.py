"""`over=`: over which rows outcomes are averaged, whatever a user gives for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from alldags.answers.comparison import OVER
from alldags.answers.query import rows_where
from alldags.answers.rows_given import OtherRows, RowWeights
from alldags.data.batches import RowTable
from alldags.errors import AlldagsError, DataError
from alldags.nodes.data import WorkingData
from alldags.typing import BoolArray

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def over_rows(over: Any) -> Any:
    """Return what was asked for as the package computes with it: a word, a mask, a condition, weights or other rows.

    Examples
    --------
    >>> from alldags.answers.over import over_rows
    >>> over_rows("treated"), over_rows([True, False]).tolist(), over_rows([0.5, 2.0]).values.tolist()
    ('treated', [True, False], [0.5, 2.0])
    >>> type(over_rows({"age": [30.0, 50.0]})).__name__
    'OtherRows'
    """
    if isinstance(over, str | RowWeights | OtherRows):
        return over
    column = None if isinstance(over, Mapping) else _column(over)
    if column is None:
        return _other(over)
    if column.dtype == bool:
        return column
    weights = np.asarray(column, dtype=float)
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise AlldagsError("over= has weights of rows that are negative, not finite or all zero; give one above 0")
    return RowWeights(weights)


def _other(over: Any) -> OtherRows:
    try:
        return OtherRows.of(over)
    except (DataError, TypeError) as error:
        raise AlldagsError(
            "over must be 'sample', 'population', 'treated', 'untreated', a condition, one truth value or one weight "
            f"per row, or a table, got {over!r}"
        ) from error


def _column(over: Any) -> AnyArray | None:
    """Return a column of truth values or numbers; None if it is a table."""
    if not hasattr(over, "__len__") or hasattr(over, "columns"):
        return None
    found = np.asarray(over)
    return found if found.ndim == 1 and found.dtype.kind in "biuf" else None


def is_word(over: Any) -> bool:
    """Tell whether rows are named by one of four words."""
    return isinstance(over, str) and over in OVER


def query_mask(query: str, table: RowTable, data: WorkingData) -> BoolArray:
    """Return which rows of a table a condition holds for, shape (rows,)."""
    within = {column for columns in data.categories.values() for column in columns}
    names = tuple(dict.fromkeys((*(name for name in table.columns.names if name not in within), *data.categories)))
    mask = rows_where(query, names, lambda name: as_given(name, table, data))
    if not mask.any():
        raise AlldagsError(f"over={query!r} holds for no row at all")
    return mask


def as_given(name: str, table: RowTable, data: WorkingData) -> AnyArray:
    """Return a variable as it is in the user's table: words where it has words, shape (rows,)."""
    if name in data.categories:
        levels = data.levels[name]
        columns = np.column_stack([table.column(column) for column in levels.columns])
        gaps = np.abs(columns[:, None, :] - np.asarray(levels.values)[None]).sum(axis=2)
        return np.asarray(np.asarray(levels.words)[gaps.argmin(axis=1)])
    values, words = table.column(name), data.look(name).words if name in data.pooled.index else None
    return values if not words or words == ("False", "True") else np.asarray(np.asarray(words)[values.astype(np.int64)])
