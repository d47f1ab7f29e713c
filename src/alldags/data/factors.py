"""`Factors`: columns whose levels have intercepts of their own in every regression (fixed effects)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alldags.data.accumulate import PART_ROWS
from alldags.data.columns import Reader, check_names
from alldags.data.labels import is_nothing, label_reader
from alldags.data.source import Source
from alldags.errors import DataError
from alldags.typing import IntArray
from alldags.wording import either, option

_MOST = 2


@dataclass(frozen=True, eq=False)
class Factors:
    """Levels of each row, of one or two factors.

    Parameters
    ----------
    names
        Of the columns.
    labels
        The levels of each as they are in the table, in the order in which they appear.
    codes
        Number of each row's level, -1 where it has none, shape (rows, factors).
    """

    names: tuple[str, ...]
    labels: tuple[tuple[Hashable, ...], ...]
    codes: IntArray

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of levels of each."""
        return tuple(map(len, self.labels))

    @property
    def missing(self) -> IntArray:
        """Number of rows without a level, by factor."""
        return np.asarray((self.codes < 0).sum(axis=0))


def factor_names(given: Any) -> tuple[str, ...]:
    """Return the names of the columns that were given as fixed effects: one, or a list of at most two."""
    if not isinstance(given, str | Sequence):
        raise DataError(f"fixed_effects must be a list of names of columns, got {given!r}")
    names = check_names([given] if isinstance(given, str) else given)
    if len(names) > _MOST:
        raise DataError(
            f"{in_words(names)} has {len(names)} columns, and at most two can be taken out: how "
            "many degrees of freedom more of them take is not known; join two into one column, or leave one out"
        )
    return names


def in_words(names: Sequence[str]) -> str:
    """Return fixed effects as they were asked for."""
    return either(f"fixed_effects={list(names)}", f"--fixed-effects {','.join(names)}")


def check_apart(names: Sequence[str], variables: Sequence[str]) -> None:
    """Refuse a column that is a variable of the graph, too."""
    both = next((name for name in names if name in variables), None)
    if both is not None:
        raise DataError(
            f"{option('fixed_effects', both)} is a variable of the graph, too: its levels have intercepts of their "
            "own in every regression, so that nothing is left of it to act; leave it out of the graph"
        )


def read_factors(source: Source, names: Sequence[str], rows: int, drop_missing: bool) -> Factors:
    """Read the levels of all rows.

    Parameters
    ----------
    source
        The table.
    names
        Of the columns.
    rows
        Number of rows of the table.
    drop_missing
        Whether rows without a level may be left out.
    """
    found = [_coded(label_reader(source, name, rows, "fixed_effects"), rows) for name in names]
    factors = Factors(tuple(names), tuple(labels for labels, _ in found), np.column_stack([code for _, code in found]))
    if factors.missing.any() and not drop_missing:
        place = int(np.argmax(factors.missing > 0))
        raise DataError(
            f"fixed_effects: {factors.missing[place]:,} rows have no {names[place]!r}; give them a level of their own, "
            f"or drop them with {option('missing', 'drop')}"
        )
    return factors


def _coded(labels: Reader, rows: int) -> tuple[tuple[Hashable, ...], IntArray]:
    """Return the levels of one factor, and the number of each row's."""
    known: dict[Hashable, int] = {}
    codes = np.empty(rows, dtype=np.int64)
    for start in range(0, rows, PART_ROWS):
        part = labels(start, min(rows, start + PART_ROWS)).tolist()
        codes[start : start + len(part)] = [
            known[label] if label in known else -1 if is_nothing(label) else known.setdefault(label, len(known))
            for label in part
        ]
    return tuple(known), codes
