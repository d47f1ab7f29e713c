"""`MomentsRecord`: row count, means and cross-products, as every source of data hands them over.

`alldags.Moments` is this record with the ways to make one; sources know the record only, so that imports go one way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, TypeVar

import numpy as np

from alldags.data.bad_values import Tally, no_tally
from alldags.data.columns import Columns, Reader, choose_names, refuse_names
from alldags.data.profile import Profile
from alldags.errors import DataError, did_you_mean
from alldags.typing import FloatArray

Record = TypeVar("Record", bound="MomentsRecord")


@dataclass(frozen=True, eq=False)
class MomentsRecord:
    """Row count, means and centred cross-products of named columns; for the meaning of each see `alldags.Moments`.

    `taken` is the degrees of freedom that centring took: 1, or those of fixed effects, inside whose levels the
    cross-products then are. `parts` are marks of what was added up; empty for a single part.
    """

    n: float
    mean: FloatArray
    scatter: FloatArray
    names: tuple[str, ...]
    profile: Profile | None = field(default=None, kw_only=True, repr=False)
    taken: int = field(default=1, kw_only=True, repr=False)
    parts: frozenset[str] = field(default=frozenset(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        m = len(self.names)
        if self.mean.shape != (m,) or self.scatter.shape != (m, m):
            raise DataError(
                f"{m} names need a mean of shape ({m},) and a scatter of shape ({m}, {m}), got {self.mean.shape} and "
                f"{self.scatter.shape}"
            )

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each column."""
        return {name: i for i, name in enumerate(self.names)}

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, MomentsRecord):
            return NotImplemented
        if set(self.names) != set(other.names):
            raise DataError(f"cannot merge moments of different columns: {self.names} and {other.names}")
        return merge(self, other if self.names == other.names else other.select(self.names))

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() works

    def select(self, names: Sequence[str]) -> Self:
        """Return the moments of these columns, in this order."""
        for name in names:
            if name not in self.index:
                raise DataError(f"column {name!r} is not in the data{did_you_mean(name, self.names)}")
        rows = [self.index[name] for name in names]
        profile = None if self.profile is None else self.profile.select(rows)
        scatter = self.scatter[np.ix_(rows, rows)]
        return type(self)(self.n, self.mean[rows], scatter, tuple(names), profile=profile, taken=self.taken)


class MomentsSource:
    """Moments as a source: nothing is left to compute, columns are only selected."""

    notes: tuple[str, ...] = ()

    def __init__(self, table: MomentsRecord, names: Sequence[str] | None = None) -> None:
        refuse_names(names)
        self._moments = table
        self.columns = table.names

    @staticmethod
    def takes(table: object) -> bool:
        """Are these moments?"""
        return isinstance(table, MomentsRecord)

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,  # noqa: ARG002  - rows were dropped, or not, when the moments were made
        n_jobs: int = 1,  # noqa: ARG002
        progress: bool = False,  # noqa: ARG002
    ) -> MomentsRecord:
        return self._moments.select(choose_names(self.columns, variables))

    def tally(self, variables: Iterable[str]) -> Tally:
        return no_tally(round(self._moments.n), len(choose_names(self.columns, variables)))

    def labels(self, name: str) -> Reader:
        raise _no_rows(f"the column {name!r}")

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        raise _no_rows("all of " + ", ".join(map(repr, choose_names(self.columns, variables))))


def _no_rows(wanted: str) -> DataError:
    return DataError(f"Moments hold no rows, but {wanted} has to be read row by row; give the table itself")


def merge(a: Record, b: Record) -> Record:
    """Merge two parts of the data (Chan, Golub and LeVeque's update)."""
    n = a.n + b.n
    if n == 0:
        return a
    gap = b.mean - a.mean
    mean = a.mean + gap * (b.n / n)
    scatter = a.scatter + b.scatter + np.outer(gap, gap) * (a.n * b.n / n)
    profile = None if a.profile is None or b.profile is None else a.profile + b.profile
    return type(a)(n, mean, scatter, a.names, profile=profile)


def moved(moments: Record, shift: FloatArray) -> Record:
    """Return the moments of the same rows with means counted from a point `shift`, shape (m,), further down.

    The profile, in the user's units all along, stays.
    """
    return type(moments)(moments.n, shift + moments.mean, moments.scatter, moments.names, profile=moments.profile)
