"""`Moments`: all that a linear-Gaussian model needs of a table, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from alldags.data.covariance import covariance_moments
from alldags.data.record import MomentsRecord
from alldags.data.source import open_source


@dataclass(frozen=True, eq=False)
class Moments(MomentsRecord):
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
    profile
        Extremes of the columns, where rows were seen: behind notes about likely mistakes in the data.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> part = ad.Moments.from_table(np.array([[0.0, 1.0], [2.0, 5.0]]), names=["x", "y"])
    >>> whole = part + part
    >>> whole.n, whole.mean.tolist()
    (4, [1.0, 3.0])
    """

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
        found = open_source(table, names).moments(columns, drop_missing=drop_missing, n_jobs=n_jobs)
        return cls(found.n, found.mean, found.scatter, found.names, profile=found.profile)

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
        found = covariance_moments(covariance, n, mean, names)
        return cls(found.n, found.mean, found.scatter, found.names)
