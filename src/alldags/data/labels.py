"""Labels of rows: what is said of each row in a column of the table, or in a list of the same length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alldags.data.columns import Column, Reader, array_reader
from alldags.data.source import Source
from alldags.errors import DataError, did_you_mean

_NOTHING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"})


def is_nothing(label: object) -> bool:
    """Whether a label is missing: None, NaN, nothing, or one of the words files have for it."""
    if isinstance(label, str):
        return label.strip() in _NOTHING
    try:
        return label is None or bool(label != label)  # noqa: PLR0124  - NaN alone is not itself
    except TypeError:  # pandas' NA does not say
        return True


def label_reader(source: Source, given: Any, rows: int, keyword: str) -> Reader:
    """Return a reader of labels: `given` is the name of a column, or holds one label per row."""
    if isinstance(given, str):
        if given not in source.columns:
            raise DataError(f"{keyword}={given!r} is not a column of the data{did_you_mean(given, source.columns)}")
        return source.labels(given)
    return array_reader(listed(given, rows, keyword))


def listed(given: Any, rows: int, keyword: str) -> Column:
    """Return labels that were given as a list or an array, shape (rows,)."""
    if not isinstance(given, Sequence | np.ndarray) and not hasattr(given, "__array__"):
        raise DataError(f"{keyword} must be the name of a column or have one value per row, got {given!r}")
    values = np.asarray(given) if hasattr(given, "__array__") else _objects(given)
    if values.shape != (rows,):
        raise DataError(f"{keyword} needs one value for each of the {rows} rows, got shape {values.shape}")
    return values


def _objects(given: Sequence[Any]) -> Column:
    values = np.empty(len(given), dtype=object)
    values[:] = list(given)
    return values


def used_columns(*given: Any) -> tuple[str, ...]:
    """Return the names of columns among what was given for rows."""
    names: list[str] = []
    for item in given:
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, Mapping):
            names += [value for value in item.values() if isinstance(value, str)]
    return tuple(names)
