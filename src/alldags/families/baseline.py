"""Hazards that are constant within pieces of time: exposure, the baseline given risks, and what of it survives.

The hazard of a row in piece j is ``exp(psi_j + eta)``. Given the risks ``exp(eta)`` of all rows, events and exposure of
the pieces are sufficient::

    l(psi) = sum_j D_j psi_j - R_j exp(psi_j)        D_j events, R_j = sum_i exp(eta_i) (time of row i in piece j)

so that rows times pieces are never held together: a few rows at a time are added up. The log hazards are a level,
which is flat, and a random walk around it: ``psi = B phi`` with standard normal ``phi`` apart from the level. Where a
treatment has two values, the pieces are there once for each, and the log hazard ratio may walk, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alldags.typing import FloatArray, IntArray

BASELINE_SPREAD = 2.0  # standard deviation of the log hazard's walk over all pieces
RATIO_SPREAD = 2.0  # the same of the log hazard ratio, where it changes with time
_MOST_STEP = 3.0  # of a log hazard in one step of Newton's iteration
_STEPS, _STOP = 30, 1e-7
_STEP, _MOST_POINTS = 0.125, 400  # between log risks at which restricted means are computed, and their number
_FEW_ROWS = 48  # for which they are computed one by one
_LARGEST = 50.0  # log risk; all that is left of such a row is nothing


@dataclass(frozen=True)
class Pieces:
    """Pieces of time, for each arm of a treatment if there are two.

    Parameters
    ----------
    cuts
        Where one piece ends and the next begins; the first begins at 0, the last does not end.
    arms
        1 or 2.
    """

    cuts: tuple[float, ...]
    arms: int = 1

    @property
    def count(self) -> int:
        """Number of pieces."""
        return len(self.cuts) + 1

    @cached_property
    def lower(self) -> FloatArray:
        """Where each piece begins, shape (pieces,)."""
        return np.array([0.0, *self.cuts])

    @cached_property
    def upper(self) -> FloatArray:
        """Where each ends, shape (pieces,)."""
        return np.array([*self.cuts, math.inf])

    def widths(self, until: float) -> FloatArray:
        """Return how much of each piece lies before a time, shape (pieces,)."""
        return np.asarray(np.clip(until, self.lower, self.upper) - self.lower)

    def cells(self, stop: FloatArray, arm: FloatArray) -> IntArray:
        """Return the piece, and arm, in which times lie, shape (rows,)."""
        found = np.searchsorted(self.lower[1:], stop, side="left")
        return np.asarray(found + (self.count * (arm > 0.5) if self.arms == 2 else 0), dtype=np.int64)

    def exposures(self, start: FloatArray, stop: FloatArray, arm: FloatArray) -> FloatArray:
        """Return the time that some rows spend in each piece, and arm, shape (rows, cells)."""
        own = np.clip(stop[:, None], self.lower, self.upper) - np.clip(start[:, None], self.lower, self.upper)
        if self.arms == 1:
            return np.asarray(own)
        second = (arm > 0.5)[:, None]
        return np.hstack([np.where(second, 0.0, own), np.where(second, own, 0.0)])

    @cached_property
    def bases(self) -> tuple[FloatArray, ...]:
        """From a level and standard normal steps to log hazards, shape (cells, q); with two arms also with ratios."""
        walk = _walk(self.count, BASELINE_SPREAD)
        plain = np.tile(np.column_stack([np.ones(self.count), walk]), (self.arms, 1))
        if self.arms == 1 or self.count == 1:
            return (plain,)
        half = 0.5 * _walk(self.count, RATIO_SPREAD)
        return plain, np.column_stack([plain, np.vstack([-half, half])])


def _walk(count: int, spread: float) -> FloatArray:
    """Return a random walk of mean zero over all pieces, from standard normal numbers, shape (count, count - 1)."""
    step = np.diff(np.eye(count), axis=0)
    values, vectors = np.linalg.eigh(step.T @ step)
    return np.asarray(vectors[:, 1:] * (spread / math.sqrt(count) / np.sqrt(values[1:])))


class Solved(NamedTuple):
    """The baseline given risks, about: mode (draws, q), root of its precision (draws, q, q), and two logarithms.

    `height` is the log posterior at the mode, `log_integral` that of its integral, shape (draws,) each.
    """

    mode: FloatArray
    root: FloatArray
    height: FloatArray
    log_integral: FloatArray


def solved(events: FloatArray, exposure: FloatArray, basis: FloatArray) -> Solved:
    """Return mode and curvature of the baseline in each draw, by Newton's iteration.

    Parameters
    ----------
    events
        By cell, shape (cells,).
    exposure
        Time in each cell, times risks, shape (draws, cells).
    basis
        From level and steps to log hazards, shape (cells, q).
    """
    penalty = np.ones(basis.shape[1])
    penalty[0] = 0.0
    phi = _start(events, exposure, basis, penalty)
    squares = np.einsum("cq,cr->cqr", basis, basis).reshape(len(basis), -1)
    for _ in range(_STEPS):
        psi = phi @ basis.T
        mean = exposure * np.exp(psi)
        system = (mean @ squares).reshape(len(phi), *(len(penalty),) * 2) + np.diag(penalty)
        gradient = (events - mean) @ basis - penalty * phi
        step = np.linalg.solve(system, gradient[:, :, None])[:, :, 0]
        largest = np.abs(step @ basis.T).max(axis=1)
        phi = phi + step * np.minimum(1.0, _MOST_STEP / np.maximum(largest, 1e-300))[:, None]
        if largest.max() < _STOP:
            break
    root = np.linalg.cholesky(system)
    psi = phi @ basis.T
    height = psi @ events - np.einsum("dc,dc->d", exposure, np.exp(psi)) - 0.5 * phi**2 @ penalty
    log_root = np.log(np.einsum("dqq->dq", root)).sum(axis=1)
    return Solved(phi, root, height, np.asarray(height - log_root + 0.5 * math.log(2.0 * math.pi)))


def _start(events: FloatArray, exposure: FloatArray, basis: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return about the mode: a line through the log hazards of the cells, drawn to that of all."""
    level = events.sum() / exposure.sum(axis=1, keepdims=True)
    raw = np.log((events + 0.5) / (exposure + 0.5 / level))
    system = (basis * (events + 0.5)[:, None]).T @ basis + np.diag(penalty)
    return np.asarray(np.linalg.solve(system, ((raw * (events + 0.5)) @ basis).T).T)


class DrawnBaseline(NamedTuple):
    """Log hazards of the cells, shape (draws, cells), and likelihood and prior over their density, shape (draws,)."""

    log_hazard: FloatArray
    log_value: FloatArray


def drawn(
    events: FloatArray, exposure: FloatArray, bases: Sequence[FloatArray], rng: np.random.Generator
) -> DrawnBaseline:
    """Draw the baseline around its mode given risks; with two bases, which of them holds is drawn first.

    Both are equally probable before the data; the density with which one was drawn is taken into account.
    """
    found = [solved(events, exposure, basis) for basis in bases]
    logs = np.array([one.log_integral for one in found])
    shares = np.exp(logs - np.logaddexp.reduce(logs, axis=0))
    size = len(exposure)
    chosen = np.zeros(size, dtype=np.int64) if len(bases) == 1 else (rng.random(size) >= shares[0]).astype(np.int64)
    log_hazard, value = np.empty((size, len(events))), np.empty(size)
    for place, (one, basis) in enumerate(zip(found, bases, strict=True)):
        here = chosen == place
        log_hazard[here], value[here] = _drawn(events, exposure[here], basis, one, here, rng)
    own = shares[chosen, np.arange(size)]
    return DrawnBaseline(log_hazard, value - np.log(len(bases) * own))


def _drawn(
    events: FloatArray, exposure: FloatArray, basis: FloatArray, one: Solved, here: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return log hazards of some draws, and their value over their density."""
    normals = rng.standard_normal((len(exposure), basis.shape[1]))
    root = one.root[here]
    phi = one.mode[here] + np.linalg.solve(np.swapaxes(root, 1, 2), normals[:, :, None])[:, :, 0]
    psi = phi @ basis.T
    with np.errstate(over="ignore"):
        height = psi @ events - np.einsum("dc,dc->d", exposure, np.exp(psi)) - 0.5 * (phi[:, 1:] ** 2).sum(axis=1)
    log_root = np.log(np.einsum("dqq->dq", root)).sum(axis=1)
    return psi, height + 0.5 * (normals**2).sum(axis=1) - log_root + 0.5 * math.log(2.0 * math.pi)


# -- what survives -----------------------------------------------------------------------------------------------------


def surviving(eta: FloatArray, log_hazard: FloatArray, widths: FloatArray) -> FloatArray:
    """Return the probability to survive the pieces of these widths, shape (rows, draws).

    Parameters
    ----------
    eta
        Log risks, shape (rows, draws).
    log_hazard
        Of each piece at a risk of one, shape (draws, pieces).
    widths
        Shape (pieces,).
    """
    whole = np.exp(log_hazard) @ widths
    return np.exp(-np.exp(np.minimum(eta, _LARGEST)) * whole)


def restricted_mean(eta: FloatArray, log_hazard: FloatArray, widths: FloatArray) -> FloatArray:
    """Return the mean time survived within pieces of these widths, shape (rows, draws); arguments as `surviving`.

    It is a smooth function of the log risk in each draw: with many rows it is looked up between a few values.
    """
    if len(eta) <= _FEW_ROWS:
        return _restricted_mean(eta, log_hazard, widths)
    from alldags.kernels.lookup import looked_up

    low, high = eta.min(axis=0), eta.max(axis=0)
    points = int(np.clip(np.ceil((high - low).max() / _STEP), 8, _MOST_POINTS)) + 3
    step = np.maximum((high - low) / (points - 3), 1e-9)
    known = _restricted_mean(low + step * (np.arange(points)[:, None] - 1), log_hazard, widths)
    return np.asarray(looked_up(np.ascontiguousarray(eta), low - step, step, np.ascontiguousarray(known.T)))


def _restricted_mean(eta: FloatArray, log_hazard: FloatArray, widths: FloatArray) -> FloatArray:
    risk, total = np.exp(np.minimum(eta, _LARGEST)), np.zeros_like(eta)
    alive = np.ones_like(eta)
    for hazard, width in zip(np.exp(log_hazard).T, widths, strict=True):
        if width > 0.0:
            lost = risk * (hazard * width)
            share = -np.expm1(-lost)
            total += alive * width * np.where(lost > 1e-12, share / np.maximum(lost, 1e-300), 1.0)
            alive *= 1.0 - share
    return total


def product_limit(
    start: FloatArray, stop: FloatArray, event: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return times of events and the share that survives each (Kaplan and Meier), shape (times,) each."""
    times, place = np.unique(stop[event == 1.0], return_inverse=True)
    seen = np.bincount(place, weight[event == 1.0], len(times))
    ends, starts = np.argsort(stop), np.argsort(start)
    gone = np.append(0.0, np.cumsum(weight[ends]))[np.searchsorted(stop[ends], times, side="left")]
    come = np.append(0.0, np.cumsum(weight[starts]))[np.searchsorted(start[starts], times, side="left")]
    return times, np.cumprod(1.0 - seen / (come - gone))
