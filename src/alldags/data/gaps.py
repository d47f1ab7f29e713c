"""`Gaps`: a table with missing values and what is said of its rows; and the completed copies that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from alldags.data.accumulate import checked_moments, column_profile
from alldags.data.batches import Marks, RowTable
from alldags.data.columns import Column, array_reader, columns_of
from alldags.data.levels import Levels
from alldags.data.missing import Holes
from alldags.data.rows import Keys, RowGroup, RowGroups, read_groups
from alldags.data.source import Source, open_source
from alldags.typing import BoolArray, FloatArray

_PREFIX = "\0"  # no column of a table begins with it


@dataclass(frozen=True, eq=False)
class Gaps:
    """A table with missing values.

    Parameters
    ----------
    holes
        Its columns of numbers, those of categories among them; n rows.
    variables
        The graph's columns.
    auxiliary
        Columns outside the graph that help to impute.
    levels
        Of columns of words.
    marks
        Which of `said` is what.
    said
        What is said of the rows, shape (n,) each.
    """

    holes: Holes
    variables: tuple[str, ...]
    auxiliary: tuple[str, ...] = ()
    levels: Mapping[str, Levels] = field(default_factory=dict)
    marks: Marks = field(default_factory=Marks)
    said: Mapping[str, FloatArray] = field(default_factory=dict)

    def column(self, name: str) -> FloatArray:
        """Return one column, shape (n,); NaN where missing."""
        return self.holes.values[:, self.holes.names.index(name)]

    def gaps_in(self, columns: Iterable[str]) -> int:
        """Return the number of rows without the value that some columns stand for."""
        return int(np.isnan(self.column(next(iter(columns)))).sum())

    def was_set(self, name: str) -> BoolArray | None:
        """Return in which rows a variable was set, shape (n,); None for none."""
        mark = self.marks.was_set.get(name)
        return None if mark is None else np.asarray(self.said[mark] == 1.0)


class Completed(NamedTuple):
    """Completed copies of a table.

    Parameters
    ----------
    tables
        Shape (n, m) each, columns as in `Holes`.
    unseen
        Variables that act on nothing: rows in which one is missing are left out of its own regression, and of no other.
    keeps_rows
        Whether rows of each copy are needed, not only their moments.
    words
        What the values were drawn from.
    """

    tables: Iterable[FloatArray]
    unseen: frozenset[str] = frozenset()
    keeps_rows: bool = False
    words: str = "from a normal distribution of all columns used"


class Completer(Protocol):
    """What draws missing values."""

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that are needed beside variables and auxiliary ones, as they are."""

    def leaves_out(self, names: Collection[str]) -> bool:
        """Tell whether rows in which one of these is missing are left out of its own regression, and of no other."""

    def __call__(self, gaps: Gaps, count: int, rng: np.random.Generator) -> Completed:
        """Return completed copies."""


@dataclass(frozen=True, eq=False)
class Copy:
    """One completed copy of a table: where it can be read, and its rows with what is said of them."""

    source: Source
    marked: Callable[[Source, Sequence[str]], RowTable]


def copy_of(gaps: Gaps, table: FloatArray, unseen: Collection[str]) -> Copy:
    """Return a completed table as one that can be opened."""
    holed, values = gaps.holes.missing.sum(axis=0), gaps.holes.values  # copies share the columns without gaps
    places = list(enumerate(gaps.holes.names))
    arrays = {name: table[:, place].copy() if holed[place] else values[:, place] for place, name in places}
    arrays |= {one.name: level_codes(one, arrays) for one in gaps.levels.values() if one.is_category}
    said = {**gaps.said, **{_mark(name): np.isnan(gaps.column(name)).astype(float) for name in sorted(unseen)}}
    marks = replace(gaps.marks, unseen={name: _mark(name) for name in sorted(unseen)})
    return Copy(open_source(arrays), partial(_marked, arrays, said, marks))


def level_codes(levels: Levels, columns: Mapping[str, FloatArray]) -> FloatArray:
    """Return the codes of a category's levels, shape (rows,), of its columns; NaN where missing."""
    own = np.column_stack([columns[name] for name in levels.columns])
    codes = np.full(len(own), np.nan)
    for code, row in enumerate(levels.values):
        codes[(own == row).all(axis=1)] = code
    return codes


def _mark(name: str) -> str:
    return f"{_PREFIX}unseen {name}"


def _marked(
    arrays: Mapping[str, FloatArray],
    said: Mapping[str, FloatArray],
    marks: Marks,
    source: Source,
    names: Sequence[str],
) -> RowTable:
    del source
    columns = {**{name: arrays[name] for name in names}, **said}
    return RowTable(columns_of(columns, len(next(iter(columns.values())))), marks)


def grouped_copy(gaps: Gaps, table: FloatArray, unseen: Collection[str], n_jobs: int) -> RowGroups:
    """Return the moments of a completed table, by what is said of its rows."""
    arrays = {name: table[:, gaps.holes.names.index(name)] for name in gaps.variables}
    columns = columns_of(arrays, len(table))
    if not gaps.said and not unseen:
        moments = checked_moments(columns, drop_missing=False, n_jobs=n_jobs)
        return RowGroups((RowGroup(moments, rows=moments.n, squares=moments.n),))
    said, marks = gaps.said, gaps.marks
    targets = {name: said[mark] == 1.0 for name, mark in marks.was_set.items()}
    missed = {name: np.isnan(gaps.column(name)) for name in sorted(unseen)}
    groups = read_groups(
        columns,
        _sets(targets) if targets else None,
        None if marks.cluster is None else partial(_codes, said[marks.cluster]),
        None if marks.weight is None else array_reader(said[marks.weight]),
        unseen=_sets(missed) if missed else None,
        n_jobs=n_jobs,
    )
    return RowGroups(groups, marks.effective, column_profile(columns))


def _sets(masks: Mapping[str, BoolArray]) -> Keys:
    """Return, for each row, the names whose mask is true."""
    stacked = np.array(list(masks.values()))
    kinds, which = np.unique(stacked, axis=1, return_inverse=True)
    known = [frozenset(name for name, there in zip(masks, kind, strict=True) if there) for kind in kinds.T]
    return partial(_picked, known, which.ravel())


def _picked(known: Sequence[Hashable], which: Column, start: int, stop: int) -> list[Hashable]:
    return [known[i] for i in which[start:stop].tolist()]


def _codes(codes: FloatArray, start: int, stop: int) -> list[Hashable]:
    return [int(code) for code in codes[start:stop]]


@dataclass(frozen=True)
class NormalCompleter:
    """Draws from an unstructured normal distribution of all columns: right where everything is straight and normal."""

    beside: tuple[str, ...] = ()

    def leaves_out(self, names: Collection[str]) -> bool:
        del names
        return False

    def __call__(self, gaps: Gaps, count: int, rng: np.random.Generator) -> Completed:
        return Completed(gaps.holes.completed(count, rng))
