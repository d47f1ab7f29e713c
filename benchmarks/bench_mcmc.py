"""Sampling parent sets: the paper's large graph, R's BMS, LBIDD, a thousand candidates.

One thread; CPU time of this process, BMS by its own process's clock.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import alldags as ad
from alldags.datasets.public import lbidd_sets
from alldags.engines.mcmc import MCMC
from alldags.nodes import NodePosterior, NodeProblem, node_problem, working_data
from alldags.priors.grid import Setting
from benchmarks.report import Row, cpu_seconds


def large_problems(seed: int, n: int = 200) -> list[NodeProblem]:
    """Return the nodes between treatment and outcome of one data set of the paper's large graph."""
    graph = ad.datasets.paper_graph(30, 30)
    sample = ad.datasets.paper_sample(graph, n, rng=seed)
    prior = ad.Prior.paper()
    working = working_data(ad.Moments.from_table(sample.table, names=sample.names), prior, graph.variables)
    return [node_problem(working, graph, prior, name) for name in graph.variables if name[0] in "ZY"]


def fit_all(problems: list[NodeProblem], engine: MCMC, seed: int) -> list[NodePosterior]:
    return [engine(problem, rng) for problem, rng in zip(problems, np.random.default_rng(seed).spawn(31), strict=True)]


LARGE_BAR, ERROR_BAR = 0.6, 0.01


def large_rows(first: int = 700, data_sets: int = 16) -> list[Row]:
    """Return cost and accuracy of the default engine on data sets that chose nothing."""
    engine = MCMC()
    fit_all(large_problems(0)[:1] * 31, engine, 0)  # compiles
    seconds, errors, warned = np.zeros(data_sets), [], 0
    for number in range(data_sets):
        problems = large_problems(first + number)
        seconds[number] = cpu_seconds(lambda p=problems: fit_all(p, engine, 1), repeats=1)
        nodes = fit_all(problems, engine, 1)
        warned += sum(not node.diagnostics.converged for node in nodes)
        errors += [_error_against_longer(engine, node) for node in nodes] if number < 4 else []
    spread = f"mean of {data_sets} data sets, {seconds.min():.2f} to {seconds.max():.2f} s"
    share = np.mean(np.array(errors) < ERROR_BAR)
    within = f"largest of {len(errors)} nodes, against runs 50 times as long; {share:.1%} within"
    return [
        Row("large graph, all 31 nodes", float(seconds.mean()), "s", LARGE_BAR, "<=", spread),
        Row("  nodes that warn", 100 * warned / (31 * data_sets), "%", 2, "<="),
        Row("  largest error of a mean", max(errors), "", ERROR_BAR, "<=", within),
    ]


def _error_against_longer(engine: MCMC, node: NodePosterior) -> float:
    sweeps = 50 * node.diagnostics.sweeps
    longer = replace(engine, sweeps=sweeps, max_sweeps=sweeps + 100)
    return float(np.abs(node.mean - longer(node.problem, np.random.default_rng(99)).mean).max())


def regression(k: int = 60, n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return centred x (n, k), of pairwise correlation 0.3, and y (n,), with fifteen effects."""
    rng = np.random.default_rng(seed)
    x = np.sqrt(0.7) * rng.normal(size=(n, k)) + np.sqrt(0.3) * rng.normal(size=(n, 1))
    y = x[:, :15] @ rng.normal(scale=0.3, size=15) + rng.normal(size=n)
    return x - x.mean(axis=0), y - y.mean()


def regression_problem(x: np.ndarray, y: np.ndarray, setting: Setting) -> NodeProblem:
    n, k = x.shape
    names = tuple(f"x{i}" for i in range(k))
    return NodeProblem("y", names, x.T @ x, x.T @ y, float(y @ y), n - 1, np.full(k, 0.5), (setting,))


BMS_SCRIPT = """
suppressMessages(library(BMS))
args <- commandArgs(TRUE)
d <- as.matrix(read.csv(args[1], header = FALSE))
set.seed(1)
t <- system.time(fit <- bms(d, burn = 20000, iter = as.integer(args[2]), g = 200, mprior = "uniform", mcmc = "bd",
                            nmodel = 100, user.int = FALSE))
cat(t[["user.self"]], coef(fit, order.by.pip = FALSE, exact = FALSE)[, 1])
"""


def bms_rows(iterations: int = 200_000) -> list[Row]:
    """Compare inclusion probabilities under a g-prior with g = 200 and unknown noise, the model of BMS."""
    if shutil.which("Rscript") is None:
        return []
    x, y = regression()
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder, "d.csv"), Path(folder, "bms.R")
        np.savetxt(data, np.column_stack([y, x]), delimiter=",")
        script.write_text(BMS_SCRIPT)
        done = subprocess.run(
            ["Rscript", str(script), str(data), str(iterations)], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:  # R without BMS
        return []
    bms_seconds, *bms = (float(word) for word in done.stdout.split())
    problem = regression_problem(x, y, Setting(200.0, ad.priors.UnknownNoise(), "g"))
    truth = MCMC(sweeps=40_000, max_sweeps=40_000)(problem, np.random.default_rng(0)).inclusion
    engine = MCMC(sweeps=500, max_sweeps=500)
    engine(problem, np.random.default_rng(0))
    seconds = cpu_seconds(lambda: engine(problem, np.random.default_rng(1)))
    ours = [engine(problem, np.random.default_rng(seed)).inclusion for seed in range(5)]
    bms_square = np.mean((np.array(bms) - truth) ** 2)
    square = np.mean([(one - truth) ** 2 for one in ours])
    ratio = bms_seconds * bms_square / (seconds * square)
    note = f"BMS {bms_seconds:.1f} s for an error of {bms_square**0.5:.2g}; here {seconds:.3f} s for {square**0.5:.2g}"
    what, same = "60 candidates, 200 rows, sampled to the same accuracy", bms_seconds / float(ratio)
    return [Row(what, float(ratio), "times faster", 100, ">=", note, "R's BMS", same, bms_seconds)]


def lbidd_rows() -> list[Row]:
    folder = os.environ.get("ALLDAGS_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    if not Path(folder, "lbidd").is_dir():
        return []
    seconds, r_hat, rank = [], [], []
    for name in lbidd_sets(folder)[:4]:
        data = ad.datasets.lbidd(name, folder)
        prior, graph = ad.Prior(), data.graph()
        working = working_data(data.moments(), prior, graph.variables)
        problem = node_problem(working, graph, prior, "outcome")
        seconds.append(cpu_seconds(lambda p=problem: MCMC()(p, np.random.default_rng(0)), repeats=2))
        found = MCMC()(problem, np.random.default_rng(0)).diagnostics
        r_hat.append(found.max_r_hat)
        rank.append(float(np.nanmax(found.rank_r_hat)))
    note = f"worst of 4 sets; R-hat {max(r_hat):.4f}, rank-normalised on batch means {max(rank):.3f}"
    return [Row(f"LBIDD, k = {problem.k}, n = 1000, to R-hat < 1.01", max(seconds), "s", 2.0, "<=", note)]


def thousand_rows(k: int = 1000, n: int = 500) -> list[Row]:
    x, y = regression(k, n)
    problem = regression_problem(x, y, Setting(1.0, ad.priors.UnknownNoise()))
    start = time.process_time()
    found = MCMC(sweeps=500, max_sweeps=1000)(problem, np.random.default_rng(0)).diagnostics
    seconds = time.process_time() - start
    note = f"{found.sweeps} sweeps, {found.modes} modes, R-hat {found.max_r_hat:.3f}, error {found.max_mcse:.2g}"
    return [Row("k = 1000, n = 500", seconds, "s", 300.0, "<=", note)]


def run() -> list[Row]:
    return large_rows() + bms_rows() + lbidd_rows() + thousand_rows()
