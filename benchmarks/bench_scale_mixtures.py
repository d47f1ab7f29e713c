"""Scale mixtures: variational Bayes against scikit-learn's ARDRegression on the paper's large graph.

Both on one BLAS thread, both run to within 1e-4 of their own fixed point, found with a much smaller tolerance: the
largest tolerance of a ladder that gets there is the one that is timed. Forming cross-products is part of the time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from alldags import engines
from alldags.nodes import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise
from alldags.typing import FloatArray
from benchmarks.problems import node_of
from benchmarks.report import Row, cpu_seconds

CLOSE = 1e-4
LADDER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
Regression = tuple[FloatArray, FloatArray]


def large_graph(rng: np.random.Generator, n: int, p: float = 0.5) -> FloatArray:
    """Return rows of W1..W30, X, Z1..Z30, Y, shape (n, 62), from the paper's large graph."""

    def coefficients(*shape: int) -> FloatArray:
        return rng.standard_normal(shape) * (rng.random(shape) < p)

    w = rng.standard_normal((n, 30))
    x = w @ coefficients(30) + rng.standard_normal(n)
    z = np.column_stack([w, x]) @ coefficients(31, 30) + rng.standard_normal((n, 30))
    y = np.column_stack([w, z]) @ coefficients(60) + rng.standard_normal(n)
    return np.column_stack([w, x, z, y])


def outcome(rows: FloatArray) -> Regression:
    """Return Y on all 61 other variables."""
    return np.ascontiguousarray(rows[:, :61]), rows[:, 61]


def all_nodes() -> list[tuple[list[int], int]]:
    """Return parents and child of the 31 nodes on paths from X to Y."""
    from_w = list(range(30))
    return [([*from_w, 30], 31 + i) for i in range(30)] + [([*from_w, *range(31, 61)], 61)]


def vb(rows: FloatArray, nodes: list[tuple[list[int], int]], tolerance: float) -> list[FloatArray]:
    """Fit nodes from rows: one matrix of cross-products, one call."""
    scatter = rows.T @ rows
    problems = [node_of(scatter, len(rows), parents, child, Setting(1.0, UnknownNoise())) for parents, child in nodes]
    fits = engines.VB(tolerance=tolerance, max_rounds=5000).fit_many(problems)
    return [fit.mean for fit in fits]


def ard(rows: FloatArray, nodes: list[tuple[list[int], int]], tolerance: float) -> list[FloatArray]:
    """Fit nodes one by one with scikit-learn."""
    from sklearn.linear_model import ARDRegression

    out = []
    for parents, child in nodes:
        model = ARDRegression(tol=tolerance, max_iter=20000, fit_intercept=False)
        out.append(model.fit(rows[:, parents], rows[:, child]).coef_)
    return out


def enough(method: Callable[[float], list[FloatArray]]) -> float:
    """Return the largest tolerance of the ladder that ends within 1e-4 of the method's own fixed point."""
    target = method(1e-12)
    for tolerance in LADDER:
        found = method(tolerance)
        if max(float(np.abs(a - b).max()) for a, b in zip(found, target, strict=True)) < CLOSE:
            return tolerance
    return LADDER[-1]


def ratio(rows: FloatArray, nodes: list[tuple[list[int], int]]) -> tuple[float, float]:
    """Return the CPU seconds of both methods."""
    tolerance, other = enough(lambda t: vb(rows, nodes, t)), enough(lambda t: ard(rows, nodes, t))
    return cpu_seconds(lambda: vb(rows, nodes, tolerance), 5), cpu_seconds(lambda: ard(rows, nodes, other), 3)


def compare(label: str, tables: list[FloatArray], nodes: list[tuple[list[int], int]], bar: float) -> Row:
    """Compare both methods by the median over data sets of the ratio of their times."""
    times = np.array([ratio(rows, nodes) for rows in tables])
    ours, theirs = map(float, np.median(times, axis=0))
    note = f"{1e3 * ours:.1f} ms against {1e3 * theirs:.1f} ms (medians of {len(tables)} data sets)"
    faster = float(np.median(times[:, 1] / times[:, 0]))
    return Row(label, faster, "times faster", bar, ">=", note, "scikit-learn's ARDRegression", ours, theirs)


def rounds_row(n: int, sets: int = 50) -> Row:
    """Count rounds, extrapolations included, at known noise as in the paper and at the default tolerance."""
    problems = []
    for seed in range(sets):
        rows = large_graph(np.random.default_rng([n, seed]), n)
        problems.append(node_of(rows.T @ rows, n, range(61), 61, Setting(1.0, KnownNoise(1.0))))
    rounds = np.array([fit.diagnostics.rounds for fit in engines.VB().fit_many(problems)])  # type: ignore[attr-defined]
    note = f"mean {rounds.mean():.0f}, most {rounds.max()}, {100 * (rounds >= 60).mean():.0f}% at 60 or more"
    what = f"rounds, k = 61, n = {n}: 95th percentile of {sets}"
    return Row(what, float(np.quantile(rounds, 0.95)), "", 60.0, "<=", note)


def wide_row() -> Row:
    """Time k = 2,000 parents and n = 200 rows at known noise."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((200, 2000))
    y = x[:, :10] @ rng.standard_normal(10) + rng.standard_normal(200)
    rows = np.column_stack([x, y])
    problem = node_of(rows.T @ rows, 200, range(2000), 2000, Setting(1.0, KnownNoise(1.0)))
    fits = []
    seconds = cpu_seconds(lambda: fits.append(engines.VB().fit_many([problem])[0]), 1)
    note = f"{fits[0].diagnostics.rounds} rounds"
    return Row("k = 2,000, n = 200: one node", seconds, "s CPU", 10.0, "<=", note)


def run() -> list[Row]:
    result = [rounds_row(n) for n in (100, 300, 1000)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a coarse tolerance of the ladder may not converge for scikit-learn
        for n in (100, 300, 1000):
            tables = [large_graph(np.random.default_rng([n, seed]), n) for seed in range(5)]
            result.append(compare(f"one node, k = 61, n = {n}", tables, [(list(range(61)), 61)], 5.0))
        for n in (100, 1000):
            tables = [large_graph(np.random.default_rng([n, 0]), n)]
            result.append(compare(f"31 nodes, n = {n}", tables, all_nodes(), 8.0))
    return [*result, wide_row()]
