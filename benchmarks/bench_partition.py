"""Sampling the order of large blocks: error against the exact sum, agreement of chains, and warnings.

CPU seconds of one thread. Sparse truth in random order, nothing known of the order, prior odds one half each way.
Errors are the largest over all effects inside the block.
"""

from __future__ import annotations

import time

import numpy as np

import alldags as ad
from alldags.nodes import NodeProblem, Setting
from alldags.orders.exact import ExactBlock
from alldags.orders.partition import Partition
from alldags.orders.problem import BlockProblem
from alldags.orders.sampled import PartitionBlock
from benchmarks.report import Row, cpu_seconds

SETTING = (Setting(1.0, ad.priors.EquivalentNoise()),)
NO_WARNING = 1.05


def problem(b: int, n: int, seed: int) -> BlockProblem:
    """A block of which nothing is known."""
    rng = np.random.default_rng(seed)
    degree = 2.0 if n < 1000 else 3.0
    size = rng.choice([-1, 1], (b, b)) * rng.uniform(0.3, 1.2, (b, b))
    truth = np.triu(size * (rng.random((b, b)) < degree / (b - 1)), 1)
    x = (rng.normal(size=(n, b)) @ np.linalg.inv(np.eye(b) - truth))[:, rng.permutation(b)]
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    s, nodes = x.T @ x, []
    for j in range(b):
        others = [i for i in range(b) if i != j]
        names, gram = tuple(f"x{i}" for i in others), np.ascontiguousarray(s[np.ix_(others, others)])
        chance = np.full(b - 1, 1 / 3)
        nodes.append(NodeProblem(f"x{j}", names, gram, s[others, j], s[j, j], n - 1.0, chance, SETTING, rows=float(n)))
    return BlockProblem(tuple(nodes), 0.0)


def sample(block: BlockProblem, engine: Partition | None = None) -> tuple[float, PartitionBlock]:
    """Return CPU seconds and the sampled block."""
    kept: list[PartitionBlock] = []
    seconds = cpu_seconds(lambda: kept.append((engine or Partition())(block, np.random.default_rng(0))), repeats=1)
    return seconds, kept[0]


def against_exact(n: int, bar: float, seconds_bar: float | None, count: int = 8) -> list[Row]:
    """Thirteen variables, several data sets."""
    seconds, errors, warned = [], [], 0
    for seed in range(count):
        block = problem(13, n, seed)
        spent, found = sample(block)
        seconds.append(spent)
        wrong = float(np.abs(found.effects - ExactBlock(block).effects).max())
        warned += not found.diagnostics.converged
        errors.append(wrong if found.diagnostics.converged else 0.0)
    spread = f"median of {count} data sets, {min(errors):.4f} to {max(errors):.4f}; {warned} warn"
    times = f"median, {min(seconds):.2f} to {max(seconds):.2f}"
    return [
        Row(f"13 variables, {n} rows: largest error of an effect", float(np.median(errors)), "", bar, "<=", spread),
        Row("  time", float(np.median(seconds)), "s", seconds_bar, "<=", times),
    ]


def agreement(b: int, n: int, seconds_bar: float, seed: int = 30) -> list[Row]:
    """Chains on a large block."""
    seconds, found = sample(problem(b, n, seed))
    report = found.diagnostics
    note = f"{report.sweeps} sweeps, weight {report.weight_r_hat:.3f}, error at most {report.max_mcse:.3f}"
    left = f"largest coefficient left out {report.left_out:.3f}, {report.edges_left_out:.1f} edges"
    return [
        Row(f"{b} variables, {n} rows: largest R-hat", report.max_r_hat, "", NO_WARNING, "<=", note),
        Row("  time", seconds, "s", seconds_bar, "<=", left),
    ]


def in_a_hurry() -> list[Row]:
    """Fifty variables in two seconds: too little, which must be said."""
    begin = time.perf_counter()
    report = sample(problem(50, 300, 50), Partition(max_seconds=2.0))[1].diagnostics
    note = f"{time.perf_counter() - begin:.1f} s of wall time, {report.sweeps} sweeps"
    return [
        Row("50 variables in 2 s: largest R-hat", report.max_r_hat, "", None, "", note),
        Row("  warnings", float(len(report.warnings)), "", 1, ">="),
    ]


def run() -> list[Row]:
    sample(problem(16, 50, 0), Partition(sweeps=40, max_sweeps=40))  # compiles
    return [
        *against_exact(200, 0.015, 1.0),
        *against_exact(1000, 0.05, None),
        *agreement(30, 300, 20.0),
        *agreement(30, 1000, 20.0),
        *in_a_hurry(),
    ]
