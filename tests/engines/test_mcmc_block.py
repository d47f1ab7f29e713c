"""Drawing several parents together: against sums over all their subsets, and against flips that are really made."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import naive_mcmc
from alldags.engines.conjugate.one_set import SetSummary, summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.kernels.sampler import block as sampler_block
from alldags.engines.kernels.sampler import chain as sampler_chain
from alldags.engines.kernels.sampler import controls
from alldags.engines.kernels.sampler import flip as sampler_flip
from alldags.engines.kernels.sampler import response as sampler_response
from alldags.engines.mcmc import MCMC
from alldags.engines.sampling.run import advance, stack_systems, start_chains
from alldags.engines.sampling.together import choose_together
from alldags.errors import EngineError
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise

SETTINGS = [
    Setting(1.0, KnownNoise(2.0)),
    Setting(2.0, UnknownNoise(1.0, 0.5)),
    Setting(40.0, UnknownNoise(), "g"),
]


def problem(setting: Setting, k: int = 9, n: int = 40, sizes: bool = False) -> NodeProblem:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, k)) + 0.9 * rng.normal(size=(n, 1))
    probability = np.full(k, 0.4)
    probability[4] = 1.0
    y = x[:, 0] - 0.4 * x[:, 3] + rng.normal(size=n)
    given = naive_mcmc.problem_of(x, y, probability=probability, settings=(setting,))
    return replace(given, log_size=np.log(np.arange(1.0, k + 1.0)) - 1.0) if sizes else given


def chain_at(given: NodeProblem, present: np.ndarray, flips: int) -> tuple[sampler_chain.Systems, sampler_chain.Chain]:
    """Return a chain at a parent set, reached from another base set by `flips` flips."""
    systems, chain = stack_systems(given), sampler_chain.new_chain(given.k)
    moved = np.flatnonzero(~given.certain)[:flips]
    start = present.copy()
    start[moved] = ~start[moved]
    sampler_chain.start(systems, chain, start, 0)
    for v in moved:
        sampler_chain.flip(systems, chain, int(v))
    return systems, chain


def every_choice(given: NodeProblem, present: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, list[SetSummary]]:
    """Return the probability and closed form of every choice of members, the other parents being as they are."""
    system = conjugate_system(given)
    parts = []
    for choice in itertools.product([False, True], repeat=members.size):
        mask = present.copy()
        mask[members] = choice
        parts.append(summarize_set(system, mask, given.certain))
    logs = np.array([part.log_weight for part in parts])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum(), parts


@pytest.mark.parametrize("setting", SETTINGS, ids=["known", "unknown", "g"])
@pytest.mark.parametrize("sizes", [False, True])
@pytest.mark.parametrize("flips", [0, 3, 6])
def test_a_block_draw_averages_over_all_choices_of_its_members(setting: Setting, sizes: bool, flips: int) -> None:
    given = problem(setting, sizes=sizes)
    members = np.array([0, 2, 3, 7])
    together = sampler_block.draw_together(members, np.ones(9, dtype=bool))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        present = (rng.random(9) < 0.5) | given.certain
        systems, chain = chain_at(given, present, flips)
        np.testing.assert_array_equal(chain.present, present)
        own = np.where(present, chain.linear[:9], 0.0)
        now, control, sums = np.array([np.zeros(9), own]), np.zeros(9), sampler_block.new_sums(9, 1)
        assert sampler_block.draw_block(systems, chain, together, sums, now, control, rng, True)
        weights, parts = every_choice(given, present, members)
        inclusion = np.array([w * (part.mean != 0.0) for w, part in zip(weights, parts, strict=True)]).sum(axis=0)
        np.testing.assert_allclose(now[sampler_block.INCLUSION, members], inclusion[members], rtol=1e-9)
        mean = np.array([w * part.mean for w, part in zip(weights, parts, strict=True)]).sum(axis=0)
        np.testing.assert_allclose(now[sampler_block.MEAN], mean, rtol=1e-8, atol=1e-11)
        np.testing.assert_allclose(sums.mean[members], mean[members], rtol=1e-8, atol=1e-11)
        between = np.array([w * part.mean**2 for w, part in zip(weights, parts, strict=True)]).sum(axis=0)
        np.testing.assert_allclose(sums.square_between[members], between[members], rtol=1e-8, atol=1e-11)
        within = np.array([w * np.diag(part.covariance) for w, part in zip(weights, parts, strict=True)]).sum(axis=0)
        np.testing.assert_allclose(sums.square[members], (between + within)[members], rtol=1e-8, atol=1e-11)
        np.testing.assert_array_equal(sums.visits, together.inside)
        np.testing.assert_allclose(control[members], chain.present[members] - inclusion[members], atol=1e-9)
        others = np.setdiff1d(np.arange(9), members)
        assert not control[others].any()
        np.testing.assert_array_equal(chain.present[others], present[others])
        _, linear, q = naive_mcmc.swept_by_inversion(
            conjugate_system(given).precision, conjugate_system(given).shift, chain.present
        )
        np.testing.assert_allclose(chain.linear[:9], linear, rtol=1e-8, atol=1e-10)
        assert chain.numbers[sampler_flip.QUADRATIC] == pytest.approx(q, rel=1e-9)


def test_a_block_draws_each_choice_as_often_as_its_probability_says() -> None:
    given = problem(SETTINGS[1])
    members = np.array([1, 3, 6])
    together = sampler_block.draw_together(members, np.ones(9, dtype=bool))
    rng = np.random.default_rng(0)
    present = (rng.random(9) < 0.5) | given.certain
    systems, chain = chain_at(given, present, 2)
    counts, sums = np.zeros((2, 2, 2)), sampler_block.new_sums(9, 1)
    for _ in range(4000):
        sampler_block.draw_block(systems, chain, together, sums, np.zeros((2, 9)), np.zeros(9), rng, False)
        counts[tuple(chain.present[members].astype(int))] += 1
    expected = 4000 * every_choice(given, present, members)[0]
    error = np.sqrt(expected * (1 - expected / 4000)) + 1
    assert np.all(np.abs(counts.ravel() - expected) < 4.5 * error)


def test_coefficients_that_are_not_steady_keep_what_the_sweep_found() -> None:
    given = problem(SETTINGS[0])
    steady = np.arange(9) != 5
    together = sampler_block.draw_together(np.array([0, 3]), steady)
    systems, chain = chain_at(given, np.ones(9, dtype=bool), 2)
    now = np.array([np.zeros(9), np.full(9, 7.0)])
    sums = sampler_block.new_sums(9, 1)
    sampler_block.draw_block(systems, chain, together, sums, now, np.zeros(9), np.random.default_rng(0), False)
    assert now[sampler_block.MEAN, 5] == 7.0
    assert np.all(now[sampler_block.MEAN, steady] != 7.0)


def test_a_block_of_duplicates_beyond_rounding_is_left_to_single_draws() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 5)) * 1e6
    x[:, 1] = x[:, 0]
    given = naive_mcmc.problem_of(
        x, 1e-6 * x[:, 0] + rng.normal(size=40), probability=np.full(5, 0.5), settings=(Setting(1.0, KnownNoise(1.0)),)
    )
    systems, chain = chain_at(given, np.zeros(5, dtype=bool), 0)
    together = sampler_block.draw_together(np.array([0, 1]), np.ones(5, dtype=bool))
    sums = sampler_block.new_sums(5, 1)
    assert not sampler_block.draw_block(systems, chain, together, sums, np.zeros((2, 5)), np.zeros(5), rng, True)
    assert not chain.present.any()
    node = MCMC()(given, rng)
    assert np.isfinite(node.mean).all()
    assert node.mean[:2].sum() == pytest.approx(1e-6, rel=0.5)


def test_variances_that_do_not_exist_are_infinite_only_for_members_that_can_be_present() -> None:
    given = replace(problem(Setting(1.0, UnknownNoise())), n=2.0)
    members = np.array([0, 2])
    together = sampler_block.draw_together(members, np.ones(9, dtype=bool))
    systems, chain = chain_at(given, given.certain.copy(), 0)
    systems.log_factor[0, 2] = -1e4
    now, sums = np.zeros((2, 9)), sampler_block.new_sums(9, 1)
    assert sampler_block.draw_block(systems, chain, together, sums, now, np.zeros(9), np.random.default_rng(0), True)
    assert now[sampler_block.INCLUSION, 0] > 0.0
    assert now[sampler_block.INCLUSION, 2] < sampler_block.IMPOSSIBLE
    assert sums.square[0] == np.inf
    assert sums.square[2] < sampler_block.IMPOSSIBLE


def test_a_chain_whose_every_parent_is_in_the_block_is_exact_at_once() -> None:
    given = problem(SETTINGS[1], k=7)
    run = start_chains(given, stack_systems(given), 2, 0, np.random.default_rng(0))
    choose_together(run, 20, 10)
    assert run.together.members.tolist() == [0, 1, 2, 3, 5, 6]
    advance(run, 3)
    exact = naive_mcmc.every_set(given)
    for batch in run.trace.reshape(-1, 3, 7):
        np.testing.assert_allclose(batch[sampler_block.MEAN], exact.mean, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("setting", SETTINGS, ids=["known", "unknown", "g"])
def test_the_response_to_a_flip_equals_the_flip_really_made(setting: Setting) -> None:
    given = problem(setting, sizes=True)
    present = (np.random.default_rng(5).random(9) < 0.5) | given.certain
    systems, chain = chain_at(given, present, 3)
    response = sampler_response.new_response(9)
    sampler_response.add_response(systems, chain, response)
    looked_at = 0
    for v in range(9):
        if given.certain[v]:
            assert response.spread[v] == 0.0
            continue
        without, within = present.copy(), present.copy()
        without[v], within[v] = False, True
        before, after = expectations(given, without), expectations(given, within)
        probability = expectations(given, present)[0][v]
        spread = probability * (1 - probability)
        if spread < sampler_response.LEAST_SPREAD:
            assert response.spread[v] == 0.0
            continue
        looked_at += 1
        assert response.spread[v] == pytest.approx(spread, rel=1e-8)
        rest = np.arange(9) != v
        np.testing.assert_allclose(
            response.presence[v, rest] / response.spread[v], (after[0] - before[0])[rest], rtol=1e-6, atol=1e-9
        )
        np.testing.assert_allclose(
            response.coefficient[v, rest] / response.spread[v], (after[1] - before[1])[rest], rtol=1e-6, atol=1e-9
        )
    assert looked_at >= 5


def expectations(given: NodeProblem, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return every parent's probability and expected coefficient given all others."""
    probability, coefficient = np.ones(given.k), np.zeros(given.k)
    for v in range(given.k):
        weights, parts = every_choice(given, present, np.array([v]))
        probability[v] = 1.0 if given.certain[v] else weights[1]
        coefficient[v] = probability[v] * parts[1].mean[v]
    return probability, coefficient


def test_control_fits_equal_least_squares() -> None:
    rng = np.random.default_rng(1)
    trace, control = rng.normal(size=(3, 50, 7)), rng.normal(size=(3, 50, 5))
    used = np.array([4, 0, 3])
    z = (control - control.mean(axis=1, keepdims=True)).reshape(150, 5)[:, used]
    x = (trace - trace.mean(axis=1, keepdims=True)).reshape(150, 7)
    expected = np.linalg.lstsq(z, x, rcond=None)[0]
    coefficients = controls.fit_controls(trace, control, used)
    np.testing.assert_allclose(coefficients, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(controls.control_spreads(control)[used], (z**2).sum(axis=0), rtol=1e-12)
    adjusted = trace.copy()
    controls.subtract_controls(adjusted, control, used, coefficients)
    np.testing.assert_allclose(adjusted, trace - control[:, :, used] @ coefficients, rtol=1e-10)


def test_control_fits_survive_controls_that_say_the_same() -> None:
    rng = np.random.default_rng(1)
    control = np.repeat(rng.normal(size=(2, 50, 1)), 2, axis=2)
    trace = 3.0 * control[:, :, :1] + 1.0
    coefficients = controls.fit_controls(trace, control, np.array([0, 1]))
    assert coefficients.sum() == pytest.approx(3.0, rel=1e-6)


def test_block_sizes_out_of_range_are_refused() -> None:
    with pytest.raises(EngineError, match="MCMC block must be a whole number from 0 to 10, got -1"):
        MCMC(block=-1)
    with pytest.raises(EngineError, match="MCMC block must be a whole number from 0 to 10, got 11"):
        MCMC(block=11)


@pytest.mark.parametrize("block", [0, 4, 8])
def test_any_block_gives_the_same_posterior(block: int) -> None:
    given = problem(SETTINGS[1], k=12, n=30)
    exact = naive_mcmc.every_set(given)
    node = MCMC(block=block, target_mcse=0.001)(given, np.random.default_rng(6))
    assert np.all(np.abs(node.mean - exact.mean) < 5 * node.diagnostics.mcse + 1e-9)
    np.testing.assert_allclose(node.inclusion, exact.inclusion, atol=0.01)
    np.testing.assert_allclose(np.diag(node.second_moment), np.diag(exact.second_moment), atol=0.01)
