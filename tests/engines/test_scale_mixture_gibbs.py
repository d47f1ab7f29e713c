from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats

import alldags as ad
from alldags.engines.gibbs import Gibbs, GibbsDiagnostics, sample
from alldags.engines.mixtures.node import NOT_USED, low_rank_factor, node_arrays
from alldags.errors import EngineError
from alldags.kernels.mixtures.draws import draw_inverse_gaussian_variance, draw_neg_rate
from alldags.nodes import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise
from naive import scale_mixtures as naive
from problems import correlated_problem, make_problem

PRIORS = {
    "neg": ad.priors.NEG(0.7, 0.3),
    "laplace": ad.priors.Laplace(3.0),
    "student-t": ad.priors.StudentT(1.2, 0.4),
    "horseshoe": ad.priors.Horseshoe(0.6, learn_global=False),
    "horseshoe-learned": ad.priors.Horseshoe(0.6),
}


@pytest.fixture(params=PRIORS)
def prior(request):
    return PRIORS[request.param]


@pytest.fixture(params=naive.NOISES)
def noise(request):
    return naive.NOISES[request.param]


@pytest.mark.kernels
@pytest.mark.parametrize(("alpha", "size"), [(2.0, 0.7), (0.3, 1e-5), (5.0, 0.0)])
def test_variance_draws_follow_their_density(alpha, size, rng):
    draws = np.array([draw_inverse_gaussian_variance(rng, alpha, size) for _ in range(20_000)])
    if size > 0:
        law = stats.geninvgauss(0.5, math.sqrt(alpha) * size, scale=size / math.sqrt(alpha))
    else:
        law = stats.gamma(0.5, scale=2 / alpha)
    assert stats.kstest(draws, law.cdf).pvalue > 1e-4


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("kappa", "nu", "size"), [(1e-6, 1e-6, 1e-3), (2.0, 0.5, 1.0), (0.3, 2.0, 0.0), (5.0, 1e-3, 4.0)]
)
def test_rate_draws_follow_their_density(kappa, nu, size, rng):
    draws = np.sqrt([draw_neg_rate(rng, kappa, nu, size) for _ in range(20_000)])
    grid = np.exp(np.linspace(np.log(draws.min()) - 5, np.log(draws.max()) + 3, 20_001))
    log_density = (2 * kappa + 1) * np.log(grid) - nu * grid**2 - size * grid
    cumulative = np.cumsum(np.exp(log_density - log_density.max()))
    cumulative /= cumulative[-1]
    assert stats.kstest(draws, lambda u: np.interp(u, grid, cumulative)).pvalue > 1e-4


@pytest.mark.kernels
def test_compiled_chain_equals_the_plain_one(prior, noise, rng):
    problem = correlated_problem(rng, n=10, k=3, noise=noise, certain=(1,))
    engine = Gibbs(chains=2, warmup=3, draws=6)
    found = sample(engine, naive.under(problem, prior), node_arrays(problem), np.random.default_rng(5))
    stream = np.random.default_rng(5).spawn(2)[1]
    start = np.exp(2.0 * stream.standard_normal(3))
    theta, mean, t, numbers = naive.chain(stream, problem, prior, start, 3, 6)
    np.testing.assert_allclose(found.theta[1], theta, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.mean[1], mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.variance[1], t, rtol=1e-6)
    np.testing.assert_allclose(found.noise[1], numbers, rtol=1e-7)


@pytest.mark.kernels
def test_compiled_chain_equals_the_plain_one_with_more_parents_than_rows(prior, noise, rng):
    problem = correlated_problem(rng, n=3, k=5, noise=noise)
    engine = Gibbs(chains=2, warmup=3, draws=6)
    found = sample(engine, naive.under(problem, prior), node_arrays(problem), np.random.default_rng(5))
    stream = np.random.default_rng(5).spawn(2)[0]
    start = np.exp(2.0 * stream.standard_normal(5))
    factor = low_rank_factor(node_arrays(problem), problem.n)
    theta, _, t, _ = naive.chain(stream, problem, prior, start, 3, 6, factor)
    np.testing.assert_allclose(found.theta[0], theta, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.variance[0], t, rtol=1e-5)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("signal", [0.3, 2.0])
def test_agrees_with_numerical_integration(prior, noise, k, signal, rng):
    problem = correlated_problem(rng, n=12, k=k, noise=noise, signal=signal)
    fit = Gibbs(draws=10_000)(naive.under(problem, prior), np.random.default_rng(7))
    truth = naive.integrate_node(problem, prior)
    error = fit.diagnostics.error
    assert (np.abs(fit.mean - truth.mean) < 4.5 * error).all()  # 40 comparisons
    # a second moment of d draws has a relative error of about sqrt(2/ess), more with heavy tails
    spread = np.sqrt(np.diag(truth.second_moment))
    tolerance = 4 * math.sqrt(2 / fit.diagnostics.ess.min()) * 2
    difference = (fit.second_moment - truth.second_moment) / np.outer(spread, spread)
    assert np.abs(difference).max() < tolerance
    np.testing.assert_allclose(fit.shrinkage, truth.shrinkage, atol=2.5 / math.sqrt(fit.diagnostics.ess.min()))
    assert fit.noise_variance == pytest.approx(truth.noise_variance, rel=0.02)
    assert fit.diagnostics.converged


@pytest.mark.kernels
def test_low_rank_chain_has_the_same_posterior(rng):
    # one row, two parents: rank one
    problem = correlated_problem(rng, n=1, k=2, noise=KnownNoise(1.3), signal=2.0)
    prior = ad.priors.Laplace(3.0)
    fit = Gibbs(draws=10_000)(naive.under(problem, prior), np.random.default_rng(1))
    truth = naive.integrate_node(problem, prior, high=8.0)  # beyond, exp(-alpha t / 2) has vanished
    assert (np.abs(fit.mean - truth.mean) < 4.5 * fit.diagnostics.error).all()
    np.testing.assert_allclose(fit.second_moment, truth.second_moment, atol=0.06)


def test_certain_edges_have_the_slab(noise, rng):
    problem = correlated_problem(rng, n=15, k=2, noise=noise, certain=(0, 1))
    full = ad.engines.Full()(problem, rng)
    fit = Gibbs()(problem, np.random.default_rng(0))
    np.testing.assert_allclose(fit.mean, full.mean, rtol=1e-10)  # conditional means do not vary
    # 8,000 independent draws: relative errors of sqrt(2/8000) = 0.016 of variances below 0.12
    np.testing.assert_allclose(fit.second_moment, full.second_moment, atol=0.01)
    assert fit.noise_variance == pytest.approx(full.noise_variance)
    assert fit.diagnostics.warnings == ()


def test_draws_are_rows_of_the_chains(noise, rng):
    problem = correlated_problem(rng, n=15, k=2, noise=noise)
    fit = Gibbs()(naive.under(problem, ad.priors.Laplace()), np.random.default_rng(0))
    theta, variance = fit.draw(8000, np.random.default_rng(1))
    assert len(np.unique(theta[:, 0])) == 8000  # each once
    np.testing.assert_allclose(theta.mean(axis=0), fit.mean, atol=0.05)
    assert variance.mean() == pytest.approx(fit.noise_variance, rel=0.05)
    assert fit.draw(9000, np.random.default_rng(1))[0].shape == (9000, 2)
    assert fit.inclusion is None
    assert fit.log_evidence is None


def test_error_of_a_combination(rng):
    problem = correlated_problem(rng, n=15, k=3, noise=KnownNoise())
    fit = Gibbs()(naive.under(problem, ad.priors.Laplace()), np.random.default_rng(0))
    assert fit.linear_error(np.array([0.0, 1.0, 0.0])) == pytest.approx(fit.diagnostics.error[1])
    assert fit.linear_error(np.zeros(3)) == 0.0


def test_same_seed_same_numbers(rng):
    problem = correlated_problem(rng, n=15, k=3, noise=UnknownNoise())
    engine = Gibbs(draws=500)
    first, second = (engine(naive.under(problem, ad.priors.Laplace()), np.random.default_rng(9)) for _ in range(2))
    np.testing.assert_array_equal(first.mean, second.mean)
    assert first.diagnostics.warnings == (NOT_USED,)


def test_chains_that_have_not_mixed_are_a_trouble_and_say_how_much_longer(rng):
    x, y = naive.large_graph_rows(rng, n=30, n1=8, n2=8)
    problem = make_problem(x, y, settings=(Setting(1.0, KnownNoise()),))
    fit = Gibbs(warmup=10, draws=40)(problem, np.random.default_rng(0))
    assert not fit.diagnostics.converged
    (trouble,) = fit.diagnostics.troubles
    assert re.search(r"have not mixed: 'x\d+' has R-hat .* run \d+ times longer \(draws=\d+", trouble)


def test_diagnostics_that_cannot_be_computed_are_not_convergence():
    nan = np.array([math.nan])
    assert not GibbsDiagnostics("gibbs", rhat=nan, ess=nan, error=nan, chains=4, draws=10).converged


@pytest.mark.kernels
def test_a_node_without_parents(noise):
    problem = make_problem(np.zeros((5, 0)), np.array([1.0, -2.0, 0.5, 1.0, 1.0]), settings=(Setting(1.0, noise),))
    fit = Gibbs(draws=100)(problem, np.random.default_rng(0))
    assert fit.mean.shape == (0,)
    assert fit.noise_variance == pytest.approx(ad.engines.Full()(problem, np.random.default_rng(0)).noise_variance)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chains": 1}, "chains must be a whole number of at least 2, got 1"),
        ({"draws": 0}, "draws must be a whole number of at least 4, got 0"),
        ({"thin": 0}, "thin must be a whole number of at least 1, got 0"),
        ({"warmup": -1}, "warmup must be a whole number of at least 0, got -1"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(EngineError, match=message):
        Gibbs(**settings)


def test_the_string_stands_for_the_defaults():
    assert ad.engines.resolve("gibbs") == Gibbs()
    assert Gibbs().name == "gibbs"
