"""A thousand and ten thousand candidate parents: time, memory, and how far from runs twenty times as long.

500 rows, candidates of autoregressive correlation, ten parents, half of the child's variance explained. CPU time,
one thread; lasso by scikit-learn on the same table in the same run. Ten thousand candidates come from rows.
"""

from __future__ import annotations

import resource
import time
import warnings
from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

import alldags as ad
from alldags.engines.mcmc import MCMC
from alldags.nodes import NodePosterior, NodeProblem
from alldags.nodes.products import RowProducts
from alldags.priors.edges import BetaBinomial
from benchmarks.report import Row

ROWS, PARENTS, FIRST = 500, 10, 90_000  # seeds from the last on chose nothing
MANY = 10_000


def table(k: int, correlation: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x (n, k) and y (n,), centred and scaled, and the places of the parents."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((ROWS, k)) * np.sqrt(1 - correlation**2)
    noise[:, 0] /= np.sqrt(1 - correlation**2)
    x = lfilter([1.0], [1.0, -correlation], noise, axis=1)
    parents = np.sort(rng.choice(k, PARENTS, replace=False))
    fit = x[:, parents] @ (rng.choice([-1.0, 1.0], PARENTS) * rng.uniform(0.5, 1.5, PARENTS))
    y = fit + rng.standard_normal(ROWS) * fit.std()
    return (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean()) / y.std(), parents


def problem(x: np.ndarray, y: np.ndarray, learned: bool = False) -> NodeProblem:
    """Return the regression of y on x, ten parents expected or their number learned; from rows if there are many."""
    k = x.shape[1]
    return NodeProblem(
        child="y",
        terms=tuple(f"x{i}" for i in range(k)),
        gram=RowProducts(np.ascontiguousarray(x.T)) if k > 3000 else x.T @ x,  # type: ignore[arg-type]
        cross=x.T @ y,
        total=float(y @ y),
        n=ROWS - 1.0,
        probability=np.full(k, 0.5 if learned else PARENTS / k),
        settings=ad.priors.LearnedSlab().settings(ROWS, ad.priors.UnknownNoise()),
        log_size=BetaBinomial().log_size(k) if learned else None,
    )


def timed(given: NodeProblem, engine: MCMC, seed: int = 0) -> tuple[NodePosterior, float]:
    start = time.process_time()
    node = engine(given, np.random.default_rng(seed))
    return node, time.process_time() - start


def lasso_seconds(x: np.ndarray, y: np.ndarray) -> float:
    from sklearn.linear_model import LassoCV

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LassoCV(cv=5).fit(x, y)
    return time.process_time() - start


def distances(node: NodePosterior, given: NodeProblem, parents: np.ndarray) -> tuple[float, float, float, float]:
    """Return how far parents' means (in standard deviations) and edges, and all edges, are from a long run's.

    The last is of the inclusion probabilities that a table shows.
    """
    sweeps = 20 * node.diagnostics.sweeps
    long = MCMC(sweeps=sweeps, max_sweeps=sweeps)(given, np.random.default_rng(99))
    sd = np.sqrt(long.squares - long.mean**2)
    effects = np.abs(node.mean - long.mean) / sd
    edges, shown = np.abs(node.inclusion - long.inclusion), np.abs(node.settled_inclusion - long.inclusion)
    return float(effects[parents].max()), float(edges[parents].max()), float(edges.max()), float(shown.max())


def thousand_rows(tables: int = 2) -> list[Row]:
    """Return cost and accuracy with 1,000 candidates."""
    rows = []
    for what, correlation, learned in (
        ("", 0.5, False),
        (", their number learned", 0.5, True),
        (", r = .95", 0.95, False),
    ):
        seconds, lasso, off = [], [], []
        for seed in range(FIRST, FIRST + tables):
            x, y, parents = table(1000, correlation, seed)
            given = problem(x, y, learned)
            node, spent = timed(given, MCMC())
            seconds.append(spent)
            lasso.append(lasso_seconds(x, y))
            off.append(distances(node, given, parents))
        effect, edge, every, shown = np.max(off, axis=0)
        ours, theirs = float(np.max(seconds)), float(np.min(lasso))
        note, far = f"largest of {tables} tables", "against runs 20 times as long"
        rows += [
            Row(f"1,000 candidates{what}", ours, "s", 2, "<=", note, "scikit-learn's LassoCV", ours, theirs),
            Row("  effect of a parent off by", effect, "sd", 0.1, "<=", far),
            Row("  its edge off by", edge, "", 0.02, "<=", far),
            Row("  any edge off by, as settled for effects", every, "", note=far),
            Row("  any edge off by, in a table", shown, "", 0.02, "<=", far),
        ]
    return rows


def many_rows() -> list[Row]:
    """Return cost with 10,000 candidates, from rows."""
    rows = []
    for what, correlation in (("", 0.5), (", r = .95", 0.95)):
        x, y, _ = table(MANY, correlation, FIRST)
        node, ours = timed(problem(x, y), MCMC())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        theirs, found = lasso_seconds(x, y), node.diagnostics
        note = f"{'settled' if found.converged else 'says that it is not settled'}; peak of the process {peak:.2f} GB"
        rows.append(Row(f"10,000 candidates{what}", ours, "s", 15, "<=", note, "scikit-learn's LassoCV", ours, theirs))
    return rows


def run() -> list[Row]:
    timed(problem(*table(400, 0.5, 0)[:2]), replace(MCMC(), max_sweeps=40))  # compiles
    return [*many_rows(), *thousand_rows()]
