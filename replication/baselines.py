"""Estimators of an average treatment effect that the paper compares with, and two that everybody knows.

Each takes arrays of covariates (n, k), treatment (n,) of zeros and ones, and outcome (n,), and returns an `Estimate`
with a 95% interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from alldags.data.look import look_at_values
from alldags.errors import DataError, require
from alldags.typing import FloatArray

NORMAL_QUANTILE = 1.959963984540054  # 97.5%
_LEAST_PROPENSITY = 1e-6  # only so that a saturated logistic function does not divide by zero


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its 95% interval; the ends are nan where no interval exists.

    `rows` is the effect of every row, shape (n,), where the method has one.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    rows: FloatArray | None = field(default=None, compare=False)


Baseline: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], Estimate]


def difference_in_means(covariates: FloatArray, treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return mean outcome of the treated less that of the others, with Welch's interval."""
    del covariates
    from scipy.stats import t as student

    arms = both_arms(treatment, outcome)
    parts = [arm.var(ddof=1) / len(arm) if len(arm) > 1 else math.nan for arm in arms]
    variance = sum(parts)
    value = float(arms[1].mean() - arms[0].mean())
    if not variance > 0:
        return Estimate(value)
    freedom = variance**2 / sum(part**2 / (len(arm) - 1) for part, arm in zip(parts, arms, strict=True))
    return around(value, math.sqrt(variance), float(student.ppf(0.975, freedom)))


def least_squares(covariates: FloatArray, treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return the coefficient of the treatment in a regression with intercept on it and all covariates.

    Columns are standardised first. If the design has not full rank the solution of least norm is taken; the interval
    exists while there are more rows than the rank.
    """
    from scipy.stats import t as student

    both_arms(treatment, outcome)
    design = np.column_stack([treatment - treatment.mean(), standardised(covariates)])
    scale = design[:, 0].std()
    design[:, 0] /= scale
    left, singular, right = np.linalg.svd(design, full_matrices=False)
    kept = singular > singular[0] * max(design.shape) * np.finfo(float).eps
    weights = right[kept, 0] / singular[kept]  # the treatment's row of the pseudo-inverse, in the rotated basis
    centred = outcome - outcome.mean()
    rotated = left[:, kept].T @ centred
    value = float(weights @ rotated) / scale
    freedom = len(outcome) - 1 - int(kept.sum())
    if freedom < 1:
        return Estimate(value)
    residual = float(np.sum((centred - left[:, kept] @ rotated) ** 2)) / freedom
    error = math.sqrt(residual * float(weights @ weights)) / scale
    return around(value, error, float(student.ppf(0.975, freedom)))


def horvitz_thompson(covariates: FloatArray, treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return the inverse-probability-weighted difference, the paper's IPW.

    The propensity is an l1-penalised logistic regression (see `propensity`). The interval takes it as known.
    """
    both_arms(treatment, outcome)
    return weighted_difference(propensity(covariates, treatment), treatment, outcome, normalised=False)


def hajek(covariates: FloatArray, treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return the same with weights that sum to one in each arm."""
    both_arms(treatment, outcome)
    return weighted_difference(propensity(covariates, treatment), treatment, outcome, normalised=True)


def weighted_difference(
    probability: FloatArray, treatment: FloatArray, outcome: FloatArray, *, normalised: bool
) -> Estimate:
    """Return the weighted difference of the arms for given propensities of shape (n,), with its interval.

    Without normalisation it is ``mean(t y / e) - mean((1 - t) y / (1 - e))``; with it, each of the two is divided by
    the mean of its weights. The standard error is that of a mean of independent terms, with the propensity as known.
    """
    n = len(outcome)
    weight1, weight0 = treatment / probability, (1 - treatment) / (1 - probability)
    if normalised:
        weight1, weight0 = weight1 / weight1.mean(), weight0 / weight0.mean()
    mean1, mean0 = float(np.mean(weight1 * outcome)), float(np.mean(weight0 * outcome))
    centre1, centre0 = (mean1, mean0) if normalised else (0.0, 0.0)
    terms = weight1 * (outcome - centre1) - weight0 * (outcome - centre0)
    return around(mean1 - mean0, float(np.std(terms, ddof=1)) / math.sqrt(n), NORMAL_QUANTILE)


def propensity(covariates: FloatArray, treatment: FloatArray, strength: float = 1.0) -> FloatArray:
    """Return the probability of treatment of each row, shape (n,), by l1-penalised logistic regression.

    Covariates are standardised. `strength` is scikit-learn's ``C``, the inverse of the penalty's weight; the paper
    does not give its own, 1 is scikit-learn's default.
    """
    x = standardised(covariates)
    if x.shape[1] == 0:
        return np.full(len(treatment), treatment.mean())
    model = _logistic(strength).fit(x, treatment.astype(int))
    fitted = model.predict_proba(x)[:, 1]
    return np.asarray(np.clip(fitted, _LEAST_PROPENSITY, 1 - _LEAST_PROPENSITY))


def _logistic(strength: float) -> Any:
    linear: Any = require("sklearn.linear_model", "experiments")
    sklearn: Any = require("sklearn", "experiments")
    version = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    penalty: dict[str, Any] = {"l1_ratio": 1} if version >= (1, 8) else {"penalty": "l1"}
    # liblinear penalises the intercept like a coefficient; as the weight of a column of 1000s it costs next to nothing
    return linear.LogisticRegression(
        C=strength, solver="liblinear", intercept_scaling=1000.0, max_iter=2000, random_state=0, **penalty
    )


def standardised(covariates: FloatArray) -> FloatArray:
    """Return the columns that vary, with mean 0 and standard deviation 1."""
    varying = covariates[:, np.ptp(covariates, axis=0) > 0]
    return np.asarray((varying - varying.mean(axis=0)) / varying.std(axis=0))


def both_arms(treatment: FloatArray, outcome: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the outcomes of the untreated and of the treated."""
    if not look_at_values(treatment).is_yes_no:
        raise DataError("the treatment must be 0 or 1 in every row; recode it")
    arms = outcome[treatment == 0], outcome[treatment == 1]
    for name, arm in zip(("untreated", "treated"), arms, strict=True):
        if len(arm) == 0:
            raise DataError(f"there are no {name} rows among {len(outcome)}: the arms cannot be compared")
    return arms


def around(value: float, error: float, quantile: float, rows: FloatArray | None = None) -> Estimate:
    """Return the estimate whose interval is symmetric."""
    return Estimate(value, value - quantile * error, value + quantile * error, rows)


BASELINE_FUNCTIONS: dict[str, Baseline] = {
    "ipw": horvitz_thompson,
    "ipw_normalised": hajek,
    "least_squares": least_squares,
    "difference": difference_in_means,
}
