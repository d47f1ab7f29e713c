"""A regression fitted to rows in batches, and score tests of what it leaves out.

With ``e = y - mean`` (the score of a family), ``w`` its variance in a row (1 for a normal child) and ``Z`` the rows of
ones and causes, a further column q is tested through the part of it that Z does not explain,
``r = q - Z (Z'WZ)^-1 Z'Wq``::

    T = (sum e r)^2 / sum e^2 r^2

which is about chi-squared with one degree of freedom where q does not belong in the regression, whatever the variances
of the rows are: unequal noise is not taken for a bent line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from alldags.data.batches import RowTable
from alldags.families.base import Family
from alldags.typing import FloatArray

_RIDGE = 1e-2  # prior precision in units of one row: enough to keep separated rows finite, too little to show
_ITERATIONS = 60
_STEP = 1e-8
_SINGULAR = 1e-10
_INSIDE = 1e-8  # share of a column that the regression must leave unexplained for it to be tested


@dataclass(frozen=True, eq=False)
class Regressed:
    """What one regression is checked on.

    Parameters
    ----------
    child, causes
        Names.
    table
        The rows.
    center, deviation
        Of every variable, in the user's units.
    family
        Of the child; None for a normal one.
    """

    child: str
    causes: tuple[str, ...]
    table: RowTable
    center: Mapping[str, float]
    deviation: Mapping[str, float]
    family: Family | None = None

    def batches(self, others: Sequence[str] = ()) -> Iterator[RegressedBatch]:
        """Yield the rows; with those of other variables, in the same units as the causes."""
        names = (*self.causes, *others)
        center, scale = (np.array([source[name] for name in names]) for source in (self.center, self.deviation))
        offset = () if self.family is None or self.family.offset is None else (self.family.offset,)
        k, m = len(self.causes), len(names)
        for block in self.table.batches([*names, self.child, *offset]):
            units = (block[:, :m] - center) / scale
            design = np.column_stack([np.ones(len(block)), units[:, :k]])
            yield RegressedBatch(design, block[:, m], units[:, k:], block[:, m + 1] if offset else None)


@dataclass(frozen=True, eq=False)
class RegressedBatch:
    """Some rows: ones and causes (rows, 1 + k), child (rows,), other variables (rows, j), offset (rows,) if any."""

    design: FloatArray
    child: FloatArray
    others: FloatArray
    offset: FloatArray | None = None


Extra: TypeAlias = Callable[[RegressedBatch, FloatArray], FloatArray]
"""From a batch and its linear predictor to further columns, shape (rows, q)."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A regression at its maximum.

    Parameters
    ----------
    of
        What was regressed on what.
    coefficients
        Intercept and one for each cause, shape (1 + k,), per deviation of a cause.
    inverse
        Of the information ``Z'WZ``, shape (1 + k, 1 + k).
    rows
        Number of rows.
    noise
        Sum of squared residuals over the sum of the variances: for a normal child the residual variance, for others 1
        where the family holds.
    """

    of: Regressed
    coefficients: FloatArray
    inverse: FloatArray
    rows: int
    noise: float

    def predictor(self, batch: RegressedBatch) -> FloatArray:
        """Return the linear predictor of some rows, shape (rows,)."""
        eta = np.asarray(batch.design @ self.coefficients)
        return eta if batch.offset is None else eta + batch.offset

    def fitted_values(self, eta: FloatArray) -> FloatArray:
        """Return the means at some predictors, shape (rows,)."""
        return eta if self.of.family is None else self.of.family.mean(eta)

    def residuals(self, batch: RegressedBatch, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return residuals and variances of some rows at their predictor, shape (rows,) each."""
        return _residuals(self.of, batch, eta)

    @property
    def freedom(self) -> int:
        """Rows beyond coefficients."""
        return self.rows - len(self.coefficients)


class Tested(NamedTuple):
    """Tests of further columns, shape (q,) each: chi-squared statistic, and share of what is left that they explain.

    Both are nan for a column that the regression holds already.
    """

    statistic: FloatArray
    share: FloatArray


def _residuals(of: Regressed, batch: RegressedBatch, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    if of.family is None:
        return batch.child - eta, np.ones(len(eta))
    return of.family.score(batch.child, eta)


def fit_rows(of: Regressed) -> Fitted | None:
    """Return the regression at its maximum, by Newton's method; None if it has none, or too few rows.

    A step that does not raise the likelihood is halved.

    Parameters
    ----------
    of
        What to regress on what.
    """
    point = np.zeros(1 + len(of.causes))
    point[0] = _start(of)
    here, share = _expanded(of, point), 1.0
    for _ in range(_ITERATIONS):
        if here.rows <= len(point) + 1 or here.variances == 0.0:
            return None
        inverse = _inverse(here.information)
        step = inverse @ here.gradient
        if np.abs(step).max() <= _STEP * (1.0 + np.abs(point).max()):
            return Fitted(of, point, inverse, here.rows, here.squares / here.variances)
        there = _expanded(of, point + share * step)
        if there.value >= here.value - 1e-9 * abs(here.value):
            point, here, share = point + share * step, there, min(1.0, 2.0 * share)
        else:
            share /= 2.0
    return None


def _inverse(information: FloatArray) -> FloatArray:
    """Return the inverse; where causes are copies of each other, that of least size."""
    return np.asarray(np.linalg.pinv(information, rcond=_SINGULAR, hermitian=True), dtype=np.float64)


def _start(of: Regressed) -> float:
    """Return an intercept to start from."""
    if of.family is None:
        return of.center.get(of.child, 0.0)
    total = rows = offsets = 0.0
    for batch in of.batches():
        total, rows = total + float(batch.child.sum()), rows + len(batch.child)
        offsets += 0.0 if batch.offset is None else float(batch.offset.sum())
    return of.family.link(total / rows) - offsets / rows


class _Expanded(NamedTuple):
    """Information, gradient and penalised log-likelihood at a point; sums of squared residuals and of variances."""

    information: FloatArray
    gradient: FloatArray
    value: float
    rows: int
    squares: float
    variances: float


def _expanded(of: Regressed, point: FloatArray) -> _Expanded:
    ridge = np.full(len(point), _RIDGE if of.family is not None else 1e-9)
    ridge[0] = 0.0
    information, gradient, value = np.diag(ridge), -ridge * point, -0.5 * float(ridge @ point**2)
    rows, squares, variances = 0, 0.0, 0.0
    for batch in of.batches():
        eta = batch.design @ point
        eta = eta if batch.offset is None else eta + batch.offset
        residual, variance = _residuals(of, batch, eta)
        information += (batch.design * variance[:, None]).T @ batch.design
        gradient += batch.design.T @ residual
        value += _log_likelihood(of, batch, eta)
        rows, squares, variances = rows + len(eta), squares + float(residual @ residual), variances + variance.sum()
    return _Expanded(information, gradient, value, rows, squares, float(variances))


def _log_likelihood(of: Regressed, batch: RegressedBatch, eta: FloatArray) -> float:
    if of.family is None:
        return -0.5 * float(np.square(batch.child - eta).sum())
    return float(of.family.height(batch.child, eta).sum())


def score_tests(fitted: Fitted, extra: Extra, others: tuple[str, ...] = ()) -> Tested:
    """Test whether further columns belong in a regression.

    Parameters
    ----------
    fitted
        The regression without them.
    extra
        Makes the columns, q of them, of each batch.
    others
        Variables beyond the causes that `extra` needs.
    """
    crossed, own = _crossed(fitted, extra, others)
    slopes = fitted.inverse @ crossed
    score = meat = left = np.zeros(len(own))
    for batch in fitted.of.batches(others):
        eta = fitted.predictor(batch)
        residual, variance = fitted.residuals(batch, eta)
        part = extra(batch, eta) - batch.design @ slopes
        score = score + part.T @ residual
        meat = meat + (part**2).T @ residual**2
        left = left + (part**2).T @ variance
    known = (left > _INSIDE * own) & (meat > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(known, score**2 / meat, np.nan)
        share = np.where(known, score**2 / (left * fitted.rows * fitted.noise), np.nan)
    return Tested(statistic, share)


def _crossed(fitted: Fitted, extra: Extra, others: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
    """Return ``Z'WQ``, shape (1 + k, q), and the diagonal of ``Q'WQ`` about the mean, shape (q,)."""
    crossed = own = sums = np.zeros(())
    weight = 0.0
    for batch in fitted.of.batches(others):
        eta = fitted.predictor(batch)
        variance = fitted.residuals(batch, eta)[1]
        columns = extra(batch, eta)
        crossed = crossed + (batch.design * variance[:, None]).T @ columns
        own, sums = own + variance @ columns**2, sums + variance @ columns
        weight += float(variance.sum())
    return np.asarray(crossed), np.asarray(own - np.square(sums) / weight)
