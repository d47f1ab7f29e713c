"""Compiled sums over acyclic graphs, against every graph one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alldags.graph.calibrate import required_parents
from alldags.kernels.acyclic import edge_shares, log_weight
from naive import acyclic as naive

pytestmark = pytest.mark.kernels


def random_block(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Odds of the uncertain edges, and which edges are certain, shape (b, b) each; b is 2 to 5."""
    rng = np.random.default_rng(seed)
    b = 2 + seed % 4
    certain = np.zeros((b, b))
    for i in range(seed % 3 if b > 3 else 0):
        certain[i, i + 1] = 1.0
    possible = (rng.random((b, b)) < 0.85) & ~np.eye(b, dtype=bool) & (certain == 0) & (certain.T == 0)
    return rng.lognormal(0.0, 2.0, (b, b)) * possible, certain


@pytest.mark.parametrize("seed", range(12))
def test_weights_and_edges_against_every_graph(seed: int) -> None:
    odds, certain = random_block(seed)
    graphs = naive.acyclic_graphs(odds > 0, certain)
    full = np.where(certain == 1, 1.0, odds)
    required = required_parents(certain)
    total, share = edge_shares(odds, required)
    assert total == pytest.approx(math.log(naive.weights(graphs, full).sum()), abs=1e-12)
    assert log_weight(odds, required) == pytest.approx(total, abs=1e-12)
    expected = np.where(certain == 1, 0.0, naive.edge_probabilities(graphs, full))
    np.testing.assert_allclose(share * odds / (1 + odds), expected, atol=1e-13)


@pytest.mark.parametrize(("b", "count"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29281), (6, 3781503), (7, 1138779265)])
def test_all_acyclic_graphs_are_counted(b: int, count: int) -> None:
    everything = np.ones((b, b)) - np.eye(b)
    assert log_weight(everything, np.zeros(b, np.int64)) == pytest.approx(
        math.log(count), abs=1e-13 * count.bit_length()
    )


def test_extreme_odds_neither_overflow_nor_lose_digits() -> None:
    b = 7
    odds = np.triu(np.full((b, b), 1e14), 1) + np.tril(np.full((b, b), 1e-14), -1)
    total, share = edge_shares(odds, np.zeros(b, np.int64))
    assert total == pytest.approx(21 * math.log(1e14), rel=1e-12)
    np.testing.assert_allclose(share * odds / (1 + odds), np.triu(np.ones((b, b)), 1), atol=1e-11)
