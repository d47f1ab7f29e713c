"""Boosted trees, slowly: every cut of every column is tried on the rows themselves."""

from __future__ import annotations

import numpy as np


def gain_of(slope, curvature, left, ridge):
    """What a cut explains: squared sums over curvature on both sides, less that of all."""
    total = 0.0
    for side, sign in ((left, 1.0), (~left, 1.0), (np.ones_like(left), -1.0)):
        total += sign * slope[side].sum() ** 2 / (curvature[side].sum() + ridge)
    return total


def best_cut(bins, slope, curvature, rows, least, ridge, count):
    """Column and cut of one node, None if none explains anything."""
    best, found = 1e-12, None
    for column in range(len(bins)):
        for cut in range(count - 1):
            left = bins[column, rows] <= cut
            if min(left.sum(), (~left).sum()) < least:
                continue
            gain = gain_of(slope[rows], curvature[rows], left, ridge)
            if gain > best * (1 + 1e-9):
                best, found = gain, (column, cut)
    return found


def leaves_of(bins, slope, curvature, rows, depth, least, ridge, count):
    """The rows of each leaf, left to right; a node that is not cut keeps all its rows on the left."""
    if depth == 0:
        return [rows]
    cut = best_cut(bins, slope, curvature, rows, least, ridge, count)
    left = np.ones(len(rows), dtype=bool) if cut is None else bins[cut[0], rows] <= cut[1]
    sides = (rows[left], rows[~left])
    return [leaf for side in sides for leaf in leaves_of(bins, slope, curvature, side, depth - 1, least, ridge, count)]


def boosted(bins, target, start, is_odds, rounds, depth, least, ridge, rate, count):
    """The predictor after all trees, shape (n,)."""
    predictor = start.copy()
    for _ in range(rounds):
        mean = 1.0 / (1.0 + np.exp(-predictor)) if is_odds else predictor
        slope = target - mean
        curvature = np.maximum(mean * (1 - mean), 1e-4) if is_odds else np.ones(len(target))
        step = np.zeros(len(target))
        for rows in leaves_of(bins, slope, curvature, np.arange(len(target)), depth, least, ridge, count):
            if len(rows):
                step[rows] = rate * slope[rows].sum() / (curvature[rows].sum() + ridge)
        predictor = predictor + step
    return predictor
