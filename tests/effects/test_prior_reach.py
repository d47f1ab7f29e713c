"""The probability of no path before the data, against the sum over all graphs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import alldags as ad
from alldags.effects import prior_reach
from alldags.effects.prior_reach import prior_no_effect


def random_graph(seed: int, size: int = 5) -> ad.CandidateGraph:
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(size)]
    edges = {
        (names[i], names[j]): float(rng.choice([0.1, 0.5, 0.9, 1.0]))
        for i in range(size)
        for j in range(i + 1, size)
        if rng.random() < 0.8
    }
    return ad.CandidateGraph(names, edges)


def by_all_graphs(graph: ad.CandidateGraph, source: str, target: str) -> float:
    total = 0.0
    edges = list(graph.edges.items())
    for present in itertools.product([False, True], repeat=len(edges)):
        weight = np.prod([p if there else 1 - p for there, (_, p) in zip(present, edges, strict=True)])
        reached = {source}
        for name in graph.order:
            kept = [edge for there, (edge, _) in zip(present, edges, strict=True) if there and edge[1] == name]
            if any(cause in reached for cause, _ in kept):
                reached.add(name)
        total += weight * (target not in reached)
    return float(total)


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_sum_over_all_graphs(seed: int) -> None:
    graph = random_graph(seed)
    for source, target in (("v0", "v4"), ("v1", "v3"), ("v4", "v0")):
        assert prior_no_effect(graph, source, target) == pytest.approx(by_all_graphs(graph, source, target), abs=1e-12)


def test_graphs_too_wide_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(3)
    exact = prior_no_effect(graph, "v0", "v4")
    monkeypatch.setattr(prior_reach, "_MOST_STATES", 1)
    drawn = prior_no_effect(graph, "v0", "v4")
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=0.03)
    assert drawn == prior_no_effect(graph, "v0", "v4")
