"""Enumeration of all parent sets against R's BMS (Debian package r-cran-bms), same data, same g-prior.

Without R only our own times are reported. BMS enumerates with ``mcmc = "enumerate"``; its time is taken inside R, so
that the start of R does not count.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import alldags as ad
from alldags.engines.exact import ExactPosterior
from alldags.nodes import NodeProblem
from benchmarks.problems import node_under
from benchmarks.report import Row, wall_seconds

SCRIPT = """
suppressMessages(library(BMS))
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1])
g <- as.numeric(arguments[2])
k <- ncol(data) - 1
elapsed <- system.time(
  fit <- bms(data, mcmc = "enumerate", g = g, mprior = "fixed", mprior.size = k / 2, user.int = FALSE, nmodel = 10)
)[["elapsed"]]
table <- coef(fit, order.by.pip = FALSE)
cat(elapsed, table[, "PIP"], "\\n")
"""
SLAB = 200.0


def table(k: int, n: int = 200) -> np.ndarray:
    """Return n rows: the child first, as BMS wants it, then k correlated candidates."""
    rng = np.random.default_rng(k)
    x = rng.normal(size=(n, k)) + 0.5 * rng.normal(size=(n, 1))
    y = x[:, :4] @ np.array([0.5, -0.3, 0.2, 0.1]) + rng.normal(size=n)
    return np.column_stack([y, x])


def problem(rows: np.ndarray) -> NodeProblem:
    return node_under(ad.Prior(slab=ad.priors.GPrior(SLAB), units="raw"), rows, 0)


def bms(rows: np.ndarray) -> tuple[float, np.ndarray]:
    """Return BMS's seconds and inclusion probabilities."""
    names = ["y", *(f"x{i}" for i in range(1, rows.shape[1]))]
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder) / "data.csv", Path(folder) / "run.R"
        np.savetxt(data, rows, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
        script.write_text(SCRIPT)
        done = subprocess.run(
            ["Rscript", str(script), str(data), str(SLAB)], capture_output=True, text=True, check=True
        )
    numbers = [float(word) for word in done.stdout.split()]
    return numbers[0], np.array(numbers[1:])


def run() -> list[Row]:
    rows = []
    for k in (14, 20):
        data = table(k)
        node = problem(data)
        own = wall_seconds(lambda node=node: ExactPosterior(node).mean, repeats=5)
        if shutil.which("Rscript") is None:
            rows.append(Row(f"k = {k}, exact", 1e3 * own, "ms", note="R is not installed: nothing to compare with"))
            continue
        seconds, inclusion = bms(data)
        gap = float(np.abs(inclusion - ExactPosterior(node).inclusion).max())
        note = f"{1e3 * own:.3g} ms against {seconds:.3g} s"
        what = f"{k} candidates, 200 rows, all 2^{k} parent sets"
        rows.append(Row(what, seconds / own, "times faster", 1000.0, ">=", note, "R's BMS", own, seconds))
        rows.append(Row(f"k = {k}: largest difference of inclusion", gap, "", 1e-6))
    return rows
