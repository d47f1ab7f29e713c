"""What boosted trees see beside straight lines: in the child in each arm, and in the treatment.

As with learned directions, trees are grown once for every part of the data without that part, and used for the rows of
that part. A column made of them is one candidate among others: averaging decides how much it is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from alldags.columns.learned import Forest, Grown
from alldags.engines.curves.learn import heard, logistic_coefficients, predicts, sparse_coefficients
from alldags.kernels.trees import BINS, grow
from alldags.typing import BoolArray, FloatArray, IntArray

_ROUNDS, _DEPTH, _RATE = 100, 3, 0.1
_TREATMENT_ROUNDS = 60
_LEAST_ROWS = 10  # on either side of a cut
_RIDGE = 1.0
_LEAST_GAIN = 1e-9  # of the sum of squares, below which trees found nothing


def grown_column(
    name: str,
    inputs: tuple[str, ...],
    columns: FloatArray,
    target: FloatArray,
    used: BoolArray,
    fold: IntArray,
    edges: FloatArray,
    stands: Mapping[str, str],
    drives: bool = False,
) -> list[Grown]:
    """Return what trees predict of a target beside straight lines, as a column; none if they find nothing.

    Parameters
    ----------
    name
        Of the column.
    inputs, columns
        Causes, and their values, shape (rows, p).
    target
        Shape (rows,): a number, or of a treatment 0 and 1, whose log-odds are predicted.
    used
        Which rows are learned from, shape (rows,).
    fold
        Part of each row, shape (rows,).
    edges
        Upper ends of their bins, shape (p, BINS - 1), the same array for all columns of a regression.
    stands
        The cause that each input stands for.
    drives
        Whether the target is the treatment.
    """
    is_odds = drives and bool(np.isin(target, (0.0, 1.0)).all())
    parts, leaves = int(fold.max()) + 1, 2**_DEPTH
    rounds = _TREATMENT_ROUNDS if drives else _ROUNDS
    feature = np.full((parts, rounds, leaves - 1), -1, dtype=np.int64)
    forest = Forest(edges, feature, np.zeros_like(feature), np.zeros((parts, rounds, leaves)))
    bins, gained = forest.binned(columns), np.zeros((parts, len(inputs)))
    for part in range(parts):
        own = used & (fold != part)
        start = _straight(columns[own], target[own], is_odds)
        of_part = forest.feature[part], forest.cut[part], forest.value[part], gained[part]
        grow(np.ascontiguousarray(bins[:, own]), target[own], start, is_odds, _LEAST_ROWS, _RIDGE, _RATE, *of_part)
    found = forest.predicted(bins, fold)[used]
    left = _left(columns[used], target[used], is_odds)
    if gained.sum() <= _LEAST_GAIN * float(target.var() * len(target)) or not predicts(found, left):
        return []
    return [Grown(name, inputs, heard(inputs, gained, stands), forest, drives)]


def all_edges(columns: FloatArray) -> FloatArray:
    """Return the ends of the bins of some columns, shape (p, BINS - 1)."""
    return np.array([bin_edges(values) for values in columns.T])


def bin_edges(values: FloatArray) -> FloatArray:
    """Return upper ends of all bins but the last, shape (BINS - 1,): between values where these are few."""
    found = np.unique(values)
    middle = 0.5 * (found[1:] + found[:-1])
    if len(found) > BINS:
        middle = np.unique(np.quantile(values, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
    return np.asarray(np.r_[middle, np.full(BINS - 1 - len(middle), np.inf)])


def _left(columns: FloatArray, target: FloatArray, is_odds: bool) -> FloatArray:
    """Return what straight lines leave of a target, shape (rows,)."""
    straight = _straight(columns, target, is_odds)
    return np.asarray(target - (1.0 / (1.0 + np.exp(-straight)) if is_odds else straight))


def _straight(columns: FloatArray, target: FloatArray, is_odds: bool) -> FloatArray:
    """Return what straight lines predict, shape (rows,); of a yes/no target, its log-odds."""
    if is_odds:
        found = logistic_coefficients(columns, target)
        return np.asarray(np.clip(found[0] + columns @ found[1:], -30.0, 30.0))
    slopes = sparse_coefficients(columns, target)
    return np.asarray(target.mean() + (columns - columns.mean(axis=0)) @ slopes)
