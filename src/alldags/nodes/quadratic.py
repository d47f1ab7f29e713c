"""The log-likelihood of a child's rows, expanded at one point: sums over rows, which add up over parts of the data.

At any point ``z* = (intercept, coefficients)``, with ``r = y - mean`` and ``w = variance`` of each row, and ``Z`` the
rows of terms with a column of ones before them::

    l(z) ~ c + b'z - z'Hz / 2      H = Z' diag(w) Z,  b = H z* + Z'r,  c = l(z*) - z*'Z'r - z*'H z*/2

The gradient belongs in the shift b: ``b = H z*`` holds only at an unpenalised maximum. With the flat intercept
integrated out this is a regression with noise of known precision one, so that every engine takes it as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.data.batches import RowTable
from alldags.errors import AlldagsError
from alldags.nodes.family import AnyFamily
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class FamilyRows:
    """Rows of a child that is not normal: the child as it is, its terms in working units about their means.

    Parameters
    ----------
    child
        Name.
    family
        Its family.
    table
        The rows.
    center, scale
        Mean, in the user's units, and user's units per working unit of every variable.
    """

    child: str
    family: AnyFamily
    table: RowTable
    center: dict[str, float]
    scale: dict[str, float]

    def batches(self, terms: Sequence[str]) -> Iterator[Batch]:
        """Yield the rows of the child and of some terms."""
        extra = [] if self.family.offset is None else [self.family.offset]
        center = np.array([self.center[name] for name in terms])
        scale = np.array([self.scale[name] for name in terms])
        k = len(terms)
        for block in self.table.batches([*terms, self.child, *extra]):
            yield Batch((block[:, :k] - center) / scale, block[:, k], block[:, k + 1] if extra else None)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: terms (rows, k), child (rows,), and what is added to the linear predictor (rows,)."""

    terms: FloatArray
    child: FloatArray
    offset: FloatArray | None = None

    def predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return the linear predictor without intercept, shape (rows, draws), of coefficients (draws, k)."""
        eta = self.terms @ coefficients.T
        return eta if self.offset is None else eta + self.offset[:, None]


class WithoutIntercept:
    """A quadratic in intercept and coefficients, known at one point, with the intercept integrated out.

    Has `at` (k + 1,), the point, intercept first, and there `information` (k + 1, k + 1) and `gradient` (k + 1,).
    """

    at: FloatArray
    information: FloatArray
    gradient: FloatArray

    @cached_property
    def shift(self) -> FloatArray:
        """Linear part of the expansion around zero, shape (k + 1,)."""
        return np.asarray(self.information @ self.at + self.gradient)

    @cached_property
    def gram(self) -> FloatArray:
        """Information about the coefficients, shape (k, k)."""
        h = self.information
        return np.asarray(h[1:, 1:] - np.outer(h[1:, 0], h[1:, 0]) / h[0, 0])

    @cached_property
    def cross(self) -> FloatArray:
        """Linear part, shape (k,)."""
        return np.asarray(self.shift[1:] - self.information[1:, 0] * (self.shift[0] / self.information[0, 0]))

    def intercept(self, coefficients: FloatArray) -> FloatArray:
        """Return the mean intercept given coefficients, shape (..., k) to (...)."""
        slope = self.information[0, 1:]
        return np.asarray((self.shift[0] - coefficients @ slope) / self.information[0, 0])


@dataclass(frozen=True, eq=False)
class QuadraticStatistics(WithoutIntercept):
    """Value, gradient and information of the log-likelihood of some rows at one point; parts add up with ``+``.

    Parameters
    ----------
    family
        Its name.
    names
        Terms, k of them.
    at
        The point: intercept and coefficients, shape (k + 1,).
    information
        Minus the second derivatives, shape (k + 1, k + 1).
    gradient
        First derivatives, shape (k + 1,).
    value
        The log-likelihood.
    rows, events
        Number of rows, and sum of the child's values.
    spread
        Largest standard deviation of a row's predictor that was averaged over, 0 for derivatives at the point.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.nodes.family import Bernoulli
    >>> from alldags.nodes.quadratic import Batch, expand
    >>> x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.0, 1.0])
    >>> at = np.zeros(2)
    >>> parts = [expand(Bernoulli(), ("x",), [Batch(x[i:], y[i:])], at) for i in (0, 1)]
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
    events: float
    spread: float = 0.0

    def __add__(self, other: QuadraticStatistics) -> QuadraticStatistics:
        if (self.family, self.names) != (other.family, other.names) or not np.array_equal(self.at, other.at):
            raise AlldagsError(
                "these statistics are of different points, terms or families; parts of the data add up only when all "
                "are expanded at one point: agree on it first"
            )
        return QuadraticStatistics(
            self.family,
            self.names,
            self.at,
            self.information + other.information,
            self.gradient + other.gradient,
            self.value + other.value,
            self.rows + other.rows,
            self.events + other.events,
            max(self.spread, other.spread),
        )

    def flatter(self, factor: float) -> QuadraticStatistics:
        """Return the expansion with `factor` times the information and gradient, and the same value at its point."""
        return replace(self, information=factor * self.information, gradient=factor * self.gradient)

    @property
    def constant(self) -> float:
        """The expansion's value at zero."""
        return float(self.value - self.at @ self.gradient - 0.5 * self.at @ self.information @ self.at)

    # -- the intercept integrated out --------------------------------------------------------------------------------

    @property
    def log_constant(self) -> float:
        """Log integral over the intercept, at coefficients of zero."""
        h = float(self.information[0, 0])
        return self.constant + 0.5 * float(self.shift[0]) ** 2 / h + 0.5 * math.log(2.0 * math.pi / h)

    def log_integral(self, coefficients: FloatArray) -> FloatArray:
        """Return the expansion with the intercept integrated out at coefficients of shape (draws, k)."""
        quadratic = np.einsum("di,ij,dj->d", coefficients, self.gram, coefficients, optimize=True)
        return np.asarray(self.log_constant + coefficients @ self.cross - 0.5 * quadratic)


def expand(
    family: AnyFamily,
    names: tuple[str, ...],
    batches: Iterable[Batch],
    at: FloatArray,
    root: FloatArray | None = None,
) -> QuadraticStatistics:
    """Return the statistics of some rows at one point.

    Parameters
    ----------
    family, names
        Of the child, and its terms, k of them.
    batches
        The rows.
    at
        Intercept and coefficients, shape (k + 1,).
    root
        Square root of their covariance, shape (k + 1, k + 1): mean and variance of each row are averaged over a normal
        distribution around the point, which fits a skewed likelihood better than its derivatives at the point do.
        None: the derivatives.
    """
    parts = [_expand_batch(family, names, batch, at, root) for batch in batches]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _expand_batch(
    family: AnyFamily, names: tuple[str, ...], batch: Batch, at: FloatArray, root: FloatArray | None
) -> QuadraticStatistics:
    eta = batch.predictor(at[None, 1:])[:, 0] + at[0]
    spread = None if root is None else _row_spread(batch, root)
    mean, weight = _mean_and_variance(family, eta, spread)
    residual = batch.child - mean
    k = len(names)
    weighted = batch.terms * weight[:, None]
    information = np.empty((k + 1, k + 1))
    information[0, 0] = weight.sum()
    information[0, 1:] = information[1:, 0] = weighted.sum(axis=0)
    information[1:, 1:] = weighted.T @ batch.terms
    return QuadraticStatistics(
        family=family.name,
        names=names,
        at=at,
        information=information,
        gradient=np.concatenate([[residual.sum()], batch.terms.T @ residual]),
        value=float(batch.child @ eta - family.cumulant(eta).sum()) + family.constant(batch.child),
        rows=float(len(batch.child)),
        events=float(batch.child.sum()),
        spread=0.0 if spread is None else float(spread.max()),
    )


def _row_spread(batch: Batch, root: FloatArray) -> FloatArray:
    """Return the standard deviation of each row's predictor, shape (rows,)."""
    moved = batch.terms @ root[1:] + root[0]
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", moved, moved)))


def _mean_and_variance(family: AnyFamily, eta: FloatArray, spread: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of each row, shape (rows,) each, at `eta` or averaged around it."""
    if spread is None:
        mean = family.mean(eta)
        return mean, family.variance(mean)
    return family.averaged(eta, spread)
