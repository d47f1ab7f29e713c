"""Nodes with several modes: they are met, compared, and joined by jumps; or the answer says that it is not right."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import alldags as ad
import naive_mcmc
from alldags.engines.exact import Exact
from alldags.engines.mcmc import MCMC
from alldags.engines.sampling.evidence import bridge
from alldags.engines.sampling.explore import explore, nothing_found, peaks, with_jump, with_needed_jumps
from alldags.engines.sampling.run import flattened, stack_systems
from alldags.engines.sampling.sample import evidence_bounds, first_states, warmed_up
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting


def hidden_signals(
    seed: int, noises: tuple[float, ...] = (0.09, 0.105, 0.12), q: int = 4, n: int = 3000
) -> NodeProblem:
    """Return a node with signals that are each in one noisy copy, or in q columns useless one by one."""
    rng = np.random.default_rng(seed)
    columns, y = [], rng.normal(size=n)
    for noise in noises:
        signal, nuisance = rng.normal(size=n), 3.0 * rng.normal(size=(n, q - 1))
        mix = np.linalg.qr(rng.normal(size=(q, q)))[0]
        mix[0] = 0.7
        columns += [signal + noise * rng.normal(size=n), *(np.column_stack([signal, nuisance]) @ mix).T]
        y += signal
    x = np.column_stack(columns)
    x, y = (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean()) / y.std()
    return naive_mcmc.problem_of(x, y, probability=0.1)


def two_groups(probability: float = 0.05) -> NodeProblem:
    """Return a node whose four parents can be replaced by four rotated ones."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 8))
    x[:, 4:] = x[:, :4] @ np.linalg.qr(rng.normal(size=(4, 4)))[0] + 0.03 * x[:, 4:]
    return naive_mcmc.problem_of(x, x[:, :4].sum(axis=1) + 0.5 * rng.normal(size=500), probability=probability)


@pytest.mark.parametrize("seed", range(3))
def test_signals_hidden_in_columns_that_are_useless_one_by_one_are_found(seed: int) -> None:
    problem = hidden_signals(seed)
    truth = Exact()(problem, np.random.default_rng(0))
    node = MCMC()(problem, np.random.default_rng(seed))
    np.testing.assert_allclose(node.inclusion, truth.inclusion, atol=0.05)
    assert node.diagnostics.converged
    assert np.all(np.abs(node.mean - truth.mean) < 5 * node.diagnostics.mcse)
    assert abs(node.log_evidence - truth.log_evidence) < 5 * node.log_evidence_error


@pytest.mark.parametrize("seed", range(12))
def test_hostile_nodes_are_right_or_say_that_they_are_not(seed: int) -> None:
    from benchmarks import hostile

    given = hostile.small(seed, learned=seed % 4 == 0)
    node = MCMC()(given.problem, np.random.default_rng(1000 + seed))
    wrong = np.abs(node.inclusion - given.inclusion).max() > 0.05
    assert not (wrong and node.diagnostics.converged)
    if node.diagnostics.converged:
        # 5 standard errors over 12 problems of 20 coefficients leave a chance of 1e-4 of a false alarm
        assert np.all(np.abs(node.mean - given.mean) < 5 * node.diagnostics.mcse)
        assert np.all(np.abs(node.inclusion - given.inclusion) < 5 * node.diagnostics.inclusion_mcse + 1e-9)
        weights = np.random.default_rng(seed).normal(size=given.mean.size)
        assert abs(weights @ (node.mean - given.mean)) < 5 * node.linear_error(weights)
        assert abs(node.log_evidence - given.log_evidence) < 5 * node.log_evidence_error


def test_an_answer_says_what_was_done_to_find_modes() -> None:
    found = MCMC()(two_groups(), np.random.default_rng(0)).diagnostics
    assert found.modes >= 2
    assert f"{found.searches} searches" in found.remark
    assert "cannot be excluded" in found.remark
    assert found.warnings == ()


def test_chains_that_cannot_agree_fail_and_say_what_to_do() -> None:
    # without searches beyond the first two and with few sweeps nothing joins the groups
    problem = two_groups(probability=1e-3)
    node = MCMC(sweeps=20, max_sweeps=24, starts=2, chains=4)(problem, np.random.default_rng(0))
    assert node.diagnostics.converged is False
    assert re.search(r"have not agreed.*do not rely on this answer.*MCMC\(max_sweeps", node.diagnostics.troubles[0])


def test_converged_is_a_plain_bool() -> None:
    assert MCMC()(two_groups(), np.random.default_rng(0)).diagnostics.converged is True


# -- searching --------------------------------------------------------------------------------------------------------


def test_jumps_exchange_what_explains_the_same() -> None:
    systems = stack_systems(hidden_signals(0))
    found = explore(systems, 1, 20, 160, np.random.default_rng(1))
    sets = {tuple(np.flatnonzero(flips)) for flips in found.jumps}
    assert (0, 1, 2, 3, 4) in sets  # the copy, and the four columns that hide the same
    weights = [mode.log_weight for mode in found.modes]
    assert weights == sorted(weights, reverse=True)


def test_a_way_is_cut_at_peaks_near_its_lighter_end() -> None:
    weights = np.array([0.0, -5.0, 1.0, -9.0, -8.0, -12.0, -2.0])
    assert peaks(weights, 4.0) == [0, 2, 6]
    assert peaks(weights, 12.0) == [0, 2, 4, 6]


def test_a_jump_made_of_known_ones_is_not_added() -> None:
    present, column = np.zeros(6, dtype=bool), np.arange(6)
    found = with_jump(nothing_found(6), column < 2, present)
    found = with_jump(found, (column >= 2) & (column < 4), present)
    assert len(with_jump(found, column < 4, present).jumps) == 2
    assert len(with_jump(found, column < 2, present).jumps) == 2
    assert len(with_jump(found, column < 3, present).jumps) == 3


def test_jumps_that_plain_moves_make_are_dropped() -> None:
    found = with_jump(nothing_found(3), np.ones(3, dtype=bool), np.array([True, False, False]))
    there, back = np.array([True, False, False]), np.array([False, True, True])
    moving = np.array([[there, back] * 5])
    leads = np.ones(3, dtype=np.int64)
    assert len(with_needed_jumps(found, moving, leads).jumps) == 0
    assert len(with_needed_jumps(found, np.array([[there] * 10]), leads).jumps) == 1


def test_the_bound_of_a_modes_evidence_holds() -> None:
    problem = naive_mcmc.problem_of(
        np.random.default_rng(2).normal(size=(40, 6)), np.random.default_rng(3).normal(size=40), probability=0.3
    )
    truth = float(Exact()(problem, np.random.default_rng(0)).log_evidence)
    node = MCMC(sweeps=1000)(problem, np.random.default_rng(0))
    bounds = evidence_bounds(node.sample.recorded, node.sample.systems)
    # an upper bound for chains that see everything; their own error is that of a mean log weight
    assert np.all(bounds > truth - 0.2)
    assert np.all(bounds < truth + 2.0)


def test_chains_leave_modes_without_weight() -> None:
    # a copy that is much worse than the four columns: the mode exists, and has no weight
    problem = hidden_signals(0, noises=(0.5,), n=2000)
    systems = stack_systems(problem)
    found = explore(systems, 1, 20, 160, np.random.default_rng(0))
    plain = flattened(systems, 1, 1.0)
    states = first_states(systems, found, 4, np.random.default_rng(0))
    after, dismissed = warmed_up(systems, states, plain, 60, np.random.default_rng(1).spawn(len(states)))
    assert all(state.present[1:5].all() for state in after)
    assert dismissed >= 0


# -- evidence ---------------------------------------------------------------------------------------------------------


def test_a_bridge_finds_the_ratio_of_two_sums() -> None:
    rng = np.random.default_rng(0)
    # densities exp(-x^2/2) and exp(-(x - 1)^2/2 + 3): the log ratio of the terms is x + 2.5, that of the sums is 3
    low, high = rng.normal(size=4000) + 2.5, rng.normal(size=6000) + 1.0 + 2.5
    # the error of a bridge between normals one deviation apart is about sqrt(0.6 / 4000)
    assert bridge(low, high, 1.0) == pytest.approx(3.0, abs=5 * math.sqrt(0.6 / 4000))


PRIORS = {
    "known": (Setting(1.0, ad.priors.KnownNoise(0.7)),),
    "unknown": (Setting(1.0, ad.priors.UnknownNoise()),),
    "equivalent": (Setting(1.0, ad.priors.EquivalentNoise()),),
    "g": (Setting(40.0, ad.priors.UnknownNoise(), "g"),),
    "grid": tuple(Setting(v, ad.priors.UnknownNoise(), log_weight=-math.log(3)) for v in (0.1, 1.0, 10.0)),
}


@pytest.mark.parametrize("prior", PRIORS)
def test_the_evidence_and_its_error_are_right(prior: str) -> None:
    z = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(40, 8)) + rng.normal(size=(40, 1))
        probability = np.where(np.arange(8) == 3, 1.0, 0.4)
        problem = naive_mcmc.problem_of(
            x, x[:, 0] - 0.5 * x[:, 1] + rng.normal(size=40), probability=probability, settings=PRIORS[prior]
        )
        node = MCMC()(problem, np.random.default_rng(seed))
        z.append((node.log_evidence - Exact()(problem, rng).log_evidence) / node.log_evidence_error)
        assert node.log_evidence_error < 0.2
    # mean of 8 squared standardised errors: above 3 with a chance of 0.002 if the errors are right
    assert np.mean(np.square(z)) < 3.0


def test_the_evidence_does_not_depend_on_when_it_is_asked_for() -> None:
    node, other = (MCMC()(two_groups(), np.random.default_rng(0)) for _ in range(2))
    other.mean_given(0, present=False)
    assert node.log_evidence == other.log_evidence


def copies_without_signal(copies: int = 14, n: int = 300) -> NodeProblem:
    """Return a node with one cause and many copies of one column; about as many sets have none as have some of them."""
    rng = np.random.default_rng(4)
    cause, copied = rng.normal(size=n), rng.normal(size=n)
    x = np.column_stack([cause, *[copied] * copies])
    y = cause + 0.05 * rng.normal(size=n)
    settings = tuple(Setting(math.exp(value), ad.priors.UnknownNoise()) for value in (10.0, 11.5))
    return naive_mcmc.problem_of(x, y, probability=0.5, settings=settings)


@pytest.mark.parametrize("seed", range(3))
def test_all_or_none_of_many_copies_come_and_go(seed: int) -> None:
    problem = copies_without_signal()
    truth = Exact(max_parents=problem.k)(problem, np.random.default_rng(0))
    assert 0.1 < truth.inclusion[1] < 0.4  # half of the copies most of the time, none at other times
    node = MCMC()(problem, np.random.default_rng(seed))
    assert node.diagnostics.converged
    np.testing.assert_allclose(node.inclusion, truth.inclusion, atol=0.03)
    assert np.all(np.abs(node.inclusion - truth.inclusion) < 5 * node.diagnostics.inclusion_mcse)
