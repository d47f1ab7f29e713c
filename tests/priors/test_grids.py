"""Grids of slabs: what they are worth, and hyperparameters that concentrate them on few points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import alldags as ad
from lines import fit


@pytest.mark.parametrize("a", [2.5, 3.0, 4.0, 8.0])
def test_the_weights_of_hyper_g_are_its_distribution(a):
    g, log_weight = ad.priors.HyperG(a=a, points=401).values(100)
    weight = np.exp(log_weight)
    assert weight.sum() == pytest.approx(1.0)
    for bound in (0.5, 3.0, 40.0):
        below = quad(lambda x: (a - 2) / 2 * (1 + x) ** (-a / 2), 0, bound)[0]
        assert weight[g <= bound].sum() == pytest.approx(below, abs=0.02)


@pytest.mark.parametrize("a", [1e3, 1e9, 1e100])
def test_points_too_improbable_for_a_number_are_left_out(a, recwarn):
    g, log_weight = ad.priors.HyperG(a=a).values(100)
    assert np.isfinite(log_weight).all()
    assert np.exp(log_weight).sum() == pytest.approx(1.0)
    assert 1 <= len(g) < 41
    assert not recwarn


def test_an_extreme_hyper_g_answers_without_a_warning(recwarn):
    study = ad.datasets.example()
    effect = fit(study.table, study.graph, prior=ad.Prior(slab=ad.priors.HyperG(a=1e9)), rng=0).effect(
        "smoking", "risk"
    )
    assert np.isfinite([effect.mean, effect.sd]).all()
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]
