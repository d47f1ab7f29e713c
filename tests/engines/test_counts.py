"""Quantiles of counts, small and large."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

import alldags as ad


@pytest.mark.parametrize("mean", [0.5, 20.0, 299.0, 301.0, 5000.0, 1e6])
def test_the_count_at_a_level_is_the_quantile(mean):
    level = np.clip(np.random.default_rng(0).random((40, 20)), 1e-9, 1.0 - 1e-9)
    drawn = ad.Poisson().draw(np.full(level.shape, np.log(mean)), level)
    np.testing.assert_array_equal(drawn, poisson.ppf(level, mean))


def test_small_and_large_means_stand_side_by_side():
    eta = np.log(np.array([[0.1, 1e4], [400.0, 3.0]]))
    level = np.array([[0.5], [0.9]])
    np.testing.assert_array_equal(ad.Poisson().draw(eta, level), poisson.ppf(level, np.exp(eta)))
