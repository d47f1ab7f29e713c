"""`Quadratic`: the log-likelihood of a child's rows as a quadratic in intercept and coefficients.

For every family it is written as that of N normal rows with noise of precision s::

    l(z, s) ~ N/2 log(s / 2 pi) - s/2 (C - 2 b'z + z'Gz),      z = (intercept, coefficients)

A family without noise of its own has ``s = 1`` and ``N = 0``, and C is minus twice the constant of the expansion. With
the flat intercept integrated out this *is* the regression of a normal child, which every engine takes as it is. Sums
over rows add up over parts of the data as long as all parts were expanded at one point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.errors import AlldagsError
from alldags.typing import FloatArray

_LEAST_LEFT = 0.3  # of the sum of squares at the point that the best coefficients must leave


@dataclass(frozen=True, slots=True)
class MatchedNoise:
    """Noise of unknown size, at a point: its precision s, the number of rows N that say as much about it, and slope.

    The slope is the derivative of the log-likelihood by log s.
    """

    precision: float
    count: float
    slope: float

    def times(self, factor: float) -> MatchedNoise:
        """Return it with `factor` times the information."""
        return MatchedNoise(self.precision, factor * self.count, factor * self.slope)


@dataclass(frozen=True, eq=False)
class Beside:
    """Numbers u that a family has beside its predictor, given intercept and coefficients z.

    They are normal about a line in z, which is what the quadratic was integrated over.

    Parameters
    ----------
    center, slope
        Mean at the point of the quadratic, shape (m,), and its change with z, shape (m, k + 1).
    root
        Square root of their covariance given z, lower triangular, shape (m, m).
    logs
        Whether they are logarithms of positive numbers that have flat priors; else their own priors are flat.
    """

    center: FloatArray
    slope: FloatArray
    root: FloatArray
    logs: bool = True

    def mean(self, away: FloatArray) -> FloatArray:
        """Return the means at some z, given as differences from the point, shape (..., k + 1) to (..., m)."""
        return np.asarray(self.center + away @ self.slope.T)

    def drawn(self, away: FloatArray, normals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return draws (draws, m), and the log of prior over proposal, shape (draws,), made of normals (draws, m)."""
        found = self.mean(away) + normals @ self.root.T
        spread = float(np.log(np.diag(self.root)).sum()) + 0.5 * len(self.center) * math.log(2.0 * math.pi)
        prior = found.sum(axis=1) if self.logs else 0.0
        return found, prior + spread + 0.5 * (normals**2).sum(axis=1)

    def wider(self, factor: float) -> Beside:
        """Return it with `factor` times the information."""
        return replace(self, root=self.root / math.sqrt(factor))


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Gradient and information of a log-likelihood at one point; parts add up with ``+``.

    Parameters
    ----------
    family, names
        Name of the family, and columns, k of them.
    at
        The point: intercept and coefficients, shape (k + 1,).
    information, gradient
        Minus the second derivatives over s, shape (k + 1, k + 1), and the first over s, shape (k + 1,).
    value
        The log-likelihood at the point; not used where there is noise.
    rows, events
        How many rows, and the sum of the child's values.
    spread
        Largest standard deviation of a row's predictor that was averaged over; nan where that is not done.
    noise
        None: of precision one, and known.
    light, weights
        Where rows have weights of their own: number of those of little weight, and the least and largest weight.
    beside
        What the family has beside its predictor, which was integrated out; None for nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.families.base import Batch, Point
    >>> from alldags.families.yes_no import Bernoulli
    >>> x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.0, 1.0])
    >>> point = Point(np.zeros(2))
    >>> parts = [Bernoulli().quadratic(("x",), [Batch(x[i:], y[i:])], point) for i in (0, 1)]
    >>> (parts[0] + parts[1]).rows
    5.0
    """

    family: str
    names: tuple[str, ...]
    at: FloatArray
    information: FloatArray
    gradient: FloatArray
    value: float
    rows: float
    events: float = math.nan
    spread: float = 0.0
    noise: MatchedNoise | None = None
    light: int = 0
    weights: tuple[float, float] = (1.0, 1.0)
    beside: Beside | None = None

    def __add__(self, other: Quadratic) -> Quadratic:
        if (self.family, self.names) != (other.family, other.names) or not np.array_equal(self.at, other.at):
            raise AlldagsError(
                "these statistics are of different points, columns or families; parts of the data add up only when all "
                "are expanded at one point: agree on it first"
            )
        return replace(
            self,
            information=self.information + other.information,
            gradient=self.gradient + other.gradient,
            value=self.value + other.value,
            rows=self.rows + other.rows,
            events=self.events + other.events,
            spread=max(self.spread, other.spread),
        )

    def flatter(self, factor: float) -> Quadratic:
        """Return it with `factor` times the information and gradient, and the same value at its point."""
        noise = None if self.noise is None else self.noise.times(factor)
        beside = None if self.beside is None else self.beside.wider(factor)
        return replace(
            self, information=factor * self.information, gradient=factor * self.gradient, noise=noise, beside=beside
        )

    @cached_property
    def shift(self) -> FloatArray:
        """Linear part around zero, b, shape (k + 1,)."""
        return np.asarray(self.information @ self.at + self.gradient)

    # -- the intercept integrated out --------------------------------------------------------------------------------

    @cached_property
    def gram(self) -> FloatArray:
        """Information about the coefficients, shape (k, k)."""
        h = self.information
        return np.ascontiguousarray(h[1:, 1:] - np.outer(h[1:, 0], h[1:, 0]) / h[0, 0])

    @cached_property
    def cross(self) -> FloatArray:
        """Linear part, shape (k,)."""
        return np.asarray(self.shift[1:] - self.information[1:, 0] * (self.shift[0] / self.information[0, 0]))

    @property
    def n(self) -> float:
        """Number of normal rows, less one for the intercept; 0 where the noise is known."""
        return 0.0 if self.noise is None else self.noise.count - 1.0

    @cached_property
    def total(self) -> float:
        """Sum of squares of the child."""
        if self.noise is None:
            return -2.0 * self._log_constant
        there = (self.noise.count - 2.0 * self.noise.slope) / self.noise.precision
        constant = there + 2.0 * self.shift @ self.at - self.at @ self.information @ self.at
        return float(constant - self.shift[0] ** 2 / self.information[0, 0])

    @property
    def _log_constant(self) -> float:
        """Log integral over the intercept at coefficients of zero, where the noise is known."""
        h = float(self.information[0, 0])
        constant = float(self.value - self.at @ self.gradient - 0.5 * self.at @ self.information @ self.at)
        return constant + 0.5 * float(self.shift[0]) ** 2 / h + 0.5 * math.log(2.0 * math.pi / h)

    @property
    def convention(self) -> float:
        """What evidences of normal nodes have by convention: half the log of the number of rows, for the intercept."""
        return 0.0 if self.noise is None else 0.5 * math.log(self.rows)

    def intercept(self, coefficients: FloatArray) -> FloatArray:
        """Return the mean intercept given coefficients, shape (..., k) to (...)."""
        slope = self.information[0, 1:]
        return np.asarray((self.shift[0] - coefficients @ slope) / self.information[0, 0])

    def intercept_spread(self, precision: FloatArray) -> FloatArray:
        """Return the standard deviation of the intercept given the coefficients, at precisions of any shape."""
        return np.asarray(1.0 / np.sqrt(precision * self.information[0, 0]))

    def log_integral(self, coefficients: FloatArray, precision: FloatArray) -> FloatArray:
        """Return the log-likelihood that an engine sees, at coefficients (draws, k) and precisions (draws,)."""
        quadratic = np.einsum("di,di->d", coefficients @ self.gram, coefficients)
        left = self.total - 2.0 * coefficients @ self.cross + quadratic
        return np.asarray(0.5 * self.n * np.log(precision / (2.0 * math.pi)) - 0.5 * precision * left)


def leaving(information: FloatArray, gradient: FloatArray, there: float) -> FloatArray:
    """Return the gradient, shortened where the best coefficients would leave next to no sum of squares."""
    taken = float(gradient @ np.linalg.lstsq(information, gradient, rcond=1e-12)[0])
    most = (1.0 - _LEAST_LEFT) * there
    return gradient if taken <= most else gradient * math.sqrt(most / taken)
