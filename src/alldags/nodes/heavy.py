"""Children with heavy tails: Student's t noise, whose log-likelihood is matched by that of weighted normal rows.

The noise of a row is ``e = z / sqrt(s w)`` with z standard normal and a weight ``w ~ Gamma(df/2, df/2)`` of its own, so
that s is the noise precision of a row of weight one. With the weights integrated out, ``u = s e^2`` and
``phi = log s``, a row has the log-likelihood ``l = constant + phi/2 - (df + 1)/2 log(1 + u/df)`` and::

    dl/d eta = s w e,   w = (df + 1)/(df + u)          -d2l/d eta2 = s (df + 1)(df - u)/(df + u)^2
    dl/d phi = (1 - w u)/2                             -d2l/d phi2 = (df + 1) df u / (2 (df + u)^2)

The log-likelihood of N normal rows, ``N/2 phi - s/2 (C - 2 b'z + z'Gz)``, can have the same gradient and curvature in
z and in phi at one point: that fixes G, b, N and C. With the intercept integrated out this *is* the regression of a
normal child with unknown noise, for every engine, slab and edge prior; as df grows it becomes the normal node itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from alldags import checks
from alldags.data.batches import RowTable
from alldags.errors import DataError
from alldags.nodes.quadratic import Batch, WithoutIntercept
from alldags.typing import FloatArray

LIGHT = 0.25  # a row of less weight hardly counts
_LEAST_CURVATURE = 0.3  # of that expected: rows far out curve the other way, and must not turn the sum around
_LEAST_LEFT = 0.3  # of the sum of squares at the point that the best coefficients must leave
_NEWTON_STEPS = 50


@dataclass(frozen=True, slots=True)
class Student:
    """A number whose noise has heavy tails: Student's t instead of a normal distribution.

    The regression stays a straight line, and effects stay sums of products along paths; rows far from it count less.

    Parameters
    ----------
    df
        Degrees of freedom, above 2. Few make tails heavy; above about 30 the noise is all but normal.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Student()
    Student(df=4.0)
    """

    name: ClassVar[str] = "student"

    df: float = 4.0

    def __post_init__(self) -> None:
        checks.above("Student df", self.df, 2, DataError)

    @property
    def offset(self) -> None:
        """There is none."""
        return None

    @property
    def variance(self) -> float:
        """Variance of the noise of precision one."""
        return self.df / (self.df - 2.0)

    @property
    def constant(self) -> float:
        """What the log-density of a row has apart from its residual and the precision."""
        half = 0.5 * self.df
        return math.lgamma(half + 0.5) - math.lgamma(half) - 0.5 * math.log(self.df * math.pi)

    def weight(self, square: FloatArray) -> FloatArray:
        """Return the mean weight of rows with these squared residuals in units of 1/s, any shape."""
        return np.asarray((self.df + 1.0) / (self.df + square))

    def check(self, child: str, batches: Iterable[FloatArray]) -> None:
        """Refuse a child of which so many values are the same that the noise would vanish."""
        values = np.concatenate(list(batches))
        _, counts = np.unique(values, return_counts=True)
        share = float(counts.max()) / len(values)
        if share >= self.df / (self.df + 1.0):
            raise DataError(
                f"{child!r} has the same value in {100 * share:.0f}% of the rows, which is no noise with heavy tails; "
                "leave it out of families=, or ask whether it is that value (0/1)"
            )


@dataclass(frozen=True, eq=False)
class HeavyRows:
    """Rows of a child with heavy tails; child and terms in working units about their means.

    Parameters
    ----------
    child, family
        Name, and how heavy the tails are.
    table
        The rows.
    center, scale
        Mean, in the user's units, and user's units per working unit of every variable.
    """

    child: str
    family: Student
    table: RowTable
    center: dict[str, float]
    scale: dict[str, float]

    def batches(self, terms: Sequence[str]) -> Iterator[Batch]:
        """Yield the rows of the child and of some terms."""
        names = [*terms, self.child]
        center = np.array([self.center[name] for name in names])
        scale = np.array([self.scale[name] for name in names])
        for block in self.table.batches(names):
            values = (block - center) / scale
            yield Batch(values[:, :-1], np.ascontiguousarray(values[:, -1]))


def residuals(batches: Sequence[Batch], at: FloatArray) -> list[FloatArray]:
    """Return the child less its line in each batch, shape (rows,) each; `at` is intercept and coefficients."""
    return [batch.child - (batch.terms @ at[1:] + at[0]) for batch in batches]


def best_precision(family: Student, left: Sequence[FloatArray], start: float) -> float:
    """Return the precision under which the residuals are most probable; the log-likelihood is concave in its log."""
    square = np.concatenate([each**2 for each in left])
    phi = math.log(start)
    for _ in range(_NEWTON_STEPS):
        u = square * math.exp(phi)
        total = family.df + u
        slope = 0.5 * float((1.0 - (family.df + 1.0) * u / total).sum())
        curvature = 0.5 * (family.df + 1.0) * family.df * float((u / total**2).sum())
        step = min(max(slope / max(curvature, 1e-300), -2.0), 2.0)
        phi += step
        if abs(step) < 1e-9:
            break
    return math.exp(phi)


@dataclass(frozen=True, eq=False)
class MatchedStatistics(WithoutIntercept):
    """The normal log-likelihood ``N/2 log(s/2 pi) - s/2 (C - 2 b'z + z'Gz)`` that matches that of heavy tails.

    Parameters
    ----------
    at, precision
        The point: intercept and coefficients (k + 1,), and s.
    information, gradient
        G, shape (k + 1, k + 1), and the gradient at the point in units of s, shape (k + 1,).
    count
        N, the number of normal rows that say as much about s.
    slope
        Derivative of the log-likelihood by log s.
    rows, light
        Number of rows, and of those of little weight.
    weights
        Least and largest weight of a row.
    """

    at: FloatArray
    precision: float
    information: FloatArray
    gradient: FloatArray
    count: float
    slope: float
    rows: float
    light: int
    weights: tuple[float, float]

    # -- the intercept integrated out --------------------------------------------------------------------------------

    @property
    def n(self) -> float:
        """Number of normal rows, less one."""
        return self.count - 1.0

    @cached_property
    def total(self) -> float:
        """Sum of squares of the child."""
        there = (self.count - 2.0 * self.slope) / self.precision
        constant = there + 2.0 * self.shift @ self.at - self.at @ self.information @ self.at
        return float(constant - self.shift[0] ** 2 / self.information[0, 0])

    def log_integral(self, coefficients: FloatArray, precision: FloatArray) -> FloatArray:
        """Return the log-likelihood that an engine sees, at coefficients (draws, k) and precisions (draws,)."""
        quadratic = np.einsum("di,ij,dj->d", coefficients, self.gram, coefficients, optimize=True)
        left = self.total - 2.0 * coefficients @ self.cross + quadratic
        return np.asarray(0.5 * self.n * np.log(precision / (2.0 * math.pi)) - 0.5 * precision * left)


def matched(
    family: Student, batches: Sequence[Batch], at: FloatArray, precision: float, flatter: float = 1.0
) -> MatchedStatistics:
    """Return the normal log-likelihood that matches that of heavy tails at one point.

    Parameters
    ----------
    family
        How heavy the tails are.
    batches
        The rows, k terms each.
    at
        Intercept and coefficients, shape (k + 1,).
    precision
        Where to start looking for the s that suits them best.
    flatter
        Factor of the information, below 1 so that draws reach as far as the posterior does.
    """
    left = residuals(batches, at)
    s = best_precision(family, left, precision)
    df, size = family.df, len(at)
    observed, expected, gradient = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
    count, slope, rows, light = 0.0, 0.0, 0, 0
    least, largest = math.inf, 0.0
    for batch, e in zip(batches, left, strict=True):
        u = s * e**2
        weight = family.weight(u)
        observed += _gram(batch, weight * (df - u) / (df + u))
        expected += _gram(batch, None)
        gradient += _sums(batch, weight * e)
        count += float((weight * df * u / (df + u)).sum())
        slope += 0.5 * float((1.0 - weight * u).sum())
        rows, light = rows + len(e), light + int((weight < LIGHT).sum())
        least, largest = min(least, float(weight.min())), max(largest, float(weight.max()))
    information = flatter * _curved_enough(observed, (df + 1.0) / (df + 3.0) * expected)
    gradient = _leaving(information, flatter * gradient, flatter * count / s)
    return MatchedStatistics(
        at, s, information, gradient, flatter * count, flatter * slope, float(rows), light, (least, largest)
    )


def _gram(batch: Batch, weight: FloatArray | None) -> FloatArray:
    """Return the sum of ``w z z'`` with a one before the terms, shape (k + 1, k + 1)."""
    scaled = batch.terms if weight is None else batch.terms * weight[:, None]
    k = batch.terms.shape[1]
    found = np.empty((k + 1, k + 1))
    found[0, 0] = len(batch.child) if weight is None else weight.sum()
    found[0, 1:] = found[1:, 0] = scaled.sum(axis=0)
    found[1:, 1:] = scaled.T @ batch.terms
    return found


def _sums(batch: Batch, values: FloatArray) -> FloatArray:
    return np.concatenate([[values.sum()], batch.terms.T @ values])


def _curved_enough(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the observed information, mixed with the expected one where some direction has too little of it."""
    scale = np.sqrt(np.diag(expected))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(expected / np.outer(scale, scale))
    kept = values > 1e-9 * values[-1]
    root = (vectors[:, kept] / np.sqrt(values[kept])) / scale[:, None]
    lowest = float(np.linalg.eigvalsh(root.T @ observed @ root)[0])
    if lowest >= _LEAST_CURVATURE:
        return observed
    share = min((_LEAST_CURVATURE - lowest) / (1.0 - lowest), 1.0)
    return np.asarray((1.0 - share) * observed + share * expected)


def _leaving(information: FloatArray, gradient: FloatArray, there: float) -> FloatArray:
    """Return the gradient, shortened where the best coefficients would leave next to no sum of squares."""
    taken = float(gradient @ np.linalg.lstsq(information, gradient, rcond=1e-12)[0])
    most = (1.0 - _LEAST_LEFT) * there
    return gradient if taken <= most else gradient * math.sqrt(most / taken)
