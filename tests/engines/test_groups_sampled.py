"""Groups of columns in the sampler: its compiled parts against brute force, and its answers against enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
import sampler_kernels as kernels
from alldags.engines import MCMC, Exact
from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.sampling.asked import sample_asked
from alldags.engines.sampling.diagnostics import mean_errors
from alldags.engines.sampling.explore import flips_of, greedy_way
from alldags.engines.sampling.run import (
    Seen,
    State,
    flattened,
    observe,
    posterior_target,
    stack_systems,
    whole_groups,
)
from alldags.kernels.sampler import flip as sampler_flip
from alldags.kernels.sampler.chain import new_chain
from alldags.kernels.sampler.sets import set_log_weights
from alldags.kernels.sampler.target import BETWEEN, INCLUSION, MEAN, SQUARE, Target
from alldags.nodes import NodeProblem, Setting
from naive.sets import all_sets, every_set
from problems import grouped_problem, make_problem

NOISES = [ad.priors.KnownNoise(2.0), ad.priors.UnknownNoise(1.0, 0.5), ad.priors.EquivalentNoise()]
NAMES = ["known", "unknown", "counting columns"]


def small(noise, sized: bool = False, slab: str = "independent") -> NodeProblem:
    taus = (1.0,) if isinstance(noise, ad.priors.EquivalentNoise) else (0.5, 5.0)
    taus = (30.0, 100.0) if slab == "g" else taus
    rng = np.random.default_rng(3)
    sizes, certain = (1, 3, 1, 2, 2), (2, 4)
    return grouped_problem(rng, sizes, noise, slab=slab, certain=certain, sized=sized, taus=taus, rows=40)


def closed_form(given: NodeProblem, mask: np.ndarray, setting: int = 0) -> float:
    part = replace(given, settings=(given.settings[setting],))
    return summarize_set(conjugate_system(part), mask, given.certain).log_weight


SUITED = [  # EquivalentNoise refuses g-priors
    (noise, slab)
    for noise in NOISES
    for slab in ("independent", "g")
    if slab == "independent" or not isinstance(noise, ad.priors.EquivalentNoise)
]


def pieces(systems) -> list[tuple[int, int]]:
    """Return first and last column of what is uncertain and flipped as one."""
    pairs = zip(systems.starts[:-1].tolist(), systems.starts[1:].tolist(), strict=True)
    return [(first, last) for first, last in pairs if not systems.certain[first]]


@pytest.mark.kernels
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize(("noise", "slab"), SUITED, ids=str)
def test_log_odds_of_groups_equal_the_closed_form_after_any_flips(noise, sized, slab):
    given = small(noise, sized, slab)
    systems, rng = stack_systems(given), np.random.default_rng(0)
    chain = new_chain(given.k)
    kernels.start(systems, chain, given.certain, 0)
    for step in range(30):
        first, last = pieces(systems)[int(rng.integers(3))]
        kernels.flip_group(systems, chain, first, last)
        if step % 7 == 3:  # a base set that splits groups, as an almost singular flip may leave it
            chain.often[:] = rng.normal(size=given.k)
            kernels.refresh(systems, chain)
            assert chain.numbers[sampler_flip.LOG_WEIGHT] == pytest.approx(closed_form(given, chain.present), rel=1e-9)
        assert chain.counts[sampler_flip.GROUPS] == (chain.present & given.uncertain).sum()
        for start, stop in pieces(systems):
            there, gone = chain.present.copy(), chain.present.copy()
            there[start:stop], gone[start:stop] = True, False
            odds = closed_form(given, there) - closed_form(given, gone)
            assert kernels.log_odds_of_group(systems, chain, start, stop) == pytest.approx(odds, rel=1e-8, abs=1e-8)


@pytest.mark.kernels
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("noise", NOISES, ids=NAMES)
def test_log_weights_of_sets_count_groups_and_columns(noise, sized):
    given = small(noise, sized)
    sets = all_sets(given)
    out = np.empty(len(sets))
    set_log_weights(stack_systems(given), sets, np.zeros(len(sets), dtype=np.int64), out)
    np.testing.assert_allclose(out, [closed_form(given, mask) for mask in sets], rtol=1e-10)


@pytest.mark.kernels
def test_a_greedy_way_flips_whole_groups():
    given = small(ad.priors.UnknownNoise())
    systems = stack_systems(given)
    path, weights = greedy_way(systems, State(given.certain.copy(), 0), ~given.certain, 100)
    mask, left = given.certain.copy(), pieces(systems)
    for step, first in enumerate(path):
        options = {start: mask ^ flips_of(systems, np.array([start])) for start, _ in left}
        assert max(options, key=lambda start: closed_form(given, options[start])) == first
        mask = options[int(first)]
        left = [pair for pair in left if pair[0] != first]
        assert weights[step + 1] == pytest.approx(closed_form(given, mask), rel=1e-9)
    assert left == []


def test_sets_are_made_whole_by_the_first_column_of_a_group():
    systems = stack_systems(small(ad.priors.UnknownNoise()))
    assert systems.starts.tolist() == [0, 1, 4, 5, 7, 8, 9]
    first = np.array([False, True, False, False, False, False, True, True, False])
    assert whole_groups(systems, first).tolist() == [False, True, True, True, False, False, False, True, False]
    plain = stack_systems(replace(small(ad.priors.UnknownNoise()), groups=None))
    assert whole_groups(plain, first) is first


# -- moves ------------------------------------------------------------------------------------------------------------


def tempered(given: NodeProblem, beta: float) -> Target:
    """Return a target with a reference that is not flat, and two jumps."""
    systems = stack_systems(given)
    jumps = np.array([flips_of(systems, np.array([0, 1])), flips_of(systems, np.array([1, 5]))])
    target = posterior_target(systems, 1, jumps, np.tile(np.arange(given.k) < 1, (2, 1)))
    settings = np.log(np.full(len(given.settings), 1.0 / len(given.settings)))
    reference = np.where(given.uncertain, np.random.default_rng(11).normal(size=given.k), 0.0)
    return target._replace(beta=beta, reference=reference, reference_setting=settings)


def all_weights(given: NodeProblem, target: Target) -> dict[tuple[tuple[bool, ...], int], float]:
    """Return the probability of every set and setting under a target."""
    logs = {}
    for index in range(len(given.settings)):
        for mask in all_sets(given):
            reference = target.reference[mask].sum() + target.reference_setting[index]
            log = target.beta * closed_form(given, mask, index) + (1 - target.beta) * reference
            logs[tuple(mask.tolist()), index] = log
    total = np.logaddexp.reduce(list(logs.values()))
    return {key: float(np.exp(value - total)) for key, value in logs.items()}


@pytest.mark.parametrize("beta", [1.0, 0.4])
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("noise", NOISES, ids=NAMES)
def test_sweeps_swaps_jumps_and_settings_keep_the_tempered_distribution(beta, sized, noise):
    given = small(noise, sized)
    target, systems = tempered(given, beta), stack_systems(given)
    _, seen = observe(systems, (State(given.certain, 0),) * 4, target, 5000, 4, np.random.default_rng(2).spawn(4))
    assert min(seen.tally.jumps, seen.tally.swaps) > 0
    check_shares(seen, all_weights(given, target))


def check_shares(seen: Seen, expected: dict[tuple[tuple[bool, ...], int], float]) -> None:
    """Compare how often each set and setting was met with its probability."""
    counts, draws = dict.fromkeys(expected, 0), seen.settings.size
    for mask, setting in zip(np.concatenate(list(seen.sets)), seen.settings.reshape(-1), strict=True):
        counts[tuple(mask.tolist()), int(setting)] += 1
    for key, probability in expected.items():
        # draws are four sweeps apart; the error is doubled for what is left of their memory
        error = 2 * np.sqrt(probability * (1 - probability) / draws) + 2 / draws
        assert abs(counts[key] / draws - probability) < 4.5 * error


@pytest.mark.kernels
@pytest.mark.parametrize("jumping", [False, True])
@pytest.mark.parametrize("noise", NOISES, ids=NAMES)
def test_conditional_expectations_of_groups_average_to_the_moments(noise, jumping, scaled):
    given = small(noise)
    slow, systems = every_set(given), stack_systems(given)
    target = tempered(given, 1.0) if jumping else flattened(systems, 1, 1.0)
    begin, streams = (State(given.certain, 0),) * 4, np.random.default_rng(3).spawn(4)
    _, seen = observe(systems, begin, target, max(scaled(500), 60), 20, streams)
    truths = {INCLUSION: slow.inclusion, MEAN: slow.mean, SQUARE: np.diag(slow.second_moment)}
    if not jumping and len(given.settings) == 1:
        truths[BETWEEN] = np.diag(slow.second_moment_between)
    for row, truth in truths.items():
        error = mean_errors(seen.trace[:, :, row])
        assert np.all(np.abs(seen.trace[:, :, row].mean(axis=(0, 1)) - truth) < 5 * error + 1e-12)


@pytest.mark.kernels
def test_a_swap_draws_the_place_of_a_group_from_its_conditional(scaled):
    given = replace(small(ad.priors.UnknownNoise()), settings=(Setting(1.0, ad.priors.UnknownNoise()),))
    systems, generator = stack_systems(given), np.random.default_rng(8)
    target, draws = flattened(systems, 1, 1.0), scaled(4000)
    begin = given.certain | flips_of(systems, np.array([1]))
    counts = np.zeros(given.k)
    for _ in range(draws):
        chain = new_chain(given.k)
        kernels.start(systems, chain, begin, 0)
        kernels.swap_groups(systems, chain, target, generator)
        assert chain.numbers[sampler_flip.LOG_WEIGHT] == pytest.approx(closed_form(given, chain.present), rel=1e-9)
        assert (chain.present & given.uncertain).sum() == 1
        counts += chain.present
    firsts = np.flatnonzero(given.uncertain)
    logs = np.array([closed_form(given, given.certain | flips_of(systems, np.array([u]))) for u in firsts])
    expected = np.exp(logs - np.logaddexp.reduce(logs))
    error = np.sqrt(draws * expected * (1 - expected)) + 1
    assert np.all(np.abs(counts[firsts] - draws * expected) < 4 * error)


@pytest.mark.kernels
@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_copies_of_a_group_under_a_wide_slab_are_factored_anew(beta, scaled):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 6))
    x[:, 2:4] = x[:, :2] @ np.array([[0.6, 0.8], [-0.8, 0.6]])  # another basis of the same space
    y, groups = 0.3 * x[:, 0] + x[:, 4] + rng.normal(size=40), np.array([0, 0, 1, 1, 2, 3])
    settings = tuple(Setting(value, ad.priors.UnknownNoise()) for value in (1.0, 1e7))
    given = make_problem(x, y, probability=[0.5, 0.5, 0.3, 0.3, 0.4, 1.0], groups=groups, settings=settings)
    systems = stack_systems(given)
    chain = new_chain(6)
    kernels.start(systems, chain, np.ones(6, dtype=bool), 1)
    for first in (0, 2, 0, 2, 0):
        kernels.flip_group(systems, chain, first, first + 2)
        assert chain.counts[sampler_flip.WORK] < sampler_flip.MUCH_WORK
        for place in (0, 2):
            there, gone = chain.present.copy(), chain.present.copy()
            there[place : place + 2], gone[place : place + 2] = True, False
            odds = closed_form(given, there, 1) - closed_form(given, gone, 1)
            assert kernels.log_odds_of_group(systems, chain, place, place + 2) == pytest.approx(odds, abs=1e-5)
    target = flattened(systems, 1, beta)
    _, seen = observe(systems, (State(given.certain, 0),) * 4, target, scaled(5000), 4, rng.spawn(4))
    check_shares(seen, all_weights(given, target))


# -- answers ----------------------------------------------------------------------------------------------------------


def z_scores(found, slow) -> tuple[np.ndarray, np.ndarray]:
    """Return differences of inclusion and mean, over their Monte-Carlo errors."""
    report = found.diagnostics
    inclusion = np.abs(found.inclusion - slow.inclusion) / np.maximum(report.inclusion_mcse, 1e-9)
    return inclusion, np.abs(found.mean - slow.mean) / np.maximum(report.mcse, 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_sampled_answers_are_within_their_errors_of_enumerated_ones(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 1, 2, 3, 4], 11)
    noise = NOISES[seed % 3]
    taus = (1.0,) if seed % 3 == 2 else (0.2, 1.0, 5.0)
    problem = grouped_problem(rng, sizes, noise, sized=seed % 2 == 1, certain=(2,), taus=taus, rows=80, signal=0.3)
    found, slow = MCMC()(problem, rng), Exact()(problem, rng)
    assert found.diagnostics.converged
    inclusion, mean = z_scores(found, slow)
    assert inclusion.max() < 4
    assert mean.max() < 4
    sd, own = (np.sqrt(np.diag(one.second_moment) - one.mean**2) for one in (slow, found))
    np.testing.assert_allclose(own, sd, rtol=0.1, atol=0.01)
    assert abs(found.log_evidence - slow.log_evidence) < 4 * found.log_evidence_error
    assert (problem.touched(found.sets) == found.sets).all()
    assert (found.inclusion == found.inclusion[problem.leaders]).all()


def two_categories(seed: int, likeness: float = 0.95) -> NodeProblem:
    """Return a problem in which two categories of four levels all but coincide, and one of them acts."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, 200)
    second = np.where(rng.random(200) < likeness, first, rng.integers(0, 4, 200))
    blocks = [np.eye(4)[levels][:, 1:] for levels in (first, second, rng.integers(0, 4, 200))]
    x = np.hstack([*blocks, rng.standard_normal((200, 3))])
    x -= x.mean(axis=0)
    y = 1.2 * np.array([0.0, 1.0, -1.0, 1.5])[first] + rng.standard_normal(200)
    taus = tuple(Setting(tau, ad.priors.UnknownNoise()) for tau in (0.5, 4.0, 30.0))
    return make_problem(x, y - y.mean(), groups=np.repeat(np.arange(6), [3, 3, 3, 1, 1, 1]), settings=taus)


@pytest.mark.parametrize("likeness", [0.9, 0.97, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_two_categories_that_explain_the_same_change_places(seed, likeness):
    problem = two_categories(seed, likeness)
    found, slow = MCMC()(problem, np.random.default_rng(seed)), Exact()(problem, np.random.default_rng(0))
    assert found.diagnostics.converged
    inclusion, mean = z_scores(found, slow)
    assert inclusion.max() < 4
    assert mean.max() < 4


def hidden_groups(seed: int) -> NodeProblem:
    """Return a problem with two modes: one group of four columns, or two groups that add up to nearly the same."""
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((400, 4))
    whole = parts @ np.linalg.qr(rng.standard_normal((4, 4)))[0] + 0.06 * rng.standard_normal((400, 4))
    x = np.hstack([whole, parts, rng.standard_normal((400, 8))])
    y = parts @ np.array([1.0, -1.0, 1.0, 1.0]) + rng.standard_normal(400)
    groups = np.repeat(np.arange(9), [4, 2, 2, 2, 2, 1, 1, 1, 1])
    return make_problem(x, y, groups=groups, probability=0.2, settings=(Setting(1.0, ad.priors.UnknownNoise()),))


@pytest.mark.parametrize("seed", range(4))
def test_one_group_is_exchanged_for_two(seed):
    problem = hidden_groups(seed)
    found, slow = MCMC()(problem, np.random.default_rng(seed)), Exact()(problem, np.random.default_rng(0))
    assert found.diagnostics.converged
    inclusion, mean = z_scores(found, slow)
    assert inclusion.max() < 4
    assert mean.max() < 4


@pytest.mark.parametrize("present", [False, True])
def test_a_mean_given_a_group_comes_from_stored_sets_or_from_a_new_run(present, monkeypatch):
    problem = grouped_problem(np.random.default_rng(2), (1, 3, 2, 1), rows=50, signal=0.3)
    found, slow = MCMC(sweeps=2000)(problem, np.random.default_rng(0)), Exact()(problem, np.random.default_rng(0))
    for column in (1, 2, 5):
        expected = slow.mean_given(column, present)
        for least, tolerance in ((100, 0.06), (10**9, 0.02)):  # at least 100 sets; a run of its own
            monkeypatch.setattr("alldags.engines.sampling.posterior.LEAST_SETS", least)
            np.testing.assert_allclose(found.mean_given(column, present), expected, atol=tolerance)


def test_sampled_disjoint_sets_draws_and_best_sets_split_no_group():
    problem = grouped_problem(np.random.default_rng(9), (1, 3, 2, 1), rows=50, signal=0.3)
    found, slow = MCMC(sweeps=2000)(problem, np.random.default_rng(0)), every_set(problem)
    masks = np.eye(problem.k, dtype=bool)
    np.testing.assert_allclose(found.probability_disjoint(masks), 1.0 - slow.inclusion, atol=0.04)
    coefficients, _ = found.draw(500, np.random.default_rng(1))
    assert (problem.touched(coefficients != 0.0) == (coefficients != 0.0)).all()
    for item in found.top_parent_sets(4):
        mask = tuple(name in item.parents for name in problem.terms)
        assert item.probability == pytest.approx(slow.sets[mask], abs=0.05)


def test_chains_that_are_asked_one_question_take_groups():
    problem = grouped_problem(np.random.default_rng(12), (1, 3, 2, 1, 2), rows=60, signal=0.4, taus=(0.5, 3.0))
    asked = np.random.default_rng(1).standard_normal((2, problem.k))
    found, slow = (
        sample_asked(problem, asked, 0.01, np.random.default_rng(0)),
        Exact()(problem, np.random.default_rng(0)),
    )
    errors = np.array([found.linear_error(row) for row in asked])
    assert (np.abs(asked @ (found.mean - slow.mean)) < 4 * errors).all()
    low, high = found.evidence_limits
    assert low < slow.log_evidence < high + 0.1
    assert abs(found.log_evidence - slow.log_evidence) < 4 * found.log_evidence_error
    assert all((problem.touched(state.present) == state.present).all() for state in found.ends)


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
def test_sixty_columns_in_thirty_groups_agree_with_themselves():
    problem = grouped_problem(np.random.default_rng(0), [1, 3, 2] * 10, rows=150, signal=0.3, taus=(0.2, 1.0, 5.0))
    one, other = (MCMC()(problem, np.random.default_rng(seed)) for seed in (1, 2))
    assert one.diagnostics.converged
    error = np.hypot(one.diagnostics.inclusion_mcse, other.diagnostics.inclusion_mcse)
    assert np.all(np.abs(one.inclusion - other.inclusion) < 4.5 * error)
