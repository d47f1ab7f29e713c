"""`PairProblem`: the numbers that two regressions with correlated errors need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaln

from alldags.kernels.pairs import LEARNED_DIRECT, LEARNED_FIRST, LEARNED_SECOND, WIDE
from alldags.pairs.correlation import Correlation
from alldags.typing import BoolArray, FloatArray, IntArray

WIDE_SLAB = math.exp(3.0)
SECOND_SLABS = np.exp([-7.0, -4.5, -2.0, 0.5])
DIRECT_SLABS = np.exp([-7.0, -5.0, -3.0, -1.0])
_MOST_FIRST = 0.8  # logarithm of the largest slab of the first regression
_STEP = 1.7  # between logarithms of slabs


@dataclass(frozen=True, eq=False)
class AloneRows:
    """Rows that explain one of the two variables alone, because the other was set from outside in them.

    Parameters
    ----------
    scatter
        As in `PairProblem`, about means and after flat columns of these rows.
    n
        Rows, less those that the intercept and flat columns take.
    slopes
        Regressions of all columns on the flat ones in these rows, per unit of `PairProblem.scale`, shape (f, 2 + k).
    """

    scatter: FloatArray
    n: float
    slopes: FloatArray


@dataclass(frozen=True, eq=False)
class PairProblem:
    """Two variables with correlated errors, the first of which may act on the second, not the other way round.

    Parameters
    ----------
    names
        Columns: the two variables, then k others.
    scatter
        Cross-products after flat columns were taken out of all, each column with mean square one, shape (2 + k, 2 + k).
    scale
        Working units of each column's unit, shape (2 + k,).
    n
        Rows, less those that the intercept and flat columns take.
    first
        Columns in the regression of the first variable beside flat ones, as places in `names`.
    second
        The same of the second variable; those in doubt come last.
    doubtful
        Probability that each of those in doubt is there, shape (m,).
    counted
        Which of those have an unknown probability in common, with Beta(1, 1) as its prior, shape (m,).
    direct
        Whether the first variable is among those in doubt: then the last of them, and of `second`.
    correlation
        Prior of the correlation, given that there is one.
    hidden
        Probability that there is one.
    flat
        Columns that both regressions have without a prior.
    flat_gram
        Their cross-products in working units, shape (f, f).
    flat_slopes
        Regressions of all columns on them, per unit of `scale`, shape (f, 2 + k).
    alone
        Rows that explain the first variable alone, and the second alone; None where there are none. Their intercepts
        and flat coefficients are their own.
    """

    names: tuple[str, ...]
    scatter: FloatArray
    scale: FloatArray
    n: float
    first: IntArray
    second: IntArray
    doubtful: FloatArray
    counted: BoolArray
    direct: bool
    correlation: Correlation
    hidden: float
    flat: tuple[str, ...] = ()
    flat_gram: FloatArray | None = None
    flat_slopes: FloatArray | None = None
    alone: tuple[AloneRows | None, AloneRows | None] = (None, None)

    @cached_property
    def single(self) -> FloatArray:
        """Cross-products of the rows that explain one variable alone, shape (2, 2 + k, 2 + k)."""
        return np.array([np.zeros_like(self.scatter) if one is None else one.scatter for one in self.alone])

    @cached_property
    def counts(self) -> FloatArray:
        """Rows that explain both variables, the first alone, and the second alone, shape (3,)."""
        return np.array([self.n, *(0.0 if one is None else one.n for one in self.alone)])

    @property
    def half(self) -> float:
        """Half the number of rows of the stacked regression."""
        return float(self.counts @ [1.0, 0.5, 0.5])

    @property
    def variables(self) -> tuple[str, str]:
        """The two variables."""
        return self.names[0], self.names[1]

    @property
    def m(self) -> int:
        """Number of doubtful terms."""
        return len(self.doubtful)

    @property
    def size(self) -> int:
        """Number of terms of the stacked regression."""
        return len(self.first) + len(self.second)

    @property
    def certain(self) -> int:
        """How many of them are always there."""
        return self.size - self.m

    @cached_property
    def kinds(self) -> IntArray:
        """Slab of each term, shape (size,)."""
        sure = len(self.second) - self.m
        doubtful = [LEARNED_SECOND] * self.m
        if self.direct:
            doubtful[-1] = LEARNED_DIRECT
        return np.array([LEARNED_FIRST] * len(self.first) + [WIDE] * sure + doubtful, dtype=np.int64)

    @cached_property
    def log_odds(self) -> FloatArray:
        """Log prior odds of the doubtful terms, 0 for those that are counted, shape (m,)."""
        p = np.where(self.counted, 0.5, self.doubtful)
        return np.asarray(np.log(p) - np.log1p(-p))

    @cached_property
    def log_size(self) -> FloatArray:
        """Log prior of each set by how many counted terms it has, less `log_odds`, shape (counted + 1,)."""
        counted = int(self.counted.sum())
        c = np.arange(counted + 1.0)
        rest = float(np.log1p(-self.doubtful[~self.counted]).sum())
        return np.asarray(betaln(1.0 + c, 1.0 + counted - c) + rest)

    @cached_property
    def first_slabs(self) -> FloatArray:
        """Variances that the first regression's slab may have."""
        return first_slabs(self.n, len(self.first))

    @property
    def second_slabs(self) -> FloatArray:
        """The same of doubtful terms of the second."""
        return SECOND_SLABS if self.m > self.direct else SECOND_SLABS[:1]

    @property
    def direct_slabs(self) -> FloatArray:
        """The same of the asked edge, if it is in doubt."""
        return DIRECT_SLABS if self.direct else DIRECT_SLABS[:1]

    @cached_property
    def log_ratio(self) -> float:
        """About where the logarithm of the ratio of noise scales is."""
        both = np.union1d(self.second, self.first)
        return 0.5 * math.log(self._left(1, np.union1d(both, [0])) / self._left(0, self.first))

    def _left(self, place: int, others: IntArray) -> float:
        """Return the mean square that other columns leave of one."""
        others = others[others != place]
        explained = 0.0
        if len(others):
            cross = self.scatter[others, place]
            explained = float(cross @ np.linalg.lstsq(self.scatter[np.ix_(others, others)], cross, rcond=None)[0])
        return max(float(self.scatter[place, place]) - explained, 1e-12) / max(self.n - len(others), 1.0)


def first_slabs(n: float, k: int) -> FloatArray:
    """Return variances of k coefficients, from next to nothing in all of them together: ``n k variance = 0.1``."""
    if not k:
        return np.ones(1)
    low = -math.log(10.0 * n * k)
    return np.exp(np.linspace(low, _MOST_FIRST, max(2, round((_MOST_FIRST - low) / _STEP) + 1)))
