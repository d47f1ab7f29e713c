"""Odds of the edges of a block at which the acyclic graphs have the stated edge probabilities.

Among all distributions of acyclic graphs with these edge probabilities, the one with independent odds has the largest
entropy. Proportional fitting multiplies the odds of a pair by what they lack; done for all pairs at once it may swing,
so that steps are mixed with those before (Anderson's acceleration) and shortened where they do not lead downhill on
the convex function ``log weight - sum of stated probability x log odds``, whose gradient is what is lacking.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.graph.tightest import tightest_cycle
from alldags.typing import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-10
ROUNDS = 200
LEAST_SLACK = 1.0 - 1e-12  # of a cycle; at 1 itself large odds come as close as wanted
_MEMORY = 10
_LOG_ODDS = (-700.0, 34.0)  # beyond these no probability in double precision changes
_SHORTEST = 1e-4


class NotMetError(Exception):
    """The stated probabilities were not reached: by how much, and along which cycle they are the tightest."""

    def __init__(self, error: float, cycle: list[int]) -> None:
        super().__init__(error, cycle)
        self.error = error
        self.cycle = cycle


@dataclass(frozen=True, eq=False)
class _Point:
    """Log odds (edges,), the function to minimise, and the edge probabilities (b, b) they lead to."""

    log_odds: FloatArray
    value: float
    have: FloatArray


def fitted_odds(stated: FloatArray) -> FloatArray:
    """Return the odds, shape (b, b), at which edges have the stated probabilities; 0 where these are 0 or 1.

    Raises
    ------
    NotMetError
        If the probabilities contradict acyclicity, or come so close to it that 200 rounds do not reach them.
    """
    cycle, slack = tightest_cycle(stated)
    if slack < LEAST_SLACK:
        raise NotMetError(1.0 - slack, cycle)
    fit = _Fit(stated)
    point = fit.at(fit.start())
    steps: list[tuple[FloatArray, FloatArray]] = []
    while fit.error(point) > TOLERANCE:
        if fit.rounds >= ROUNDS:
            raise NotMetError(fit.error(point), cycle)
        lacking = fit.lacking(point)
        steps = [*steps[-_MEMORY:], (point.log_odds, lacking)]
        moved = fit.at(point.log_odds + _accelerated(steps))
        if not fit.improves(moved, point):
            steps = []
            moved = fit.downhill(point, lacking)
        point = moved
    return fit.odds(point.log_odds)


class _Fit:
    """The function to minimise, and how often it was looked at."""

    def __init__(self, stated: FloatArray) -> None:
        self.stated = stated
        self.open: BoolArray = (stated > 0.0) & (stated < 1.0)
        self.none = 1.0 - stated - stated.T
        self.required = required_parents(stated)
        self.rounds = 0

    def start(self) -> FloatArray:
        return np.asarray(np.log(raw_odds(self.stated)[self.open]))

    def odds(self, log_odds: FloatArray) -> FloatArray:
        odds = np.zeros_like(self.stated)
        odds[self.open] = np.exp(log_odds)
        return odds

    def at(self, log_odds: FloatArray) -> _Point:
        self.rounds += 1
        log_odds = np.clip(log_odds, *_LOG_ODDS)
        have, log_weight = edge_probabilities(self.odds(log_odds), self.required)
        return _Point(log_odds, log_weight - float(self.stated[self.open] @ log_odds), have)

    def error(self, point: _Point) -> float:
        return float(np.abs(point.have - self.stated)[self.open].max(initial=0.0))

    def lacking(self, point: _Point) -> FloatArray:
        """Return the log of the factor by which each pair's odds fall short, by themselves."""
        tiny = np.finfo(float).tiny
        none = np.maximum(1.0 - point.have - point.have.T, tiny)[self.open]
        have = np.maximum(point.have[self.open], tiny)
        return np.asarray(np.log(self.stated[self.open] / have) - np.log(self.none[self.open] / none))

    def improves(self, moved: _Point, point: _Point) -> bool:
        """Tell whether the value fell; near the end rounding hides that, and the error decides."""
        room = 1e-12 * max(1.0, abs(point.value))
        return moved.value < point.value - room or (
            moved.value < point.value + room and self.error(moved) < 2 * self.error(point)
        )

    def downhill(self, point: _Point, lacking: FloatArray) -> _Point:
        """Shorten the plain step until it improves."""
        share = 1.0
        moved = self.at(point.log_odds + lacking)
        while not self.improves(moved, point) and self.rounds < ROUNDS and share > _SHORTEST:
            share /= 2
            moved = self.at(point.log_odds + share * lacking)
        return moved


def _accelerated(steps: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Return the step from the last point, mixed so that the lacking of the points before would have cancelled."""
    lacking = np.array([step for _, step in steps])
    if len(steps) == 1:
        return np.asarray(lacking[0])
    points = np.array([point for point, _ in steps])
    differences = np.diff(lacking, axis=0).T
    mixed = np.linalg.lstsq(differences, lacking[-1], rcond=1e-10)[0]
    return np.asarray(lacking[-1] - (np.diff(points, axis=0).T + differences) @ mixed)


def raw_odds(stated: FloatArray) -> FloatArray:
    """Return the odds of each uncertain edge against no edge, shape (b, b); 0 where one is impossible or certain."""
    uncertain = (stated > 0.0) & (stated < 1.0)
    none = np.where(uncertain, 1.0 - stated - stated.T, 1.0)
    return np.where(uncertain, stated / none, 0.0)


def required_parents(stated: FloatArray) -> IntArray:
    """Return each variable's certain parents as a bit mask, shape (b,)."""
    return np.array([sum(1 << int(i) for i in np.flatnonzero(column == 1.0)) for column in stated.T], dtype=np.int64)


def edge_probabilities(odds: FloatArray, required: IntArray) -> tuple[FloatArray, float]:
    """Return the probability of each uncertain edge among acyclic graphs, shape (b, b), and their log weight."""
    from alldags.kernels.acyclic import edge_shares

    log_weight, share = edge_shares(odds, required)
    return share * (odds / (1.0 + odds)), float(log_weight)


def log_acyclic(odds: FloatArray, log_weight: float) -> float:
    """Return the log probability that independent edges, each present with odds/(1 + odds), are acyclic."""
    return min(0.0, log_weight - math.fsum(np.log1p(odds).ravel()))
