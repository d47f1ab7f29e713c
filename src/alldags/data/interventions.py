"""Experiments: which variables were set from outside in which rows.

A row in which a variable was set says nothing about what acts on it otherwise: it is left out of that variable's own
regression, and used in every other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from alldags.data.columns import Column, Reader
from alldags.data.labels import is_nothing, label_reader
from alldags.data.look import look_at_values
from alldags.data.rows import Keys, RowGroups
from alldags.data.source import Source
from alldags.errors import DataError, did_you_mean
from alldags.notes import Note
from alldags.typing import BoolArray
from alldags.wording import either, option

_NOTHING: frozenset[str] = frozenset()


def target_keys(source: Source, given: Any, rows: int, variables: Sequence[str]) -> Keys:
    """Return what was set in each row, as sets of names.

    Parameters
    ----------
    source
        The table.
    given
        A column (its name, or one value per row) that names the variable set in each row, several joined by ``+``; or
        a mapping from variables to the rows in which they were set: a column of truth values (its name, or one value
        per row), or row numbers.
    rows
        Number of rows of the table.
    variables
        Names that are known.
    """
    if isinstance(given, Mapping):
        masks = {_known(name, variables): _mask(source, where, rows, name) for name, where in given.items()}
        return partial(_from_masks, masks)
    return partial(_from_names, label_reader(source, given, rows, "interventions"), _Names(variables))


def interventions_note(rows: RowGroups) -> tuple[Note, ...]:
    """Say in how many rows which variable was set."""
    if not rows.targets:
        return (
            Note(f"{option('interventions')} names no variable in any row: all rows are taken as observed", "check"),
        )
    listed = ", ".join(f"{name!r} ({rows.set_in(name):,.0f})" for name in sorted(rows.targets))
    text = "rows in which a variable was set from outside were left out of its own regression"
    return (Note(f"{text}: {listed} of {rows.rows:,.0f} rows"),)


# -- a column of names -----------------------------------------------------------------------------------------------


class _Names:
    """Turns labels into sets of names, each label once."""

    def __init__(self, variables: Sequence[str]) -> None:
        self._variables = tuple(variables)
        self._known: dict[Hashable, frozenset[str]] = {name: frozenset({name}) for name in variables}

    def __call__(self, label: Any) -> frozenset[str]:
        if is_nothing(label) and label not in self._known:
            return _NOTHING
        if label not in self._known:
            self._known[label] = self._parse(label)
        return self._known[label]

    def _parse(self, label: object) -> frozenset[str]:
        if not isinstance(label, str):
            other = either("; for columns of truth values write interventions={'variable': 'column'}", "")
            raise DataError(f"{option('interventions')} must name the variable set in each row, got {label!r}{other}")
        return frozenset(name.strip() for name in label.split("+"))

    def check(self, found: set[frozenset[str]]) -> None:
        """Raise if something else than a known variable was set."""
        unknown = sorted(frozenset().union(*found) - set(self._variables))
        if unknown:
            names, are = ", ".join(map(repr, unknown)), "is" if len(unknown) == 1 else "are"
            raise DataError(
                f"{option('interventions')} names {names}, which {are} not in the "
                f"graph{did_you_mean(unknown[0], self._variables)}; rename, or leave what is not a variable empty"
            )


def _from_names(labels: Reader, names: _Names, start: int, stop: int) -> list[frozenset[str]]:
    found = [names(label) for label in labels(start, stop).tolist()]
    names.check(set(found))
    return found


# -- a mapping from variables to rows --------------------------------------------------------------------------------


def _known(name: Any, variables: Sequence[str]) -> str:
    if name not in variables:
        raise DataError(
            f"{option('interventions')} names {name!r}, which is not in the graph{did_you_mean(str(name), variables)}"
        )
    return str(name)


def _mask(source: Source, where: Any, rows: int, name: str) -> Callable[[int, int], BoolArray]:
    """Return, of a range of rows, those in which a variable was set."""
    if isinstance(where, str):
        return partial(_truth_of_column, label_reader(source, where, rows, "interventions"), where)
    values = np.asarray(where)
    if values.dtype == np.bool_:
        if values.shape != (rows,):
            raise DataError(
                f"interventions[{name!r}] needs one truth value for each of the {rows} rows, got {values.shape}"
            )
        return partial(_slice, values)
    mask = np.zeros(rows, dtype=bool)
    mask[_row_numbers(values, rows, name)] = True
    return partial(_slice, mask)


def _row_numbers(values: Column, rows: int, name: str) -> Column:
    what = f"interventions[{name!r}]"
    if values.size == 0:
        return values.astype(np.int64)
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise DataError(
            f"{what} must be a column's name, one truth value per row, or row numbers from 0; got {values!r}"
        )
    if len(values) == rows > 2 and look_at_values(values).is_yes_no:
        raise DataError(f"{what} may be row numbers or zeros and ones: make truth values of it, with .astype(bool)")
    if values.min() < 0 or values.max() >= rows:
        raise DataError(f"{what}: row numbers go from 0 to {rows - 1}, got {values.min()} to {values.max()}")
    return values


def _slice(mask: BoolArray, start: int, stop: int) -> BoolArray:
    return mask[start:stop]


def _truth_of_column(labels: Reader, column: str, start: int, stop: int) -> BoolArray:
    return np.array([_truth(label, column) for label in labels(start, stop).tolist()], dtype=bool)


def _truth(label: Any, column: str) -> bool:
    if is_nothing(label):
        return False
    if isinstance(label, str) and label.lower() in ("true", "false"):
        return label.lower() == "true"
    if isinstance(label, str) or label not in (0, 1):
        raise DataError(f"interventions: column {column!r} must hold truth values (0/1, true/false), got {label!r}")
    return bool(label)


def _from_masks(masks: Mapping[str, Callable[[int, int], BoolArray]], start: int, stop: int) -> list[frozenset[str]]:
    where = {name: mask(start, stop) for name, mask in masks.items()}
    found: dict[tuple[bool, ...], frozenset[str]] = {}
    rows = zip(*(part.tolist() for part in where.values()), strict=True) if where else [()] * (stop - start)
    sets = []
    for row in rows:
        if row not in found:
            found[row] = frozenset(name for name, is_set in zip(where, row, strict=True) if is_set)
        sets.append(found[row])
    return sets
