"""Families: how a child's distribution depends on its linear predictor ``eta``.

All have the log-likelihood ``y eta - A(eta) + constant`` with a convex *cumulant* A, whose derivative is the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

import numpy as np

from alldags.errors import DataError
from alldags.typing import FloatArray

_NODES = 9  # of the quadrature over the predictor
_GROUP = 8
_LARGEST = 700.0  # exp of more overflows; no posterior has draws out there


class Family(Protocol):
    """What every family does; arrays have any shape."""

    name: ClassVar[str]
    measure: ClassVar[str]
    link_words: ClassVar[str]

    @property
    def offset(self) -> str | None:
        """Column that is added to the linear predictor, in its own units; None for none."""

    def cumulant(self, eta: FloatArray) -> FloatArray:
        """Return A(eta)."""

    def total_cumulant(self, eta: FloatArray) -> FloatArray:
        """Return the sum of A(eta) over rows, shape (rows, draws) to (draws,); `eta` may be overwritten."""

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return A'(eta), the mean."""

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return A''(eta) as a function of the mean."""

    def averaged(self, eta: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance averaged over normal predictors with these means and standard deviations."""

    def link(self, mean: float) -> float:
        """Return the eta at which the mean is this."""

    def constant(self, values: FloatArray) -> float:
        """Return what the log-likelihood of these values, shape (rows,), has apart from eta."""

    def check(self, child: str, batches: Iterable[FloatArray]) -> None:
        """Refuse values that this family cannot have, or that say nothing about it."""


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Yes or no, coded 1 and 0: ``log odds = intercept + coefficients . parents``.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Bernoulli().name
    'bernoulli'
    """

    name: ClassVar[str] = "bernoulli"
    measure: ClassVar[str] = "risk"
    link_words: ClassVar[str] = "log-odds"

    @property
    def offset(self) -> None:
        """There is none."""
        return None

    def cumulant(self, eta: FloatArray) -> FloatArray:
        """Return ``log(1 + exp(eta))``."""
        return np.log1p(np.exp(_capped(eta)))

    def total_cumulant(self, eta: FloatArray) -> FloatArray:
        """Return the sum of ``log(1 + exp(eta))`` over rows; logarithms are taken of products of eight factors."""
        factor = _capped(eta)
        np.exp(factor, out=factor)
        factor += 1.0
        return log_product(factor)

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the probability of a one."""
        out = np.negative(eta)
        with np.errstate(over="ignore"):  # one over infinity is the right zero
            np.exp(out, out=out)
        out += 1.0
        return np.reciprocal(out, out=out)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return ``p (1 - p)``."""
        return np.asarray(mean * (1.0 - mean))

    def averaged(self, eta: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return averages of ``p`` and ``p (1 - p)``, by Gauss-Hermite quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        mean, variance = np.zeros(len(eta)), np.zeros(len(eta))
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            p = self.mean(eta + node * spread)
            mean += weight * p
            variance += weight * p * (1.0 - p)
        return mean, variance

    def link(self, mean: float) -> float:
        """Return the log-odds."""
        return math.log(mean / (1.0 - mean))

    def constant(self, values: FloatArray) -> float:
        """Return 0."""
        del values
        return 0.0

    def check(self, child: str, batches: Iterable[FloatArray]) -> None:
        """Refuse values other than 0 and 1, and a child that is always the same."""
        seen: set[float] = set()
        for values in batches:
            seen.update(np.unique(values).tolist()[:8])
            if other := sorted(seen - {0.0, 1.0}):
                raise DataError(
                    f"{child!r} is to be yes/no (bernoulli), but has the value {other[0]:g}; code it as 0 and 1, or "
                    f"leave it out of families="
                )
        if len(seen) < 2:
            raise DataError(f"{child!r} is {seen.pop():g} in every row: nothing shows what acts on it")


@dataclass(frozen=True, slots=True)
class Poisson:
    """A count: ``log mean = offset + intercept + coefficients . parents``.

    Parameters
    ----------
    offset
        Column with the logarithm of what the count is in proportion to, such as the time under observation; it need
        not be in the graph.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Poisson(offset="log_years").offset
    'log_years'
    """

    name: ClassVar[str] = "poisson"
    measure: ClassVar[str] = "rate"
    link_words: ClassVar[str] = "log rate"

    offset: str | None = None

    def cumulant(self, eta: FloatArray) -> FloatArray:
        """Return ``exp(eta)``."""
        return np.exp(_capped(eta))

    def total_cumulant(self, eta: FloatArray) -> FloatArray:
        """Return the sum of ``exp(eta)`` over rows."""
        return np.asarray(np.exp(_capped(eta)).sum(axis=0))

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the mean count."""
        return np.exp(_capped(eta))

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the mean."""
        return mean

    def averaged(self, eta: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the average mean, which is the average variance, too."""
        mean = self.mean(eta + 0.5 * spread**2)
        return mean, mean

    def link(self, mean: float) -> float:
        """Return the logarithm."""
        return math.log(mean)

    def constant(self, values: FloatArray) -> float:
        """Return ``-sum(log(y!))``."""
        from scipy.special import gammaln

        return -float(gammaln(values + 1.0).sum())

    def check(self, child: str, batches: Iterable[FloatArray]) -> None:
        """Refuse what is no count, and a child without a single event."""
        total = 0.0
        for values in batches:
            bad = values[(values < 0) | (values != np.floor(values))]
            if bad.size:
                raise DataError(
                    f"{child!r} is to be a count (poisson), but has the value {float(bad[0]):g}; counts are whole "
                    "numbers from 0 on; leave it out of families= if it is something else"
                )
            total += float(values.sum())
        if total == 0.0:
            raise DataError(f"{child!r} is 0 in every row: nothing shows what acts on it")


def log_product(factors: FloatArray) -> FloatArray:
    """Return the sum of logarithms over rows, shape (rows, draws) to (draws,), of factors of at least one.

    A logarithm costs as much as five products: it is taken of eight factors at once.
    """
    whole = len(factors) - len(factors) % _GROUP
    grouped = factors[:whole].reshape(_GROUP, whole // _GROUP, factors.shape[1])
    with np.errstate(over="ignore"):
        product = grouped[0] * grouped[1]
        for factor in grouped[2:]:
            product *= factor
        found = np.log(product, out=product).sum(axis=0)
    if not np.isfinite(found).all():  # factors so large that products overflow
        found = np.log(factors[:whole]).sum(axis=0)
    return np.asarray(found + np.log(factors[whole:]).sum(axis=0))


def _capped(eta: FloatArray) -> FloatArray:
    return np.minimum(eta, _LARGEST) if eta.size and eta.max() > _LARGEST else eta


AnyFamily: TypeAlias = Bernoulli | Poisson
