"""Missing values: completed tables drawn from an unstructured normal distribution of all columns.

The posterior given what was seen is the average, over the missing values, of the posterior given a completed table.
The distribution they are drawn from contains every linear model, so that no graph has to be trusted for it. A candidate
graph would be a poor choice: one made of tiers leaves out what the variables of a tier have to do with each other.

Drawn in turn (Schafer 1997, data augmentation): the covariance matrix given a completed table, inverse Wishart; the
mean; and the missing values of each row given the others. Rows with the same holes share one factorisation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alldags.data.columns import Columns
from alldags.errors import DataError
from alldags.typing import BoolArray, FloatArray, IntArray

_FEW_ROWS = 4  # rows per column below which the covariance matrix needs a prior of its own
_JITTER = 1e-9  # of a column's variance: lets columns be copies of each other
_LEAST_BETWEEN = 5  # sweeps between two completed tables, at least
_FORGOTTEN = 0.05  # what is left of the start, and of the table before, in the column with most holes


class _Pattern(NamedTuple):
    """Rows with the same holes."""

    rows: IntArray
    holes: IntArray
    seen: IntArray


@dataclass(frozen=True, eq=False)
class Holes:
    """A table with missing values.

    Parameters
    ----------
    names
        Of the columns, m of them.
    values
        Shape (n, m); NaN where missing. Rows without any value are not among them.
    empty
        Number of rows that had no value at all and were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.missing import Holes
    >>> holes = Holes(("x", "y"), np.array([[0.0, 1.0], [1.0, 2.1], [2.0, np.nan], [3.0, 3.9], [4.0, 5.2]]))
    >>> next(holes.completed(1, np.random.default_rng(0))).shape
    (5, 2)
    """

    names: tuple[str, ...]
    values: FloatArray
    empty: int = 0

    @cached_property
    def missing(self) -> BoolArray:
        """Where values are missing, shape (n, m)."""
        return np.isnan(self.values)

    @property
    def counts(self) -> dict[str, int]:
        """Number of missing values of each column that has some."""
        found = dict(zip(self.names, self.missing.sum(axis=0).tolist(), strict=True))
        return {name: count for name, count in found.items() if count}

    def completed(self, count: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield completed copies of the table, shape (n, m) each."""
        center, spread = np.nanmean(self.values, axis=0), self._spread()
        table = (np.where(self.missing, center, self.values) - center) / spread
        patterns = self._patterns()
        between = sweeps_between(float(self.missing.mean(axis=0).max()))
        for sweep in range((4 + count) * between):
            _fill(table, patterns, rng)
            if sweep >= 4 * between and (sweep + 1) % between == 0:
                yield np.where(self.missing, center + spread * table, self.values)

    def _spread(self) -> FloatArray:
        spread = np.nanstd(self.values, axis=0)
        return np.where(spread > 0, spread, 1.0)

    def _patterns(self) -> list[_Pattern]:
        """Return the rows with holes, by which columns are missing."""
        kinds, which = np.unique(self.missing, axis=0, return_inverse=True)
        rows = (np.flatnonzero(which.ravel() == i) for i in range(len(kinds)))
        found = zip(rows, kinds, strict=True)
        return [_Pattern(place, np.flatnonzero(kind), np.flatnonzero(~kind)) for place, kind in found if kind.any()]


def read_holes(columns: Columns, looked_at: int | None = None) -> tuple[Holes, BoolArray]:
    """Read a table into memory, and leave out rows in which nothing was observed; also return which are kept, (rows,).

    Parameters
    ----------
    columns
        Of numbers.
    looked_at
        Number of the first columns in which something must have been observed; all by default.
    """
    table = np.array([np.asarray(column, dtype=np.float64) for column in columns.read(0, columns.rows)]).T
    seen = ~np.isnan(table[:, :looked_at])
    for name, count in zip(columns.names, seen.sum(axis=0), strict=False):
        if count < 2:
            raise DataError(f"column {name!r} has {count} values that are not missing; imputation needs at least 2")
    bad = [name for name, column in zip(columns.names, table.T, strict=True) if np.isinf(column).any()]
    if bad:
        raise DataError(f"infinite values in {', '.join(map(repr, bad))}; replace them, or make them missing")
    some = seen.any(axis=1)
    return Holes(columns.names, np.ascontiguousarray(table[some]), int((~some).sum())), some


def sweeps_between(share: float) -> int:
    """Return the number of sweeps after which a table has forgotten the one before, about.

    A sweep forgets all but the fraction of missing information, which is about the share of missing values.

    Examples
    --------
    >>> from alldags.data.missing import sweeps_between
    >>> sweeps_between(0.2), sweeps_between(0.9)
    (5, 29)
    """
    slow = math.ceil(math.log(_FORGOTTEN) / math.log(share)) if 0 < share < 1 else 1
    return max(_LEAST_BETWEEN, slow)


# -- one sweep ---------------------------------------------------------------------------------------------------------


def _fill(table: FloatArray, patterns: list[_Pattern], rng: np.random.Generator) -> None:
    """Draw mean and precision matrix given the table, and then its missing values, in place."""
    n, m = table.shape
    mean = table.mean(axis=0)
    factor = _precision_factor(table - mean, rng)
    precision = factor @ factor.T
    # mu ~ N(mean, Sigma / n), with Sigma the inverse of factor factor'
    mu = mean + np.linalg.solve(factor.T, rng.standard_normal(m)) / math.sqrt(n)
    for rows, holes, seen in patterns:
        lower = np.linalg.cholesky(precision[np.ix_(holes, holes)])
        pull = precision[np.ix_(holes, seen)] @ (table[np.ix_(rows, seen)] - mu[seen]).T
        noise = rng.standard_normal((len(holes), len(rows)))
        # u | seen ~ N(mu - Q_uu^-1 Q_us (seen - mu), Q_uu^-1)
        drawn = np.linalg.solve(lower.T, noise - np.linalg.solve(lower, pull))
        table[np.ix_(rows, holes)] = (mu[holes, None] + drawn).T


def _precision_factor(centred: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a factor F of the precision matrix F F' ~ Wishart(dof, S^-1), S the cross-products, shape (m, m)."""
    n, m = centred.shape
    scatter = centred.T @ centred
    variance = np.diag(scatter) / n
    dof = n - 1.0
    scatter[np.diag_indices(m)] += _JITTER * n * np.maximum(variance, 1e-12)
    if n < _FEW_ROWS * m:  # a prior worth m + 2 rows, in which columns are independent
        scatter[np.diag_indices(m)] += variance
        dof += m + 2.0
    root = np.linalg.cholesky(scatter)
    bartlett = np.tril(rng.standard_normal((m, m)), -1)
    bartlett[np.diag_indices(m)] = np.sqrt(rng.chisquare(dof - np.arange(m)))
    return np.linalg.solve(root.T, bartlett)
