"""Simulation-based calibration of the scale-mixture Gibbs sampler: truths from the prior rank uniformly among draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import alldags as ad
from alldags.engines.gibbs import Gibbs, sample
from alldags.engines.mixtures.node import node_arrays
from alldags.nodes import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise
from naive import scale_mixtures as naive
from problems import make_problem

# proper hyperparameters: at the paper's kappa = nu = 1e-6 the prior cannot be simulated
PRIORS = {
    "neg": ad.priors.NEG(2.0, 2.0),
    "laplace": ad.priors.Laplace(2.0),
    "student-t": ad.priors.StudentT(2.0, 1.0),
    "horseshoe": ad.priors.Horseshoe(0.5, learn_global=False),
    "horseshoe-learned": ad.priors.Horseshoe(0.5),
}
DRAWS, BINS = 49, 10  # per chain, two chains: ranks 0 to 98 of 99 thinned draws


def one_rank(engine, prior, noise, rng, n=8, k=3):
    """Ranks of two coefficients and of the noise precision."""
    s = noise.precision if isinstance(noise, KnownNoise) else rng.gamma(noise.shape, 1 / noise.rate)
    unit = 1.0 if isinstance(noise, KnownNoise) else s
    theta = rng.standard_normal(k) * np.sqrt(naive.draw_mixing(rng, prior, k) / unit)
    theta[2] = rng.standard_normal() / np.sqrt(unit)  # a certain edge, with the slab
    x = rng.standard_normal((n, k)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.3], [0.0, 0.0, 0.9]])
    y = x @ theta + rng.standard_normal(n) / np.sqrt(s)
    problem = make_problem(x, y, settings=(Setting(1.0, noise),), certain=(2,))
    chains = sample(engine, naive.under(problem, prior), node_arrays(problem), rng)
    draws = chains.theta.reshape(-1, k)
    precision = chains.noise[..., 0].ravel()
    return [(draws[:, 0] < theta[0]).sum(), (abs(draws[:, 1]) < abs(theta[1])).sum(), (precision < s).sum()]


@pytest.mark.parametrize("noise", [KnownNoise(1.5), UnknownNoise(3.0, 2.0)], ids=["known", "unknown"])
@pytest.mark.parametrize("name", PRIORS)
def test_ranks_are_uniform(name, noise, calibrate_scale):
    engine = Gibbs(chains=2, warmup=200, draws=DRAWS, thin=8)
    rng = np.random.default_rng([2021, list(PRIORS).index(name), isinstance(noise, KnownNoise)])
    size = 250 * calibrate_scale
    ranks = np.array([one_rank(engine, PRIORS[name], noise, rng) for _ in range(size)])
    for column in range(2 if isinstance(noise, KnownNoise) else 3):
        # 99 possible ranks (0 to 98) in bins of unequal size only at the end: use the exact expected counts
        counts, edges = np.histogram(ranks[:, column], bins=np.linspace(-0.5, 2 * DRAWS + 0.5, BINS + 1))
        possible, _ = np.histogram(np.arange(2 * DRAWS + 1), bins=edges)
        test = stats.chisquare(counts, size * possible / possible.sum())
        assert test.pvalue > 1e-4, (name, column, counts)  # 25 tests: a false alarm in 400 runs
