"""IPW, difference in means and least squares against formulas written out and against other programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import alldags as ad
from replication import baselines


def confounded(rng, n, k=3, effect=2.0):
    x = rng.standard_normal((n, k))
    probability = 1 / (1 + np.exp(-(x[:, 0] - 0.5 * x[:, 1])))
    t = (rng.random(n) < probability).astype(float)
    y = effect * t + x @ (2.0 * (-1.0) ** np.arange(k)) + rng.standard_normal(n)
    return x, t, y, probability


def test_difference_in_means_is_welch(rng):
    x, t, y, _ = confounded(rng, 50)
    found = baselines.difference_in_means(x, t, y)
    other = stats.ttest_ind(y[t == 1], y[t == 0], equal_var=False).confidence_interval(0.95)
    assert found.value == pytest.approx(y[t == 1].mean() - y[t == 0].mean(), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((other.low, other.high), rel=1e-10)


def test_least_squares_is_the_textbook_formula(rng):
    x, t, y, _ = confounded(rng, 40)
    design = np.column_stack([np.ones(40), t, x])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    error = math.sqrt(np.sum((y - design @ beta) ** 2) / 35 * inverse[1, 1])
    found = baselines.least_squares(x * 1000 + 7, t, y)  # units and origin of covariates do not matter
    assert found.value == pytest.approx(beta[1], rel=1e-9)
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 35) * error, rel=1e-9)


def test_least_squares_with_repeated_columns_is_the_same(rng):
    x, t, y, _ = confounded(rng, 40)
    plain = baselines.least_squares(x, t, y)
    doubled = baselines.least_squares(np.column_stack([x, x[:, 0], 3 * x[:, 1] - x[:, 2], np.ones(40)]), t, y)
    assert doubled.value == pytest.approx(plain.value, rel=1e-9)
    assert (doubled.low, doubled.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


def test_least_squares_with_more_columns_than_rows_is_the_minimum_norm_solution(rng):
    x, t, y, _ = confounded(rng, 12, k=20)
    found = baselines.least_squares(x, t, y)
    design = np.column_stack([t, x])
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    expected = (np.linalg.pinv(design) @ (y - y.mean()))[0] / t.std()
    assert found.value == pytest.approx(expected, rel=1e-8)
    assert math.isnan(found.low)


def test_horvitz_thompson_by_hand():
    e, t, y = np.array([0.5, 0.25, 0.5, 0.8]), np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 2.0, 3.0, 4.0])
    terms = np.array([1 / 0.5, 2 / 0.25, -3 / 0.5, -4 / 0.2])
    found = baselines.weighted_difference(e, t, y, normalised=False)
    assert found.value == pytest.approx(terms.mean())
    assert found.high - found.low == pytest.approx(2 * 1.959964 * terms.std(ddof=1) / 2, rel=1e-6)


def test_hajek_by_hand_and_shift_invariant():
    e, t, y = np.array([0.5, 0.25, 0.5, 0.8]), np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 2.0, 3.0, 4.0])
    found = baselines.weighted_difference(e, t, y, normalised=True)
    assert found.value == pytest.approx((1 / 0.5 + 2 / 0.25) / (2 + 4) - (3 / 0.5 + 4 / 0.2) / (2 + 5))
    moved = baselines.weighted_difference(e, t, y + 100, normalised=True)
    assert (moved.value, moved.low) == pytest.approx((found.value, found.low))
    assert baselines.weighted_difference(e, t, y + 100, normalised=False).value != pytest.approx(found.value)


def test_propensity_recovers_a_logistic_model(rng):
    x, t, _, probability = confounded(rng, 4000)
    found = baselines.propensity(x, t, strength=100.0)
    # three coefficients and an intercept: the error of a fitted probability is of order sqrt(4 / n) / 2
    assert np.sqrt(np.mean((found - probability) ** 2)) < 4 * math.sqrt(4 / 4000) / 2


def test_propensity_penalty_is_l1(rng):
    x, t, _, _ = confounded(rng, 100, k=30)
    assert np.ptp(baselines.propensity(x, t, strength=1e-3)) == 0.0  # every coefficient is exactly zero
    assert np.ptp(baselines.propensity(x, t)) > 0.1


def test_propensity_does_not_penalise_the_intercept(rng):
    x = rng.standard_normal((400, 3))
    t = (np.arange(400) < 60).astype(float)
    np.testing.assert_allclose(baselines.propensity(x, t, strength=0.01), 0.15, atol=1e-3)


def test_propensity_without_covariates(rng):
    t = np.array([0.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(baselines.propensity(np.ones((4, 2)), t), 0.75)


def test_intervals_cover(rng, calibrate_scale):
    """Least squares and known-propensity weighting are right here: about 95 of 100 intervals contain the truth."""
    count = 300 * calibrate_scale
    hits = np.zeros(3)
    for _ in range(count):
        x, t, y, probability = confounded(rng, 200)
        found = (
            baselines.least_squares(x, t, y),
            baselines.weighted_difference(probability, t, y, normalised=False),
            baselines.weighted_difference(probability, t, y, normalised=True),
        )
        hits += [estimate.low <= 2.0 <= estimate.high for estimate in found]
    spread = math.sqrt(0.95 * 0.05 / count)
    assert hits[0] / count == pytest.approx(0.95, abs=4 * spread)
    assert (hits[1:] / count > 0.95 - 4 * spread - 0.05).all()  # heavy-tailed weights: the normal quantile falls short


def test_weighting_removes_confounding(rng):
    x, t, y, _ = confounded(rng, 5000)
    for name, function in baselines.BASELINE_FUNCTIONS.items():
        error = abs(function(x, t, y).value - 2.0)
        assert (error < 0.5) == (name != "difference"), name


@pytest.mark.parametrize("name", baselines.BASELINE_FUNCTIONS)
def test_mistakes_are_named(name):
    function = baselines.BASELINE_FUNCTIONS[name]
    x, y = np.zeros((3, 1)), np.zeros(3)
    with pytest.raises(ad.AlldagsError, match="must be 0 or 1"):
        function(x, np.array([0.0, 1.0, 2.0]), y)
    with pytest.raises(ad.AlldagsError, match="no treated rows among 3"):
        function(x, np.zeros(3), y)
