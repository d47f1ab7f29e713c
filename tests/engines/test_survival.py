"""Survival times: likelihood, baseline and node against slow twins."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

import alldags as ad
from alldags.families.base import Batch, Draws, Point
from alldags.families.baseline import Pieces, product_limit, restricted_mean, surviving
from alldags.kernels.lookup import looked_up
from alldags.priors.prior import Prior
from family_problems import columns, fit_node
from naive.survival import enumerate_survival, log_likelihood, overlap

TAU = 1.5625


def problem(n=120, k=3, seed=0, late=False, effect=0.8):
    rng = np.random.default_rng([n, k, seed])
    x = columns(n, k, rng)
    time = rng.weibull(1.4, n) * np.exp(-(effect * x[:, 0] - 0.3 * x[:, 1]) / 1.4) + 1e-3
    until = rng.exponential(2.0, n) + 1e-3
    stop, event = np.minimum(time, until), (time <= until).astype(float)
    start = np.where(rng.random(n) < 0.4, rng.uniform(0, 0.9, n) * stop, 0.0) if late else np.zeros(n)
    return x, start, stop, event


def family(event, stop, pieces=4, entry=None, arms=None):
    cuts = tuple(np.quantile(stop[event == 1], np.arange(1, pieces) / pieces).tolist())
    return ad.Survival(event="d", entry=entry, cuts=cuts, until=float(np.quantile(stop, 0.9)), arms=arms)


def batch_of(x, start, stop, event, weight=None, arm=None):
    read = (event, start, *(() if arm is None else (arm,)))
    return Batch(x, stop, weight=weight, read=read)


def test_the_log_likelihood_is_that_of_rows_times_pieces(rng):
    x, start, stop, event = problem(late=True)
    own = family(event, stop, entry="e")
    weight = rng.uniform(0.5, 2.0, len(stop))
    draws = Draws(rng.normal(size=5), rng.normal(size=(5, 3)), np.ones(5), 0.5 * rng.normal(size=(5, 4)))
    batch = batch_of(x, start, stop, event, weight)
    by_row = own.log_likelihood_by_row(batch, draws)
    assert own.log_likelihoods([batch], draws) == pytest.approx(by_row.sum(axis=0), rel=1e-10)
    for d in range(5):
        psi, eta = draws.intercept[d] + draws.beside[d], x @ draws.coefficients[d]
        one = [
            weight[i] * log_likelihood(psi, eta[i : i + 1], start[[i]], stop[[i]], event[[i]], own.cuts)
            for i in range(len(stop))
        ]
        assert by_row[:, d] == pytest.approx(one, rel=1e-9, abs=1e-10)


def test_rows_of_two_arms_have_heights_of_their_own(rng):
    x, start, stop, event = problem()
    arm = (rng.random(len(stop)) < 0.5).astype(float)
    own = family(event, stop, entry="e", arms=("t", 0.0, 1.0))
    draws = Draws(np.zeros(1), rng.normal(size=(1, 3)), np.ones(1), rng.normal(size=(1, 8)))
    found = own.log_likelihood_by_row(batch_of(x, start, stop, event, arm=arm), draws)[:, 0]
    eta = x @ draws.coefficients[0]
    for i in range(len(stop)):
        psi = draws.beside[0, 4:] if arm[i] else draws.beside[0, :4]
        naive = log_likelihood(psi, eta[[i]], start[[i]], stop[[i]], event[[i]], own.cuts)
        assert found[i] == pytest.approx(naive, rel=1e-9, abs=1e-10)


def test_exposures_add_up_to_the_time_watched(rng):
    stop = rng.exponential(1.0, 50)
    start = stop * rng.random(50)
    pieces = Pieces((0.2, 0.5, 1.1))
    found = pieces.exposures(start, stop, np.zeros(50))
    assert found == pytest.approx(overlap(start, stop, pieces.cuts))
    assert found.sum(axis=1) == pytest.approx(stop - start)


def test_the_quadratic_has_the_derivatives_of_the_log_likelihood_without_the_baseline():
    x, start, stop, event = problem(n=400)
    own = family(event, stop, entry="e")
    batch, names = [batch_of(x, start, stop, event)], ("a", "b", "c")
    at, step = np.array([0.0, 0.5, -0.2, 0.1]), 1e-4

    def integral(move):
        found = own.quadratic(names, batch, Point(at + move))
        return found.value + 0.5 * math.log(2 * math.pi / found.information[0, 0])

    middle = own.quadratic(names, batch, Point(at))
    gram = (
        middle.information[1:, 1:]
        - np.outer(middle.information[0, 1:], middle.information[0, 1:]) / (middle.information[0, 0])
    )
    for i in range(1, 4):
        move = step * np.eye(4)[i]
        slope = (integral(move) - integral(-move)) / (2 * step)
        curvature = -(integral(10 * move) - 2 * integral(0 * move) + integral(-10 * move)) / (10 * step) ** 2
        assert middle.gradient[i] == pytest.approx(slope, abs=0.2)  # the slope of log |information| is left out
        assert gram[i - 1, i - 1] == pytest.approx(curvature, rel=0.02)


@pytest.mark.parametrize(("n", "seed", "late"), [(60, 0, False), (120, 1, True), (250, 2, False)])
def test_a_survival_node_is_what_enumeration_of_all_sets_says(n, seed, late):
    x, start, stop, event = problem(n, seed=seed, late=late, effect=0.4)
    own = family(event, stop, entry="e")
    found = fit_node(x, stop, family=own, prior=Prior(slab_variance=TAU), d=event, e=start)
    truth = enumerate_survival(x, start, stop, event, own.cuts, np.full(3, 0.5), TAU)
    assert found.inclusion == pytest.approx(truth.inclusion, abs=0.02)
    assert found.mean == pytest.approx(truth.mean, abs=0.1 * truth.sd.max())
    assert found.log_evidence == pytest.approx(truth.log_evidence, abs=0.05)


def test_so_is_one_whose_hazard_ratio_may_change():
    x, start, stop, event = problem(150, seed=4)
    arm = (x[:, 1] > 0).astype(float)
    own = family(event, stop, pieces=3, entry="e", arms=("x1", float(x[:, 1].min()), float(x[:, 1].max())))
    found = fit_node(x, stop, family=own, prior=Prior(slab_variance=TAU), d=event, e=start)
    truth = enumerate_survival(x, start, stop, event, own.cuts, np.full(3, 0.5), TAU, arm=arm)
    assert found.inclusion == pytest.approx(truth.inclusion, abs=0.02)
    assert found.log_evidence == pytest.approx(truth.log_evidence, abs=0.05)


def test_a_restricted_mean_is_the_integral_of_survival(rng):
    pieces, psi = Pieces((0.3, 0.8)), rng.normal(size=(2, 3))
    eta = np.array([[-1.0, 0.3], [0.5, 2.0]])
    widths = pieces.widths(1.2)
    found = restricted_mean(eta, psi, widths)
    for i in range(2):
        for d in range(2):
            whole = quad(
                lambda t, i=i, d=d: surviving(eta[i : i + 1, d : d + 1], psi[d : d + 1], pieces.widths(t))[0, 0],
                0, 1.2, points=[0.3, 0.8],
            )[0]  # fmt: skip
            assert found[i, d] == pytest.approx(whole, rel=1e-7)


@pytest.mark.kernels
def test_many_rows_are_looked_up_between_few_values(rng):
    eta, psi = 2.0 * rng.standard_normal((200, 3)), rng.normal(size=(3, 5))
    widths = np.array([0.1, 0.2, 0.2, 0.4, 0.3])
    one_by_one = np.vstack([restricted_mean(eta[i : i + 1], psi, widths) for i in range(200)])
    assert restricted_mean(eta, psi, widths) == pytest.approx(one_by_one, abs=1e-5)


@pytest.mark.kernels
def test_cubics_are_looked_up_exactly(rng):
    weights = rng.normal(size=(2, 4))
    grid = np.linspace(-1.0, 1.0, 11)
    table = np.array([np.polyval(w, grid) for w in weights])
    x = rng.uniform(-0.8, 0.8, (20, 2))
    found = looked_up(x, np.full(2, -1.0), np.full(2, 0.2), table)
    assert found == pytest.approx(np.column_stack([np.polyval(w, x[:, d]) for d, w in enumerate(weights)]))


def test_the_product_limit_counts_who_was_there(rng):
    stop, event, start = rng.exponential(size=40).round(1) + 0.1, rng.random(40) < 0.6, np.zeros(40)
    start[:10] = 0.05
    weight = rng.uniform(0.5, 2.0, 40)
    times, found = product_limit(start, stop, event.astype(float), weight)
    left = 1.0
    for t, value in zip(times, found, strict=True):
        there = weight[(start < t) & (stop >= t)].sum()
        left *= 1.0 - weight[(stop == t) & event].sum() / there
        assert value == pytest.approx(left)


def test_a_coefficient_counts_its_weight_as_so_many_rows():
    x, start, stop, event = problem(100)
    own = family(event, stop, entry="e")
    twice = [batch_of(*(np.concatenate([part, part]) for part in (x, start, stop, event)))]
    weighed = [batch_of(x, start, stop, event, np.full(100, 2.0))]
    at = Point(np.array([0.0, 0.3, 0.1, -0.2]))
    one, other = (own.quadratic(("a", "b", "c"), batches, at) for batches in (twice, weighed))
    assert one.information == pytest.approx(other.information)
    assert one.gradient == pytest.approx(other.gradient, abs=1e-9)
    assert one.value == pytest.approx(other.value)


def test_time_in_other_units_changes_the_level_alone():
    x, start, stop, event = problem(200)
    own = family(event, stop, entry="e")
    days = replace(own, cuts=tuple(365.0 * cut for cut in own.cuts))
    fits = [
        fit_node(x, scale * stop, family=one, prior=Prior(slab_variance=TAU), d=event, e=scale * start)
        for scale, one in ((1.0, own), (365.0, days))
    ]
    assert fits[0].mean == pytest.approx(fits[1].mean, abs=1e-6)
    assert fits[0].weighted.intercept.mean() - fits[1].weighted.intercept.mean() == pytest.approx(math.log(365.0))
