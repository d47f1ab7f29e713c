"""Which parents are drawn together, and what is expected of drawing one: closed forms, and runs against exact means."""

from __future__ import annotations

import numpy as np
import pytest

import naive_mcmc
from alldags.engines.kernels.sampler.block import INCLUSION, MEAN
from alldags.engines.kernels.sampler.response import Response, follow, follow_members, new_response
from alldags.engines.kernels.sampler.slowness import slowest_direction
from alldags.engines.mcmc import MCMC
from alldags.engines.sampling import together
from alldags.engines.sampling.posterior import judge
from alldags.engines.sampling.run import advance, stack_systems, start_chains
from alldags.engines.sampling.together import choose_again, choose_together, influence
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise


def response(k: int = 6) -> Response:
    rng = np.random.default_rng(0)
    out = Response(rng.random(k), rng.normal(size=(k, k)) / 10, rng.normal(size=(k, k)))
    out.spread[2] = 0.0  # a parent whose presence never varied
    return out


def per_entry(given: Response) -> tuple[np.ndarray, np.ndarray]:
    spread = np.where(given.spread > 0, given.spread, np.inf)[:, None]
    return given.presence / spread, given.coefficient / spread


def test_effects_follow_three_steps() -> None:
    given = response()
    presence, coefficient = per_entry(given)
    paths = sum(np.linalg.matrix_power(presence, step) for step in range(4))
    effects = follow(given, 3)
    np.testing.assert_allclose(effects[:, INCLUSION], paths @ presence, rtol=1e-10)
    np.testing.assert_allclose(effects[:, MEAN], paths @ coefficient, rtol=1e-10)
    expected = (given.spread[:, None] * effects[:, MEAN] ** 2).max(axis=1)
    np.testing.assert_allclose(influence(given, effects), expected, rtol=1e-10)


def test_a_member_acts_on_parents_drawn_alone_only() -> None:
    given = response()
    presence, coefficient = per_entry(given)
    inside, steady = np.isin(np.arange(6), [1, 2, 4]), np.isin(np.arange(6), [0, 1])
    entering = follow(given, 3)
    drawn = entering.copy()
    follow_members(drawn, given, np.flatnonzero(inside), inside, steady)
    np.testing.assert_array_equal(drawn[~inside], entering[~inside])
    onward = presence * ~inside
    np.testing.assert_allclose(drawn[inside, INCLUSION], (onward + onward @ entering[:, INCLUSION])[inside], rtol=1e-10)
    at_once = coefficient * (~inside & ~steady)
    np.testing.assert_allclose(drawn[inside, MEAN], (at_once + onward @ entering[:, MEAN])[inside], rtol=1e-10)


def rare() -> NodeProblem:
    """A parent that is seldom present, and then changes the coefficient of another one much."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 8))
    x[:, 1] = 0.7 * (x[:, 0] + rng.normal(size=60))
    y = x[:, 0] + 0.4 * x[:, 2] + rng.normal(size=60)
    probability = np.full(8, 0.3)
    probability[1] = 0.03
    return naive_mcmc.problem_of(x, y, probability=probability, settings=(Setting(1.0, KnownNoise(1.0)),))


def test_parent_sets_never_met_are_in_the_mean() -> None:
    given = rare()
    exact = naive_mcmc.every_set(given)
    assert 0.005 < exact.inclusion[1] < 0.05
    with_effects, without = [], []
    for generator in np.random.default_rng(1).spawn(200):
        run = start_chains(given, stack_systems(given), 2, 0, generator)
        choose_together(run, 40, 0)
        advance(run, 20)
        with_effects.append(judge(given, run)[0].mean - exact.mean)
        run.effects = np.zeros_like(run.effects)
        without.append(judge(given, run)[0].mean - exact.mean)
    errors, plain = np.array(with_effects), np.array(without)
    assert np.all(np.abs(errors.mean(axis=0)) < 4.5 * errors.std(axis=0) / np.sqrt(200))
    ratio = errors.std(axis=0) / plain.std(axis=0)
    assert ratio.max() < 1.1
    assert ratio[0] < 0.6
    assert np.median(ratio) < 0.6


def test_what_has_no_finite_answer_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(k: int) -> Response:
        out = new_response(k)
        out.presence[3, 5], out.coefficient[3, 5], out.coefficient[6, 0] = np.nan, np.inf, -np.inf
        return out

    monkeypatch.setattr(together, "new_response", spoil)
    given = rare()
    run = start_chains(given, stack_systems(given), 2, 0, np.random.default_rng(0))
    choose_together(run, 40, 2)
    assert np.isfinite(run.effects).all()
    advance(run, 40)
    assert np.isfinite(judge(given, run)[0].mean).all()


def test_parents_that_compete_are_drawn_together() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 20))
    for copy in (7, 12):
        x[:, copy] = x[:, 3] + 0.2 * rng.normal(size=80)
    given = naive_mcmc.problem_of(
        x, x[:, 3] + rng.normal(size=80), probability=np.full(20, 0.2), settings=(Setting(1.0, UnknownNoise()),)
    )
    run = start_chains(given, stack_systems(given), 4, 1, rng)
    choose_together(run, 48, 3)
    assert run.together.members.tolist() == [3, 7, 12]


def test_the_slowest_movement_is_found_among_faster_and_larger_ones() -> None:
    rng = np.random.default_rng(0)
    trace = rng.normal(size=(2, 610, 6))
    slow = np.zeros((2, 610))
    for t in range(1, 610):
        slow[:, t] = 0.95 * slow[:, t - 1] + 0.1 * rng.normal(size=2)
    trace[:, :, [1, 4]] = 0.2 * trace[:, :, [1, 4]] + slow[:, :, None] * np.array([1.0, -1.0])
    direction = slowest_direction(trace, 25)
    assert np.abs(direction[[1, 4]]).min() > 0.6
    means = trace[:, 10:].reshape(48, 25, 6).mean(axis=1)
    excess = 25 * np.cov(means, rowvar=False) - np.cov(trace.reshape(-1, 6), rowvar=False)
    expected = np.linalg.eigh(excess)[1][:, -1]
    np.testing.assert_allclose(direction * np.sign(direction[1] * expected[1]), expected, atol=1e-5)


def test_choosing_again_takes_the_slowest_parents() -> None:
    given = rare()
    run = start_chains(given, stack_systems(given), 2, 0, np.random.default_rng(0))
    choose_together(run, 40, 2)
    advance(run, 200)
    run.trace[:, :, INCLUSION, 5] = np.repeat([0.0, 1.0], 100)  # moved once in all that time
    run.trace[:, :, INCLUSION, 6] = np.repeat([1.0, 0.0], 100)
    choose_again(run, 2)
    assert run.together.members.tolist() == [5, 6]
    assert run.effects.shape == (8, 2, 8)


def test_a_run_that_is_hard_chooses_again_and_stays_right() -> None:
    given = rare()
    exact = naive_mcmc.every_set(given)
    node = MCMC(chains=2, sweeps=500, swaps=0, block=2, target_mcse=5e-5)(given, np.random.default_rng(0))
    assert node.diagnostics.warm_up >= 500  # what was run before counts as warm-up
    assert np.all(np.abs(node.mean - exact.mean) < 5 * node.diagnostics.mcse + 1e-6)
