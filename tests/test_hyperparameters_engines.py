"""Every engine that averages over parent sets gives the same answer under every learned hyperparameter."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.engines import MCMC, Certified, Exact
from alldags.nodes import NodeProblem
from naive.sets import brute_force
from problems import make_problem

PRIORS = {
    "learned slab": ad.Prior(slab=ad.priors.LearnedSlab(points=9)),
    "learned slab, known noise": ad.Prior(slab=ad.priors.LearnedSlab(points=9), noise=ad.priors.KnownNoise(1.5)),
    "g = n": ad.Prior(slab=ad.priors.GPrior("n")),
    "hyper-g": ad.Prior(slab=ad.priors.HyperG(3.0, points=15)),
    "Zellner-Siow": ad.Prior(slab=ad.priors.ZellnerSiow(points=15)),
    "beta-binomial": ad.Prior(edges=ad.priors.BetaBinomial(1.0, 2.0)),
    "learned slab, beta-binomial": ad.Prior(slab=ad.priors.LearnedSlab(points=9), edges=ad.priors.BetaBinomial()),
    "slab apart from the noise": ad.Prior(noise=ad.priors.UnknownNoise(scales_slab=False)),
    "learned slab apart from the noise": ad.Prior(
        slab=ad.priors.LearnedSlab(points=5), noise=ad.priors.UnknownNoise(scales_slab=False)
    ),
}


@pytest.fixture(params=PRIORS)
def problem(request) -> NodeProblem:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, 5)) @ (np.eye(5) + 0.3)
    y = x @ np.array([0.5, 0.0, 0.0, -0.25, 0.1]) + rng.standard_normal(40)
    return make_problem(x, y, PRIORS[request.param], certain=[4])


def test_exact_equals_sets_times_settings(problem, rng):
    log_evidence, inclusion, mean = brute_force(problem)
    exact = Exact()(problem, rng)
    assert exact.log_evidence == pytest.approx(log_evidence, abs=1e-7)
    np.testing.assert_allclose(exact.inclusion, inclusion, atol=1e-8)
    np.testing.assert_allclose(exact.mean, mean, atol=1e-8)
    given = exact.mean_given(1, True)
    np.testing.assert_allclose(given, brute_force(problem.with_certain(1))[2], atol=1e-8)


def test_certified_equals_exact(problem, rng):
    exact, ours = Exact()(problem, rng), Certified(tolerance=1e-9)(problem, rng)
    np.testing.assert_allclose(ours.inclusion, exact.inclusion, atol=1e-8)
    np.testing.assert_allclose(ours.second_moment, exact.second_moment, atol=1e-7)
    assert ours.log_evidence == pytest.approx(exact.log_evidence, abs=1e-7)


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")  # short chains may ask for more sweeps
def test_sampler_agrees_with_exact(problem):
    exact, sampled = Exact()(problem, np.random.default_rng(0)), MCMC()(problem, np.random.default_rng(1))
    for index in range(problem.k):
        error = max(sampled.linear_error(np.eye(problem.k)[index]), 1e-4)
        assert abs(sampled.mean[index] - exact.mean[index]) <= 6 * error
    np.testing.assert_allclose(sampled.inclusion, exact.inclusion, atol=0.03)
