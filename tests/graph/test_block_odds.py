"""The prior inside blocks, against every acyclic graph one by one and published counts."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest

import alldags as ad
from alldags.errors import GraphError
from alldags.graph.calibrate import edge_probabilities
from alldags.graph.tightest import tightest_cycle
from alldags.graph.uniform import edge_probability, uniform_odds
from naive import acyclic as naive

A003024 = (1, 3, 25, 543, 29281, 3781503, 1138779265, 783702329343, 1213442454842881, 4175098976430598143,
           31603459396418917607425, 521939651343829405020504063, 18676600744432035186664816926721)  # fmt: skip


def names(b: int) -> list[str]:
    return [f"v{i}" for i in range(b)]


def random_stated(b: int, seed: int, *, certain: int = 0) -> np.ndarray:
    """Probabilities of a block: open pairs, single directions, absent and certain edges."""
    rng = np.random.default_rng(seed)
    forward = rng.uniform(0.02, 0.45, (b, b)) * (rng.random((b, b)) < 0.8)
    stated = forward * (1 - np.eye(b))
    for i in range(certain):
        stated[i, i + 1], stated[i + 1, i] = 1.0, 0.0
    if certain == 2:
        stated[2, 0] = 0.0
    return stated


# -- counts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("b", "count"), list(enumerate(A003024, start=1))[1:])
def test_the_number_of_acyclic_graphs_is_the_published_one(b: int, count: int) -> None:
    assert edge_probability(b, 1.0)[1] == pytest.approx(math.log(count), abs=1e-12)
    assert ad.CandidateGraph.unordered(names(b)).log10_graphs == pytest.approx(math.log10(count), abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_counts_against_every_graph(seed: int) -> None:
    b, certain = 3 + seed % 3, seed % 3
    stated = random_stated(b, seed, certain=certain)
    graph = ad.CandidateGraph.from_matrix(stated, names(b))
    count = len(naive.acyclic_graphs((stated > 0) & (stated < 1), stated == 1))
    assert 10**graph.log10_graphs == pytest.approx(count, rel=1e-12)


def test_edges_outside_blocks_are_free() -> None:
    graph = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["d", "e"], ["f"]], within=[0.5, 0.4, None])
    graph = graph.with_edge("a", "f", 1.0)
    assert 10**graph.log10_graphs == pytest.approx(25 * 3 * 2 ** (3 * 2 + 3 + 2 - 1), rel=1e-12)


def test_beyond_the_exact_sum_the_count_is_a_bound_and_says_so() -> None:
    chain = ad.CandidateGraph.from_order(names(20))
    closed = chain.with_edge("v19", "v0", 0.1)
    assert chain.log10_graphs < closed.log10_graphs <= chain.log10_graphs + math.log10(1.5) + 1e-12
    assert "at most 10^57.4 graphs" in repr(closed)
    assert "order open among 'v0', 'v1', 'v2', 'v3', 'v4' and 15 others" in repr(closed)
    whole = ad.CandidateGraph.unordered(names(20))
    assert whole.without_edge("v0", "v1").log10_graphs == whole.log10_graphs
    assert "at most" not in repr(whole)


# -- edge probabilities ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("b", "odds"), [(2, 0.5), (4, 3.0), (5, 0.5), (7, 0.01), (8, 40.0)])
def test_the_recursion_over_sinks_equals_the_sum_over_sets(b: int, odds: float) -> None:
    have, total = edge_probabilities(odds * (np.ones((b, b)) - np.eye(b)), np.zeros(b, np.int64))
    probability, log_total = edge_probability(b, odds)
    assert total == pytest.approx(log_total, abs=1e-11)
    assert have[0, 1] == pytest.approx(probability, abs=1e-13)


def test_published_effect_of_conditioning_on_acyclicity() -> None:
    assert edge_probability(5, 0.5)[0] == pytest.approx(0.2278, abs=5e-5)
    assert edge_probability(12, 0.5)[0] == pytest.approx(0.2002, abs=5e-5)
    assert uniform_odds(12, 0.25) == pytest.approx(0.801, abs=5e-4)


# -- stated probabilities are met ------------------------------------------------------------------------------------


def naive_realized(graph: ad.CandidateGraph, block: tuple[str, ...]) -> np.ndarray:
    """What the block's odds give over all its acyclic graphs, one by one."""
    odds = graph.block_odds(block)
    chance = np.array([[odds.probability.get((a, c), 0.0) for c in block] for a in block])
    certain = chance == 1.0
    graphs = naive.acyclic_graphs((chance > 0) & ~certain, certain)
    weight = np.where(certain, 1.0, chance / np.where(certain, 1.0, 1.0 - chance))
    no_cycle = naive.weights(graphs, weight).sum() * np.where(certain, 1.0, 1.0 - chance).prod()
    assert odds.log_acyclic == pytest.approx(math.log(no_cycle), abs=1e-11)
    return naive.edge_probabilities(graphs, weight)


@pytest.mark.parametrize("seed", range(10))
def test_fitted_odds_realise_what_was_stated(seed: int) -> None:
    b = 3 + seed % 3
    stated = random_stated(b, 100 + seed, certain=seed % 2)
    graph = ad.CandidateGraph.from_matrix(stated, names(b))
    realized = graph.realized_probabilities()
    for block in graph.blocks:
        have = naive_realized(graph, block)
        want = np.array([[graph.probability(a, c) for c in block] for a in block])
        np.testing.assert_allclose(have, want, atol=2e-10)
        assert graph.block_odds(block).is_calibrated
    assert realized == pytest.approx(dict(graph.edges), abs=2e-10)
    assert graph.notes() == ()


@pytest.mark.parametrize(("b", "probability"), [(2, 0.5), (3, 0.5), (4, 0.9), (5, 0.98), (5, 0.01)])
def test_uniform_blocks_realise_what_was_stated(b: int, probability: float) -> None:
    graph = ad.CandidateGraph.unordered(names(b), probability)
    have = naive_realized(graph, graph.blocks[0])
    np.testing.assert_allclose(have, probability / 2 * (np.ones((b, b)) - np.eye(b)), atol=1e-12)


@pytest.mark.parametrize("b", [2, 5, 20])
@pytest.mark.parametrize("probability", [1e-300, 1e-9, 0.999999, 1 - 5e-12])
def test_uniform_blocks_at_the_ends_of_the_scale(b: int, probability: float) -> None:
    graph = ad.CandidateGraph.unordered(names(b), probability)
    assert graph.realized_probabilities()["v0", "v1"] == pytest.approx(probability / 2, rel=1e-10)


def test_tiny_probabilities_survive_the_fit() -> None:
    edges = [("a", "b", 1e-300), ("b", "c", 0.3), ("c", "a", 1e-15), ("a", "c", 1e-9)]
    graph = ad.CandidateGraph.from_edges(edges)
    assert graph.realized_probabilities() == pytest.approx(dict(graph.edges), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_raw_odds_realise_what_is_reported(seed: int) -> None:
    b = 4 + seed % 2
    stated = random_stated(b, 200 + seed) if seed else np.full((b, b), 0.25) * (1 - np.eye(b))
    graph = ad.CandidateGraph.from_matrix(stated, names(b)).uncalibrated()
    (block,) = graph.blocks
    have = naive_realized(graph, block)
    realized = graph.realized_probabilities()
    for i, cause in enumerate(block):
        for j, effect in enumerate(block):
            assert realized.get((cause, effect), 0.0) == pytest.approx(have[i, j], abs=1e-12)
            none = 1 - stated[i, j] - stated[j, i]
            expected = stated[i, j] / (none + stated[i, j])
            assert graph.block_odds(block).probability.get((cause, effect), 0.0) == pytest.approx(expected, abs=1e-15)
    assert not graph.block_odds(block).is_calibrated
    assert "used as odds (calibrate=False)" in graph.notes()[0]


def test_a_pair_alone_needs_no_fitting() -> None:
    graph = ad.CandidateGraph.from_order(["a", "b"]).with_pair("a", "b", 0.4, 0.1)
    odds = graph.block_odds(("a", "b"))
    assert odds.probability["a", "b"] == pytest.approx(0.8 / 1.8, abs=1e-15)
    assert odds.probability["b", "a"] == pytest.approx(0.2 / 1.2, abs=1e-15)
    assert odds.log_acyclic == pytest.approx(math.log(1 - 0.8 / 1.8 * 0.2 / 1.2), abs=1e-14)
    turned = ad.CandidateGraph.from_order(["a", "b"]).with_pair("b", "a", 0.1, 0.4)
    assert turned.block_odds(("a", "b")) == odds == pickle.loads(pickle.dumps(odds))


def test_certain_edges_inside_a_block() -> None:
    graph = ad.CandidateGraph.unordered(["a", "b", "c", "d"]).with_edge("a", "b", 1.0)
    assert graph.block_odds(graph.blocks[0]).probability["a", "b"] == 1.0
    assert graph.realized_probabilities() == pytest.approx(dict(graph.edges), abs=2e-10)


def test_fitting_twelve_variables_takes_a_second_at_most() -> None:
    rng = np.random.default_rng(5)
    b = 12
    odds = np.exp(2 * rng.normal(size=(b, b))) * (1 - np.eye(b))  # of a hard case, known to be feasible
    stated = edge_probabilities(odds, np.zeros(b, np.int64))[0]
    graph = ad.CandidateGraph.from_matrix(stated, names(b))
    start = time.process_time()
    found = graph.block_odds(graph.blocks[0])
    assert time.process_time() - start < 1.0
    realized = graph.realized_probabilities()
    assert max(abs(realized[edge] - p) for edge, p in graph.edges.items()) < 2e-10
    chance = np.array([[found.probability.get((a, c), 0.0) for c in names(b)] for a in names(b)])
    np.testing.assert_allclose(chance, odds / (1 + odds), atol=1e-5)
    start = time.process_time()
    graph.block_odds(graph.blocks[0])
    assert time.process_time() - start < 0.05  # kept


def test_large_blocks() -> None:
    uniform = ad.CandidateGraph.unordered(names(40), 0.3)
    odds = uniform.block_odds(uniform.blocks[0])
    assert odds.is_calibrated
    assert math.isfinite(odds.log_acyclic)
    assert uniform.realized_probabilities()["v3", "v8"] == pytest.approx(0.15, abs=1e-12)
    other = ad.CandidateGraph.unordered(names(16), 0.3).with_pair("v0", "v1", 0.2, 0.1)
    odds = other.block_odds(other.blocks[0])
    assert not odds.is_calibrated
    assert math.isfinite(odds.log_acyclic)
    assert odds.probability["v0", "v1"] == pytest.approx(0.2 / 0.9, abs=1e-15)
    assert "more than 14 variables" in other.notes()[0]
    assert other.realized_probabilities()["v2", "v3"] < 0.15
    larger = ad.CandidateGraph.unordered(names(19), 0.3).with_pair("v0", "v1", 0.2, 0.1)
    assert math.isnan(larger.block_odds(larger.blocks[0]).log_acyclic)
    assert "realized_probabilities" not in larger.notes()[0]
    with pytest.raises(GraphError, match=r"inside a block of 19 variables is not known: .*up to 18 variables"):
        larger.realized_probabilities()


# -- what cannot be met ----------------------------------------------------------------------------------------------


def test_a_cycle_that_asks_for_too_much_is_named() -> None:
    graph = ad.CandidateGraph.from_edges([("a", "b", 0.9), ("b", "c", 0.8), ("c", "a", 0.7), ("a", "d", 0.5)])
    message = (
        r"along the cycle '.' -> '.' -> '.' -> '.' they are 0\.\d \+ 0\.\d \+ 0\.\d = 2.4, .*add to at most 2; lower"
    )
    with pytest.raises(GraphError, match=message):
        graph.block_odds(("a", "b", "c"))
    realized = graph.uncalibrated().realized_probabilities()
    assert realized["a", "b"] + realized["b", "c"] + realized["c", "a"] < 2
    assert graph.log10_graphs > 0  # counting does not ask for the odds


def test_probabilities_that_contradict_each_other_without_a_single_guilty_cycle() -> None:
    """A fence: three pales u -> v, and rails v -> u of other pales; no acyclic graph has more than 7 of its 9 edges."""
    pale, rail = 0.52, 0.97
    stated = np.zeros((6, 6))
    stated[:3, 3:] = pale * np.eye(3)
    stated[3:, :3] = rail * (1 - np.eye(3))
    edges = naive.acyclic_graphs(stated > 0, np.zeros((6, 6))).sum(axis=(1, 2))
    assert edges.max() == 7 < stated.sum()
    _, slack = tightest_cycle(stated)
    assert slack == pytest.approx(2 * (1 - pale) + 2 * (1 - rail), abs=1e-12)
    assert slack > 1
    graph = ad.CandidateGraph.from_matrix(stated, names(6))
    with pytest.raises(GraphError, match=r"not met after 200 rounds \(off by up to .*the tightest cycle is 'v.' -> "):
        graph.block_odds(graph.blocks[0])


def test_a_cycle_that_leaves_just_no_room_is_met() -> None:
    graph = ad.CandidateGraph.from_edges([("a", "b", 0.9), ("b", "c", 0.9), ("c", "a", 0.2)])
    assert graph.realized_probabilities() == pytest.approx(dict(graph.edges), abs=2e-10)
    assert graph.block_odds(("a", "b", "c")).probability["a", "b"] > 0.999999


def test_the_tightest_cycle() -> None:
    stated = np.zeros((4, 4))
    stated[0, 1] = stated[1, 0] = 0.3
    stated[1, 2], stated[2, 3], stated[3, 1] = 0.9, 0.8, 0.6
    cycle, slack = tightest_cycle(stated)
    assert slack == pytest.approx(0.7, abs=1e-15)
    assert len(cycle) == 4
    assert set(pairwise(cycle)) == {(1, 2), (2, 3), (3, 1)}


def test_ordered_graphs_never_load_the_compiled_sums() -> None:
    code = (
        "import sys, alldags as ad\n"
        "graph = ad.CandidateGraph.from_order(['a', 'b', 'c'])\n"
        "repr(graph), graph.blocks, graph.log10_graphs, graph.order, graph.realized_probabilities(), graph.tiers()\n"
        "repr(ad.CandidateGraph.unordered(['a', 'b', 'c']))\n"
        "print([name for name in ('numba', 'scipy', 'alldags.kernels.acyclic') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "[]\n"
