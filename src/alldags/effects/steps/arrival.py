"""The probability that a change has not arrived by some step, or never does: exactly, where sets are not too many.

Edges are the same at all steps. A variable is *reached* at the first step at which a present edge leads to it from one
that was reached before, or in the same step. With ``q_j(C)`` the probability that none of the columns C is a parent of
j, and regressions independent given the data ::

    reached at all, exactly the set D:    f(D) prod_{j not in D} q_j(D)
    f(D) = 1 - sum_{x in E < D} f(E) prod_{j in D - E} q_j(E)           the chance that D is reached inside itself

(Buzacott 1980), cycles included, in 3^(m-1) terms. By step h the sum goes over arrival times of all variables: those of
j are ``q_j(what has arrived before) - q_j(what has arrived by then)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from alldags.effects.steps.way import Way
from alldags.steps import at
from alldags.typing import BoolArray, FloatArray, IntArray

MOST_VARIABLES = 14
MOST_TIMES = 60_000  # vectors of arrival times

Free: TypeAlias = Callable[[BoolArray], FloatArray | None]
"""The probability that none of some columns is a parent, for each row of masks (sets, columns)."""


class Nodes:
    """What is asked of the regressions on a way: their columns, and `Free` of each.

    Parameters
    ----------
    way
        The variables.
    columns
        Candidate causes of each, in the order of the masks.
    free
        For each variable.
    """

    def __init__(self, way: Way, columns: Mapping[str, Sequence[str]], free: Mapping[str, Free]) -> None:
        self.way = way
        self.free = free
        self.home = {
            child: np.array([way.place.get(at(name).name, -1) for name in names], dtype=np.int64)
            for child, names in columns.items()
        }
        self.lag = {child: np.array([at(name).lag for name in names]) for child, names in columns.items()}

    def spared(self, child: str, arrived: IntArray, by: int) -> FloatArray | None:
        """Return the chance that a variable has not been reached by a step, given arrival times (sets, m) of all."""
        home, lag = self.home[child], self.lag[child]
        there = (arrived[:, np.maximum(home, 0)] + lag <= by) & (home >= 0)
        return self.asked(child, there)

    def asked(self, child: str, masks: BoolArray) -> FloatArray | None:
        """Return the chance that none of some columns is a parent, each different set asked once."""
        if not masks.shape[1]:
            return np.ones(len(masks))
        distinct, place = np.unique(masks, axis=0, return_inverse=True)
        found = self.free[child](distinct)
        return None if found is None else found[place.ravel()]


def never(nodes: Nodes) -> float | None:
    """Return the probability that the treatment never acts on the outcome, at any step; None if it is not known."""
    way = nodes.way
    if not way.variables:
        return 1.0
    if len(way.variables) > MOST_VARIABLES:
        return None
    others = [name for name in way.variables if name != way.treatment]
    sets = np.arange(1 << len(others))
    inside = np.column_stack(
        [np.ones(len(sets), dtype=bool), *((sets >> i & 1).astype(bool) for i in range(len(others)))]
    )
    spared = []
    for name in others:
        home = nodes.home[name]
        found = nodes.asked(name, inside[:, np.maximum(home, 0)] & (home >= 0))
        if found is None:
            return None
        spared.append(found)
    return _never(np.array(spared), others.index(way.outcome))


def _never(spared: FloatArray, outcome: int) -> float:
    """Return the probability that one variable is not reached; `spared` is q by variable and set, shape (v, 2^v)."""
    count = spared.shape[0]
    reached, total = np.zeros(1 << count), 0.0
    for group in range(1 << count):
        members = [j for j in range(count) if group >> j & 1]
        smaller = _subsets(members)[:-1]
        out = np.ones(len(smaller))
        for j in members:
            out *= np.where(smaller >> j & 1, 1.0, spared[j, smaller])
        reached[group] = 1.0 - float(reached[smaller] @ out)
        if not group >> outcome & 1:
            total += reached[group] * float(np.prod([spared[j, group] for j in range(count) if not group >> j & 1]))
    return min(max(total, 0.0), 1.0)


def _subsets(members: Sequence[int]) -> IntArray:
    """Return all sets of some variables as numbers, the whole one last."""
    found = np.zeros(1, dtype=np.int64)
    for j in members:
        found = np.concatenate([found, found | 1 << j])
    return found


def none_by(nodes: Nodes, step: int) -> float | None:
    """Return the probability that nothing has arrived by a step, exactly; None if there are too many cases."""
    way = nodes.way
    if not way.variables:
        return 1.0
    others = [name for name in way.variables if name not in (way.treatment, way.outcome)]
    if (step + 2) ** len(others) > MOST_TIMES:
        return None
    times = np.array(list(product(range(step + 2), repeat=len(others))), dtype=np.int64).reshape(
        -1 if others else 1, len(others)
    )
    arrived = np.full((len(times), len(way.variables)), step + 1)
    arrived[:, way.place[way.treatment]] = 0
    arrived[:, [way.place[name] for name in others]] = times
    weight = np.ones(len(times))
    for name in others:
        chance = _arrives(nodes, name, arrived, step)
        if chance is None:
            return None
        weight *= chance
    last = nodes.spared(way.outcome, arrived, step)
    return None if last is None else min(max(float(weight @ last), 0.0), 1.0)


def _arrives(nodes: Nodes, name: str, arrived: IntArray, step: int) -> FloatArray | None:
    """Return the chance that a variable is first reached when it is said to be; what arrives through it is later."""
    own = nodes.way.place[name]
    when = arrived[:, own]
    found = np.empty(len(arrived))
    for time in range(step + 2):
        rows = when == time
        given = arrived[rows].copy()
        given[:, own] = step + 1
        before = nodes.spared(name, given, time - 1) if time else np.ones(len(given))
        by = nodes.spared(name, given, time) if time <= step else np.zeros(len(given))
        if before is None or by is None:
            return None
        found[rows] = before - by
    return found


def arrivals(present: BoolArray, source: int, outcome: int, steps: int) -> IntArray:
    """Return the step at which each variable but the outcome is first reached without passing through it, (size, m).

    Parameters
    ----------
    present
        Which edges are there, shape (size, lags + 1, m, m), row = cause.
    source, outcome
        Places of treatment and outcome.
    steps
        Arrivals after so many steps count as never: ``steps + 1``.
    """
    size, count, m, _ = present.shape
    long = steps + 1
    lag = np.where(present, np.arange(count)[None, :, None, None], long).min(axis=1)
    lag[:, outcome, :], lag[:, :, outcome], lag[:, :, source] = long, long, long
    found = np.full((size, m), long)
    found[:, source] = 0
    for _ in range(m):
        sooner = np.minimum(found, (found[:, :, None] + lag).min(axis=1))
        if np.array_equal(sooner, found):
            break
        found = sooner
    return np.asarray(np.minimum(found, long))
