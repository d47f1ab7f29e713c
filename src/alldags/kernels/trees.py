"""Boosted trees on binned columns: trees of equal depth, grown one after the other on what those before have left.

A tree of depth d is stored as a heap: question ``2^l - 1 + node`` of level ``l`` asks whether the bin of a column is
above a cut; the leaf is the path read as a binary number. A question with column -1 is not asked: all go left.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.typing import FloatArray, IntArray

BINS = 32


@inner
def _best_cuts(
    bins: IntArray, slope: FloatArray, curvature: FloatArray, leaf: IntArray, nodes: int, least: int, ridge: float,
    gain: FloatArray, feature: IntArray, cut: IntArray,
) -> None:  # fmt: skip
    """Find the column and cut of each node of a level that explain most, shape (nodes,) each."""
    columns, rows = bins.shape
    sums = np.empty((nodes, BINS, 3))
    gain[:nodes] = 1e-12
    feature[:nodes] = -1
    cut[:nodes] = 0
    for j in range(columns):
        sums[:] = 0.0
        for i in range(rows):
            own = sums[leaf[i], bins[j, i]]
            own[0] += slope[i]
            own[1] += curvature[i]
            own[2] += 1.0
        for node in range(nodes):
            whole_slope, whole_curvature, whole = 0.0, 0.0, 0.0
            for c in range(BINS):
                whole_slope += sums[node, c, 0]
                whole_curvature += sums[node, c, 1]
                whole += sums[node, c, 2]
            before = whole_slope * whole_slope / (whole_curvature + ridge)
            left_slope, left_curvature, left = 0.0, 0.0, 0.0
            for c in range(BINS - 1):
                left_slope += sums[node, c, 0]
                left_curvature += sums[node, c, 1]
                left += sums[node, c, 2]
                if left < least or whole - left < least:
                    continue
                right_slope = whole_slope - left_slope
                found = left_slope * left_slope / (left_curvature + ridge) - before
                found += right_slope * right_slope / (whole_curvature - left_curvature + ridge)
                if found > gain[node]:
                    gain[node], feature[node], cut[node] = found, j, c


@compiled
def grow(
    bins: IntArray, target: FloatArray, start: FloatArray, is_odds: bool, least: int, ridge: float, rate: float,
    feature: IntArray, cut: IntArray, value: FloatArray, gained: FloatArray,
) -> None:  # fmt: skip
    """Grow trees for squared errors of a number, or for the log-likelihood of a yes/no target.

    Parameters
    ----------
    bins
        Bin of each row in each column, shape (p, n).
    target, start
        What is predicted, and the predictor before the first tree, shape (n,) each.
    is_odds
        Whether the target is 0 or 1 and the predictor its log-odds.
    least
        Rows on either side of a cut.
    ridge
        Added to the curvature of a leaf.
    rate
        Share of each leaf's step that is taken.
    feature, cut
        Filled: columns and bins of the questions, shape (rounds, 2^depth - 1).
    value
        Filled: what each leaf adds to the predictor, shape (rounds, 2^depth).
    gained
        Added to: what the cuts in each column explain, shape (p,).
    """
    rows = target.shape[0]
    rounds, leaves = value.shape
    predictor = start.copy()
    slope, curvature = np.empty(rows), np.ones(rows)
    leaf = np.empty(rows, dtype=np.int64)
    gain = np.empty(leaves)
    asked, at = np.empty(leaves, dtype=np.int64), np.empty(leaves, dtype=np.int64)
    steps = np.empty((leaves, 2))
    for r in range(rounds):
        leaf[:] = 0
        for i in range(rows):
            mean = predictor[i]
            if is_odds:
                mean = 1.0 / (1.0 + math.exp(-predictor[i]))
                curvature[i] = max(mean * (1.0 - mean), 1e-4)
            slope[i] = target[i] - mean
        nodes = 1
        while nodes < leaves:
            _best_cuts(bins, slope, curvature, leaf, nodes, least, ridge, gain, asked, at)
            for node in range(nodes):
                feature[r, nodes - 1 + node] = asked[node]
                cut[r, nodes - 1 + node] = at[node]
                if asked[node] >= 0:
                    gained[asked[node]] += gain[node]
            for i in range(rows):
                own = leaf[i]
                right = asked[own] >= 0 and bins[asked[own], i] > at[own]
                leaf[i] = 2 * own + (1 if right else 0)
            nodes *= 2
        steps[:] = 0.0
        for i in range(rows):
            steps[leaf[i], 0] += slope[i]
            steps[leaf[i], 1] += curvature[i]
        for k in range(leaves):
            value[r, k] = rate * steps[k, 0] / (steps[k, 1] + ridge)
        for i in range(rows):
            predictor[i] += value[r, leaf[i]]


@compiled
def add_trees(bins: IntArray, feature: IntArray, cut: IntArray, value: FloatArray, out: FloatArray) -> None:
    """Add what the trees predict for rows with these bins, shape (p, n), to `out`, shape (n,)."""
    rounds, leaves = value.shape
    for i in range(out.shape[0]):
        for r in range(rounds):
            node, nodes = 0, 1
            while nodes < leaves:
                place = nodes - 1 + node
                right = feature[r, place] >= 0 and bins[feature[r, place], i] > cut[r, place]
                node = 2 * node + (1 if right else 0)
                nodes *= 2
            out[i] += value[r, node]
