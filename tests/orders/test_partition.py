"""The sampled posterior of a block: exact given a partition, right on average, and honest about itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alldags.errors import EngineError
from alldags.orders.agreement import PartitionDiagnostics, agreement
from alldags.orders.candidates import choose
from alldags.orders.chains import BlockTables, Chains, powers
from alldags.orders.exact import ExactOrder
from alldags.orders.partition import Partition, places_of
from alldags.orders.problem import Start
from alldags.orders.sampled import PartitionBlock, spread
from block_problems import block_problem, even_odds, linear_data
from naive.orders import Orders
from naive.partitions import layers_of

B, E = 4, 1  # variables inside, and one before


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(5)
    scatter, n = linear_data(rng, B + E, 40)
    odds = even_odds(B + E)
    odds[:, B:] = 0.0
    odds[0, 1], odds[1, 0], odds[2, 0], odds[B, 2] = 0.9, 0.1, 0.0, 2.0
    return block_problem(scatter, n, odds, B), Orders(scatter, n, odds)


def no_start(source=None, **options):
    return Start(np.zeros(E), np.zeros((E, E)), source, **options)


class OneLayering:
    """All graphs of the twin that have one ordered partition, weighed."""

    def __init__(self, truth, layer):
        own = [layers_of([p & set(range(B)) for p in g[:B]]) == layer for g in truth.graphs]
        self.graphs = [g for g, inside in zip(truth.graphs, own, strict=True) if inside]
        self.weights = truth.weights[np.array(own)]
        self.share = self.weights.sum()
        self.truth = truth

    def average(self, value):
        parts = (w * np.asarray(value(g)) for w, g in zip(self.weights, self.graphs, strict=True))
        return sum(parts) / self.share


LAYERS = [(0, 1, 1, 2), (2, 1, 0, 0), (0, 0, 0, 1), (1, 0, 2, 3)]


@pytest.fixture(params=LAYERS, ids=str)
def one(request, small):
    problem, truth = small
    tables = BlockTables(problem, choose(problem, 12))
    layers = np.array([[request.param]])
    chains = Chains(layers, layers, np.zeros((1, 1)), warm_up=False)
    return PartitionBlock(tables, chains, PartitionDiagnostics("partition")), OneLayering(truth, request.param)


def test_given_a_partition_edges_and_coefficients_are_exact(one):
    block, twin = one
    np.testing.assert_allclose(block.inclusion, twin.average(lambda g: twin.truth.edges(g)[:, :B]), atol=1e-9)
    np.testing.assert_allclose(block.mean, twin.average(lambda g: twin.truth.coefficients(g)[:, :B]), atol=1e-9)


def test_given_a_partition_effects_have_exact_moments(one):
    block, twin = one
    for source in range(B):
        first, second = block.first(no_start(source)), block.second(no_start(source))
        between = block.second(no_start(source), between=True)
        np.testing.assert_allclose(first, twin.average(lambda g: twin.truth.effects(g)[source, :B]), atol=1e-9)
        want = twin.average(lambda g: twin.truth.seconds(g, source)[1][:B, :B])
        np.testing.assert_allclose(second, want, atol=1e-9)
        want = twin.average(lambda g: np.outer(*[twin.truth.effects(g)[source, :B]] * 2))
        np.testing.assert_allclose(between, want, atol=1e-9)


def test_given_a_partition_what_comes_in_is_carried_exactly(one):
    block, twin = one
    start = Start(np.array([0.7]), np.array([[0.9]]))
    np.testing.assert_allclose(
        block.first(start), 0.7 * twin.average(lambda g: twin.truth.effects(g)[B, :B]), atol=1e-9
    )
    want = 0.9 * twin.average(lambda g: twin.truth.seconds(g, B)[1][:B, :B])
    np.testing.assert_allclose(block.second(start), want, atol=1e-9)


def test_given_a_partition_a_variable_can_be_held_while_others_have_noise(one):
    block, twin = one
    factor = 1.0 + 1.0 / block.problem.nodes[0].rows
    have = block.second(no_start(2, value=1.5, noise=True))

    def without_earlier(g):  # which the twin would give noise of its own
        first, second = np.zeros(B), np.zeros((B, B))
        for j in [k for k in twin.truth.order(g) if k < B]:
            mean, covariance, variance = twin.truth.node(j, g[j])
            if j == 2:
                second[j], second[:, j] = 1.5 * first, 1.5 * first
                first[j], second[j, j] = 1.5, 1.5**2
                continue
            moment = (np.outer(mean, mean) + covariance)[:B, :B]
            own = (moment * second).sum() + factor * variance
            first[j] = mean[:B] @ first
            second[j] = second[:, j] = mean[:B] @ second
            second[j, j] = own
        return second

    np.testing.assert_allclose(have, twin.average(without_earlier), atol=1e-9)


def test_given_a_partition_paths_and_what_passes_through_are_exact(one):
    block, twin = one

    def path(g):
        if not (0 in g[1] and 1 in g[3]):
            return np.zeros(3)
        (a, va, _), (b, vb, _) = twin.truth.node(1, g[1]), twin.truth.node(3, g[3])
        return np.array([a[0] * b[1], (a[0] ** 2 + va[0, 0]) * (b[1] ** 2 + vb[1, 1]), 1.0])

    np.testing.assert_allclose(block.path((0, 1, 3)), twin.average(path), atol=1e-9)
    assert (block.path((2, 0, 1)) == 0).all()  # no candidate edge
    through = no_start(0, through=1)
    want = twin.average(lambda g: twin.truth.effects(g)[0, 1] * twin.truth.effects(g)[1, :B])
    np.testing.assert_allclose(block.first(through), want, atol=1e-9)
    want = twin.average(lambda g: twin.truth.seconds(g, 0)[1][1, 1] * twin.truth.seconds(g, 1)[1][:B, :B])
    np.testing.assert_allclose(block.second(through), want, atol=1e-9)


def test_given_a_partition_an_edge_can_be_given(one):
    block, twin = one
    for cause, effect in ((0, 1), (1, 3), (B, 2), (3, 1)):
        share = twin.average(lambda g: float(cause in g[effect]))
        have = block.given(cause, effect, no_start(0), np.eye(B)[3])
        if share == 0.0:
            assert math.isnan(have)
        else:
            want = twin.average(lambda g: (cause in g[effect]) * twin.truth.effects(g)[0, 3]) / share
            assert have == pytest.approx(want, abs=1e-9)
    assert math.isnan(block.given(2, 0, no_start(0), np.eye(B)[3]))  # no candidate edge


@pytest.fixture(scope="module")
def sampled(small):
    return Partition(target_mcse=0.004)(small[0], np.random.default_rng(1))


def test_the_average_over_partitions_is_that_over_all_graphs(small, sampled):
    problem, truth = small
    exact = ExactOrder()(problem, np.random.default_rng(0))
    found = sampled.diagnostics
    assert found.converged
    assert found.is_reliable
    assert found.max_mcse < 0.02
    wrong = np.abs(sampled.effects - exact.effects) / np.maximum(found.mcse, 1e-3)
    assert wrong.max() < 4.5
    np.testing.assert_allclose(sampled.inclusion, truth.average(truth.edges)[:, :B], atol=0.02)
    for source in range(B):
        have, want = sampled.second(no_start(source)), exact.second(no_start(source))
        np.testing.assert_allclose(have, want, atol=0.03)


def test_draws_are_those_of_the_exact_engine(small, sampled):
    exact = ExactOrder()(small[0], np.random.default_rng(0))
    drawn = sampled.draw(20_000, np.random.default_rng(2), means=True)
    present = drawn.coefficients != 0.0
    assert (np.trace(np.linalg.matrix_power(present[:, :B].astype(float), B), axis1=1, axis2=2) == 0).all()
    np.testing.assert_allclose(present.mean(axis=0), exact.inclusion, atol=0.03)
    np.testing.assert_allclose(drawn.coefficients.mean(axis=0), exact.mean, atol=0.015)
    np.testing.assert_allclose((drawn.coefficients**2).mean(axis=0), exact.square, atol=0.015)
    np.testing.assert_allclose(drawn.means.mean(axis=0), exact.mean, atol=0.015)
    other = exact.draw(20_000, np.random.default_rng(3))
    np.testing.assert_allclose(drawn.variance.mean(axis=0), other.variance.mean(axis=0), rtol=0.03)


def test_the_asked_effect_has_its_own_agreement(sampled):
    found = sampled.agreement(no_start(0), np.eye(B)[3])
    assert found.r_hat < 1.05
    weights = np.zeros((B + E, B))
    weights[0, 3] = 1.0
    assert found.error == pytest.approx(sampled.linear_error(weights), rel=0.3)
    assert 0 < found.effective_draws < 1e6
    assert sampled.set_draws >= 1


def test_same_seed_same_numbers(small):
    one, other = (Partition(sweeps=40, max_sweeps=40)(small[0], np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one.effects, other.effects)
    third = Partition(sweeps=40, max_sweeps=40)(small[0], np.random.default_rng(8))
    assert not np.array_equal(one.effects, third.effects)


def test_a_certain_edge_is_in_every_graph(rng):
    scatter, n = linear_data(rng, 5, 60)
    odds = even_odds(5)
    odds[3, 1], odds[1, 3] = math.inf, 0.0
    block = Partition(sweeps=100, max_sweeps=400)(block_problem(scatter, n, odds, 5), rng)
    assert block.inclusion[3, 1] == 1.0
    assert (block.draw(200, rng).coefficients[:, 3, 1] != 0.0).all()
    exact = ExactOrder()(block.problem, rng)
    assert np.abs(block.effects - exact.effects).max() < 0.1


def test_chains_that_disagree_say_so(rng):
    scatter, n = linear_data(rng, 16, 2000, edges=3.0)
    block = Partition(sweeps=20, max_sweeps=20)(block_problem(scatter, n, even_odds(16), 16), rng)
    found = block.diagnostics
    assert not found.converged
    assert not found.is_reliable
    assert found.max_r_hat > 1.05
    assert any("do not rely on this answer; run longer" in text for text in found.troubles)
    assert "modes that were not met cannot be excluded" in found.remark


def test_a_time_limit_ends_the_run_and_says_so(rng):
    scatter, n = linear_data(rng, 16, 500)
    problem = block_problem(scatter, n, even_odds(16), 16)
    Partition(sweeps=20, max_sweeps=20)(problem, rng)
    found = Partition(max_seconds=0.05)(problem, rng).diagnostics
    assert not found.reproducible
    assert found.sweeps < Partition().max_sweeps


def test_disagreement_between_chains_is_an_error_and_an_r_hat(rng):
    still = rng.normal(size=(4, 400))
    apart = still + np.array([0.0, 0.0, 0.0, 3.0])[:, None]
    assert agreement(still).r_hat < 1.02
    assert 0.015 < agreement(still).error < 0.06  # 0.025; the largest of three estimates
    assert agreement(apart).r_hat > 1.5
    assert agreement(apart).error > 0.5
    assert agreement(np.full((4, 100), 0.3)).r_hat == 1.0


def test_heated_companions_grow_with_the_block():
    assert powers(13)[0] == 1.0
    assert powers(13)[-1] == 0.5
    assert len(powers(4)) < len(powers(30)) < len(powers(62))


def test_partitions_are_used_evenly(rng):
    counts = np.bincount(spread(7, 24, rng), minlength=7)
    assert counts.sum() == 24
    assert set(counts) <= {3, 4}
    assert len(set(spread(100, 10, rng))) == 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"chains": 2}, "Partition chains must be a whole number of at least 4"),
        ({"sweeps": 2.5}, "Partition sweeps must be a whole number"),
        ({"places": 20}, "Partition places"),
        ({"target_mcse": 0.0}, "Partition target_mcse must be a positive"),
        ({"max_seconds": -1}, "Partition max_seconds must be a positive"),
    ],
)
def test_options_are_checked(options, words):
    with pytest.raises(EngineError, match=words):
        Partition(**options)


def test_blocks_that_are_too_large_are_refused(rng):
    large = block_problem(np.eye(63), 50, even_odds(63), 63)
    with pytest.raises(EngineError, match=r"63 variables whose order is open .* at most 62 can be sampled"):
        Partition()(large, rng)
    odds = even_odds(24)
    odds[:, 4:] = 0.0
    crowded = block_problem(np.eye(24), 50, odds, 4)
    with pytest.raises(EngineError, match=r"'x0'.* has 20 earlier candidate causes: at most 18"):
        Partition()(crowded, rng)


def test_tables_shrink_where_there_is_no_room():
    assert places_of(block_problem(np.eye(13), 50, even_odds(13), 13), None) == 12
    assert places_of(block_problem(np.eye(50), 50, even_odds(50), 50), None) < 12
    assert places_of(block_problem(np.eye(50), 50, even_odds(50), 50), 14) == 14
    odds = even_odds(24)
    odds[:, 10:] = 0.0
    assert places_of(block_problem(np.eye(24), 50, odds, 10), 12) == 8


def test_the_evidence_of_a_sampled_block_is_not_known(sampled):
    assert sampled.log_evidence is None
    assert sampled.reached(0, np.zeros((1, E), dtype=bool)) is None
    assert isinstance(sampled, PartitionBlock)
