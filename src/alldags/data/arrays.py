"""Arrays, and mappings from names to arrays, as sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from alldags.data.accumulate import checked_moments
from alldags.data.bad_values import Tally, tally_columns
from alldags.data.columns import (
    Column,
    Columns,
    Reader,
    array_reader,
    check_names,
    choose_names,
    columns_of,
    not_numbers,
    refuse_names,
    unboxed,
)
from alldags.data.record import MomentsRecord
from alldags.errors import DataError


class ArraySource:
    """An array of shape (rows, columns), whose column names the user gives."""

    notes: tuple[str, ...] = ()

    def __init__(self, table: Column, names: Sequence[str] | None = None) -> None:
        self._array = table
        self.columns = _names_of(table, names)

    @staticmethod
    def takes(table: object) -> bool:
        """Is this an array?"""
        return isinstance(table, np.ndarray)

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,
        n_jobs: int = 1,
        progress: bool = False,  # noqa: ARG002  - what is in memory is soon added up
    ) -> MomentsRecord:
        return checked_moments(self.numbers(variables), drop_missing=drop_missing, n_jobs=n_jobs)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._array)

    def tally(self, variables: Iterable[str]) -> Tally:
        return tally_columns(self.numbers(variables))

    def labels(self, name: str) -> Reader:
        (chosen,) = choose_names(self.columns, [name])
        return array_reader(self._array[:, self.columns.index(chosen)])

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        chosen = choose_names(self.columns, variables)
        position = {name: j for j, name in enumerate(self.columns)}
        return columns_of({name: _plain(self._array[:, position[name]], name) for name in chosen}, len(self._array))


class MappingSource:
    """A mapping from names to columns of the same length."""

    notes: tuple[str, ...] = ()

    def __init__(self, table: Mapping[Any, Any], names: Sequence[str] | None = None) -> None:
        refuse_names(names)
        self._table = table
        self.columns = check_names(table)

    @staticmethod
    def takes(table: object) -> bool:
        """Is this a mapping?"""
        return isinstance(table, Mapping)

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,
        n_jobs: int = 1,
        progress: bool = False,  # noqa: ARG002  - what is in memory is soon added up
    ) -> MomentsRecord:
        return checked_moments(self.numbers(variables), drop_missing=drop_missing, n_jobs=n_jobs)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(np.asanyarray(self._table[self.columns[0]])) if self.columns else 0

    def tally(self, variables: Iterable[str]) -> Tally:
        return tally_columns(self.numbers(variables))

    def labels(self, name: str) -> Reader:
        (chosen,) = choose_names(self.columns, [name])
        return array_reader(np.asanyarray(self._table[chosen]))

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        chosen = choose_names(self.columns, variables)
        arrays = {name: _plain(np.asanyarray(self._table[name]), name) for name in chosen}
        return columns_of(arrays, _common_length(arrays))


def _names_of(array: Column, names: Sequence[str] | None) -> tuple[str, ...]:
    if array.ndim != 2:
        fix = "; use array.reshape(-1, 1) for a single column" if array.ndim == 1 else ""
        raise DataError(f"an array must have two dimensions, rows and columns, got shape {array.shape}{fix}")
    if names is None:
        raise DataError(f"an array has no column names: give {array.shape[1]} of them with names=[...]")
    checked = check_names(names)
    if len(checked) != array.shape[1]:
        raise DataError(f"{len(checked)} names were given for an array with {array.shape[1]} columns")
    return checked


def _common_length(arrays: Mapping[str, Column]) -> int:
    for name, array in arrays.items():
        if array.ndim != 1:
            raise DataError(f"column {name!r} must have one dimension, got shape {array.shape}")
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"columns must have the same number of rows, got {lengths}")
    return next(iter(lengths.values()))


def _plain(array: Column, name: str) -> Column:
    """Return a numeric array without a mask, or raise."""
    if array.dtype.kind == "O":
        return unboxed(array, name)
    if array.dtype.kind not in "biuf":
        raise not_numbers(name, array.dtype)
    if isinstance(array, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(array), np.nan, array.data)
    return array
