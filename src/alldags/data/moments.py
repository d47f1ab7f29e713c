"""`Moments`: all that a linear-Gaussian model needs of a table, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alldags.data.columns import choose_names, refuse_names
from alldags.errors import DataError, did_you_mean
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Row count, means and centred cross-products of named columns.

    Two parts of the data are merged with ``+``, in any order and grouping; streaming, distributed and federated use
    are this one operator.

    Parameters
    ----------
    n
        Number of rows.
    mean
        Shape (m,), in the units of the columns.
    scatter
        Centred cross-products ``sum (x - mean)(x - mean)'``, shape (m, m).
    names
        Column names, m of them.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> part = ad.Moments.from_table(np.array([[0.0, 1.0], [2.0, 5.0]]), names=["x", "y"])
    >>> whole = part + part
    >>> whole.n, whole.mean.tolist()
    (4, [1.0, 3.0])
    """

    n: float
    mean: FloatArray
    scatter: FloatArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        m = len(self.names)
        if self.mean.shape != (m,) or self.scatter.shape != (m, m):
            raise DataError(
                f"{m} names need a mean of shape ({m},) and a scatter of shape ({m}, {m}), got {self.mean.shape} and "
                f"{self.scatter.shape}"
            )

    @classmethod
    def from_table(
        cls,
        table: Any,
        columns: Iterable[str] | None = None,
        *,
        names: Sequence[str] | None = None,
        drop_missing: bool = False,
        n_jobs: int = 1,
    ) -> Moments:
        """Compute the moments of a table.

        Parameters
        ----------
        table
            Any eager frame that narwhals knows (pandas, polars, pyarrow, ...), a mapping from names to 1-d arrays, a
            two-dimensional array with `names`, or the path of a file that `read_table` reads.
        columns
            Names of the columns to use; all by default.
        names
            Column names of an array.
        drop_missing
            Leave out the rows in which a used column is missing. Without it missing values are an error.
        n_jobs
            Threads over which the rows are split, -1 for one per processor; the result does not depend on it.
        """
        from alldags.data.source import open_source

        return open_source(table, names).moments(columns, drop_missing=drop_missing, n_jobs=n_jobs)

    @classmethod
    def from_covariance(
        cls, covariance: Any, n: int, mean: Sequence[float] | None = None, names: Sequence[str] | None = None
    ) -> Moments:
        """Build moments from a published covariance (or correlation) matrix.

        Parameters
        ----------
        covariance
            Shape (m, m), with divisor ``n - 1``; a labelled frame brings its own names.
        n
            Number of rows the matrix was computed from.
        mean
            Shape (m,); zeros if not given.
        names
            Needed if `covariance` has no labels.
        """
        from alldags.data.covariance import covariance_moments

        return covariance_moments(covariance, n, mean, names)

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.names != other.names:
            raise DataError(f"cannot merge moments of different columns: {self.names} and {other.names}")
        return merge(self, other)

    def __radd__(self, other: object) -> Moments:
        return self if other == 0 else NotImplemented  # so that sum() works

    def select(self, names: Sequence[str]) -> Moments:
        """Return the moments of these columns, in this order."""
        position = {name: i for i, name in enumerate(self.names)}
        for name in names:
            if name not in position:
                raise DataError(f"column {name!r} is not in the data{did_you_mean(name, self.names)}")
        rows = [position[name] for name in names]
        return Moments(self.n, self.mean[rows], self.scatter[np.ix_(rows, rows)], tuple(names))


class MomentsSource:
    """Moments as a source: nothing is left to compute, columns are only selected."""

    def __init__(self, table: Moments, names: Sequence[str] | None = None) -> None:
        refuse_names(names)
        self._moments = table
        self.columns = table.names

    @staticmethod
    def takes(table: object) -> bool:
        """Are these moments?"""
        return isinstance(table, Moments)

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,  # noqa: ARG002  - rows were dropped, or not, when the moments were made
        n_jobs: int = 1,  # noqa: ARG002
    ) -> Moments:
        return self._moments.select(choose_names(self.columns, variables))


def merge(a: Moments, b: Moments) -> Moments:
    """Merge two parts of the data (Chan, Golub and LeVeque's update)."""
    n = a.n + b.n
    if n == 0:
        return a
    gap = b.mean - a.mean
    mean = a.mean + gap * (b.n / n)
    scatter = a.scatter + b.scatter + np.outer(gap, gap) * (a.n * b.n / n)
    return Moments(n, mean, scatter, a.names)
