"""Wide nodes: a few hot candidates are swept often and all others rarely, and the answer is that of all parent sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.engines.exact import Exact
from alldags.engines.mcmc import MCMC
from alldags.engines.sampling.diagnostics import mean_errors
from alldags.engines.sampling.posterior import SampledPosterior
from alldags.engines.sampling.run import State, posterior_target, stack_systems
from alldags.engines.sampling.sample import Clock
from alldags.engines.sampling.wide import hot, suits
from alldags.engines.sampling.wide.blocks import Walk, observe_wide
from alldags.engines.sampling.wide.candidates import Division, wide_problem
from alldags.engines.sampling.wide.hot import selected
from alldags.engines.sampling.wide.posterior import WidePosterior
from alldags.engines.sampling.wide.sample import again, draw_wide, extended, sharpened
from alldags.errors import EngineError
from alldags.kernels.sampler.sets import set_log_weights
from alldags.nodes import NodeProblem, Setting
from alldags.nodes.products import RowProducts
from alldags.priors.noise import EquivalentNoise, KnownNoise, UnknownNoise
from problems import make_problem

SETTINGS = {
    "learned": ad.priors.LearnedSlab().settings(60, UnknownNoise()),
    "known noise": (Setting(1.0, KnownNoise(0.7)),),
    "g": (Setting(60.0, UnknownNoise(), "g"),),
    "equivalent": (Setting(1.0, EquivalentNoise()),),
}


def correlated(k: int, n: int, share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, k))
    for j in range(1, k):
        x[:, j] = share * x[:, j - 1] + np.sqrt(1 - share**2) * x[:, j]
    return x


def small(what: str, learned_size: bool = False, k: int = 12) -> NodeProblem:
    x = correlated(k, 60, 0.8, 3)
    rng = np.random.default_rng(4)
    y = x[:, 1] - 0.7 * x[:, 6] + 0.5 * x[:, 10] + 1.5 * rng.normal(size=60)
    size, p = (ad.priors.BetaBinomial().log_size(k - 1), 0.5) if learned_size else (None, 0.3)
    return make_problem(x, y / y.std(), probability=p, certain=[7], settings=SETTINGS[what], log_size=size)


def wide_table(k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x, rng = correlated(k, 300, 0.5, seed), np.random.default_rng([seed, 1])
    y = x[:, :: k // 4] @ rng.choice([-1.0, 1.0], len(range(0, k, k // 4))) + 2.0 * rng.normal(size=300)
    return (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean()) / y.std()


def wide(k: int, seed: int = 0, probability: float | None = None) -> NodeProblem:
    settings = ad.priors.LearnedSlab().settings(300, UnknownNoise())
    return make_problem(*wide_table(k, seed), probability=probability or 4 / k, settings=settings)


@pytest.fixture
def few_are_hot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of twelve candidates are wide, and four of these are hot."""
    monkeypatch.setattr(suits, "WIDE", 5)
    monkeypatch.setattr(hot, "MOST", 4)
    monkeypatch.setattr(hot, "LEAST", 3)


@pytest.mark.parametrize("learned_size", [False, True])
@pytest.mark.parametrize("what", list(SETTINGS))
def test_the_moves_leave_the_posterior_as_it_is_whatever_is_hot(what: str, learned_size: bool) -> None:
    given = small(what, learned_size)
    truth, division = Exact()(given, np.random.default_rng(0)), Division(wide_problem(given), np.array([2, 7, 9]))
    none = np.zeros((0, 3), dtype=bool)
    walk = Walk(division, posterior_target(division.systems, 1, none, none))
    rngs = [np.random.default_rng([1, c]) for c in range(4)]
    states = tuple(State(given.certain.copy(), 0) for _ in rngs)
    states, _ = observe_wide(walk, states, 50, 1, rngs)
    states, seen = observe_wide(walk, states, 700, 1, rngs)
    trace = [seen.trace[:, :, row] for row in range(4)]
    expected = truth.inclusion, truth.mean, np.diag(truth.second_moment), np.diag(truth.second_moment_between)
    for found, right in zip(trace, expected, strict=True):
        error = mean_errors(found) + 1e-12
        assert (np.abs(found.mean(axis=(0, 1)) - right) / error).max() < 5.0
        assert error.max() < 0.03
    assert seen.noise.mean() == pytest.approx(truth.noise_variance, rel=0.03)
    weights, sets = np.empty(4), np.array([state.present for state in states])
    set_log_weights(stack_systems(given), sets, np.array([state.setting for state in states]), weights)
    np.testing.assert_allclose(weights, [state.log_weight for state in states], rtol=1e-9)


@pytest.mark.usefixtures("few_are_hot")
@pytest.mark.parametrize("what", list(SETTINGS))
def test_a_wide_node_says_what_enumeration_says(what: str) -> None:
    given = small(what)
    truth, node = Exact()(given, np.random.default_rng(0)), MCMC(sweeps=4000)(given, np.random.default_rng(1))
    assert isinstance(node, WidePosterior)
    assert node.diagnostics.converged
    assert len(node.sample.walk.division.places) == 4
    np.testing.assert_allclose(node.inclusion, truth.inclusion, atol=0.02)
    np.testing.assert_allclose(node.mean, truth.mean, atol=5.0 * node.diagnostics.mcse.max())
    np.testing.assert_allclose(node.second_moment, truth.second_moment, atol=0.01)
    np.testing.assert_allclose(node.second_moment_between, truth.second_moment_between, atol=0.01)
    np.testing.assert_allclose(node.squares, np.diag(node.second_moment))
    np.testing.assert_allclose(node.second_moments([3, 7]), node.second_moment[np.ix_([3, 7], [3, 7])])
    assert abs(node.log_evidence - truth.log_evidence) < 4.0 * node.log_evidence_error
    assert node.log_evidence_error < 0.2
    masks = np.eye(12, dtype=bool)
    np.testing.assert_allclose(node.probability_disjoint(masks), truth.probability_disjoint(masks), atol=0.05)


@pytest.mark.usefixtures("few_are_hot")
def test_draws_of_a_wide_node_have_its_moments() -> None:
    given = small("learned")
    truth, node = Exact()(given, np.random.default_rng(0)), MCMC(sweeps=4000)(given, np.random.default_rng(1))
    drawn, variance = node.draw(20_000, np.random.default_rng(2))
    np.testing.assert_allclose(drawn.mean(axis=0), truth.mean, atol=0.02)
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), truth.second_moment, atol=0.02)
    assert variance.mean() == pytest.approx(truth.noise_variance, rel=0.03)


@pytest.mark.usefixtures("few_are_hot")
@pytest.mark.parametrize("present", [True, False])
def test_the_mean_given_an_edge_is_that_of_stored_sets_or_of_a_new_run(present: bool) -> None:
    given = small("learned")
    truth, node = Exact()(given, np.random.default_rng(0)), MCMC(sweeps=4000)(given, np.random.default_rng(1))
    for parent in (1, 4):
        right = truth.mean_given(parent, present)
        np.testing.assert_allclose(node.mean_given(parent, present), right, atol=0.03)
        np.testing.assert_allclose(node._forced(parent, present), right, atol=0.03)


def test_many_candidates_are_sampled_as_by_the_sampler_that_sweeps_all_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    given = wide(320)
    found = MCMC(sweeps=1000)(given, np.random.default_rng(0))
    monkeypatch.setattr(suits, "WIDE", 10**9)
    other = MCMC(sweeps=1000)(given, np.random.default_rng(1))
    assert isinstance(found, WidePosterior)
    assert isinstance(other, SampledPosterior)
    error = np.hypot(found.diagnostics.inclusion_mcse, other.diagnostics.inclusion_mcse)
    assert (np.abs(found.inclusion - other.inclusion) < 4.5 * error).all()
    assert abs(found.log_evidence - other.log_evidence) < 4.0 * np.hypot(
        found.log_evidence_error, other.log_evidence_error
    )


def test_rows_and_their_cross_products_give_the_same_answer() -> None:
    given = wide(350)
    by_rows = replace(given, gram=RowProducts(np.ascontiguousarray(wide_table(350)[0].T)))
    found, other = (MCMC()(one, np.random.default_rng(3)) for one in (by_rows, given))
    np.testing.assert_allclose(found.inclusion, other.inclusion, atol=0.02)
    drawn = (node.draw(50, np.random.default_rng(0))[0] for node in (found, other))
    assert all(one.shape == (50, 350) for one in drawn)


def test_the_same_seed_gives_the_same_numbers() -> None:
    given = wide(330)
    first, second = (MCMC()(given, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first.inclusion, second.inclusion)
    np.testing.assert_array_equal(first.second_moment, second.second_moment)
    assert first.log_evidence == second.log_evidence


def test_nodes_of_few_candidates_in_groups_or_expected_in_hundreds_are_swept_alike() -> None:
    given = wide(320)
    assert suits.is_wide(given)
    assert not suits.is_wide(wide(300))
    assert not suits.is_wide(replace(given, groups=np.repeat(np.arange(160), 2)))
    assert not suits.is_wide(wide(320, probability=0.5))


def test_second_moments_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    node = MCMC(sweeps=20)(wide(310), np.random.default_rng(0))
    monkeypatch.setattr("alldags.memory.free_memory", lambda: 1e6)
    monkeypatch.setattr("alldags.memory._NUMBER", 1e4)
    with pytest.raises(EngineError, match=r"second moments of all 310 coefficients need about .* ask for single ones"):
        node.second_moment  # noqa: B018


def test_exact_copies_of_a_parent_share_its_probability() -> None:
    x, y = wide_table(320)
    x[:, 101] = x[:, 80]
    given = make_problem(x, y, probability=4 / 320, settings=(Setting(1.0, UnknownNoise()),))
    node = MCMC()(given, np.random.default_rng(0))
    assert node.diagnostics.converged
    either = 1.0 - node.probability_disjoint(np.isin(np.arange(320), [80, 101])[None])[0]
    assert either > 0.99
    assert node.inclusion[[80, 101]] == pytest.approx([0.5, 0.5], abs=0.1)


def test_a_table_of_edges_asks_for_more_sweeps_and_leaves_the_answer_as_it_was() -> None:
    given = wide(320, probability=0.05)
    node = MCMC()(given, np.random.default_rng(0))
    before = node.inclusion.copy()
    sample, estimates, report = sharpened(MCMC(), node.sample)
    assert report.max_inclusion_mcse <= 0.007 < node.diagnostics.max_inclusion_mcse
    assert sample.recorded.sweeps > node.diagnostics.sweeps
    np.testing.assert_array_equal(node.settled_inclusion, estimates.inclusion)
    np.testing.assert_array_equal(node.inclusion, before)
    assert (np.abs(node.settled_inclusion - before) < 5.0 * node.diagnostics.inclusion_mcse).all()


def test_the_table_of_a_fit_shows_the_settled_probabilities() -> None:
    x, y = wide_table(310)
    edges = {(f"x{i}", "y"): 4 / 310 for i in range(310)}
    table = {f"x{i}": x[:, i] for i in range(310)} | {"y": y}
    posterior = ad.fit(table, ad.CandidateGraph.from_edges(edges), terms=None, rng=0)
    shown = posterior.edge_probabilities()
    node = posterior.workings.models.items[0].node("y")
    places = [node.parents.index(cause) for cause in shown["cause"]]
    np.testing.assert_array_equal(shown["posterior"], node.settled_inclusion[places])


@pytest.mark.usefixtures("few_are_hot")
def test_chains_that_do_not_agree_choose_hot_candidates_anew_and_go_on() -> None:
    given = small("learned")
    sample, estimates, _ = draw_wide(MCMC(sweeps=200), given, np.random.default_rng(1))
    other = again(MCMC(), sample, estimates, np.random.default_rng(2))
    hot_now = other.walk.division.places
    assert other.walk.target.jumps.shape[1] == len(hot_now) == 4
    assert all(mode.present.shape == (4,) for mode in other.found.modes)
    assert 7 in hot_now  # it is certain
    longer = extended(replace(other, seen=None), 400, Clock(None))
    truth = Exact()(given, np.random.default_rng(0))
    assert np.abs(longer.recorded.trace[:, :, 0].mean(axis=(0, 1)) - truth.inclusion).max() < 0.15


def test_no_more_sweeps_are_made_than_asked_for() -> None:
    node = MCMC(sweeps=20, max_sweeps=64)(wide(310), np.random.default_rng(0))
    assert node.diagnostics.sweeps <= 64


def test_a_time_limit_ends_a_run_and_says_so() -> None:
    node = MCMC(target_mcse=1e-7, max_seconds=0.5)(wide(310), np.random.default_rng(0))
    assert not node.diagnostics.reproducible
    assert "above the target" in " ".join(node.diagnostics.warnings)


def test_selection_meets_the_parents() -> None:
    given = wide_problem(wide(320))
    best, score = selected(given, 4)
    assert set(range(0, 320, 80)) <= set(np.flatnonzero(best))
    assert set(range(0, 320, 80)) <= set(np.argsort(-score)[:20])
