"""Blocks of unknown order: sums over every acyclic graph, odds given; fitting of odds apart.

CPU seconds of one thread. Sparse truth, two edges a variable on average, 200 rows. "Everything for one treatment" is
evidence, all edges, mean, both standard deviations and the probabilities of a path.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

import alldags as ad
from alldags.graph.blocks import _odds
from alldags.nodes import NodeProblem, Setting
from alldags.orders.exact import ExactBlock
from alldags.orders.problem import BlockProblem, Start
from benchmarks.report import Row, cpu_seconds

SETTING = (Setting(1.0, ad.priors.EquivalentNoise()),)


def scatter(b: int, n: int = 200, degree: float = 2.0) -> np.ndarray:
    """Cross-products of standardised data from a random sparse graph in random order."""
    rng = np.random.default_rng(b)
    size = rng.choice([-1, 1], (b, b)) * rng.uniform(0.2, 1.0, (b, b))
    b_true = np.triu(size * (rng.random((b, b)) < degree / ((b - 1) / 2)), 1)
    x = rng.normal(size=(n, b)) @ np.linalg.inv(np.eye(b) - b_true)
    x = x[:, rng.permutation(b)]
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    return x.T @ x


def block(b: int) -> ExactBlock:
    """A block of which nothing is known."""
    s, nodes = scatter(b), []
    for j in range(b):
        others = [i for i in range(b) if i != j]
        names = tuple(f"x{i}" for i in others)
        gram, cross = s[np.ix_(others, others)], s[others, j]
        chance = np.full(b - 1, 1 / 3)
        nodes.append(NodeProblem(f"x{j}", names, gram, cross, float(s[j, j]), 199.0, chance, SETTING, rows=200.0))
    return ExactBlock(BlockProblem(tuple(nodes), 0.0))


def means_and_edges(b: int) -> ExactBlock:
    one = block(b)
    assert one.effects.shape == one.inclusion.shape == (b, b)
    return one


def everything(b: int) -> ExactBlock:
    one = block(b)
    start = Start(np.zeros(0), np.zeros((0, 0)), source=0)
    assert np.isfinite(one.log_evidence)
    assert one.inclusion.shape == (b, b)
    assert one.first(start).shape == (b,)
    assert one.second(start).shape == one.second(start, between=True).shape == (b, b)
    assert one.reached(0, np.zeros((1, 0), dtype=bool)).shape == (1, 1 << b)
    return one


def tiers() -> float:
    """Mean and sd of the effects of one variable on all others, 18 variables in 3 tiers of 6."""
    rng = np.random.default_rng(1)
    names = [f"x{i}" for i in range(18)]
    b_true = np.triu(rng.normal(size=(18, 18)) * (rng.random((18, 18)) < 0.2), 1)
    table = dict(zip(names, (rng.normal(size=(200, 18)) @ np.linalg.inv(np.eye(18) - b_true)).T, strict=True))
    graph = ad.CandidateGraph.from_tiers([names[:6], names[6:12], names[12:]], probability=0.5, within=0.5)
    posterior = ad.fit(table, graph, prior=ad.Prior(link=0.0), rng=0)
    effect = posterior.effect("x0", "x17")
    assert effect.sd > 0
    posterior.edge_probabilities()
    return effect.mean


def in_a_process(b: int) -> tuple[float, float]:
    """Return CPU seconds and megabytes of everything for one treatment, in a process of its own."""
    code = f"from benchmarks.bench_order import measured; measured({b})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    seconds, megabytes = map(float, out.split())
    return seconds, megabytes


def measured(b: int) -> None:
    """Print CPU seconds and megabytes of everything for one treatment."""
    everything(4)
    begin = time.process_time()
    everything(b)
    print(time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def fitting() -> None:
    """Fit the odds of a block of 12 whose pairs are not all alike."""
    stated = np.full((12, 12), 0.25)
    np.fill_diagonal(stated, 0.0)
    stated[0, 1], stated[1, 0] = 0.4, 0.1
    _odds.cache_clear()
    _odds(tuple(map(tuple, stated.tolist())), True)


def run() -> list[Row]:
    everything(4)
    means_and_edges(4)
    rows = [
        Row("b = 10, all means and edges", cpu_seconds(lambda: means_and_edges(10)), "s", 0.02),
        Row("b = 12, everything for one treatment", cpu_seconds(lambda: everything(12)), "s", 0.3),
    ]
    for b, bar, room in ((14, 4.0, 1000.0), (15, 10.0, 2000.0)):
        seconds, megabytes = in_a_process(b)
        rows.append(Row(f"b = {b}, everything for one treatment", seconds, "s", bar))
        rows.append(Row(f"b = {b}, memory", megabytes, "MB", room))
    tiers()
    rows.append(Row("18 variables in 3 tiers of 6", cpu_seconds(tiers), "s", 1.5))
    fitting()
    rows.append(Row("b = 12, fitting of odds", cpu_seconds(fitting), "s", 1.0))
    rows.append(Row("b = 12, self-check", everything(12).diagnostics.self_check, "", 1e-10))
    rows.append(Row("b = 12, 20,000 draws", cpu_seconds(lambda: draws(12)), "s"))
    return rows


def draws(b: int) -> None:
    block(b).draw(20_000, np.random.default_rng(0))
