"""Series by the definition: paths through the steps one by one, and every graph with its walks."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np


def response_by_unrolling(matrices: Any, source: int, steps: int, lasting: bool = False) -> Any:
    """Return the effect on all variables after 0 to `steps` steps, shape (steps + 1, m), as one large linear system."""
    count, m, _ = matrices.shape
    size = m * (steps + 1)
    whole = np.zeros((size, size))  # row = cause
    for step in range(steps + 1):
        for lag in range(min(step, count - 1) + 1):
            for cause in range(m):
                for effect in range(m):
                    held = effect == source and (step == 0 or lasting)
                    if not held:
                        whole[(step - lag) * m + cause, step * m + effect] += matrices[lag, cause, effect]
    change = np.zeros(size)
    for step in range(steps + 1 if lasting else 1):
        change[step * m + source] = 1.0
    return (change @ np.linalg.inv(np.eye(size) - whole)).reshape(steps + 1, m)


def reached_by(edges: set[tuple[int, int, int]], source: int, steps: int) -> dict[int, int]:
    """Return the step at which each variable is first reached; edges are (cause, lag, effect)."""
    found = {(source, 0)}
    new = found
    while new:
        new = {(effect, when + lag) for name, when in new for cause, lag, effect in edges
               if cause == name and when + lag <= steps} - found  # fmt: skip
        found = found | new
    return {name: min(when for other, when in found if other == name) for name, _ in found}


def none_by_summing(
    sets: list[list[tuple[frozenset[tuple[int, int]], float]]], source: int, outcome: int, steps: int
) -> float:
    """Return P(not reached by a step) over all graphs: for each variable its sets of (cause, lag) and their chances."""
    total = 0.0
    for chosen in product(*sets):
        chance = float(np.prod([p for _, p in chosen]))
        edges = {(cause, lag, effect) for effect, (parents, _) in enumerate(chosen) for cause, lag in parents}
        if outcome not in reached_by(edges, source, steps):
            total += chance
    return total


def windows_by_looking(time: Any, unit: Any, lags: int) -> list[int]:
    """Return the rows whose last steps are all there, of the same unit, in the order of units and times."""
    place = {(u, t): i for i, (u, t) in enumerate(zip(unit, time, strict=True))}
    order = sorted(place, key=lambda pair: (pair[0], pair[1]))
    return [place[u, t] for u, t in order if all((u, t - lag) in place for lag in range(1, lags + 1))]


def mixed_evidence(y: Any, x: Any, unit: Any, ratio: float, slab: float) -> tuple[float, Any]:
    """Return the log evidence (up to a constant) and mean of a regression with random intercepts, from rows.

    The covariance of rows is ``I + ratio Z Z'``, plus a flat intercept (a variance that is very large).
    """
    rows = len(y)
    same = (unit[:, None] == unit[None, :]).astype(float)
    large = 1e7
    noise = np.eye(rows) + ratio * same + large
    inverse = np.linalg.inv(noise)
    gram = x.T @ inverse @ x + np.eye(x.shape[1]) / slab
    mean = np.linalg.solve(gram, x.T @ inverse @ y)
    left = y @ inverse @ y - mean @ gram @ mean
    logdet = np.linalg.slogdet(noise)[1] - np.log(large) + np.linalg.slogdet(gram * slab)[1]
    return float(-0.5 * logdet - 0.5 * (rows - 1) * np.log(left)), mean
