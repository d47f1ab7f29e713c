"""The compiled parts of the sampler against closed forms and brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive_mcmc
import sampler_kernels as kernels
from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.sampling.diagnostics import long_batches, mean_errors, plain_r_hat, split_r_hat
from alldags.engines.sampling.estimates import group_r_hat
from alldags.engines.sampling.explore import greedy_way
from alldags.engines.sampling.run import Seen, State, flattened, observe, posterior_target, stack_systems
from alldags.kernels.sampler import chain as sampler_chain
from alldags.kernels.sampler import flip as sampler_flip
from alldags.kernels.sampler.replay import replay
from alldags.kernels.sampler.sets import set_log_weights
from alldags.kernels.sampler.target import INCLUSION, MEAN, SQUARE, Target
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.noise import EquivalentNoise, KnownNoise, UnknownNoise

pytestmark = pytest.mark.kernels

NOISES = [KnownNoise(2.0), UnknownNoise(1.0, 0.5), EquivalentNoise()]

pytestmark = pytest.mark.kernels


def problem(k: int = 9, n: int = 30, settings: tuple[Setting, ...] = (Setting(1.0, UnknownNoise()),)) -> NodeProblem:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, k)) + 0.7 * rng.normal(size=(n, 1))
    probability = np.full(k, 0.4)
    probability[4] = 1.0
    return naive_mcmc.problem_of(x, x[:, 0] + rng.normal(size=n), probability=probability, settings=settings)


def closed_form(given: NodeProblem, mask: np.ndarray, setting: int = 0) -> float:
    part = replace(given, settings=(given.settings[setting],))
    return summarize_set(conjugate_system(part), mask, given.certain).log_weight


def started(systems: sampler_chain.Systems, mask: np.ndarray, setting: int = 0) -> sampler_chain.Chain:
    chain = sampler_chain.new_chain(mask.size)
    kernels.start(systems, chain, mask, setting)
    return chain


def check_state(given: NodeProblem, systems: sampler_chain.Systems, chain: sampler_chain.Chain) -> None:
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
        kernels.load_row(chain, v)
        np.testing.assert_allclose(chain.row[:k], swept[v], rtol=1e-8, atol=1e-10)


def test_flips_and_refreshes_equal_an_explicit_inverse() -> None:
    given = problem()
    systems = stack_systems(given)
    rng = np.random.default_rng(0)
    chain = started(systems, rng.random(9) < 0.5)
    check_state(given, systems, chain)
    free = np.flatnonzero(~given.certain)
    for step in range(60):
        kernels.flip(systems, chain, int(rng.choice(free)))
        if step % 10 == 0:
            chain.often[:] = rng.normal(size=9) * (step % 20 == 0)  # both ways to choose the base set
            kernels.refresh(systems, chain)
            assert chain.numbers[sampler_flip.LOG_WEIGHT] == pytest.approx(closed_form(given, chain.present), rel=1e-9)
        check_state(given, systems, chain)
    assert chain.present[4]
    assert chain.numbers[sampler_flip.DRIFT] < 1e-12


@pytest.mark.parametrize("slab", ["independent", "g"])
@pytest.mark.parametrize("noise", NOISES[:2])
def test_stacked_systems_hold_the_precision_of_each_setting(slab: str, noise: KnownNoise | UnknownNoise) -> None:
    given = problem(settings=(Setting(3.0, noise, slab), Setting(0.1, noise, slab)))  # type: ignore[arg-type]
    systems = stack_systems(given)
    for index, setting in enumerate(given.settings):
        precision = systems.factor[index] * systems.gram[:, :9]
        precision[np.diag_indices(9)] = systems.scale[index]
        np.testing.assert_allclose(precision, conjugate_system(given.with_setting(setting)).precision, rtol=1e-12)


@pytest.mark.parametrize("slab", ["independent", "g"])
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
def test_log_weights_and_odds_equal_the_closed_form(slab: str, noise: KnownNoise) -> None:
    if slab == "g" and isinstance(noise, EquivalentNoise):
        pytest.skip("refused by the prior")
    given = problem(settings=(Setting(3.0, noise, slab, log_weight=-0.7),))  # type: ignore[arg-type]
    systems = stack_systems(given)
    masks = np.random.default_rng(1).random((5, 9)) < 0.5
    masks |= given.certain
    out = np.empty(5)
    set_log_weights(systems, masks, np.zeros(5, dtype=np.int64), out)
    for mask, value in zip(masks, out, strict=True):
        chain = started(systems, mask)
        assert value == pytest.approx(closed_form(given, mask), rel=1e-10)
        assert chain.numbers[sampler_flip.LOG_WEIGHT] == pytest.approx(value, rel=1e-10)
        for v in (0, 3, 8):
            with_v, without_v = mask.copy(), mask.copy()
            with_v[v], without_v[v] = True, False
            odds = closed_form(given, with_v) - closed_form(given, without_v)
            assert kernels.log_odds_of(systems, chain, v) == pytest.approx(odds, rel=1e-8, abs=1e-8)


def test_replay_equals_the_closed_form_of_each_set() -> None:
    given = problem(settings=(Setting(1.0, UnknownNoise()), Setting(4.0, UnknownNoise(), log_weight=-1.0)))
    rng = np.random.default_rng(4)
    sets = (rng.random((40, 9)) < 0.5) | given.certain
    settings = rng.integers(2, size=40)
    weights = rng.random(40) * (rng.random(40) < 0.8)
    mean, second, between = np.zeros(9), np.zeros((9, 9)), np.zeros((9, 9))
    replay(stack_systems(given), sampler_chain.new_chain(9), sets, settings, weights, mean, second, between)
    parts = [
        summarize_set(conjugate_system(given.with_setting(given.settings[s])), mask, given.certain)
        for mask, s in zip(sets, settings, strict=True)
    ]
    np.testing.assert_allclose(mean, sum(w * p.mean for w, p in zip(weights, parts, strict=True)), rtol=1e-9)
    outer = sum(w * np.outer(p.mean, p.mean) for w, p in zip(weights, parts, strict=True))
    within = sum(w * p.covariance for w, p in zip(weights, parts, strict=True))
    np.testing.assert_allclose(between, outer, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(second, outer + within, rtol=1e-8, atol=1e-12)


def test_a_greedy_way_takes_the_heaviest_set_at_every_step() -> None:
    given = problem()
    start = given.certain.copy()
    start[[1, 2]] = True
    candidates = np.arange(9) < 6
    path, weights = greedy_way(stack_systems(given), State(start, 0), candidates, 100)
    mask, left = start.copy(), [0, 1, 2, 3, 5]  # 4 is certain
    assert weights[0] == pytest.approx(closed_form(given, mask), rel=1e-10)
    for step, v in enumerate(path):
        options = [closed_form(given, mask ^ (np.arange(9) == u)) for u in left]
        assert left[int(np.argmax(options))] == v
        assert weights[step + 1] == pytest.approx(max(options), rel=1e-9)
        mask[v] ^= True
        left.remove(int(v))
    assert left == []


# -- moves ------------------------------------------------------------------------------------------------------------


def tempered(given: NodeProblem, beta: float) -> Target:
    """Return a target with a reference that is not flat, and two jumps."""
    rng = np.random.default_rng(11)
    systems = stack_systems(given)
    jumps = np.zeros((2, given.k), dtype=bool)
    jumps[0, [0, 1]], jumps[1, [1, 2, 3]] = True, True
    target = posterior_target(systems, 1, jumps, np.tile(np.arange(given.k) < 1, (2, 1)))
    settings = np.log(np.full(len(given.settings), 1.0 / len(given.settings)))
    return target._replace(beta=beta, reference=rng.normal(size=given.k), reference_setting=settings)


def all_weights(given: NodeProblem, target: Target) -> dict[tuple[tuple[bool, ...], int], float]:
    """Return the probability of every set and setting under a target."""
    logs = {}
    for index, setting in enumerate(given.settings):
        part = replace(given, settings=(setting,))
        for code in range(2**given.k):
            mask = (code >> np.arange(given.k)) % 2 == 1
            if (mask | ~given.certain).all():
                reference = target.reference[mask & ~given.certain].sum() + target.reference_setting[index]
                log = summarize_set(conjugate_system(part), mask, given.certain).log_weight
                logs[tuple(mask.tolist()), index] = target.beta * log + (1 - target.beta) * reference
    total = np.logaddexp.reduce(list(logs.values()))
    return {key: float(np.exp(value - total)) for key, value in logs.items()}


@pytest.mark.parametrize("beta", [1.0, 0.4])
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
def test_sweeps_swaps_jumps_and_settings_keep_the_tempered_distribution(beta: float, noise: KnownNoise) -> None:
    values = (0.5, 5.0) if not isinstance(noise, EquivalentNoise) else (1.0,)
    given = problem(k=5, settings=tuple(Setting(value, noise, log_weight=-0.3 * i) for i, value in enumerate(values)))
    target, systems = tempered(given, beta), stack_systems(given)
    expected = all_weights(given, target)
    states = (State(given.certain, 0),) * 4
    _, seen = observe(systems, states, target, 5000, 4, np.random.default_rng(2).spawn(4))
    assert seen.tally.jumps > 0
    check_shares(seen, expected)


def check_shares(seen: Seen, expected: dict[tuple[tuple[bool, ...], int], float]) -> None:
    """Compare how often each set and setting was met in 20,000 draws with its probability."""
    counts = dict.fromkeys(expected, 0)
    for mask, setting in zip(np.concatenate(list(seen.sets)), seen.settings.reshape(-1), strict=True):
        counts[tuple(mask.tolist()), int(setting)] += 1
    for key, probability in expected.items():
        # 20,000 draws four sweeps apart; the error is doubled for what is left of their memory
        error = 2 * np.sqrt(probability * (1 - probability) / 20_000) + 1e-4
        assert abs(counts[key] / 20_000 - probability) < 4.5 * error


def with_copies(slab_variance: float) -> NodeProblem:
    """Return a node whose first three parents are the same column, once with the other sign."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 5))
    x[:, 1], x[:, 2] = -x[:, 0], x[:, 0]
    probability = np.array([0.5, 0.3, 0.6, 0.4, 1.0])
    settings = tuple(Setting(value, UnknownNoise()) for value in (1.0, slab_variance))
    return naive_mcmc.problem_of(
        x, 0.3 * x[:, 0] + x[:, 3] + rng.normal(size=40), probability=probability, settings=settings
    )


@pytest.mark.parametrize("beta", [1.0, 0.4])
@pytest.mark.parametrize("slab_variance", [3.0, 1e7])
def test_groups_of_copies_are_filled_and_emptied_as_often_as_they_should(beta: float, slab_variance: float) -> None:
    given = with_copies(slab_variance)
    systems = stack_systems(given)
    assert systems.copies.tolist() == [0, 0, 0, -1, -1]
    assert systems.costly.tolist() == [[False] * 5, [slab_variance > 1e6] * 3 + [False] * 2]
    reference = np.random.default_rng(11).normal(size=5)
    target = flattened(systems, 1, beta)._replace(reference=reference)
    _, seen = observe(systems, (State(given.certain, 0),) * 4, target, 5000, 4, np.random.default_rng(2).spawn(4))
    assert seen.tally.jumps > 0
    check_shares(seen, all_weights(given, target))


def test_chains_that_disagree_on_how_many_copies_there_are_show_it() -> None:
    rng = np.random.default_rng(0)
    group, sets = np.array([0, 0, 0, -1]), rng.random((4, 200, 4)) < 0.5
    sets[:2, :, :3] = False  # two chains never meet the group
    trace = np.repeat(sets[:, :, None].astype(float), 4, axis=2)
    seen = Seen(trace, np.zeros((4, 200)), np.zeros((4, 200)), sets, np.zeros((4, 200), dtype=np.int64))
    assert group_r_hat(seen, group) > 1.3
    alike = replace(seen, trace=trace[2:], sets=sets[2:])
    assert group_r_hat(alike, group) < 1.05
    assert group_r_hat(seen, np.full(4, -1)) == 1.0


def test_what_is_averaged_over_both_ends_of_jumps_stays_right() -> None:
    given = problem(k=5)
    exact = naive_mcmc.every_set(given)
    target, systems = tempered(given, 1.0), stack_systems(given)
    _, seen = observe(systems, (State(given.certain, 0),) * 4, target, 500, 20, np.random.default_rng(3).spawn(4))
    for row, truth in ((INCLUSION, exact.inclusion), (MEAN, exact.mean), (SQUARE, np.diag(exact.second_moment))):
        error = mean_errors(seen.trace[:, :, row])
        assert np.all(np.abs(seen.trace[:, :, row].mean(axis=(0, 1)) - truth) < 5 * error + 1e-12)


def test_a_jump_brings_a_light_mode_into_the_means_without_visiting_it() -> None:
    given = problem(k=5)
    systems = stack_systems(given)
    target = tempered(given, 1.0)
    target = target._replace(jumps=target.jumps[:1], pattern=np.array([[True, False, False, False, False]]))
    mask = np.array([True, False, True, False, True])
    other = mask ^ target.jumps[0]
    ratio = np.exp(closed_form(given, other) - closed_form(given, mask))
    for seed in range(10):
        chain, now = started(systems, mask), np.zeros((4, 5))
        kernels.jump(systems, chain, target, np.zeros((2, 2, 1)), now, np.random.default_rng(seed), 1.0)
        np.testing.assert_allclose(now[INCLUSION], (other * 1.0 - mask) * ratio / (1 + ratio), atol=1e-10)
        end = other if chain.counts[sampler_flip.JUMPS] else mask
        np.testing.assert_array_equal(chain.present, end)
        assert chain.numbers[sampler_flip.LOG_WEIGHT] == pytest.approx(closed_form(given, end), rel=1e-9)


def test_a_jump_is_not_proposed_far_from_both_modes() -> None:
    given = problem(k=5)
    systems, target = stack_systems(given), tempered(given, 1.0)
    jumps = np.array([[True, True, True, True, False]])
    target = target._replace(jumps=jumps, pattern=np.array([[True, True, True, True, False]]))
    chain, now = started(systems, np.array([True, True, False, False, True])), np.zeros((4, 5))
    kernels.jump(systems, chain, target, np.zeros((2, 2, 1)), now, np.random.default_rng(0), 1.0)
    assert not now.any()
    np.testing.assert_array_equal(chain.present, [True, True, False, False, True])


def test_a_swap_draws_the_place_of_a_parent_from_its_conditional() -> None:
    given = problem(k=5)
    systems = stack_systems(given)
    generator = np.random.default_rng(8)
    begin = np.array([True, False, False, False, True])
    target = flattened(systems, 1, 1.0)
    counts = np.zeros(5)
    for _ in range(4000):
        chain = started(systems, begin)
        kernels.swap_once(systems, chain, target, generator)
        assert chain.present.sum() == 2
        counts[:4] += chain.present[:4]
    logs = []
    for u in range(4):
        mask = given.certain.copy()
        mask[u] = True
        logs.append(closed_form(given, mask))
    expected = np.exp(np.array(logs) - max(logs))
    expected /= expected.sum()
    error = np.sqrt(4000 * expected * (1 - expected)) + 1
    assert np.all(np.abs(counts[:4] - 4000 * expected) < 4 * error)


# -- judging ----------------------------------------------------------------------------------------------------------


def test_split_r_hat_equals_arviz_for_plain_draws() -> None:
    from arviz_stats.base import array_stats

    rng = np.random.default_rng(0)
    trace = rng.normal(size=(4, 300, 3)) + np.array([0.0, 0.1, 1.0]) * rng.normal(size=(4, 1, 1))
    halves = np.concatenate([trace[:, :150], trace[:, 150:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    expected = array_stats.rhat(np.moveaxis(trace, 2, 0), method="split")
    np.testing.assert_allclose(split_r_hat(trace, within), expected, rtol=1e-12)
    assert plain_r_hat(trace[:, :, 2]) == pytest.approx(expected[2], rel=1e-12)
    assert np.isnan(split_r_hat(np.ones((4, 20, 1)), np.zeros(1))).all()


def test_a_trace_that_is_constant_but_for_rounding_has_an_r_hat_of_one() -> None:
    trace = 0.3 + 1e-13 * np.random.default_rng(0).normal(size=(4, 100, 1))
    assert split_r_hat(trace, np.array([1e-30]))[0] == pytest.approx(1.0, abs=0.02)
    assert plain_r_hat(trace[:, :, 0]) == 1.0


def test_errors_of_an_autoregression() -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(4, 4096))
    x = np.zeros_like(noise)
    for t in range(1, 4096):
        x[:, t] = 0.7 * x[:, t - 1] + noise[:, t]
    assert long_batches(x[:, :, None], 64).shape == (256, 1)
    error = mean_errors(x[:, :, None])[0]
    # asymptotic variance 1 / (1 - 0.7)^2 per draw; the larger one of estimates from 256 and from 20 batches
    truth = 1 / 0.3 / np.sqrt(4 * 4096)
    assert 0.85 * truth < error < 1.6 * truth


def test_padding_is_a_whole_number_of_registers() -> None:
    assert [sampler_chain.padded(k) for k in (0, 1, 16, 17, 178)] == [0, 16, 16, 32, 192]
