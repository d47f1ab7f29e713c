"""Estimators that allow effects to differ or surfaces to bend: Lin's regression, boosted AIPW and DML, BART.

They take and return what those of `baselines` do, and the effect of every row where the method has one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from alldags.errors import require
from alldags.typing import BoolArray, FloatArray
from replication.baselines import (
    BASELINE_FUNCTIONS,
    NORMAL_QUANTILE,
    Baseline,
    Estimate,
    around,
    both_arms,
    propensity,
    standardised,
)

_FOLDS = 5
_LEAST_BOOSTED = 0.025  # boosted propensities are kept this far from 0 and 1
_TREES, _KEPT, _BURNED = 100, 800, 400  # of BART: trees, draws kept, draws before them


def interacted(covariates: FloatArray, treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return Lin's (2013) estimator: least squares with every covariate centred and multiplied with the treatment.

    The interval uses the HC2 estimate of the variance and the normal quantile. Columns that say nothing new are
    dealt with by the solution of least norm.
    """
    both_arms(treatment, outcome)
    x = standardised(covariates)
    design = np.column_stack([np.ones(len(outcome)), treatment, x, treatment[:, None] * x])
    inverse = np.linalg.pinv(design, rcond=1e-10)
    found = inverse @ outcome
    residual = outcome - design @ found
    leverage = np.einsum("ij,ji->i", design, inverse)
    free = np.maximum(1.0 - leverage, 1e-6)  # a row with leverage 1 has residual 0 and adds nothing
    error = math.sqrt(float(np.sum((inverse[1] * residual) ** 2 / free)))
    return around(float(found[1]), error, NORMAL_QUANTILE, found[1] + x @ found[2 + x.shape[1] :])


def boosted_aipw(covariates: FloatArray, treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return the augmented inverse-probability-weighted estimate, all three regressions boosted and cross-fitted."""
    both_arms(treatment, outcome)
    mean0, mean1, probability = (np.empty(len(outcome)) for _ in range(3))
    for fitted, left in folds(treatment):
        for mean, arm in ((mean0, 0.0), (mean1, 1.0)):
            rows = fitted & (treatment == arm)
            mean[left] = _regressor().fit(covariates[rows], outcome[rows]).predict(covariates[left])
        probability[left] = _boosted_propensity(covariates, treatment, fitted, left)
    return augmented(mean0, mean1, probability, treatment, outcome)


def augmented(
    mean0: FloatArray, mean1: FloatArray, probability: FloatArray, treatment: FloatArray, outcome: FloatArray
) -> Estimate:
    """Return the AIPW estimate for given regressions and propensities, each of shape (n,).

    It is the mean of ``m1 - m0 + t (y - m1) / e - (1 - t) (y - m0) / (1 - e)``, with the standard error of that mean.
    """
    correction = treatment * (outcome - mean1) / probability - (1 - treatment) * (outcome - mean0) / (1 - probability)
    terms = mean1 - mean0 + correction
    error = float(np.std(terms, ddof=1)) / math.sqrt(len(terms))
    return around(float(terms.mean()), error, NORMAL_QUANTILE, mean1 - mean0)


def boosted_dml(covariates: FloatArray, treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return double machine learning's estimate in the partially linear model, regressions boosted and cross-fitted."""
    both_arms(treatment, outcome)
    mean, probability = np.empty(len(outcome)), np.empty(len(outcome))
    for fitted, left in folds(treatment):
        mean[left] = _regressor().fit(covariates[fitted], outcome[fitted]).predict(covariates[left])
        probability[left] = _boosted_propensity(covariates, treatment, fitted, left)
    return partialled_out(treatment - probability, outcome - mean)


def partialled_out(treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return the slope through the origin of residuals on residuals, with the robust (sandwich) interval."""
    total = float(treatment @ treatment)
    value = float(treatment @ outcome) / total
    scores = treatment * (outcome - value * treatment)
    return around(value, math.sqrt(float(scores @ scores)) / total, NORMAL_QUANTILE)


def folds(treatment: FloatArray, count: int = _FOLDS) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Yield `count` times which rows to fit on and which to predict; both arms are spread evenly over the folds."""
    rng = np.random.default_rng(0)
    fold = np.empty(len(treatment), dtype=int)
    for arm in (0.0, 1.0):
        rows = np.flatnonzero(treatment == arm)
        fold[rows] = rng.permutation(len(rows)) % count
    for number in range(count):
        yield fold != number, fold == number


def _boosted_propensity(x: FloatArray, treatment: FloatArray, fitted: BoolArray, left: BoolArray) -> FloatArray:
    model = _classifier().fit(x[fitted], treatment[fitted].astype(int))
    return np.asarray(np.clip(model.predict_proba(x[left])[:, 1], _LEAST_BOOSTED, 1 - _LEAST_BOOSTED))


def _regressor() -> Any:
    ensemble: Any = require("sklearn.ensemble", "experiments")
    return ensemble.HistGradientBoostingRegressor(
        max_iter=150, learning_rate=0.06, max_leaf_nodes=12, min_samples_leaf=10, random_state=0
    )


def _classifier() -> Any:
    ensemble: Any = require("sklearn.ensemble", "experiments")
    return ensemble.HistGradientBoostingClassifier(
        max_iter=80, learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=15, random_state=0
    )


def bart_installed() -> bool:
    """Return whether the package bartz is there."""
    return find_spec("bartz") is not None


def bart(covariates: FloatArray, treatment: FloatArray, outcome: FloatArray) -> Estimate:
    """Return the posterior mean and interval of a Bayesian sum of trees in covariates, propensity and treatment."""
    both_arms(treatment, outcome)
    trees: Any = require("bartz.BART", "experiments")
    probability = propensity(covariates, treatment, 0.1)
    x = np.column_stack([standardised(covariates), np.log(probability / (1 - probability))])
    n = len(outcome)
    set_to = [np.column_stack([x, np.full(n, arm)]) for arm in (1.0, 0.0)]
    settings = {"ntree": _TREES, "ndpost": _KEPT, "nskip": _BURNED, "keepevery": 1, "printevery": None, "mc_cores": 1}
    model = trees.mc_gbart(
        np.column_stack([x, treatment]).astype(np.float32),
        outcome.astype(np.float32),
        x_test=np.vstack(set_to).astype(np.float32),
        **settings,
    )
    drawn = np.asarray(model.yhat_test, dtype=float)
    effects = drawn[:, :n] - drawn[:, n:]
    low, high = np.quantile(effects.mean(axis=1), [0.025, 0.975])
    return Estimate(float(effects.mean()), float(low), float(high), effects.mean(axis=0))


RIVAL_FUNCTIONS: dict[str, Baseline] = {
    **BASELINE_FUNCTIONS,
    "lin": interacted,
    "aipw": boosted_aipw,
    "dml": boosted_dml,
    "bart": bart,
}
