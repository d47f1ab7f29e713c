"""Hard cases: the answer is finite and agrees with the sum over all sets, or there is a warning."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
import naive_mcmc
from alldags.engines.mcmc import MCMC
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting

UNKNOWN = Setting(1.0, ad.priors.UnknownNoise())


def check(problem: NodeProblem, seed: int = 0, **options: float) -> None:
    """Compare with the sum over all sets, in units of each coefficient's posterior deviation."""
    exact = naive_mcmc.every_set(problem)
    node = MCMC(sweeps=1000, **options)(problem, np.random.default_rng(seed))  # type: ignore[arg-type]
    spread = np.sqrt(np.maximum(np.diag(exact.second_moment) - exact.mean**2, 0.0))
    assert node.diagnostics.warnings == ()
    # 5 standard errors; what happens less than once in the 4,000 sweeps is not in them, hence a share of the deviation
    limit = 5 * node.diagnostics.mcse + 1e-3 * spread + 1e-9 * np.abs(exact.mean)
    assert np.all(np.abs(node.mean - exact.mean) <= limit)
    np.testing.assert_allclose(node.inclusion, exact.inclusion, atol=0.05)
    assert np.isfinite(node.second_moment).all()
    sd = np.sqrt(np.diag(node.second_moment) - node.mean**2)
    assert np.all(np.abs(sd - spread) <= 5 * node.diagnostics.sd_mcse + 1e-6 * np.abs(exact.mean))  # squares cancel


def design(k: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.normal(size=n)


@pytest.mark.parametrize("slab", ["independent", "g"])
@pytest.mark.parametrize("probability", [0.5, 0.05])
@pytest.mark.parametrize("noise", [ad.priors.KnownNoise(1.0), ad.priors.UnknownNoise()])
def test_duplicated_columns(
    slab: str, probability: float, noise: ad.priors.KnownNoise | ad.priors.UnknownNoise
) -> None:
    x, e = design(8, 60)
    x[:, 3], x[:, 4], x[:, 5] = x[:, 0], x[:, 0], -2 * x[:, 1]
    setting = Setting(1.0 if slab == "independent" else 60.0, noise, slab)  # type: ignore[arg-type]
    check(naive_mcmc.problem_of(x, x[:, 0] - 0.5 * x[:, 1] + e, probability=probability, settings=(setting,)))


@pytest.mark.parametrize("correlation", [0.99, 0.999, 0.9999])
@pytest.mark.parametrize("probability", [0.5, 0.05])
def test_almost_duplicates(correlation: float, probability: float) -> None:
    x, e = design(10, 400)
    x[:, 5:] = correlation * x[:, :5] + np.sqrt(1 - correlation**2) * x[:, 5:]
    check(naive_mcmc.problem_of(x, x[:, 0] - 0.5 * x[:, 6] + 0.2 * x[:, 2] + e, probability=probability))


def test_linear_dependence_among_many() -> None:
    x, e = design(9, 100)
    x[:, 8] = x[:, :4].sum(axis=1)
    x[:, 7] = x[:, 4] - x[:, 5]
    check(naive_mcmc.problem_of(x, x[:, 8] + 0.3 * x[:, 7] + e, probability=0.2), target_mcse=3e-3)


@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("where", ["parents", "child"])
def test_effects_of_extreme_size(size: float, where: str) -> None:
    x, e = design(7, 80)
    y = x[:, 0] + 0.3 * x[:, 1] + e
    if where == "parents":
        x[:, :2] /= size
        check(naive_mcmc.problem_of(x, y, settings=(Setting(size**2, ad.priors.KnownNoise(1.0)),)))
    else:
        check(naive_mcmc.problem_of(x, size * y, settings=(UNKNOWN,)))


@pytest.mark.parametrize("effect", [1e-6, 1e6])
def test_effects_of_extreme_size_with_unit_noise(effect: float) -> None:
    x, e = design(7, 80)
    check(naive_mcmc.problem_of(x, effect * x[:, 0] + e, settings=(Setting(1.0, ad.priors.KnownNoise(1.0)),)))


def test_ten_million_rows_by_moments() -> None:
    k, n = 8, 1e7
    correlation = 0.6 * np.ones((k, k)) + 0.4 * np.eye(k)
    theta = np.array([0.5, 1e-3, 3e-4, 0.0, 0.0, -2e-4, 0.0, 0.1])
    rng = np.random.default_rng(1)
    cross = n * correlation @ theta + np.sqrt(n) * np.linalg.cholesky(correlation) @ rng.normal(size=k)
    total = n * (1.0 + theta @ correlation @ theta)
    problem = NodeProblem("y", tuple("abcdefgh"), n * correlation, cross, total, n - 1, np.full(k, 0.5), (UNKNOWN,))
    check(problem)


def test_decided_and_rare_edges() -> None:
    x, e = design(10, 300)
    check(naive_mcmc.problem_of(x, 3 * x[:, 0] - 2 * x[:, 1] + e, probability=0.01), seed=3)


def test_five_rows_and_forty_candidates() -> None:
    x, e = design(40, 5)
    x, y = x - x.mean(axis=0), x[:, 0] + e
    y = y - y.mean()
    problem = naive_mcmc.problem_of(x, y)
    problem = NodeProblem(**{**problem.__dict__, "n": 4.0})
    first, second = (MCMC(target_mcse=0.01)(problem, np.random.default_rng(seed)) for seed in (0, 1))
    error = np.hypot(first.diagnostics.mcse, second.diagnostics.mcse)
    assert np.all(np.abs(first.mean - second.mean) <= 5 * error)
    assert np.isfinite(first.second_moment).all()
    np.testing.assert_allclose(first.inclusion, second.inclusion, atol=0.05)


def test_a_perfect_fit_warns() -> None:
    x, _ = design(4, 50)
    x *= 1e9  # so that the slab does not shrink
    node = MCMC()(naive_mcmc.problem_of(x, x[:, 0] - x[:, 1]), np.random.default_rng(0))
    assert any("at the limit of rounding" in trouble for trouble in node.diagnostics.troubles)
    assert np.isfinite(node.mean).all()
    assert node.inclusion[0] == pytest.approx(1.0)


def test_chains_that_disagree_warn_and_say_how_much_longer() -> None:
    # two groups of four explain the same: no single flip or swap leads from one to the other
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 8))
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    x[:, 4:] = x[:, :4] @ rotation + 1e-3 * x[:, 4:]
    y = x[:, :4].sum(axis=1) + 0.3 * rng.normal(size=2000)
    problem = naive_mcmc.problem_of(x, y, probability=1e-4, settings=(Setting(1e4, ad.priors.UnknownNoise()),))
    exact = naive_mcmc.every_set(problem)
    node = MCMC(sweeps=200, max_sweeps=400)(problem, np.random.default_rng(0))
    wrong, troubles = np.abs(node.inclusion - exact.inclusion).max() > 0.1, node.diagnostics.troubles
    assert wrong <= bool(troubles)
    assert not troubles or "times longer" in troubles[0]
