"""Subsamples, preparation of columns, and the loop over methods, on made-up and on the real data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alldags.datasets.public import TreatmentData
from replication import semisynthetic
from replication.runner import Task
from replication.semisynthetic import SemiSynthetic


def made_up(rng, n=200):
    x = np.column_stack([rng.standard_normal((n, 2)) * [1000, 0.1] + 50, np.ones(n)])
    t = (rng.random(n) < 0.3).astype(float)
    y0 = 100 + x[:, 0] / 500 + rng.standard_normal(n)
    y1 = y0 + 3
    return TreatmentData("toy", x, t, np.where(t > 0, y1, y0), y0, y1, None, None, ("a", "b", "constant"))


def test_constant_covariates_are_left_out(rng):
    data = semisynthetic.drop_constant(made_up(rng))
    assert data.columns == ("a", "b")
    assert data.covariates.shape == (200, 2)


def test_preparation_for_the_papers_prior(rng):
    data = semisynthetic.drop_constant(made_up(rng))
    ready = semisynthetic.centred(data)
    np.testing.assert_allclose(ready.array().mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(ready.covariates.std(axis=0, ddof=1), 1)
    assert ready.outcome.std() == pytest.approx(data.outcome.std())
    assert np.ptp(ready.treatment) == 1.0
    assert ready.effect == data.effect


@pytest.mark.parametrize("prior", ["paper", "default"])
def test_effect_is_found_in_the_units_of_the_data(rng, prior):
    found = semisynthetic.bayes_estimate(made_up(rng, 2000), prior, "full", rng, draws=0)
    # noise 1, arms of about 600 and 1400 rows: standard error 0.05; the slab pulls by 3 / (1 + 420)
    assert found.value == pytest.approx(3.0, abs=4 * 0.05 + 0.01)
    assert math.isnan(found.low)


@pytest.mark.parametrize("prior", ["paper", "default"])
@pytest.mark.parametrize("method", ["k2", "full"])
def test_interval_is_around_the_mean(rng, prior, method):
    found = semisynthetic.bayes_estimate(made_up(rng, 500), prior, method, rng, draws=4000)
    assert found.low < found.value < found.high
    # normal or nearly: length 2 * 1.96 * 1 / sqrt(500 * 0.3 * 0.7), up to the arms' sizes and the draws
    assert found.high - found.low == pytest.approx(3.92 / math.sqrt(105), rel=0.2)
    assert semisynthetic.bayes_estimate(made_up(np.random.default_rng(1)), prior, method, rng, 0).value != found.value


def test_nested_rows_have_both_arms():
    treatment = np.zeros(100)
    treatment[:4] = 1
    for seed in range(20):
        order = semisynthetic.nested_rows(treatment, 20, np.random.default_rng(seed))
        assert sorted(order) == list(range(100))
        assert treatment[order[:20]].sum() >= 2


def test_replication_on_ihdp(public_data):
    work = SemiSynthetic((60, 747), ("k2", "full"), ("ipw", "difference"), folder=str(public_data), draws=100)
    results = work(Task("IHDP", 4))
    assert len(results) == 2 * (2 * 2 + 2)
    assert {result.size for result in results} == {60, 747}
    (full,) = [r for r in results if (r.size, r.prior, r.method) == (747, "default", "full")]
    assert full.truth == pytest.approx(semisynthetic.load(Task("IHDP", 4), str(public_data)).effect)
    assert abs(full.estimate - full.truth) < 1.0
    assert [r.estimate for r in results] == [r.estimate for r in work(Task("IHDP", 4))]


def test_full_size_once_and_full_size_only(public_data):
    work = SemiSynthetic(
        (100, 1000),
        (),
        ("difference",),
        folder=str(public_data),
        full_once=True,
        full_only=("2fd4b7c574be477aadc095786d8dec24",),
    )
    assert [r.size for r in work(Task("a3c4c668a3f84ba3ac42bf78c3ca35b1", 0))] == [100, 1000]
    assert [r.size for r in work(Task("a3c4c668a3f84ba3ac42bf78c3ca35b1", 1))] == [100]
    (only,) = work(Task("2fd4b7c574be477aadc095786d8dec24", 0))
    assert (only.size, only.estimate) == (1000, pytest.approx(-372.184, abs=1e-3))


def test_only_some_replications_are_subsampled(public_data):
    work = SemiSynthetic((100, 747), (), ("difference",), folder=str(public_data), curve_replications=2)
    assert [[r.size for r in work(Task("IHDP", i))] for i in (1, 2)] == [[100, 747], [747]]


def test_known_numbers_of_lbidd(public_data):
    """Difference in means and least squares as published with the data."""
    work = SemiSynthetic((1000,), (), ("difference", "least_squares"), folder=str(public_data))
    expected = {"a3c4c668": (-415.584, 1.994), "30fdfdf9": (0.562, -1.623), "ea8ec4f5": (73.433, 12.929)}
    for name, values in expected.items():
        found = {result.method: result.estimate for result in work(Task(name, 0))}
        assert (found["difference"], found["least_squares"]) == pytest.approx(values, abs=1e-3)


def test_both_definitions_of_the_effect(public_data):
    effects, of_means = semisynthetic.both_effects(str(public_data), 50)
    assert np.sqrt(np.mean((effects - of_means) ** 2)) == pytest.approx(0.05, abs=0.02)
