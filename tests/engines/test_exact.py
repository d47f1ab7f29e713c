"""The enumeration against one dense computation per parent set."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.exact import Exact, ExactPosterior
from alldags.nodes import Setting
from lines import fit
from naive import effects as naive
from problems import PRIORS, make_problem, nine_settings, random_kind, random_node

pytestmark = pytest.mark.kernels

SHAPES = [(0, 0), (1, 0), (1, 1), (3, 1), (6, 2), (9, 0), (11, 0), (12, 1)]


def enumerate_sets(problem):
    """Score all parent sets one by one with a Cholesky factorisation each."""
    system = conjugate_system(problem)
    free = np.flatnonzero(~problem.certain)
    rows = []
    for code in range(1 << len(free)):
        mask = problem.certain.copy()
        mask[free] = [bool(code >> i & 1) for i in range(len(free))]
        rows.append((mask, summarize_set(system, mask, problem.certain)))
    log = np.array([row.log_weight for _, row in rows])
    evidence = float(np.logaddexp.reduce(log))
    return np.exp(log - evidence), evidence, rows


def averages(w, rows):
    mean = sum(p * row.mean for p, (_, row) in zip(w, rows, strict=True))
    between = sum(p * np.outer(row.mean, row.mean) for p, (_, row) in zip(w, rows, strict=True))
    within = sum(p * row.covariance for p, (_, row) in zip(w, rows, strict=True))
    inclusion = sum(p * mask for p, (mask, _) in zip(w, rows, strict=True))
    return mean, between, between + within, inclusion


def assert_matches_enumeration(problem, posterior):
    w, evidence, rows = enumerate_sets(problem)
    mean, between, second, inclusion = averages(w, rows)
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-10)
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(posterior.inclusion, inclusion, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(posterior.second_moment, second, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(posterior.second_moment_between, between, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("k", "certain"), SHAPES)
def test_equals_one_regression_per_set(prior, k, certain, rng):
    problem, _ = random_node(k, PRIORS[prior], k, certain=certain)
    assert_matches_enumeration(problem, Exact()(problem, rng))


@pytest.mark.parametrize("prior", PRIORS)
def test_equals_dense_densities_of_the_rows(prior, rng):
    problem, world = random_node(5, PRIORS[prior], 5, certain=1)
    sets = naive.node_sets(
        world.naive_rows, 5, range(5), world.probability, world.prior.slab_variance, world.naive_noise
    )
    log = np.array([item.log_weight for item in sets])
    evidence = np.logaddexp.reduce(log)
    w = np.exp(log - evidence)
    posterior = Exact()(problem, rng)
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-10)
    assert posterior.noise_variance == pytest.approx(w @ [item.noise_variance for item in sets], rel=1e-10)
    np.testing.assert_allclose(posterior.mean, (w @ [item.mean for item in sets])[:5], rtol=1e-9)


@pytest.mark.parametrize("prior", ["known", "unknown"])
def test_size_prior_and_g_slab(prior, rng):
    problem, _ = random_node(4, PRIORS[prior], 7, certain=1)
    noise = problem.settings[0].noise
    sizes = np.log(rng.dirichlet(np.ones(problem.free + 1)))
    sized = replace(problem, probability=np.where(problem.certain, 1.0, 0.5), log_size=sizes)
    assert_matches_enumeration(sized, ExactPosterior(sized))
    slabbed = replace(problem, settings=(Setting(20.0, noise, slab="g"),))
    assert_matches_enumeration(slabbed, ExactPosterior(slabbed))


@pytest.mark.parametrize("prior", ["known", "unknown"])
def test_averages_over_settings_by_evidence(prior, rng):
    problem, _ = random_node(8, PRIORS[prior], 4)
    noise = problem.settings[0].noise
    settings = tuple(Setting(tau, noise, log_weight=math.log(w)) for tau, w in ((0.1, 0.2), (1.0, 0.5), (9.0, 0.3)))
    mixed = Exact()(replace(problem, settings=settings), rng)
    parts = [Exact()(problem.with_setting(setting), rng) for setting in settings]
    log = np.array([part.log_evidence + setting.log_weight for part, setting in zip(parts, settings, strict=True)])
    w = np.exp(log - np.logaddexp.reduce(log))
    np.testing.assert_allclose(mixed.mean, w @ [part.mean for part in parts], rtol=1e-12)
    np.testing.assert_allclose(mixed.second_moment, np.tensordot(w, [p.second_moment for p in parts], 1), rtol=1e-12)
    assert mixed.log_evidence == pytest.approx(np.logaddexp.reduce(log), rel=1e-12)
    draws, _ = mixed.draw(20_000, rng)
    error = 4.5 * draws.std(axis=0) / math.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - mixed.mean) < error + 1e-12).all()


def test_threads_do_not_change_a_bit(rng):
    problem, _ = random_node(1, PRIORS["unknown"], 15)
    one, two = Exact(threads=1)(problem, rng), Exact(threads=2)(problem, rng)
    assert np.array_equal(one.mean, two.mean)
    assert np.array_equal(one.second_moment, two.second_moment)
    assert one.log_evidence == two.log_evidence


@pytest.mark.parametrize("prior", PRIORS)
def test_draws_are_the_posterior(prior, rng):
    problem, _ = random_node(6, PRIORS[prior], 12, certain=1)
    posterior = Exact()(problem, rng)
    size = 40_000
    coefficients, variance = posterior.draw(size, rng)
    present = (coefficients != 0).mean(axis=0)
    p = posterior.inclusion
    assert (np.abs(present - p) <= 4.5 * np.sqrt(p * (1 - p) / size) + 1e-12).all()
    products = coefficients[:, :, None] * coefficients[:, None, :]
    error = 4.5 * products.std(axis=0) / math.sqrt(size) + 1e-12
    assert (np.abs(products.mean(axis=0) - posterior.second_moment) < error).all()
    assert variance.mean() == pytest.approx(
        posterior.noise_variance, abs=4.5 * variance.std() / math.sqrt(size) + 1e-12
    )


@pytest.mark.parametrize("prior", ["known", "unknown"])
def test_joint_probability_of_whole_sets(prior, rng):
    problem, _ = random_node(7, PRIORS[prior], 11, certain=1)
    posterior = ExactPosterior(problem)
    w, _, rows = enumerate_sets(problem)
    ranked = sorted(zip(w, (mask for mask, _ in rows), strict=True), key=lambda pair: -pair[0])
    for found, (probability, mask) in zip(posterior.top_parent_sets(5), ranked, strict=False):
        assert found.probability == pytest.approx(probability, rel=1e-9)
        assert found.parents == tuple(np.array(problem.parents)[mask])
    masks = rng.random((20, problem.k)) < 0.25
    expected = [sum(p for p, (mask, _) in zip(w, rows, strict=True) if not (mask & query).any()) for query in masks]
    np.testing.assert_allclose(posterior.probability_disjoint(masks), expected, rtol=1e-9, atol=1e-14)
    query = masks[0] & ~problem.certain
    assert posterior._disjoint_by_refit(query) == pytest.approx(
        sum(p for p, (mask, _) in zip(w, rows, strict=True) if not (mask & query).any()), rel=1e-9
    )
    for parent in (3, 10):
        for present in (True, False):
            chosen = [(p, row) for p, (mask, row) in zip(w, rows, strict=True) if mask[parent] == present]
            mean = sum(p * row.mean for p, row in chosen) / sum(p for p, _ in chosen)
            np.testing.assert_allclose(posterior.mean_given(parent, present), mean, rtol=1e-8, atol=1e-12)


def test_asks_for_second_moments_only_when_needed(rng):
    problem, _ = random_node(2, PRIORS["known"], 5)
    posterior = Exact()(problem, rng)
    assert posterior.mean.shape == (5,)
    assert "_second" not in posterior.__dict__
    assert posterior.second_moment.shape == (5, 5)
    assert "_second" in posterior.__dict__


# -- extremes --------------------------------------------------------------------------------------------------------


def test_weights_hundreds_of_nats_above_the_greedy_set(rng):
    """Two parents that only help together: the greedy set, whose weight counts as 1, is far from the best."""
    n = 4000
    shared, left, right = rng.normal(size=(3, n))
    a = shared + 0.01 * left
    b = shared + 0.01 * right
    y = 300.0 * (a - b) + rng.normal(size=n)
    problem = make_problem(np.column_stack([a, b]), y, ad.Prior(1e6, ad.priors.KnownNoise(1.0), "raw", intercept=False))
    assert_matches_enumeration(problem, Exact()(problem, rng))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("probability", [1e-12, 0.5, 1 - 1e-12])
def test_extreme_scales_and_odds(scale, probability, rng):
    x = rng.normal(size=(50, 5))
    x[:, 4] = scale * (x[:, 0] - x[:, 1]) + rng.normal(size=50)
    problem = make_problem(x[:, :4], x[:, 4], ad.Prior(1.0, ad.priors.UnknownNoise(), "raw"), probability=probability)
    assert_matches_enumeration(problem, Exact()(problem, rng))


def test_duplicated_columns_and_fewer_rows_than_parents(rng):
    x = rng.normal(size=(6, 12))
    x[:, 1] = x[:, 0]
    problem = make_problem(x[:, :11], x[:, 11], ad.Prior(1.0, ad.priors.KnownNoise(1.0), "raw", intercept=False))
    posterior = Exact()(problem, rng)
    assert_matches_enumeration(problem, posterior)
    assert posterior.inclusion[0] == pytest.approx(posterior.inclusion[1], rel=1e-9)


def test_ten_million_rows_by_moments(rng):
    covariance = np.array([[1.0, 0.3, 0.5], [0.3, 1.0, 0.2], [0.5, 0.2, 1.0]])
    moments = ad.Moments.from_covariance(covariance, n=10**7, names=["x", "z", "y"])
    graph = ad.CandidateGraph.from_order(["x", "z", "y"])
    effect = fit(moments, graph, engine="exact", rng=0).effect("x", "y")
    assert effect.mean == pytest.approx(0.5, abs=1e-5)
    assert effect.sd == pytest.approx(math.sqrt((1 - 0.5**2) / 1e7), rel=0.01)


def test_two_degrees_of_freedom_have_no_variance(rng):
    x = rng.normal(size=(3, 2))
    effect = fit(x, ad.CandidateGraph.from_order(["x", "y"]), names=["x", "y"], engine="exact", rng=0).effect("x", "y")
    assert math.isinf(effect.sd)
    assert math.isfinite(effect.mean)
    assert effect.to.dict()["sd"] is None
    with pytest.raises(ad.AlldagsError, match="no posterior mean"):
        fit(x[:2], ad.CandidateGraph.from_order(["x", "y"]), names=["x", "y"], engine="exact").effect("x", "y")


# -- mistakes --------------------------------------------------------------------------------------------------------


def test_refuses_too_many_parents_and_says_the_cost(rng):
    problem, _ = random_node(0, PRIORS["known"], 24, rows=30)
    with pytest.raises(ad.AlldagsError, match=r"24 uncertain .* max_parents=12.*2\^24.*Exact\(max_parents=24\)"):
        Exact(max_parents=12)(problem, rng)
    with pytest.raises(ad.AlldagsError, match="a whole number from 0 to 40, got 41"):
        Exact(max_parents=41)
    with pytest.raises(ad.AlldagsError, match="Exact threads must be a whole number of at least 1"):
        Exact(threads=0)


def test_refuses_what_takes_more_than_a_minute_and_says_the_time(rng):
    problem = random_kind(rng, "unknown", 34)
    with pytest.raises(
        ad.AlldagsError, match=r"34 uncertain candidate parents: 2\^34 .* about 8\.59 minutes; allow it"
    ):
        Exact()(problem, rng)
    small = random_kind(rng, "unknown", 29)
    with pytest.raises(ad.AlldagsError, match=r"2\^29 parent sets under 9 hyper.* take about 2\.42 minutes"):
        Exact()(nine_settings(small), rng)
    assert Exact()(small, rng).problem is small  # half of 2^30 sets; nothing is computed before it is asked for
    huge = random_kind(rng, "known", 45)
    with pytest.raises(ad.AlldagsError, match=r"about 12\.2 days; use engine='auto' or 'mcmc'"):
        Exact()(huge, rng)


def test_certain_parents_do_not_count(rng):
    problem, _ = random_node(0, PRIORS["known"], 24, rows=40, certain=20)
    assert Exact(max_parents=4)(problem, rng).inclusion[:20].tolist() == [1.0] * 20
