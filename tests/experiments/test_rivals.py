"""Lin's regression, AIPW, DML and BART: written-out formulas, other programs, known truths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import alldags as ad
from replication import rivals


def bent(rng, n):
    """Confounded, curved, and an effect that differs between rows; its mean over rows is the truth."""
    x = rng.uniform(-2, 2, (n, 3))
    probability = 1 / (1 + np.exp(-x[:, 0]))
    t = (rng.random(n) < probability).astype(float)
    effect = 1 + x[:, 1]
    y = 2 * x[:, 0] ** 2 + 2 * np.abs(x[:, 0]) * (x[:, 0] > 0) + effect * t + 0.5 * rng.standard_normal(n)
    return x, t, y, effect


def test_interacted_is_two_regressions_taken_at_the_mean(rng):
    """Lin's estimate is the difference, at the mean of the covariates, of two regressions fitted arm by arm."""
    x, t, y, _ = bent(rng, 300)
    found = rivals.interacted(x * 100 + 3, t, y)
    design = np.column_stack([np.ones(300), x])
    arms = [np.linalg.lstsq(design[t == a], y[t == a], rcond=None)[0] for a in (0.0, 1.0)]
    np.testing.assert_allclose(found.rows, design @ (arms[1] - arms[0]), rtol=1e-8)
    assert found.value == pytest.approx(float((design @ (arms[1] - arms[0])).mean()), rel=1e-9)


def test_interacted_without_covariates_has_welchs_standard_error(rng):
    """With nothing but the treatment, HC2 is the sum of the arms' variances over their sizes."""
    t = (np.arange(60) < 20).astype(float)
    y = rng.standard_normal(60) * (1 + 3 * t)
    found = rivals.interacted(np.ones((60, 2)), t, y)
    error = math.sqrt(y[t == 1].var(ddof=1) / 20 + y[t == 0].var(ddof=1) / 40)
    assert found.high - found.value == pytest.approx(stats.norm.ppf(0.975) * error, rel=1e-9)


def test_interacted_with_repeated_columns_is_the_same(rng):
    x, t, y, _ = bent(rng, 200)
    plain, doubled = rivals.interacted(x, t, y), rivals.interacted(np.column_stack([x, x[:, :1] - x[:, 1:2]]), t, y)
    assert (doubled.value, doubled.low) == pytest.approx((plain.value, plain.low), rel=1e-8)


def test_augmented_by_hand():
    m0, m1, e = np.array([1.0, 2.0]), np.array([2.0, 4.0]), np.array([0.5, 0.2])
    found = rivals.augmented(m0, m1, e, np.array([1.0, 0.0]), np.array([3.0, 1.0]))
    terms = np.array([1 + (3 - 2) / 0.5, 2 - (1 - 2) / 0.8])
    assert found.value == pytest.approx(terms.mean())
    assert found.high - found.low == pytest.approx(2 * 1.959964 * terms.std(ddof=1) / math.sqrt(2), rel=1e-6)
    np.testing.assert_array_equal(found.rows, [1.0, 2.0])


def test_augmented_is_right_if_either_part_is(rng):
    n = 20_000
    x, t, y, effect = bent(rng, n)
    probability = 1 / (1 + np.exp(-x[:, 0]))
    mean0 = 2 * x[:, 0] ** 2 + 2 * np.abs(x[:, 0]) * (x[:, 0] > 0)
    nothing, half = np.zeros(n), np.full(n, 0.5)
    wrong = rivals.augmented(nothing, nothing, half, t, y)
    for found in (
        rivals.augmented(mean0, mean0 + effect, half, t, y),
        rivals.augmented(nothing, nothing, probability, t, y),
    ):
        assert abs(found.value - effect.mean()) < 4 * (found.high - found.low) / 3.92
    assert abs(wrong.value - effect.mean()) > 0.5


def test_partialled_out_is_least_squares_with_a_robust_error(rng):
    v = rng.standard_normal(500)
    u = 2 * v + np.abs(v) * rng.standard_normal(500)
    found = rivals.partialled_out(v, u)
    slope = float(np.linalg.lstsq(v[:, None], u, rcond=None)[0][0])
    residual = u - slope * v
    error = math.sqrt(float(np.sum(v**2 * residual**2)) / float(np.sum(v**2)) ** 2)  # HC0
    assert found.value == pytest.approx(slope, rel=1e-9)
    assert found.high - found.value == pytest.approx(1.959964 * error, rel=1e-6)


def test_folds_cover_every_row_once_with_both_arms():
    t = (np.arange(53) < 12).astype(float)
    left = []
    for fitted, predicted in rivals.folds(t):
        assert not (fitted & predicted).any()
        assert (fitted | predicted).all()
        assert t[predicted].sum() in (2, 3)  # 12 treated over 5 folds
        left.append(predicted)
    np.testing.assert_array_equal(np.sum(left, axis=0), 1)


@pytest.mark.parametrize("name", ["aipw", "dml"])
def test_boosting_removes_what_straight_lines_cannot(rng, name):
    x, t, y, effect = bent(rng, 1500)
    function = rivals.RIVAL_FUNCTIONS[name]
    found, again = function(x, t, y), function(x, t, y)
    assert found == again
    assert abs(found.value - effect.mean()) < 0.25
    assert found.high - found.low < 0.6
    if name == "aipw":
        assert np.sqrt(np.mean((found.rows - effect) ** 2)) < np.std(effect)


def test_predictions_are_made_on_rows_not_fitted(rng):
    """On pure noise a boosted fit follows its own rows; cross-fitted residuals keep the noise's size."""
    x, t, y = rng.standard_normal((200, 3)), np.tile([0.0, 1.0], 100), rng.standard_normal(200)
    found = rivals.boosted_aipw(x, t, y)
    # known arms of equal size: the error of a difference is about 2 sd / sqrt(n); fitted rows would make it far less
    assert (found.high - found.low) / 3.92 > 0.8 * 2 / math.sqrt(200)


@pytest.mark.skipif(not rivals.bart_installed(), reason="the package bartz is not installed")
def test_bart_finds_effects_that_differ(rng):
    x, t, y, effect = bent(rng, 300)
    found = rivals.bart(x, t, y)
    assert found.low < found.value < found.high
    assert abs(found.value - effect.mean()) < 0.4
    assert np.corrcoef(found.rows, effect)[0, 1] > 0.8


@pytest.mark.parametrize("name", ["lin", "aipw", "dml", "bart"])
def test_mistakes_are_named(name):
    function = rivals.RIVAL_FUNCTIONS[name]
    x, y = np.zeros((3, 1)), np.zeros(3)
    with pytest.raises(ad.AlldagsError, match="must be 0 or 1"):
        function(x, np.array([0.0, 1.0, 2.0]), y)
    with pytest.raises(ad.AlldagsError, match="no treated rows among 3"):
        function(x, np.zeros(3), y)
