from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags.engines.em import EM, prior_weight
from alldags.engines.mixtures.node import IS_A_MODE, NOT_USED
from alldags.errors import EngineError
from alldags.nodes import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise
from naive import scale_mixtures as naive
from problems import correlated_problem, make_problem

pytestmark = pytest.mark.kernels

PRIORS = {
    "neg": ad.priors.NEG(0.7, 0.3),
    "laplace": ad.priors.Laplace(9.0),
    "student-t": ad.priors.StudentT(0.8, 0.05),
    "horseshoe": ad.priors.Horseshoe(0.6),
}
RNG = np.random.default_rng(0)  # EM uses no random numbers


@pytest.fixture(params=PRIORS)
def prior(request):
    return PRIORS[request.param]


@pytest.fixture(params=naive.NOISES)
def noise(request):
    return naive.NOISES[request.param]


@pytest.mark.parametrize("theta", [0.05, 0.5, 3.0])
def test_weight_is_minus_the_log_densitys_slope_over_theta(prior, theta):
    h = 1e-4 * theta
    above, below = (naive.density_by_integration(theta + sign * h, prior) for sign in (1, -1))
    slope = (math.log(above) - math.log(below)) / (2 * h)
    assert prior_weight(np.array([theta**2]), prior)[0] == pytest.approx(-slope / theta, rel=1e-6)


def test_em_and_variational_weights_of_neg_differ():
    # variational Bayes separates t and alpha; EM integrates both out (the paper gives only the former)
    settings = ad.priors.NEG(kappa=0.7, nu=0.3)
    assert prior_weight(np.array([0.25]), settings)[0] != pytest.approx(
        naive.mixing_weight(0.25, settings, 0.0), rel=0.05
    )


def lasso(problem, penalty):
    """Coordinate descent on 1/2 theta'G theta - b'theta + penalty sum |theta|."""
    s = problem.settings[0].noise.precision
    g, b = s * problem.gram, s * problem.cross
    theta = np.zeros(problem.k)
    for _ in range(5000):
        for i in range(problem.k):
            rest = b[i] - g[i] @ theta + g[i, i] * theta[i]
            theta[i] = math.copysign(max(abs(rest) - penalty, 0.0), rest) / g[i, i]
    return theta


def test_laplace_mode_is_the_lasso(rng):
    problem = correlated_problem(rng, n=30, k=8, noise=KnownNoise(1.3))
    fit = EM(tolerance=1e-10)(naive.under(problem, ad.priors.Laplace(100.0)), RNG)
    expected = lasso(problem, penalty=10.0)
    assert (expected == 0.0).any()
    np.testing.assert_allclose(fit.mean, expected, atol=1e-6)


def log_posterior(problem, prior, phi, log_s):
    """Log density of standardised coefficients and log precision, from rows' cross-products and quadrature."""
    setting = problem.settings[0]
    known = isinstance(setting.noise, KnownNoise)
    s = setting.noise.precision if known else math.exp(log_s)
    theta = phi if known else phi / math.sqrt(s)
    value = -0.5 * s * (problem.total - 2 * problem.cross @ theta + theta @ problem.gram @ theta)
    value += sum(math.log(naive.density_by_integration(abs(x), prior)) for x in phi)
    if not known:
        value += (setting.noise.shape + problem.n / 2) * log_s - setting.noise.rate * s
    return value


def test_result_is_a_local_mode(prior, noise, rng):
    problem = correlated_problem(rng, n=30, k=4, noise=noise, signal=2.0)
    fit = EM(tolerance=1e-10)(naive.under(problem, prior), RNG)
    known = fit.arrays.known
    s = 1.0 if known else fit.arrays.shape / fit._residual_rate
    phi = fit.mean * math.sqrt(s)
    alive = np.abs(phi) > 1e-6
    assert alive.any()
    phi = np.where(alive, phi, 1e-9)  # a pole cannot be evaluated
    best = log_posterior(problem, prior, phi, math.log(s))
    h = 1e-3
    for i in np.flatnonzero(alive):
        around = [log_posterior(problem, prior, phi + sign * h * np.eye(4)[i], math.log(s)) for sign in (1, -1)]
        # at a maximum both neighbours are lower and their difference, the slope, vanishes to second order
        assert max(around) < best
        assert abs(around[0] - around[1]) < 1e-2 * (2 * best - sum(around))
    if not known:
        around = [log_posterior(problem, prior, phi, math.log(s) + sign * h) for sign in (1, -1)]
        assert max(around) < best
        assert abs(around[0] - around[1]) < 1e-2 * (2 * best - sum(around))


@pytest.mark.parametrize("seed", range(5))
def test_objective_never_falls(prior, noise, seed):
    rng = np.random.default_rng(seed)
    problem = correlated_problem(rng, n=int(rng.integers(5, 40)), k=12, noise=noise, certain=(2,))
    fit = EM()(naive.under(problem, prior), RNG)
    assert fit.diagnostics.converged
    assert np.diff(fit.diagnostics.history).min() > -1e-12 * (1 + problem.n + fit.arrays.total * 10)


def test_start_is_the_full_model(noise, rng):
    problem = correlated_problem(rng, n=30, k=4, noise=noise)
    full = ad.engines.Full()(problem, RNG)
    np.testing.assert_allclose(EM()(problem, RNG).diagnostics.start, full.mean, rtol=1e-9)


def test_certain_edges_alone_give_the_full_model(noise, rng):
    problem = correlated_problem(rng, n=30, k=3, noise=noise, certain=(0, 1, 2))
    full, fit = ad.engines.Full()(problem, RNG), EM()(problem, RNG)
    np.testing.assert_allclose(fit.mean, full.mean, rtol=1e-9)
    np.testing.assert_allclose(fit.second_moment, full.second_moment, rtol=1e-9)
    assert fit.diagnostics.warnings == (IS_A_MODE,)


def test_more_parents_than_rows(prior, rng):
    problem = correlated_problem(rng, n=8, k=14, noise=UnknownNoise(2.0, 2.0))
    fit = EM(tolerance=1e-10)(naive.under(problem, prior), RNG)
    # the ridge step in its k x k form reproduces the result of the n x n form
    again = np.linalg.solve(problem.gram * (fit.weight < np.inf) + np.diag(np.minimum(fit.weight, 1e12)), problem.cross)
    np.testing.assert_allclose(fit.mean, np.where(fit.weight < np.inf, again, 0.0), atol=1e-5)


def test_a_coefficient_at_zero_is_exactly_zero_and_certain(rng):
    problem = correlated_problem(rng, n=60, k=6, noise=KnownNoise(1.0))
    fit = EM()(problem, RNG)
    zero = fit.mean == 0.0
    assert zero.any()
    assert (fit.shrinkage[zero] == 0.0).all()
    assert (fit.second_moment[zero] == 0.0).all()
    theta, variance = fit.draw(50, RNG)
    assert (theta[:, zero] == 0.0).all()
    assert np.isfinite(theta).all()
    assert (variance == 1.0).all()


def test_it_is_labelled_as_a_mode(rng):
    problem = correlated_problem(rng, n=20, k=2, noise=KnownNoise())
    fit = EM()(problem, RNG)
    assert fit.diagnostics.warnings == (NOT_USED, IS_A_MODE)
    assert "Laplace-type approximation" in IS_A_MODE
    assert fit.inclusion is None
    assert fit.log_evidence is None


def test_a_node_without_parents(noise):
    problem = make_problem(np.zeros((3, 0)), np.array([1.0, -2.0, 0.5]), settings=(Setting(1.0, noise),))
    assert EM()(problem, RNG).mean.shape == (0,)


def test_no_convergence_is_a_trouble_that_says_what_to_change(rng):
    problem = correlated_problem(rng, n=20, k=6, noise=KnownNoise())
    found = EM(max_rounds=2)(problem, RNG).diagnostics
    assert not found.converged
    (trouble,) = found.troubles
    assert "EM of 'y' did not converge in 2 rounds; raise max_rounds" in trouble


def test_settings_are_checked():
    with pytest.raises(EngineError, match="tolerance must be a positive finite number, got 0"):
        EM(tolerance=0)


def test_the_string_stands_for_the_defaults():
    assert ad.engines.resolve("em") == EM()
    assert EM().name == "em"
