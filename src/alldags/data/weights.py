"""Weights of rows: how many rows each stands for, or how likely it was to be sampled."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from alldags.data.columns import Column, Reader, array_reader
from alldags.data.labels import label_reader, listed
from alldags.data.rows import RowGroups
from alldags.data.source import Source
from alldags.errors import DataError
from alldags.notes import Note
from alldags.wording import option

WeightKind: TypeAlias = Literal["frequency", "sampling"]
WEIGHT_KINDS: tuple[str, ...] = get_args(WeightKind)


def weight_reader(source: Source, given: Any, rows: int, kind: str) -> Reader:
    """Return a reader of checked weights: `given` is the name of a column, or holds one number per row."""
    if isinstance(given, str):
        label_reader(source, given, rows, "weights")  # an unknown name is named with its keyword
        (column,) = source.numbers([given]).readers
    else:
        column = array_reader(listed(given, rows, "weights"))
    return partial(_checked, column, kind)


def _checked(column: Reader, kind: str, start: int, stop: int) -> Column:
    try:
        values = np.asarray(column(start, stop), dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("weights must be numbers") from None
    _refuse(~np.isfinite(values), values, start, "weights must be finite numbers; leave out rows without a weight")
    _refuse(values < 0, values, start, "weights must not be negative")
    if kind == "frequency":
        words = (
            "weights say how many equal rows a row stands for, so they must be whole numbers; for weights of a sample "
            f"(one over the probability of being sampled) use {option('weight_kind', 'sampling')}"
        )
        _refuse(values != np.round(values), values, start, words)
    return values


def _refuse(bad: Any, values: Column, start: int, words: str) -> None:
    if bad.any():
        first = int(np.argmax(bad))
        raise DataError(f"{words}; row {start + first} has {values[first]:g}")


def weights_note(rows: RowGroups) -> tuple[Note, ...]:
    """Say how many rows the weighted rows count as."""
    whole = rows.without()
    counted = 0.0 if whole is None else whole.n
    if not rows.effective:
        return (Note(f"weights: {rows.rows:,.0f} rows stand for {counted:,.0f}"),)
    text = (
        f"sampling weights: {rows.rows:,.0f} rows count as {counted:,.1f} equally weighted ones (effective number); "
        "intervals assume that weights have nothing to do with the size of the errors"
    )
    return (Note(text),)
