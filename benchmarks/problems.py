"""The one builder of node problems for the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import alldags as ad
from alldags.nodes import NodeProblem, Setting, node_problem, working_data
from alldags.typing import FloatArray


def node_of(
    scatter: FloatArray,
    n: float,
    parents: Sequence[int],
    child: int,
    *settings: Setting,
    probability: float = 0.5,
) -> NodeProblem:
    """Return the problem of one column of a table on others, from the cross-products (m, m) of all and `n` rows."""
    columns = list(parents)
    return NodeProblem(
        child=f"x{child}",
        terms=tuple(f"x{i}" for i in columns),
        gram=np.ascontiguousarray(scatter[np.ix_(columns, columns)]),
        cross=np.ascontiguousarray(scatter[columns, child]),
        total=float(scatter[child, child]),
        n=float(n),
        probability=np.full(len(columns), probability),
        settings=settings,
    )


def regression_of(x: FloatArray, y: FloatArray, *settings: Setting, probability: float = 0.5) -> NodeProblem:
    """Return the problem of regressing `y` (n,) on the columns of `x` (n, k), both centred."""
    rows = np.column_stack([x, y])
    k = x.shape[1]
    return node_of(rows.T @ rows, len(rows) - 1, range(k), k, *settings, probability=probability)


def node_under(prior: ad.Prior, rows: FloatArray, child: int) -> NodeProblem:
    """Return the problem that `fit` would make of one column of a table (n, m) with all others as candidates."""
    names = [f"x{i}" for i in range(rows.shape[1])]
    edges = {(name, names[child]): 0.5 for name in names if name != names[child]}
    graph = ad.CandidateGraph.from_edges(edges, variables=names)
    return node_problem(
        working_data(ad.Moments.from_table(rows, names=names), prior, names), graph, prior, names[child]
    )
