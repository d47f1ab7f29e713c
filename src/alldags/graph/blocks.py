"""Blocks: the prior of a group of variables whose order is open.

Inside a block a graph weighs the product of the odds of its edges if it is acyclic, and nothing otherwise. Leaving out
the graphs with cycles makes edges rarer than the odds by themselves say, so the odds are fitted to the stated
probabilities; see `alldags.graph.calibrate` and, where all pairs are alike, `alldags.graph.uniform`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from alldags.errors import GraphError
from alldags.graph import calibrate
from alldags.graph.edges import Edge
from alldags.graph.uniform import edge_probability, uniform_odds
from alldags.typing import FloatArray
from alldags.wording import either

LARGEST_FITTED = 14
"""Variables of a block whose odds are fitted, unless all its pairs are alike."""

LARGEST_SUMMED = 18
"""Variables of a block over whose acyclic graphs is summed one by one set, unless all its pairs are alike."""


@dataclass(frozen=True)
class BlockOdds:
    """The prior of the edges inside a block.

    Parameters
    ----------
    block
        The variables.
    probability
        ``odds / (1 + odds)`` of each candidate edge inside: were edges independent, each would be present with this
        probability, and given that the whole is acyclic they follow the prior. 1 for certain edges.
    log_acyclic
        Log of the probability that such independent edges form no cycle: the prior's normaliser. nan if it is not
        known, for more than 18 variables whose pairs are not all alike.
    is_calibrated
        Whether the acyclic graphs have the stated edge probabilities.
    odds
        Of each candidate edge inside; infinite for certain edges. `probability` rounds those above some 10^9.
    """

    block: tuple[str, ...]
    probability: Mapping[Edge, float]
    log_acyclic: float
    is_calibrated: bool
    odds: Mapping[Edge, float]


def block_odds(block: Sequence[str], edges: Mapping[Edge, float], *, fit: bool) -> BlockOdds:
    """Return the prior of a block's edges; with `fit`, the one that has the stated probabilities."""
    stated = matrix(block, edges)
    try:
        odds, log_acyclic, fitted = _odds(tuple(map(tuple, stated.tolist())), fit)
    except calibrate.NotMetError as failure:
        raise GraphError(_not_met(block, stated, failure)) from None
    named = {
        (block[i], block[j]): math.inf if stated[i, j] == 1.0 else float(odds[i, j])
        for i, j in np.argwhere(stated > 0.0)
    }
    probability = {edge: 1.0 if odds == math.inf else odds / (1.0 + odds) for edge, odds in named.items()}
    return BlockOdds(tuple(block), probability, log_acyclic, fitted, named)


@lru_cache(maxsize=128)
def _odds(rows: tuple[tuple[float, ...], ...], fit: bool) -> tuple[FloatArray, float, bool]:
    """Return odds (b, b), the log probability of no cycle, and whether the odds are fitted."""
    stated = np.array(rows)
    b = len(rows)
    if _is_alike(stated):
        one = uniform_odds(b, rows[0][1]) if fit else rows[0][1] / (1.0 - 2.0 * rows[0][1])
        odds = np.where(np.eye(b) == 1.0, 0.0, one)
        return odds, calibrate.log_acyclic(odds, edge_probability(b, one)[1]), fit
    fitted = fit and b <= LARGEST_FITTED
    odds = calibrate.fitted_odds(stated) if fitted else calibrate.raw_odds(stated)
    if b > LARGEST_SUMMED:
        return odds, math.nan, False
    return odds, calibrate.log_acyclic(odds, _log_weight(odds, stated)), fitted


def matrix(block: Sequence[str], edges: Mapping[Edge, float]) -> FloatArray:
    """Return the stated probabilities of the edges inside a block, row = cause, shape (b, b)."""
    return np.array([[edges.get((cause, effect), 0.0) for effect in block] for cause in block])


def realized(prior: BlockOdds) -> dict[Edge, float]:
    """Return the probability of each candidate edge of a block among its acyclic graphs."""
    block, b = prior.block, len(prior.block)
    given = matrix(block, prior.odds)
    certain = np.isinf(given)
    odds = np.where(certain, 0.0, given)
    if _is_alike(matrix(block, prior.probability)):
        have = np.full((b, b), edge_probability(b, float(odds[0, 1]))[0])
    elif b > LARGEST_SUMMED:
        raise GraphError(
            f"what acyclicity makes of the probabilities inside a block of {b} variables is not known: sums over its "
            f"acyclic graphs go up to {LARGEST_SUMMED} variables unless all pairs are alike"
        )
    else:
        have = calibrate.edge_probabilities(odds, calibrate.required_parents(certain.astype(float)))[0]
    found = np.where(certain, 1.0, np.clip(have, 0.0, 1.0))
    return {(block[i], block[j]): float(found[i, j]) for i, j in np.argwhere(given > 0.0)}


def _is_alike(values: FloatArray) -> bool:
    """Tell whether every directed edge inside a block has the same value between 0 and 1."""
    apart = values[~np.eye(len(values), dtype=bool)]
    return bool(0.0 < apart[0] < 1.0 and (apart == apart[0]).all())


def log10_graphs(blocks: Sequence[Sequence[str]], edges: Mapping[Edge, float]) -> tuple[float, bool]:
    """Return the decimal logarithm of the number of graphs, acyclic inside each block, and whether it is exact."""
    home = {name: number for number, block in enumerate(blocks) for name in block}
    free = math.log10(2.0) * sum(
        p < 1.0 for (cause, effect), p in edges.items() if cause not in home or home[cause] != home.get(effect)
    )
    counts = [log10_acyclic_graphs(block, edges) for block in blocks]
    return free + sum(log10 for log10, _ in counts), all(exact for _, exact in counts)


def log10_acyclic_graphs(block: Sequence[str], edges: Mapping[Edge, float]) -> tuple[float, bool]:
    """Return the decimal logarithm of the number of a block's acyclic graphs, and whether it is exact.

    For more than 18 variables, not all pairs of which are open, it is an upper bound: the graphs in which no two
    variables are joined both ways.
    """
    stated = matrix(block, edges)
    b = len(block)
    uncertain = (stated > 0.0) & (stated < 1.0)
    if uncertain.sum() == b * (b - 1):
        return edge_probability(b, 1.0)[1] / math.log(10.0), True
    if b <= LARGEST_SUMMED:
        return _log_weight(np.where(uncertain, 1.0, 0.0), stated) / math.log(10.0), True
    both = int((uncertain & uncertain.T).sum()) // 2
    bound = both * math.log10(3.0) + (int(uncertain.sum()) - 2 * both) * math.log10(2.0)
    return min(bound, edge_probability(b, 1.0)[1] / math.log(10.0)), False


def _log_weight(odds: FloatArray, stated: FloatArray) -> float:
    from alldags.kernels.acyclic import log_weight

    return float(log_weight(odds, calibrate.required_parents(stated)))


def _not_met(block: Sequence[str], stated: FloatArray, failure: calibrate.NotMetError) -> str:
    """Say which probabilities ask for more than acyclic graphs can have."""
    cycle = failure.cycle
    values = [float(stated[i, j]) for i, j in pairwise(cycle)]
    arrows = " -> ".join(repr(block[i]) for i in cycle)
    shown = " + ".join(f"{value:g}" for value in values)
    most = len(values) - 1
    if sum(1.0 - value for value in values) < calibrate.LEAST_SLACK:
        problem = (
            f"no acyclic graphs have these edge probabilities: along the cycle {arrows} they are {shown} = "
            f"{sum(values):g}, but one of its edges is always absent, so they add to at most {most}"
        )
    else:
        problem = (
            f"the edge probabilities inside the block {', '.join(map(repr, block))} were not met after "
            f"{calibrate.ROUNDS} rounds (off by up to {failure.error:.1g}): they ask for more than acyclic graphs can "
            f"have, or nearly so; the tightest cycle is {arrows} with {shown} = {sum(values):g} of at most {most}"
        )
    odds = either("take graph.uncalibrated()", "write calibrate = false into the graph file")
    return f"{problem}; lower them, or {odds}, which uses them as odds"
