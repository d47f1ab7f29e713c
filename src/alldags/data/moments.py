"""`Moments`: all that a linear-Gaussian model needs of a table, in one pass."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, get_args
from warnings import warn

from alldags import checks
from alldags.data.columns import refuse_names
from alldags.data.covariance import covariance_moments
from alldags.data.pushdown import pushed_down
from alldags.data.record import MomentsRecord
from alldags.data.source import open_source
from alldags.data.storage import load_moments, mark_of, save_moments
from alldags.errors import AlldagsWarning, DataError

Gaps: TypeAlias = Literal["raise", "drop"]


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
    parts
        Marks of the parts that were added up, so that one that comes twice is noticed; empty for a single one.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> here = ad.Moments.from_table(np.array([[0.0, 1.0], [2.0, 5.0]]), names=["x", "y"])
    >>> there = ad.Moments.from_table(np.array([[1.0, 4.0], [3.0, 2.0]]), names=["x", "y"])
    >>> whole = here + there
    >>> whole.n, whole.mean.tolist()
    (4, [1.5, 3.0])
    """

    def __add__(self, other: Self) -> Self:
        found = super().__add__(other)
        if not isinstance(other, Moments):
            return found
        mine, theirs = (one.parts or frozenset({mark_of(one)}) for one in (self, other))
        if mine & theirs:
            warn(
                f"the same part of the data was added twice ({self.n:,.0f} and {other.n:,.0f} rows): its rows now "
                "count twice, and intervals are too narrow; add each part once",
                AlldagsWarning,
                stacklevel=2,
            )
        return replace(found, parts=mine | theirs)

    @classmethod
    def from_table(
        cls,
        table: Any,
        columns: Iterable[str] | None = None,
        *,
        names: Sequence[str] | None = None,
        missing: Gaps = "raise",
        n_jobs: int = 1,
    ) -> Moments:
        """Compute the moments of a table.

        Parameters
        ----------
        table
            A frame (pandas, polars, pyarrow, ...), a mapping from names to 1-d arrays, a two-dimensional array with
            `names`; a polars lazy frame, a DuckDB relation or anything else with Arrow batches; or the path of a file
            that `read_table` reads, a pattern such as ``"part-*.parquet"``, or a folder.
        columns
            Names of the columns to use; all by default.
        names
            Column names of an array.
        missing
            ``"drop"`` leaves out the rows in which a used column is missing; ``"raise"`` makes them an error.
        n_jobs
            Threads over which the rows are split, -1 for one per processor; the result does not depend on it.
        """
        found = open_source(table, names).moments(columns, drop_missing=_drops(missing), n_jobs=n_jobs)
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to a file that others can add to theirs: rows stay where they are.

        Parameters
        ----------
        path
            Ends in ``.json`` (numbers that people can read) or ``.npz`` (smaller). The file appears complete or not at
            all.

        Examples
        --------
        >>> import alldags as ad, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> ad.Moments.from_table({"x": [0.0, 2.0], "y": [1.0, 5.0]}).save(folder / "here.json")
        >>> ad.Moments.from_table({"x": [4.0, 6.0], "y": [2.0, 3.0]}).save(folder / "there.json")
        >>> whole = ad.Moments.load(folder / "here.json") + ad.Moments.load(folder / "there.json")
        >>> whole.n, whole.mean.tolist()
        (4, [3.0, 2.75])
        """
        save_moments(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moments:
        """Read moments that `save` wrote; nothing in the file is run, and all of it is checked."""
        found = load_moments(path)
        return cls(found.n, found.mean, found.scatter, found.names, parts=found.parts)


def read_moments(
    table: Any,
    columns: Iterable[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    missing: Gaps = "raise",
    n_jobs: int = -1,
    progress: bool = True,
    push_down: bool = False,
) -> Moments:
    r"""Read a table of any size once, and keep its moments: all that fitting straight lines needs of it.

    Parameters
    ----------
    table, columns, names, missing
        As for `Moments.from_table`. Files, lazy frames and queries are read a part at a time, in constant memory.
    n_jobs
        Threads; by default one per processor. The result does not depend on it.
    progress
        Show a progress bar on a terminal when reading takes long.
    push_down
        For a table behind a query engine (DuckDB, Ibis, SQLFrame) whose rows must not leave it: let the engine add up
        the products, so that only aggregates leave. Slower than reading the rows: its cost grows with the square of the
        number of columns.

    Examples
    --------
    >>> import alldags as ad, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "part-1.csv").write_text("dose,score\n1,2.5\n2,4.5\n")
    >>> _ = (folder / "part-2.csv").write_text("dose,score\n3,5\n")
    >>> moments = ad.read_moments(folder / "part-*.csv")
    >>> moments.n, moments.mean.tolist()
    (3, [2.0, 4.0])
    """
    if checks.flag("push_down", push_down):
        refuse_names(names)
        found = pushed_down(table, columns, drop_missing=_drops(missing))
    else:
        source = open_source(table, names)
        found = source.moments(columns, drop_missing=_drops(missing), n_jobs=n_jobs, progress=progress)
    return Moments(found.n, found.mean, found.scatter, found.names)


def _drops(missing: Gaps) -> bool:
    """Tell whether rows with missing values are left out."""
    return checks.one_of("missing", missing, get_args(Gaps), DataError) == "drop"
