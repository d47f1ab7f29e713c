"""Odds of blocks: fitting them to the stated probabilities, and counting acyclic graphs. CPU seconds, one thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import alldags as ad
from alldags.graph.calibrate import edge_probabilities, fitted_odds
from alldags.graph.uniform import uniform_odds
from benchmarks.report import Row, cpu_seconds


def feasible(b: int, spread: float, rng: np.random.Generator) -> np.ndarray:
    """Return edge probabilities that some odds have: those of log odds with this standard deviation, shape (b, b)."""
    odds = np.exp(spread * rng.normal(size=(b, b))) * (1 - np.eye(b))
    return edge_probabilities(odds, np.zeros(b, np.int64))[0]


def run() -> list[Row]:
    """Time fits from easy to hard, the recursion for alike pairs, and counts."""
    rng = np.random.default_rng(0)
    fitted_odds(feasible(3, 1.0, rng))  # compiles
    return [*_fits(rng), *_alike(), *_counts()]


def _fits(rng: np.random.Generator) -> Iterator[Row]:
    for b, bar in ((8, 0.05), (12, 1.0), (14, 8.0)):
        for spread in (0.5, 1.0, 2.0):
            stated = feasible(b, spread, rng)
            seconds = cpu_seconds(lambda stated=stated: fitted_odds(stated), repeats=1)  # type: ignore[misc]
            yield Row(f"fit, {b} variables, log odds +- {spread:g}", seconds, "s CPU", bar)


def _alike() -> Iterator[Row]:
    for b in (12, 50, 200):
        seconds = cpu_seconds(lambda b=b: uniform_odds.__wrapped__(b, 0.25))  # type: ignore[misc]
        yield Row(f"all pairs alike, {b} variables", 1e3 * seconds, "ms CPU")


def _counts() -> Iterator[Row]:
    for b in (12, 18):
        names = [f"v{i}" for i in range(b)]
        graph = ad.CandidateGraph.unordered(names).without_edge("v0", "v1")
        seconds = cpu_seconds(lambda graph=graph: graph.with_order(graph.variables[::-1]).log10_graphs, repeats=1)  # type: ignore[misc]
        yield Row(f"count of acyclic graphs, {b} variables", seconds, "s CPU")
