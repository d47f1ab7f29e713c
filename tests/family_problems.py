"""Yes/no and count problems for the tests."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.columns.base import Columns
from alldags.columns.line import Line
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.data.source import open_source
from alldags.engines.auto import Auto
from alldags.engines.weighted.fit import fit_rows
from alldags.families.count import Poisson
from alldags.families.yes_no import Bernoulli
from alldags.nodes.build import NodeTerms
from alldags.nodes.rows import CountedRows, NodeRows

STRENGTHS = {"weak": [0.3, 0.0, -0.3, 0.0], "strong": [1.5, -1.0, 0.0, 0.8]}
TAU = 1.5625


def columns(n, k, rng):
    """Standardised columns, correlated by .4, a third of them binary, shape (n, k)."""
    x = rng.standard_normal((n, k)) @ np.linalg.cholesky(0.4 ** np.abs(np.subtract.outer(range(k), range(k)))).T
    x[:, 1::3] = x[:, 1::3] > 0.3
    spread = x.std(axis=0, ddof=1)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def yes_no(n, k, rate, signal, seed, separated=False):
    """Columns (n, k) and a child of which about a share `rate` is one; with at least two of each kind."""
    rng = np.random.default_rng([n, k, int(100 * rate), len(signal), seed])
    x = columns(n, k, rng)
    eta = x[:, :4] @ STRENGTHS[signal]
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + eta).mean() < rate else (low, middle)
    while True:
        y = (rng.random(n) < expit(middle + eta)).astype(float)
        if separated:
            y = (eta > np.quantile(eta, 1 - rate)).astype(float)
        if 1 < y.sum() < n - 1:
            return x, y


def family_rows(x, y, family=None, **extra):
    names = [f"x{i}" for i in range(x.shape[1])]
    table = dict(zip(names, x.T, strict=True)) | {"y": y} | extra
    rows = Rows(RowTable(open_source(table).numbers(list(table))))
    lines = Columns(tuple(map(Line, names)), x.mean(axis=0), np.ones(len(names)))
    return NodeRows(CountedRows("y", rows), family or Bernoulli(), lines)


def fit_node(x, y, probability=0.5, family=None, prior=None, engine=None, seed=0, size=None, **extra):
    k = x.shape[1]
    chances = tuple(np.broadcast_to(np.asarray(probability, dtype=float), (k,)).tolist())
    terms = NodeTerms("y", tuple(f"x{i}" for i in range(k)), chances)
    prior = ad.Prior(slab_variance=TAU) if prior is None else prior
    rows = family_rows(x, y, family, **extra)
    return fit_rows(rows, terms, prior, engine or Auto(), np.random.default_rng(seed), size)


__all__ = ["TAU", "Bernoulli", "Poisson", "columns", "family_rows", "fit_node", "yes_no"]
