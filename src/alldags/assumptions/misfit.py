"""Residuals of one regression: are the lines straight, is the noise even, does a row stand out?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.assumptions.regression import Fitted, RegressedBatch, score_tests
from alldags.data.look import look_at_rows
from alldags.typing import FloatArray

_BINS = 10
_KEPT = 5  # rows that stand out most


@dataclass(frozen=True, slots=True)
class Curvature:
    """Whether a regression bends.

    Parameters
    ----------
    against
        A cause, or "fitted values".
    p_value
        That a line which is straight would show so much; nan if there is nothing to test, as for a cause of two values.
    share
        Of what the regression leaves unexplained, the part that a curve would take.
    """

    against: str
    p_value: float
    share: float


@dataclass(frozen=True, slots=True)
class Outlier:
    """A row that stands out: its place among the rows read, its residual in deviations, and the child's value."""

    row: int
    residual: float
    value: float


@dataclass(frozen=True, slots=True)
class Residuals:
    """What the residuals of one regression show.

    Parameters
    ----------
    child
        Whose regression it is.
    curvature
        One for the fitted values and one for each cause that has more than two values.
    spread_p, spread_share
        Whether the noise grows or shrinks with the fitted values: p-value, and share of the variance of the squared
        residuals that goes with them; nan for a child that is not normal.
    outliers
        The rows with the largest residuals, in standard deviations when left out of the fit; empty for a child that is
        not normal.
    outlier_p
        That the largest of so many normal residuals would be as large; nan for a child that is not normal.
    dispersion
        Of a count, variance over what its family says; nan for others.
    bins
        Rows by their fitted value, ten groups: mean fitted value, mean residual and its standard error; (3, bins).
    """

    child: str
    curvature: tuple[Curvature, ...]
    spread_p: float
    spread_share: float
    outliers: tuple[Outlier, ...]
    outlier_p: float
    dispersion: float
    bins: tuple[tuple[float, ...], ...]


def check_residuals(fitted: Fitted) -> Residuals:
    """Read the rows a few times more and look at the residuals.

    Parameters
    ----------
    fitted
        The regression.
    """
    normal = fitted.of.family is None
    spread_p, spread_share = _spread(fitted) if normal else (math.nan, math.nan)
    outliers, outlier_p = _outliers(fitted) if normal else ((), math.nan)
    counts = not normal and getattr(fitted.of.family, "name", "") == "poisson"
    return Residuals(
        child=fitted.of.child,
        curvature=_curvature(fitted),
        spread_p=spread_p,
        spread_share=spread_share,
        outliers=outliers,
        outlier_p=outlier_p,
        dispersion=fitted.noise * fitted.rows / max(fitted.freedom, 1) if counts else math.nan,
        bins=_bins(fitted),
    )


def p_values(statistic: FloatArray) -> FloatArray:
    """Return the probability that chi-squared with one degree of freedom is larger; nan stays."""
    from scipy.special import chdtrc

    return np.asarray(chdtrc(1.0, statistic))


def _curvature(fitted: Fitted) -> tuple[Curvature, ...]:
    names = ("fitted values", *fitted.of.causes)
    found = score_tests(fitted, lambda batch, eta: _squares(fitted, batch, eta))
    p, share = p_values(found.statistic), found.share
    looks = look_at_rows(fitted.of.table, fitted.of.causes)
    return tuple(
        Curvature(name, float(p[i]), float(share[i]))
        for i, name in enumerate(names)
        if math.isfinite(p[i]) and (i == 0 or looks[name].can_bend)
    )


def _squares(fitted: Fitted, batch: RegressedBatch, eta: FloatArray) -> FloatArray:
    own = eta if batch.offset is None else eta - batch.offset
    size = math.sqrt(max(float(np.square(fitted.coefficients[1:]).sum()), 1e-300))
    return np.column_stack([((own - fitted.coefficients[0]) / size) ** 2, batch.design[:, 1:] ** 2])


def _spread(fitted: Fitted) -> tuple[float, float]:
    """Return p-value and share of a trend of the squared residuals along the fitted values."""
    level = fitted.noise
    products, meat, own, squares = 0.0, 0.0, 0.0, 0.0
    for batch in fitted.of.batches():
        eta = fitted.predictor(batch)
        residual, _ = fitted.residuals(batch, eta)
        excess, place = residual**2 - level, eta - fitted.coefficients[0]
        products += float(excess @ place)
        meat += float((excess * place) @ (excess * place))
        own += float(place @ place)
        squares += float(excess @ excess)
    if meat == 0.0 or own * squares == 0.0:
        return math.nan, math.nan
    return float(p_values(np.array(products**2 / meat))), products**2 / (own * squares)


def _outliers(fitted: Fitted) -> tuple[tuple[Outlier, ...], float]:
    """Return the rows with the largest residuals when left out, and the p-value of the largest."""
    from scipy.stats import t as student

    found: list[Outlier] = []
    start = 0
    for batch in fitted.of.batches():
        size = _left_out(fitted, batch)
        worst = np.argsort(-np.abs(size))[:_KEPT]
        found += [Outlier(start + int(i), float(size[i]), float(batch.child[i])) for i in worst]
        found = sorted(found, key=lambda item: -abs(item.residual))[:_KEPT]
        start += len(size)
    if not found or fitted.freedom < 2:
        return (), math.nan
    tail = 2.0 * float(student.sf(abs(found[0].residual), fitted.freedom - 1))
    return tuple(found), min(1.0, tail * fitted.rows)


def _left_out(fitted: Fitted, batch: RegressedBatch) -> FloatArray:
    """Return residuals over their standard deviation when each row is left out of the fit, shape (rows,)."""
    residual, _ = fitted.residuals(batch, fitted.predictor(batch))
    leverage = np.einsum("ij,jk,ik->i", batch.design, fitted.inverse, batch.design)
    variance = fitted.noise * fitted.rows / fitted.freedom
    inside = residual**2 / (variance * np.maximum(1.0 - leverage, 1e-12))
    rest = np.maximum(fitted.freedom - inside, 1e-12)
    return np.asarray(np.sign(residual) * np.sqrt(inside * (fitted.freedom - 1) / rest))


def _bins(fitted: Fitted) -> tuple[tuple[float, ...], ...]:
    """Return mean fitted value, mean residual and its standard error of rows grouped by fitted value."""
    edges: FloatArray | None = None
    sums = np.zeros((4, _BINS))
    for batch in fitted.of.batches():
        eta = fitted.predictor(batch)
        residual, _ = fitted.residuals(batch, eta)
        if edges is None:
            edges = np.quantile(eta, np.arange(1, _BINS) / _BINS)
        group = np.searchsorted(edges, eta)
        for place, values in enumerate((np.ones(len(eta)), fitted.fitted_values(eta), residual, residual**2)):
            sums[place] += np.bincount(group, values, _BINS)
    count, mean, residual, square = sums[:, sums[0] > 1]
    error = np.sqrt(np.maximum(square / count - (residual / count) ** 2, 0.0) / count)
    return tuple(tuple(values.tolist()) for values in (mean / count, residual / count, error))
