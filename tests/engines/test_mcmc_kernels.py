from __future__ import annotations

import numpy as np
import pytest

import naive_mcmc
from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.kernels.sampler import block as sampler_block
from alldags.engines.kernels.sampler import chain as sampler_chain
from alldags.engines.kernels.sampler import flip as sampler_flip
from alldags.engines.kernels.sampler import moves as sampler_moves
from alldags.engines.sampling.diagnostics import long_batches, mean_errors, split_r_hat, with_control_variates
from alldags.engines.sampling.run import NO_RESPONSE, stack_systems
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise

pytestmark = pytest.mark.kernels


def problem(k: int = 9, n: int = 30, settings: tuple[Setting, ...] = (Setting(1.0, UnknownNoise()),)) -> NodeProblem:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, k)) + 0.7 * rng.normal(size=(n, 1))
    probability = np.full(k, 0.4)
    probability[4] = 1.0
    return naive_mcmc.problem_of(x, x[:, 0] + rng.normal(size=n), probability=probability, settings=settings)


def check_state(systems: sampler_chain.Systems, chain: sampler_chain.Chain) -> None:
    k = chain.present.size
    setting = chain.counts[sampler_flip.SETTING]
    precision = systems.factor[setting] * systems.gram[:, :k]
    precision[np.diag_indices(k)] = systems.scale[setting]
    swept, linear, q = naive_mcmc.swept_by_inversion(precision, systems.shift[setting], chain.present)
    np.testing.assert_allclose(chain.diagonal[:k], np.diag(swept), rtol=1e-9)
    np.testing.assert_allclose(chain.linear[:k], linear, rtol=1e-8, atol=1e-10)
    assert chain.numbers[sampler_flip.QUADRATIC] == pytest.approx(q, rel=1e-9)
    assert chain.counts[sampler_flip.SIZE] == chain.present.sum()
    for v in range(k):
        sampler_chain.load_row(chain, v)
        np.testing.assert_allclose(chain.row[:k], swept[v], rtol=1e-8, atol=1e-10)


def test_flips_and_refreshes_equal_an_explicit_inverse() -> None:
    given = problem()
    systems = stack_systems(given)
    rng = np.random.default_rng(0)
    chain = sampler_chain.new_chain(9)
    sampler_chain.start(systems, chain, rng.random(9) < 0.5, 0)
    check_state(systems, chain)
    free = np.flatnonzero(~given.certain)
    for step in range(60):
        sampler_chain.flip(systems, chain, int(rng.choice(free)))
        if step % 10 == 0:
            chain.seen[:] = rng.random(9)
            chain.numbers[sampler_flip.VISITS] = 20.0 * (step % 20 == 0)  # both ways to choose the base set
            sampler_chain.refresh(systems, chain)
        check_state(systems, chain)
    assert chain.present[4]
    assert chain.numbers[sampler_flip.DRIFT] < 1e-12


@pytest.mark.parametrize("slab", ["independent", "g"])
@pytest.mark.parametrize("noise", [KnownNoise(2.0), UnknownNoise(1.0, 0.5)])
def test_stacked_systems_hold_the_precision_of_each_setting(slab: str, noise: KnownNoise | UnknownNoise) -> None:
    given = problem(settings=(Setting(3.0, noise, slab), Setting(0.1, noise, slab)))  # type: ignore[arg-type]
    systems = stack_systems(given)
    for index, setting in enumerate(given.settings):
        precision = systems.factor[index] * systems.gram[:, :9]
        precision[np.diag_indices(9)] = systems.scale[index]
        np.testing.assert_allclose(precision, conjugate_system(given.with_setting(setting)).precision, rtol=1e-12)


@pytest.mark.parametrize("slab", ["independent", "g"])
@pytest.mark.parametrize("noise", [KnownNoise(2.0), UnknownNoise(1.0, 0.5)])
def test_log_weight_equals_the_closed_form(slab: str, noise: KnownNoise | UnknownNoise) -> None:
    given = problem(settings=(Setting(3.0, noise, slab, log_weight=-0.7),))  # type: ignore[arg-type]
    systems = stack_systems(given)
    chain = sampler_chain.new_chain(9)
    for seed in range(5):
        mask = (np.random.default_rng(seed).random(9) < 0.5) | given.certain
        sampler_chain.start(systems, chain, mask, 0)
        expected = summarize_set(conjugate_system(given), mask, given.certain).log_weight
        assert sampler_moves.log_weight(systems, chain, 0, np.empty((9, 9))) == pytest.approx(expected, rel=1e-10)


def test_replay_equals_the_closed_form_of_each_set() -> None:
    given = problem(settings=(Setting(1.0, UnknownNoise()), Setting(4.0, UnknownNoise(), log_weight=-1.0)))
    rng = np.random.default_rng(4)
    sets = (rng.random((40, 9)) < 0.5) | given.certain
    settings = rng.integers(2, size=40)
    weights = rng.random(40) * (rng.random(40) < 0.8)
    mean, second, between = np.zeros(9), np.zeros((9, 9)), np.zeros((9, 9))
    sampler_chain.replay(
        stack_systems(given), sampler_chain.new_chain(9), sets, settings, weights, mean, second, between
    )
    parts = [
        summarize_set(conjugate_system(given.with_setting(given.settings[s])), mask, given.certain)
        for mask, s in zip(sets, settings, strict=True)
    ]
    np.testing.assert_allclose(mean, sum(w * p.mean for w, p in zip(weights, parts, strict=True)), rtol=1e-9)
    outer = sum(w * np.outer(p.mean, p.mean) for w, p in zip(weights, parts, strict=True))
    within = sum(w * p.covariance for w, p in zip(weights, parts, strict=True))
    np.testing.assert_allclose(between, outer, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(second, outer + within, rtol=1e-8, atol=1e-12)


def test_a_swap_draws_the_place_of_a_parent_from_its_conditional() -> None:
    given = problem(k=5, settings=(Setting(1.0, UnknownNoise()),))
    systems = stack_systems(given)
    generator = np.random.default_rng(8)
    begin = np.array([True, False, False, False, True])
    counts, control = np.zeros(5), np.zeros(5)
    for _ in range(4000):
        chain = sampler_chain.new_chain(5)
        sampler_chain.start(systems, chain, begin, 0)
        sampler_moves.swap_once(systems, chain, control, generator)
        assert chain.present.sum() == 2
        counts[:4] += chain.present[:4]
    system = conjugate_system(given)
    logs = []
    for u in range(4):
        mask = given.certain.copy()
        mask[u] = True
        logs.append(summarize_set(system, mask, given.certain).log_weight)
    expected = np.exp(np.array(logs) - max(logs))
    expected /= expected.sum()
    error = np.sqrt(4000 * expected * (1 - expected)) + 1
    assert np.all(np.abs(counts[:4] - 4000 * expected) < 4 * error)
    np.testing.assert_allclose(control[:4], counts[:4] - 4000 * expected, atol=1e-6)


@pytest.mark.parametrize("members", [[], [0, 2, 5]])
def test_controls_have_mean_zero_and_reduce_the_error(members: list[int]) -> None:
    given = problem()
    together = sampler_block.draw_together(np.array(members, dtype=np.int64), np.arange(9) < 5)
    exact = naive_mcmc.every_set(given)
    systems = stack_systems(given)
    trace, controls = [], []
    for generator in np.random.default_rng(2).spawn(4):
        chain, sums = sampler_chain.new_chain(9), sampler_block.new_sums(9, 1)
        sampler_chain.start(systems, chain, given.certain, 0)
        out = np.zeros((400, 3, 9))
        sets, settings = np.zeros((400, 9), dtype=bool), np.zeros(400, dtype=np.int64)
        sampler_moves.run_chain(
            systems, chain, sums, together, out, sets, settings, 10, 1, True, generator, NO_RESPONSE, 0
        )
        trace.append(out[:, sampler_block.MEAN])
        controls.append(out[:, sampler_block.CONTROL])
    raw, control = np.array(trace), np.array(controls)
    spread = control.std(axis=(0, 1)) / np.sqrt(1600)
    assert np.all(np.abs(control.mean(axis=(0, 1))) < 5 * spread + 1e-12)
    adjusted, used = with_control_variates(raw, control, np.zeros((9, 9)), 10)
    before = mean_errors(long_batches(raw), 0, 1600)
    after = mean_errors(long_batches(adjusted), used, 1600)
    assert after.max() < 0.9 * before.max()
    assert np.all(np.abs(adjusted.mean(axis=(0, 1)) - exact.mean) < 5 * after)


def test_controls_of_rare_events_have_computed_coefficients() -> None:
    rng = np.random.default_rng(0)
    control = np.full((2, 100, 1), -1e-6) * rng.random((2, 100, 1))  # an edge that never came in
    trace = 1e3 * control + 1.0
    adjusted, fitted = with_control_variates(trace, control, np.zeros((1, 1)), 1)
    assert fitted == 0
    np.testing.assert_array_equal(adjusted, trace)
    adjusted, fitted = with_control_variates(trace, control, np.full((1, 1), 1e3), 1)
    assert fitted == 0
    np.testing.assert_allclose(adjusted, 1.0, rtol=1e-15)


def test_split_r_hat_equals_arviz_for_plain_draws() -> None:
    from arviz_stats.base import array_stats

    rng = np.random.default_rng(0)
    trace = rng.normal(size=(4, 300, 3)) + np.array([0.0, 0.1, 1.0]) * rng.normal(size=(4, 1, 1))
    halves = np.concatenate([trace[:, :150], trace[:, 150:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    expected = array_stats.rhat(np.moveaxis(trace, 2, 0), method="split")
    np.testing.assert_allclose(split_r_hat(trace, within), expected, rtol=1e-12)
    assert np.isnan(split_r_hat(np.ones((4, 20, 1)), np.zeros(1))).all()


def test_long_batches_and_errors_of_an_autoregression() -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(4, 4096))
    x = np.zeros_like(noise)
    for t in range(1, 4096):
        x[:, t] = 0.7 * x[:, t - 1] + noise[:, t]
    error = mean_errors(long_batches(x[:, :, None]), 0, 4 * 4096)[0]
    # asymptotic variance 1 / (1 - 0.7)^2 per draw; 256 long batches give the error to 4.4 % (1 sd), bias below 4 %
    assert error == pytest.approx(1 / 0.3 / np.sqrt(4 * 4096), rel=0.2)


def test_padding_is_a_whole_number_of_registers() -> None:
    assert [sampler_chain.padded(k) for k in (0, 1, 16, 17, 178)] == [0, 16, 16, 32, 192]
