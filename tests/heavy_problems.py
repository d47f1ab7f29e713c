"""Problems with heavy tails for the tests."""

from __future__ import annotations

import numpy as np

import alldags as ad
from alldags.columns.base import Columns
from alldags.columns.line import Line
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.data.source import open_source
from alldags.engines.auto import Auto
from alldags.engines.weighted.fit import fit_rows
from alldags.families.student import Student
from alldags.nodes.build import NodeTerms
from alldags.nodes.rows import CountedRows, NodeRows
from family_problems import columns

STRENGTHS = [0.5, -0.25, 0.12, 0.0]


def heavy(n, k, noise, seed):
    """Columns (n, k) and a child whose noise is ``"t3"``, ``"normal"`` or ``"outliers"`` (a tenth, 12 sds)."""
    rng = np.random.default_rng([n, k, len(noise), seed])
    x = columns(n, k, rng)
    e = rng.standard_t(3, n) if noise == "t3" else rng.standard_normal(n)
    if noise == "outliers":
        e += (rng.random(n) < 0.1) * rng.standard_normal(n) * 12
    strengths = np.zeros(k)
    strengths[:4] = STRENGTHS[:k]
    return x, x @ strengths + e


def heavy_rows(x, y, df=4.0):
    names = [f"x{i}" for i in range(x.shape[1])]
    table = dict(zip(names, x.T, strict=True)) | {"y": y}
    rows = Rows(RowTable(open_source(table).numbers(list(table))))
    lines = Columns(tuple(map(Line, names)), np.zeros(len(names)), np.ones(len(names)))
    return NodeRows(CountedRows("y", rows), Student(df), lines)


def fit_heavy(x, y, df=4.0, probability=0.5, prior=None, engine=None, seed=0, size=None):
    k = x.shape[1]
    chances = tuple(np.broadcast_to(np.asarray(probability, dtype=float), (k,)).tolist())
    terms = NodeTerms("y", tuple(f"x{i}" for i in range(k)), chances)
    prior = ad.Prior(slab_variance=1.0) if prior is None else prior
    return fit_rows(heavy_rows(x, y, df), terms, prior, engine or Auto(), np.random.default_rng(seed), size)
