"""Yes/no and count nodes against enumeration with importance sampling of every parent set."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags.engines.weighted.chains import largest_r_hat
from alldags.engines.weighted.pareto import smooth
from alldags.engines.weighted.weighing import draws_for
from alldags.families.base import Batch, Point
from alldags.families.canonical import LINK_SLAB, SURE
from family_problems import TAU, Bernoulli, Poisson, columns, family_rows, fit_node, yes_no
from naive.logistic import enumerate_sets

CELLS = [
    (50, 5, 0.5, "strong", False),
    (100, 5, 0.05, "weak", False),
    (200, 5, 0.5, "weak", False),
    (200, 5, 0.05, "strong", False),
    (50, 6, 0.5, "strong", True),
]


@pytest.mark.parametrize(("n", "k", "rate", "signal", "separated"), CELLS)
def test_a_yes_no_node_is_what_enumeration_of_all_sets_says(n, k, rate, signal, separated):
    x, y = yes_no(n, k, rate, signal, 1, separated)
    reference = enumerate_sets("bernoulli", x, y, np.full(k, 0.5), TAU)
    found = fit_node(x, y)
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.04
    assert (np.abs(found.mean - reference.mean) / reference.sd).mean() <= 0.1
    spread = np.sqrt(np.diag(found.second_moment) - found.mean**2)
    np.testing.assert_allclose(spread, reference.sd, rtol=0.12)
    assert abs(found.log_evidence - reference.log_evidence) <= 0.07  # of which the reference has .02
    assert found.diagnostics.events == y.sum()


def test_weights_repair_what_the_expansion_alone_gets_wrong():
    x, y = yes_no(50, 5, 0.5, "strong", 1)
    reference = enumerate_sets("bernoulli", x, y, np.full(5, 0.5), TAU)
    found = fit_node(x, y)
    before, after = (np.abs(node.inclusion - reference.inclusion).max() for node in (found.base, found))
    assert after < 0.3 * before
    assert before < found.diagnostics.total_variation  # which is meant to bound it


def test_few_events_go_to_the_sampler_which_agrees_with_enumeration():
    x, y = yes_no(100, 5, 0.05, "strong", 0)
    assert y.sum() < 5
    found = fit_node(x, y)
    assert found.diagnostics.fallback
    assert found.diagnostics.engine == "polya-gamma"
    assert found.diagnostics.r_hat < 1.05
    reference = enumerate_sets("bernoulli", x, y, np.full(5, 0.5), TAU)
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.04
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.15
    np.testing.assert_allclose(np.sqrt(np.diag(found.second_moment) - found.mean**2), reference.sd, rtol=0.15)


def test_the_sampler_takes_certain_edges_a_learned_slab_and_a_prior_of_the_size(rng, monkeypatch):
    from alldags.families import canonical

    x = columns(120, 4, rng)
    y = (rng.random(120) < 1 / (1 + np.exp(1.0 - x[:, 1]))).astype(float)
    prior = ad.Prior(edges=ad.priors.BetaBinomial(1, 2))
    weighted = fit_node(x, y, probability=[1.0, 0.5, 0.5, 0.5], prior=prior)
    monkeypatch.setattr(canonical, "LEAST_EVENTS", 1000)
    sampled = fit_node(x, y, probability=[1.0, 0.5, 0.5, 0.5], prior=prior)
    assert sampled.diagnostics.fallback
    assert not weighted.diagnostics.fallback
    assert weighted.inclusion[0] == sampled.inclusion[0] == 1.0
    assert np.abs(sampled.inclusion - weighted.inclusion).max() < 0.05
    spread = np.sqrt(np.diag(weighted.second_moment) - weighted.mean**2)
    assert (np.abs(sampled.mean - weighted.mean) / spread).max() < 0.1
    np.testing.assert_allclose(np.sqrt(np.diag(sampled.second_moment) - sampled.mean**2), spread, rtol=0.1)
    assert sampled.log_evidence == pytest.approx(weighted.log_evidence, abs=0.03)
    best, likely = (node.top_parent_sets(1)[0] for node in (sampled, weighted))
    assert best.parents == likely.parents
    assert best.probability == pytest.approx(likely.probability, abs=0.06)


def test_counts_with_an_offset_are_what_enumeration_says(rng):
    x = columns(100, 4, rng)
    offset = rng.uniform(-1.0, 1.0, 100)
    y = rng.poisson(np.exp(0.2 + offset + 0.5 * x[:, 0])).astype(float)
    reference = enumerate_sets("poisson", x, y, np.full(4, 0.5), TAU, offset=offset)
    found = fit_node(x, y, family=Poisson("time"), time=offset)
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.02
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.1
    assert abs(found.log_evidence - reference.log_evidence) <= 0.05
    assert found.diagnostics.ess > 0.9


@pytest.mark.parametrize("case", ["few events", "an offset"])
def test_the_sampler_of_counts_agrees_with_enumeration(case, rng, monkeypatch):
    from alldags.families import canonical

    monkeypatch.setattr(canonical, "LEAST_EVENTS", 10**9)
    rows = 50 if case == "few events" else 80
    x, offset = columns(rows, 4, rng), rng.uniform(-1.0, 1.0, rows)
    y = rng.poisson((0.15 if case == "few events" else 1.0) * np.exp(offset + 0.6 * x[:, 0])).astype(float)
    reference = enumerate_sets("poisson", x, y, np.full(4, 0.5), TAU, offset=offset, draws=2000)
    found = fit_node(x, y, family=Poisson("time"), time=offset)
    assert found.diagnostics.engine == "metropolis"
    assert found.diagnostics.r_hat < 1.02
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.03
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.08
    np.testing.assert_allclose(np.sqrt(np.diag(found.second_moment) - found.mean**2), reference.sd, rtol=0.08)
    assert abs(found.log_evidence - reference.log_evidence) <= 0.04


def test_counts_that_weights_fail_for_are_sampled_without_being_asked(rng):
    x = columns(40, 4, rng)
    y = np.zeros(40)
    y[[3, 17]] = 1.0  # two events: weights would be trusted blindly
    found = fit_node(x, y, family=Poisson())
    assert found.diagnostics.fallback
    assert found.diagnostics.converged
    reference = enumerate_sets("poisson", x, y, np.full(4, 0.5), TAU, draws=4000)
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.03
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.08


def test_the_sampler_of_counts_takes_certain_edges_a_learned_slab_and_a_prior_of_the_size(rng, monkeypatch):
    from alldags.families import canonical

    x = columns(100, 4, rng)
    y = rng.poisson(np.exp(0.4 * x[:, 1])).astype(float)
    prior, chances = ad.Prior(edges=ad.priors.BetaBinomial(1, 2)), [1.0, 0.5, 0.5, 0.5]
    weighted = fit_node(x, y, family=Poisson(), probability=chances, prior=prior)
    monkeypatch.setattr(canonical, "LEAST_EVENTS", 10**9)
    sampled = fit_node(x, y, family=Poisson(), probability=chances, prior=prior)
    assert sampled.diagnostics.fallback
    assert weighted.inclusion[0] == sampled.inclusion[0] == 1.0
    assert np.abs(sampled.inclusion - weighted.inclusion).max() < 0.03
    spread = np.sqrt(np.diag(weighted.second_moment) - weighted.mean**2)
    assert (np.abs(sampled.mean - weighted.mean) / spread).max() < 0.08
    assert sampled.log_evidence == pytest.approx(weighted.log_evidence, abs=0.03)


def test_a_bridge_finds_a_constant_that_plain_weights_miss():
    from alldags.engines.weighted.chains import bridge

    rng = np.random.default_rng(0)  # a wide normal seen from a narrow one: plain weights have no variance
    narrow, wide = rng.normal(0, 0.5, 4000), rng.normal(0, 1.0, 4000)

    def log_weight(x):
        return 3.0 - 0.5 * x**2 - (-0.5 * (x / 0.5) ** 2 - np.log(0.5))

    assert bridge(log_weight(narrow), log_weight(wide)) == pytest.approx(3.0, abs=0.05)


def test_a_node_with_much_information_is_weighed_in_one_pass_and_agrees_with_enumeration():
    x, y = yes_no(1500, 4, 0.5, "strong", 0)
    reference = enumerate_sets("bernoulli", x, y, np.full(4, 0.5), TAU, draws=2000)
    found = fit_node(x, y)
    assert 0.0 < found.quadratic.spread < SURE
    assert found.diagnostics.ess > 0.9
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.01
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.05
    np.testing.assert_allclose(np.sqrt(np.diag(found.second_moment) - found.mean**2), reference.sd, rtol=0.05)
    assert abs(found.log_evidence - reference.log_evidence) <= 0.02


def test_a_rare_cause_makes_predictors_unsure_however_many_rows_there_are(rng):
    x = columns(4000, 4, rng)
    rare = np.zeros(4000)
    rare[:12] = 1.0
    x[:, 3] = (rare - rare.mean()) / rare.std(ddof=1)
    y = (rng.random(4000) < 1 / (1 + np.exp(1.5 - x[:, 0] - 2.0 * rare))).astype(float)
    found = fit_node(x, y, prior=ad.Prior())
    assert found.quadratic.information[0, 0] > 300
    assert found.quadratic.spread > SURE
    assert found.diagnostics.ess > 0.3
    assert found.diagnostics.converged


@pytest.mark.parametrize("rows", [5, 8, 37])
def test_logarithms_of_products_are_sums_of_logarithms(rows, rng):
    from alldags.families.canonical import log_product

    eta = rng.normal(0, 3, (rows, 4))
    np.testing.assert_allclose(log_product(1.0 + np.exp(eta)), np.log1p(np.exp(eta)).sum(axis=0), rtol=1e-12)
    far = np.full((rows, 2), 600.0)
    np.testing.assert_allclose(Bernoulli().total_cumulant(far.copy()), 600.0 * rows, rtol=1e-12)


def test_prior_probabilities_and_certain_edges_count():
    x, y = yes_no(200, 5, 0.5, "weak", 0)
    chances = np.array([1.0, 0.9, 0.1, 0.5, 0.5])
    reference = enumerate_sets("bernoulli", x, y, np.where(chances < 1, chances, 1 - 1e-12), TAU)
    found = fit_node(x, y, probability=chances)
    assert found.inclusion[0] == 1.0
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.02


def test_probabilities_of_sets_are_consistent_with_those_of_edges():
    found = fit_node(*yes_no(100, 5, 0.5, "strong", 2))
    alone = np.eye(5, dtype=bool)
    np.testing.assert_allclose(1.0 - found.probability_disjoint(alone), found.inclusion, atol=1e-9)
    best = found.top_parent_sets(32)
    assert sum(item.probability for item in best) == pytest.approx(1.0, abs=0.03)
    draws, noise = found.draw(4000, np.random.default_rng(0))
    assert np.abs((draws != 0).mean(axis=0) - found.inclusion).max() < 0.04
    assert np.isnan(noise).all()
    given = found.mean_given(1, True), found.mean_given(1, False)
    p = found.inclusion[1]
    np.testing.assert_allclose(p * given[0] + (1 - p) * given[1], found.mean, atol=0.05)


@pytest.mark.parametrize("case", ["one event", "a zero cell", "a copy", "far away", "wide slab"])
def test_hard_tables_have_finite_answers(case, rng):
    x, y = columns(60, 3, rng), (rng.random(60) < 0.4).astype(float)
    prior = ad.Prior(slab_variance=1e4) if case == "wide slab" else None
    if case == "one event":
        y = np.zeros(60)
        y[7] = 1.0
    elif case == "a zero cell":
        x[:, 1] = np.where(y == 1.0, 1.0, -1.0)
    elif case == "a copy":
        x[:, 2] = x[:, 0]
    elif case == "far away":
        x[0, 0] = 25.0
    found = fit_node(x, y, prior=prior)
    for values in (found.mean, found.inclusion, found.second_moment, found.log_evidence):
        assert np.isfinite(values).all()
    if case == "a zero cell":
        assert found.inclusion[1] > 0.95
        assert found.mean[1] > 0.5


def test_the_same_seed_gives_the_same_numbers_and_another_agrees_within_errors():
    x, y = yes_no(100, 5, 0.5, "strong", 3)
    first, again, other = fit_node(x, y), fit_node(x, y), fit_node(x, y, seed=1)
    assert np.array_equal(first.mean, again.mean)
    weights = np.ones(5)
    error = math.hypot(first.linear_error(weights), other.linear_error(weights))
    assert 0.0 < abs(float((first.mean - other.mean).sum())) < 5.0 * error


def test_engines_agree_on_one_expansion(rng):
    x = columns(300, 8, rng)
    y = (rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
    exact, certified, sampled = (
        fit_node(x, y, engine=engine) for engine in (ad.engines.Exact(), ad.engines.Certified(), ad.engines.MCMC())
    )
    np.testing.assert_allclose(certified.base.inclusion, exact.base.inclusion, atol=1e-3)
    np.testing.assert_allclose(sampled.base.inclusion, exact.base.inclusion, atol=0.03)
    np.testing.assert_allclose(sampled.mean, exact.mean, atol=0.05)


def test_a_slab_that_was_not_given_is_the_one_for_the_link_scale():
    assert Bernoulli().prior(ad.Prior()).slab == LINK_SLAB
    assert Bernoulli().prior(ad.Prior(slab_variance=2.0)).slab_variance == 2.0
    assert Bernoulli().prior(ad.Prior(slab=ad.priors.LearnedSlab(median=2.0))).slab == ad.priors.LearnedSlab(median=2.0)


# -- Pareto smoothing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("size", [100, 1000, 4000])
def test_smoothing_is_that_of_arviz(spread, size, rng):
    from arviz_stats.base import array_stats

    log_weights = spread * rng.standard_t(5, size)
    expected, k_hat = array_stats.psislw(-log_weights)
    weights, shape, log_mean = smooth(log_weights)
    assert shape == pytest.approx(float(k_hat), abs=1e-9)
    share = np.exp(expected - expected.max())
    np.testing.assert_allclose(weights, share / share.sum(), rtol=1e-8)
    middle = np.argsort(log_weights)[size // 2]  # not smoothed
    assert log_mean == pytest.approx(log_weights[middle] - math.log(weights[middle] * size), rel=1e-9)


def test_equal_weights_stay_equal():
    weights, shape, log_mean = smooth(np.full(500, -3.0))
    assert log_mean == pytest.approx(-3.0)
    assert shape == 0.0
    np.testing.assert_allclose(weights, 1 / 500)


def test_fewer_draws_are_weighed_where_there_are_more_rows():
    counts = [draws_for(rows) for rows in (50, 1_000, 10_000, 1_000_000)]
    assert counts == [4000, 4000, 1000, 250]


# -- Polya-Gamma -------------------------------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("eta", [0.0, 0.5, -2.0, 6.0, 30.0])
def test_polya_gamma_draws_have_the_known_mean_and_variance(eta, scaled):
    from alldags.kernels.polya_gamma import draw_polya_gamma

    rng, size, z = np.random.default_rng(1), scaled(20_000), max(abs(eta), 1e-3)
    draws = np.array([draw_polya_gamma(rng, eta) for _ in range(size)])
    mean = math.tanh(z / 2) / (2 * z)
    variance = (math.sinh(z) - z) / (4 * z**3 * math.cosh(z / 2) ** 2)
    assert abs(draws.mean() - mean) < 4.5 * math.sqrt(variance / size)
    assert draws.var() == pytest.approx(variance, rel=0.15 if size > 5000 else 0.9)


@pytest.mark.kernels
def test_polya_gamma_draws_are_distributed_like_a_sum_of_gammas(scaled):
    from scipy.stats import ks_2samp

    from alldags.kernels.polya_gamma import draw_polya_gamma

    rng, size, eta = np.random.default_rng(2), scaled(8000), 1.5
    terms = (np.arange(1, 400) - 0.5) ** 2 + (eta / (2 * math.pi)) ** 2
    series = rng.standard_exponential((size, 399)) @ (1.0 / terms) / (2 * math.pi**2)
    draws = [draw_polya_gamma(rng, eta) for _ in range(size)]
    assert ks_2samp(series, draws).pvalue > 1e-3


@pytest.mark.kernels
def test_the_chain_of_counts_visits_sets_as_often_as_enumeration_says(scaled):
    from alldags.kernels.counts import run_count_chain

    rng = np.random.default_rng(5)
    x, steps = columns(25, 2, rng), scaled(6000)
    y = rng.poisson(np.exp(0.3 * x[:, 0])).astype(float)
    reference = enumerate_sets("poisson", x, y, np.full(2, 0.5), 1.0, draws=2000)
    rows = np.column_stack([np.ones(25), x])
    out = np.empty((steps, 3))
    run_count_chain(
        np.random.default_rng(0), rows, y, np.zeros(25), rows.T @ rows, np.arange(3), np.zeros(2),
        np.zeros(2, dtype=bool), np.zeros(3), np.ones(1), np.zeros(1), np.zeros(2, dtype=bool), np.zeros(3),
        np.zeros(1, dtype=np.int64), out,
    )  # fmt: skip
    tolerance = 6.0 * math.sqrt(0.25 * 5.0 / steps)
    assert np.abs((out[:, 1:] != 0).mean(axis=0) - reference.inclusion).max() < tolerance


@pytest.mark.kernels
def test_the_chain_visits_sets_as_often_as_enumeration_says(scaled):
    from alldags.kernels.polya_gamma import run_chain

    x, y = yes_no(30, 2 + 2, 0.5, "strong", 4)
    x, steps = x[:, :2], scaled(8000)
    reference = enumerate_sets("bernoulli", x, y, np.full(2, 0.5), 1.0)
    rows = np.column_stack([np.ones(30), x])
    out = np.empty((steps, 3))
    run_chain(
        np.random.default_rng(0), rows, y, np.arange(3), np.zeros(2), np.zeros(2, dtype=bool), np.zeros(3), np.ones(1),
        np.zeros(1), np.zeros(2, dtype=bool), np.zeros(3), np.zeros(1, dtype=np.int64), out,
    )  # fmt: skip
    tolerance = 6.0 * math.sqrt(0.25 * 5.0 / steps)  # steps are correlated
    assert np.abs((out[:, 1:] != 0).mean(axis=0) - reference.inclusion).max() < tolerance
    assert (np.abs(out[:, 1:].mean(axis=0) - reference.mean) / reference.sd).max() < 2 * tolerance


def test_r_hat_sees_chains_that_do_not_agree(rng):
    same = rng.standard_normal((4, 500, 2))
    assert largest_r_hat(same) < 1.02
    assert largest_r_hat(same + np.arange(4)[:, None, None]) > 1.3
    assert largest_r_hat(np.zeros((4, 500, 1))) == 1.0


def test_rows_may_come_in_batches_of_any_size(rng):
    x, y = columns(1000, 4, rng), (rng.random(1000) < 0.3).astype(float)
    rows = family_rows(x, y)
    names, at = tuple(f"x{i}" for i in range(4)), rng.standard_normal(5)
    whole = rows.family.quadratic(names, list(rows.batches()), Point(at))
    blocks = list(rows.table.batches([*names, "y"], 137))
    parts = [Batch(block[:, :4] - x.mean(axis=0), block[:, 4]) for block in blocks]
    summed = rows.family.quadratic(names, parts, Point(at))
    assert len(parts) == 8
    for name in ("information", "gradient", "value", "rows", "events"):
        np.testing.assert_allclose(getattr(summed, name), getattr(whole, name), rtol=1e-10, atol=1e-10)
    elsewhere = rows.family.quadratic(names, parts, Point(at + 1.0))
    with pytest.raises(ad.AlldagsError, match="agree on it first"):
        whole + elsewhere
    # the expansion has the log-likelihood's value and slope where it was made, whatever the gradient is there
    constant = whole.value - at @ whole.gradient - 0.5 * at @ whole.information @ at
    log_integral = constant + whole.shift @ at - 0.5 * at @ whole.information @ at
    eta = x @ at[1:] - x.mean(axis=0) @ at[1:] + at[0]
    assert log_integral == pytest.approx(float((y * eta - np.logaddexp(0, eta)).sum()), rel=1e-10)


@pytest.mark.parametrize("value", [800.0, -800.0])
def test_an_offset_that_is_no_logarithm_is_refused(rng, value):
    table = {"x": rng.standard_normal(40), "y": rng.poisson(1.0, 40).astype(float), "years": np.full(40, value)}
    graph = ad.CandidateGraph.from_edges({("x", "y"): 0.5})
    with pytest.raises(ad.errors.DataError, match=rf"'years' has the value {value:g}, .* give log\(exposure\)"):
        ad.fit(table, graph, families={"y": ad.Poisson(offset="years")})
