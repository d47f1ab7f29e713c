from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
import naive_mcmc
from alldags.engines.mcmc import MCMC
from alldags.nodes import Setting

KNOWN, UNKNOWN = ad.KnownNoise(0.7), ad.UnknownNoise()


def table(k: int = 7, n: int = 40, seed: int = 1, correlation: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.sqrt(1 - correlation) * rng.normal(size=(n, k)) + np.sqrt(correlation) * rng.normal(size=(n, 1))
    return x, x[:, 0] - 0.4 * x[:, 1] + 0.25 * x[:, 2] + rng.normal(size=n)


def grid(noise: ad.KnownNoise | ad.UnknownNoise, slab: str = "independent") -> tuple[Setting, ...]:
    values = np.array([0.05, 0.2, 1.0, 5.0, 20.0])
    scale = 1.0 if slab == "independent" else 40.0
    return tuple(Setting(scale * v, noise, slab, -0.3 * i) for i, v in enumerate(values))  # type: ignore[arg-type]


BETA_BINOMIAL = -np.log(8.0) - np.array([float(np.log(c)) for c in (1, 7, 21, 35, 35, 21, 7, 1)])
SOME = np.array([0.5, 0.1, 0.3, 0.9, 0.5, 0.02, 0.5])
CERTAIN = np.array([0.5, 1.0, 0.3, 0.9, 1.0, 0.02, 0.5])

CASES = {
    "known noise": {"settings": (Setting(1.0, KNOWN),)},
    "unknown noise": {"settings": (Setting(1.0, UNKNOWN),)},
    "proper noise prior": {"settings": (Setting(2.0, ad.UnknownNoise(1.5, 0.8)),)},
    "g slab, known": {"settings": (Setting(40.0, KNOWN, "g"),)},
    "g slab, unknown": {"settings": (Setting(40.0, UNKNOWN, "g"),)},
    "edge probabilities": {"probability": SOME},
    "certain edges": {"probability": CERTAIN},
    "beta-binomial": {"log_size": BETA_BINOMIAL},
    "slab grid, known": {"settings": grid(KNOWN)},
    "slab grid, unknown": {"settings": grid(UNKNOWN)},
    "g grid": {"settings": grid(UNKNOWN, "g"), "log_size": BETA_BINOMIAL},
}


@pytest.mark.parametrize("case", CASES)
def test_sampled_posterior_equals_the_sum_over_all_parent_sets(case: str) -> None:
    problem = naive_mcmc.problem_of(*table(), **CASES[case])  # type: ignore[arg-type]
    exact = naive_mcmc.every_set(problem)
    node = MCMC(sweeps=4000, target_mcse=2e-3)(problem, np.random.default_rng(5))
    error = node.diagnostics.mcse
    # 11 cases of 7 means: 5 standard errors leave a chance of 5e-5 of a false alarm
    assert np.all(np.abs(node.mean - exact.mean) <= 5 * error + 1e-12)
    assert error.max() <= 2e-3
    np.testing.assert_allclose(node.inclusion, exact.inclusion, atol=0.02)
    sets = len(node.sets)
    scale = np.sqrt(np.outer(np.diag(exact.second_moment), np.diag(exact.second_moment)))
    assert np.all(np.abs(node.second_moment - exact.second_moment) <= 10 / np.sqrt(sets) * scale + 1e-9)
    assert np.all(np.abs(node.second_moment_between - exact.second_moment_between) <= 10 / np.sqrt(sets) * scale + 1e-9)
    np.testing.assert_allclose(np.diag(node.second_moment), np.diag(exact.second_moment), rtol=0.05)
    assert node.noise_variance == pytest.approx(exact.noise_variance, rel=0.02)
    np.testing.assert_allclose(node.setting_weights, exact.setting_weights, atol=0.05)


def test_error_estimates_are_honest() -> None:
    problem = naive_mcmc.problem_of(*table(), settings=(Setting(1.0, UNKNOWN),))
    exact = naive_mcmc.every_set(problem)
    z, r = [], []
    weights = np.arange(7.0)
    for seed in range(40):
        node = MCMC(sweeps=200, max_sweeps=260)(problem, np.random.default_rng(seed))
        z.append((node.mean - exact.mean) / node.diagnostics.mcse)
        r.append(weights @ (node.mean - exact.mean) / node.linear_error(weights))
    # mean square of 40 standardised errors: chi-square with 40 degrees of freedom, widened for the noise of the errors
    assert 0.5 < np.mean(np.square(r)) < 2.0
    assert 0.5 < np.mean(np.square(z)) < 1.8
