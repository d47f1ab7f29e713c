"""Blocks in which every pair is open alike: one odds value, from a recursion over the number of sinks.

The weight of all acyclic graphs on n variables with k sinks, each edge weighing `odds`, counts what hangs on what
remains without those sinks, of whose m sinks each must have a child among the k (Robinson's recursion). All its terms
are positive, so it serves for hundreds of variables:

    a(n, k) = C(n, k) sum_m [(1 + odds)^k - 1]^m (1 + odds)^(k (n - k - m)) a(n - k, m)
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from alldags.typing import FloatArray

_TOLERANCE = 1e-14  # of the log odds


def edge_probability(b: int, odds: float) -> tuple[float, float]:
    """Return the probability of one directed edge, and the log weight of all acyclic graphs on b variables."""
    weight = np.full((b + 1, b + 1), -math.inf)  # log a(n, k)
    edges = np.zeros((b + 1, b + 1))  # mean number of edges of those graphs
    weight[0, 0] = 0.0
    for n in range(1, b + 1):
        weight[n, 1 : n + 1], edges[n, 1 : n + 1] = _with_sinks(n, odds, weight[:n, :n], edges[:n, :n])
    total = float(np.logaddexp.reduce(weight[b]))
    return float(np.exp(weight[b] - total) @ edges[b]) / (b * (b - 1)), total


def _with_sinks(n: int, odds: float, weight: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log a(n, k) and the mean number of edges for k = 1, ..., n, from those of fewer variables, (n, n)."""
    k = np.arange(1, n + 1)[:, None]
    m = np.arange(n)
    log_choices = k * math.log1p(odds)  # (1 + odds)^k parent sets among k sinks, all but the empty one allowed
    some = -np.expm1(-log_choices)  # share of those sets that are not empty
    terms = m * (log_choices + np.log(some)) + log_choices * (n - k - m) + weight[::-1]
    mean = k * (odds / (1.0 + odds)) * (m / some + (n - k - m))
    top = terms.max(axis=1, keepdims=True)
    share = np.exp(terms - top)
    total = share.sum(axis=1)
    choices = np.array([math.log(math.comb(n, int(sinks))) for sinks in k[:, 0]])
    return choices + top[:, 0] + np.log(total), (share * (mean + edges[::-1])).sum(axis=1) / total


@lru_cache(maxsize=256)
def uniform_odds(b: int, probability: float) -> float:
    """Return the odds at which each directed edge of b variables has this probability, below one half."""
    from scipy.optimize import brentq

    wanted = _log_odds(probability)

    def excess(log_odds: float) -> float:
        return _log_odds(edge_probability(b, math.exp(log_odds))[0]) - wanted

    below, above = wanted - 0.1, wanted + 1.0  # acyclicity takes edges away; the first margin is for rounding
    while excess(above) < 0:
        above += 1.0
    return math.exp(brentq(excess, below, above, xtol=_TOLERANCE))


def _log_odds(probability: float) -> float:
    """Return the log odds of an edge in one direction against no edge."""
    return math.log(probability) - math.log(max(1.0 - 2.0 * probability, 1e-16))
