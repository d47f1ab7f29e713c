from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
import naive_mcmc
from alldags.engines.mcmc import MCMC
from alldags.engines.sampling.run import stack_systems
from alldags.engines.sampling.sample import reach
from alldags.errors import EngineError
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from naive import sets as sets_by_hand
from problems import KINDS, random_kind

KNOWN, UNKNOWN = ad.priors.KnownNoise(0.7), ad.priors.UnknownNoise()


def table(k: int = 7, n: int = 40, seed: int = 1, correlation: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.sqrt(1 - correlation) * rng.normal(size=(n, k)) + np.sqrt(correlation) * rng.normal(size=(n, 1))
    return x, x[:, 0] - 0.4 * x[:, 1] + 0.25 * x[:, 2] + rng.normal(size=n)


def grid(noise: ad.priors.KnownNoise | ad.priors.UnknownNoise, slab: str = "independent") -> tuple[Setting, ...]:
    values = np.array([0.05, 0.2, 1.0, 5.0, 20.0])
    scale = 1.0 if slab == "independent" else 40.0
    return tuple(Setting(scale * v, noise, slab, -0.3 * i) for i, v in enumerate(values))  # type: ignore[arg-type]


BETA_BINOMIAL = -np.log(8.0) - np.array([float(np.log(c)) for c in (1, 7, 21, 35, 35, 21, 7, 1)])
SOME = np.array([0.5, 0.1, 0.3, 0.9, 0.5, 0.02, 0.5])
CERTAIN = np.array([0.5, 1.0, 0.3, 0.9, 1.0, 0.02, 0.5])

CASES = {
    "known noise": {"settings": (Setting(1.0, KNOWN),)},
    "unknown noise": {"settings": (Setting(1.0, UNKNOWN),)},
    "proper noise prior": {"settings": (Setting(2.0, ad.priors.UnknownNoise(1.5, 0.8)),)},
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
    # mean square of 40 standardised errors: chi-square with 40 degrees of freedom; the errors lean to the safe side
    assert 0.2 < np.mean(np.square(r)) < 1.6
    assert 0.2 < np.mean(np.square(z)) < 1.4


def decided() -> NodeProblem:
    """Return a problem that needs few sweeps."""
    return naive_mcmc.problem_of(*table(k=5, correlation=0.2))


def test_same_seed_same_numbers() -> None:
    first, second = (MCMC()(decided(), np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.second_moment, second.second_moment)
    np.testing.assert_array_equal(
        first.draw(10, np.random.default_rng(0))[0], second.draw(10, np.random.default_rng(0))[0]
    )
    other = MCMC()(decided(), np.random.default_rng(4))
    assert np.any(first.mean != other.mean)


def test_stored_sets_give_sets_draws_and_conditional_means() -> None:
    problem = naive_mcmc.problem_of(*table())
    exact = naive_mcmc.every_set(problem)
    node = MCMC(sweeps=8000)(problem, np.random.default_rng(1))
    error = 10 / np.sqrt(len(node.sets))  # standard error of a share is at most 0.5 / sqrt(sets), widened for memory
    top = node.top_parent_sets(3)
    assert [item.probability for item in top] == sorted((item.probability for item in top), reverse=True)
    for item in top:
        mask = tuple(name in item.parents for name in problem.parents)
        assert item.probability == pytest.approx(exact.sets[mask], abs=error / 2)
    masks = np.random.default_rng(0).random((6, 7)) < 0.3
    expected = [sum(p for s, p in exact.sets.items() if not (np.array(s) & mask).any()) for mask in masks]
    np.testing.assert_allclose(node.probability_disjoint(masks), expected, atol=error / 2)
    coefficients, variances = node.draw(20_000, np.random.default_rng(2))
    spread = np.sqrt(np.diag(exact.second_moment))
    assert np.all(np.abs(coefficients.mean(axis=0) - exact.mean) < error * spread)
    np.testing.assert_allclose((coefficients != 0).mean(axis=0), exact.inclusion, atol=error / 2)
    assert variances.mean() == pytest.approx(exact.noise_variance, rel=0.05)
    for parent in (1, 5):
        for present in (False, True):
            chosen = [s for s in exact.sets if s[parent] == present]
            mean = sum(exact.set_means[s] for s in chosen) / sum(exact.sets[s] for s in chosen)
            assert np.all(np.abs(node.mean_given(parent, present) - mean) < 3 * error * spread)


def test_conditional_means_of_rare_events_come_from_a_new_run() -> None:
    problem = naive_mcmc.problem_of(*table(n=400))
    exact = naive_mcmc.every_set(problem)
    assert exact.inclusion[0] > 1 - 1e-9
    node = MCMC(target_mcse=1e-3)(problem, np.random.default_rng(1))
    without = node.mean_given(0, present=False)
    chosen = [s for s in exact.sets if not s[0]]
    mean = sum(exact.set_means[s] for s in chosen) / sum(exact.sets[s] for s in chosen)
    np.testing.assert_allclose(without, mean, atol=6e-3)
    assert without[0] == 0.0
    np.testing.assert_array_equal(without, node.mean_given(0, present=False))
    np.testing.assert_allclose(node.mean_given(0, present=True), exact.mean, atol=6e-3)


def test_draws_use_the_noise_variance_of_their_setting() -> None:
    settings = (Setting(1.0, ad.priors.KnownNoise(4.0)), Setting(1.0, ad.priors.KnownNoise(1.0)))
    node = MCMC()(naive_mcmc.problem_of(*table(), settings=settings), np.random.default_rng(0))
    _, variances = node.draw(500, np.random.default_rng(0))
    assert set(np.unique(variances)) <= {0.25, 1.0}
    assert variances.mean() == pytest.approx(node.noise_variance, abs=0.1)


def test_target_error_stops_early_or_late() -> None:
    problem = naive_mcmc.problem_of(*table())
    engine = MCMC(sweeps=100)
    loose, tight = (replace(engine, target_mcse=t)(problem, np.random.default_rng(0)).diagnostics for t in (0.1, 5e-4))
    assert loose.sweeps == 100
    assert tight.sweeps > 400
    assert tight.max_mcse <= 5e-4


def test_target_that_is_not_reached_says_how_much_longer() -> None:
    node = MCMC(sweeps=100, target_mcse=1e-6, max_sweeps=200)(decided(), np.random.default_rng(0))
    troubles = " ".join(node.diagnostics.troubles)
    assert re.search(r"above the target 1e-06; run about [0-9.e+]+ times longer, MCMC\(max_sw", troubles)


def test_time_limit_gives_up_reproducibility_and_says_so() -> None:
    problem = naive_mcmc.problem_of(*table())
    assert MCMC(sweeps=50, target_mcse=0.1, max_seconds=60)(problem, np.random.default_rng(0)).diagnostics.reproducible
    node = MCMC(target_mcse=1e-7, max_seconds=0.2, max_sweeps=10**8)(problem, np.random.default_rng(0))
    assert any("times longer" in trouble for trouble in node.diagnostics.troubles)
    assert not node.diagnostics.reproducible
    assert np.isfinite(node.mean).all()


def test_a_time_limit_that_does_not_bind_changes_nothing() -> None:
    first = MCMC()(decided(), np.random.default_rng(0))
    second = MCMC(max_seconds=60)(decided(), np.random.default_rng(0))
    np.testing.assert_array_equal(first.mean, second.mean)


def test_constant_chains_are_reported_not_nan() -> None:
    x = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 3)))[0]  # orthogonal: no parent changes another
    problem = naive_mcmc.problem_of(
        x, x @ np.array([2.0, -1.0, 1.5]), probability=np.array([1.0, 1.0, 0.5]), settings=(Setting(1.0, KNOWN),)
    )
    problem = replace(problem, gram=np.eye(3))
    node = MCMC()(problem, np.random.default_rng(0))
    exact = naive_mcmc.every_set(problem)
    np.testing.assert_allclose(node.mean, exact.mean, rtol=1e-12)
    assert np.all(node.diagnostics.mcse < 0.01)  # what was not met may still exist
    assert node.diagnostics.constant.all()
    assert np.isnan(node.diagnostics.split_r_hat[:2]).all()
    assert node.diagnostics.max_r_hat < 1.0  # of the third, whose presence does vary
    assert np.isnan(node.diagnostics.rank_r_hat[:2]).all()
    assert node.diagnostics.warnings == ()


def test_no_candidate_parents() -> None:
    problem = naive_mcmc.problem_of(np.zeros((20, 0)), np.arange(20.0))
    node = MCMC()(problem, np.random.default_rng(0))
    assert node.mean.shape == (0,)
    assert node.second_moment.shape == (0, 0)
    assert node.noise_variance == pytest.approx(problem.total / 2 / 9)
    assert node.draw(3, np.random.default_rng(0))[0].shape == (3, 0)
    assert node.top_parent_sets(2)[0].probability == pytest.approx(1.0)
    np.testing.assert_array_equal(node.probability_disjoint(np.zeros((2, 0), dtype=bool)), [1.0, 1.0])


def test_two_degrees_of_freedom_have_a_mean_but_no_variance() -> None:
    problem = replace(naive_mcmc.problem_of(*table(k=3, n=3)), n=2.0)
    node = MCMC()(problem, np.random.default_rng(0))
    assert np.isfinite(node.mean).all()
    assert np.isinf(np.diag(node.second_moment)).all()
    assert np.isinf(node.noise_variance)


def test_arviz_agrees_on_the_error() -> None:
    found = MCMC(sweeps=2000)(naive_mcmc.problem_of(*table()), np.random.default_rng(0)).diagnostics
    np.testing.assert_allclose(found.arviz_mcse, found.mcse, rtol=0.5)
    assert np.all(found.rank_r_hat < 1.05)
    assert np.all(found.bulk_ess > 100)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sweeps": 5}, "sweeps must be a whole number of at least 20, got 5"),
        ({"chains": 1}, "chains must be a whole number of at least 2, got 1"),
        ({"swaps": -1}, "swaps must be a whole number of at least 0, got -1"),
        ({"starts": 1}, "starts must be a whole number of at least 2, got 1"),
        ({"target_mcse": 0.0}, "target_mcse must be a positive finite number, got 0.0"),
        ({"max_seconds": -1.0}, "max_seconds must be a positive finite number, got -1.0"),
    ],
)
def test_bad_settings(options: dict[str, float], match: str) -> None:
    with pytest.raises(EngineError, match=match):
        MCMC(**options)  # type: ignore[arg-type]


def test_the_string_stands_for_the_engine() -> None:
    assert ad.engines.resolve("mcmc") == ad.engines.MCMC()
    assert ad.engines.resolve("mcmc").name == "mcmc"


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_met_is_not_taken_to_be_larger_than_it_can_be(kind: str) -> None:
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(10):
        problem = random_kind(rng, kind, 6)
        bound = reach(stack_systems(problem))
        alone = np.sqrt(2 * stack_systems(problem).whole[0] / np.diag(problem.gram))
        sets = [sets_by_hand.one_set(problem, problem.settings[0], mask) for mask in sets_by_hand.all_sets(problem)]
        weights = np.array([one.log_weight for one in sets])
        means = np.array([one.mean for one in sets])[weights > weights.max() - 12.0]
        spread = means.max(axis=0) - means.min(axis=0)
        assert (spread <= np.where(bound < alone, bound, np.inf) * (1 + 1e-9)).all()
        ratios.append(np.min(bound / alone))
    assert min(ratios) < 1.0  # and it matters


def test_a_strong_signal_does_not_blow_up_the_claimed_error() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(400, 30))
    y = 40.0 * x[:, 1:6].sum(axis=1) + x[:, 0] + rng.normal(size=400)  # the first is far above the noise, far below y
    problem = naive_mcmc.problem_of(x, y, probability=0.5)
    node = MCMC()(problem, np.random.default_rng(0))
    sd = np.sqrt(node.second_moment[0, 0] - node.mean[0] ** 2)
    assert node.linear_error(np.eye(30)[0]) < 0.2 * sd
