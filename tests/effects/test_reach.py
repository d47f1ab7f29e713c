"""The table over sets of reached variables: packing, merging, and graphs too wide for it."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import alldags as ad
from alldags.effects import reach
from alldags.effects.total import TotalEffect
from lines import fit


@pytest.mark.parametrize("count", [1, 7, 8, 63, 64, 65, 130])
def test_sets_survive_packing(count, rng):
    members = rng.random((20, count)) < 0.5
    words = reach._words(members)
    assert words.shape == (20, -(-count // 64))
    back = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :count]
    np.testing.assert_array_equal(back, members)


@pytest.mark.parametrize("count", [3, 70])
def test_equal_sets_are_merged(count, rng):
    members = np.zeros((200, count), dtype=bool)
    members[:, [0, -1]] = rng.random((200, 2)) < 0.5
    weight = rng.random(200)
    weight[:20] = 0.0
    distinct, merged = reach._merge(reach._words(members), weight)
    truth: dict[bytes, float] = {}
    for row, value in zip(reach._words(members), weight, strict=True):
        truth[row.tobytes()] = truth.get(row.tobytes(), 0.0) + value
    found = {row.tobytes(): value for row, value in zip(distinct, merged, strict=True)}
    assert found == pytest.approx(truth)


def total_of(graph: ad.CandidateGraph, x: np.ndarray, treatment: str, outcome: str, **options) -> TotalEffect:
    names = list(graph.variables)
    (total,) = fit(x, graph, names=names, rng=0, **options).effect(treatment, outcome).workings.totals.items
    return total


def test_agrees_with_all_graphs_where_sets_are_forgotten_on_the_way(rng):
    """Two layers of three, none of the first a candidate parent of the outcome; by brute force over parent sets."""
    layers = [["x"], ["a", "b", "c"], ["d", "e", "f"], ["y"]]
    edges = {(u, v): 0.5 for left, right in itertools.pairwise(layers) for u in left for v in right}
    x = rng.standard_normal((30, 8))
    for i in range(1, 8):
        x[:, i] += 0.4 * x[:, i - 1]
    graph = ad.CandidateGraph.from_edges(edges, variables=[name for layer in layers for name in layer])
    total = total_of(graph, x, "x", "y", engine="exact")
    assert reach.probability_no_effect(total) == pytest.approx(no_path_by_layers(total, layers), rel=1e-9)


def no_path_by_layers(total: TotalEffect, layers: list[list[str]]) -> float:
    def disjoint(child: str, reached: tuple[str, ...]) -> float:
        node = total.model.node(child)
        return float(node.probability_disjoint(np.array([[name in reached for name in node.parents]]))[0])

    weights = {("x",): 1.0}
    for layer in layers[1:-1]:
        new: dict[tuple[str, ...], float] = {}
        for reached, weight in weights.items():
            for now in itertools.product([False, True], repeat=len(layer)):
                p = weight
                for name, hit in zip(layer, now, strict=True):
                    p *= 1 - disjoint(name, reached) if hit else disjoint(name, reached)
                key = tuple(name for name, hit in zip(layer, now, strict=True) if hit)
                new[key] = new.get(key, 0.0) + p
        weights = new
    return sum(weight * disjoint("y", reached) for reached, weight in weights.items())


def wide(mediators: int, probability: float = 0.5) -> tuple[ad.CandidateGraph, np.ndarray]:
    names = ["x", *[f"z{i:02d}" for i in range(mediators)], "y"]
    edges = {("x", z): probability for z in names[1:-1]} | {(z, "y"): 0.5 for z in names[1:-1]}
    x = np.random.default_rng(0).standard_normal((60, mediators + 2))
    return ad.CandidateGraph.from_edges(edges, variables=names), x


def test_a_wide_graph_is_given_up_before_it_is_begun():
    graph, x = wide(20)
    total = total_of(graph, x, "x", "y", engine="exact")
    total.prepare()
    start = time.process_time()
    assert reach.probability_no_effect(total) is None
    assert time.process_time() - start < 0.1  # some milliseconds; half a million sets take seconds


def test_the_width_that_is_given_up_is_the_one_that_would_be_too_wide():
    graph, x = wide(8)
    total = total_of(graph, x, "x", "y", engine="exact")
    assert reach.probability_no_effect(total, max_states=2**8) is not None
    assert reach.probability_no_effect(total, max_states=2**8 - 1) is None


@pytest.mark.parametrize("engine", ["full", "exact"])
def test_certain_edges_make_wide_graphs_narrow(engine):
    graph, x = wide(24, probability=1.0)
    if engine == "exact":  # the mediators are reached for sure; the outcome then has no reached parent if it has none
        total = total_of(graph, x, "x", "y", engine="exact")
        node = total.model.node("y")
        expected = node.probability_disjoint(np.ones((1, len(node.parents)), dtype=bool))[0]
    else:
        total, expected = total_of(graph, x, "x", "y", engine="full"), 0.0
    assert reach.probability_no_effect(total) == pytest.approx(expected)
