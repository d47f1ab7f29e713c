"""Pairs with correlated errors, slowly: dense covariance matrices of stacked rows, and integrals on grids."""

from __future__ import annotations

import itertools
import math

import numpy as np


def slab_of(problem, point):
    """Return the prior variance of each coefficient in units of the first noise variance."""
    units = [1.0 if kind == 0 else point[1] ** 2 for kind in problem.kinds]
    return np.array([point[2 + kind] * unit for kind, unit in zip(problem.kinds, units, strict=True)])


def stacked_rows(problem, rows, point, alone=None):
    """Return response (2n,) and columns (2n, K) of the stacked regression; `rows` are scaled and flat ones are out.

    `alone` are rows that explain x alone, and rows that explain y alone.
    """
    t, lam = point[:2]
    only_x, only_y = (np.zeros((0, rows.shape[1])),) * 2 if alone is None else alone
    x, y, wide = rows[:, 0], rows[:, 1], lam * math.sqrt(1 + t**2)
    none, zeros = np.zeros(len(only_y)), np.zeros(len(x) + len(only_x))
    response = np.concatenate([x, only_x[:, 0], y / lam - t * x, only_y[:, 1] / wide])
    first = [np.concatenate([rows[:, j], only_x[:, j], -t * rows[:, j], none]) for j in problem.first]
    second = [np.concatenate([zeros, rows[:, j] / lam, only_y[:, j] / wide]) for j in problem.second]
    return response, np.column_stack([*first, *second])


def log_set_prior(problem, present):
    """Return the log prior of a set of doubtful terms; shares of counted ones are integrated on a grid."""
    out = 0.0
    for here, p, counted in zip(present, problem.doubtful, problem.counted, strict=True):
        out += 0.0 if counted else math.log(p if here else 1.0 - p)
    inside = [here for here, counted in zip(present, problem.counted, strict=True) if counted]
    if inside:
        share = (np.arange(20_000) + 0.5) / 20_000
        out += math.log(np.mean(share ** sum(inside) * (1 - share) ** (len(inside) - sum(inside))))
    return out


def sets_of(problem):
    """Yield all sets of doubtful terms in the order of the kernel."""
    return itertools.product([False, True], repeat=problem.m)


def log_weight(problem, rows, point, present, alone=None):
    """Return the log weight of one set at one point, from a dense covariance matrix."""
    response, columns = stacked_rows(problem, rows, point, alone)
    here = np.r_[np.ones(problem.certain, dtype=bool), np.array(present, dtype=bool)]
    spread = np.eye(len(response)) + (columns[:, here] * slab_of(problem, point)[here]) @ columns[:, here].T
    left = response @ np.linalg.solve(spread, response)
    pair, only_x, only_y = problem.counts
    evidence = -0.5 * np.linalg.slogdet(spread)[1] - (pair + 0.5 * (only_x + only_y)) * math.log(left)
    scales = pair * math.log(point[1]) + only_y * math.log(point[1] * math.sqrt(1 + point[0] ** 2))
    return evidence - scales + log_set_prior(problem, present)


def mean_of(problem, rows, point, present, alone=None):
    """Return the mean coefficients of one set at one point."""
    response, columns = stacked_rows(problem, rows, point, alone)
    here = np.r_[np.ones(problem.certain, dtype=bool), np.array(present, dtype=bool)]
    slab = slab_of(problem, point)[here]
    spread = np.eye(len(response)) + (columns[:, here] * slab) @ columns[:, here].T
    out = np.zeros(problem.size)
    out[here] = slab * (columns[:, here].T @ np.linalg.solve(spread, response))
    return out


def integrated(problem, point, noises, width=9.0, steps=181):
    """Return the log evidence of one instrument and one effect, residual by residual, on a grid of all parameters.

    `point` is as for the kernel; there is one term in each regression. Constants are those of densities.
    """
    s, n = problem.scatter, problem.n
    t, lam = point[:2]
    slab = slab_of(problem, point)
    gram = np.array([[(1 + t * t) * s[2, 2], -t / lam * s[2, 0]], [-t / lam * s[2, 0], s[0, 0] / lam**2]])
    cross = np.array([(1 + t * t) * s[2, 0] - t / lam * s[2, 1], s[0, 1] / lam**2 - t / lam * s[0, 0]])
    inside = np.linalg.inv(gram + np.diag(1.0 / slab))  # where to look, not what is found there
    center, root = inside @ cross, np.linalg.cholesky(inside)
    grid = np.linspace(-width, width, steps)
    total = []
    for log_noise in noises:
        sx = math.exp(log_noise)
        se = lam * sx
        pi = center[0] + sx * root[0, 0] * grid[:, None] + 0 * grid[None, :]
        theta = center[1] + sx * (root[1, 0] * grid[:, None] + root[1, 1] * grid[None, :])
        gamma = t * lam
        first = s[0, 0] - 2 * pi * s[2, 0] + pi**2 * s[2, 2]
        a, b = -(theta + gamma), gamma * pi  # what is left of y: y + a x + b z
        second = s[1, 1] + a**2 * s[0, 0] + b**2 * s[2, 2] + 2 * (a * s[0, 1] + b * s[1, 2] + a * b * s[0, 2])
        logs = -n * math.log(2 * math.pi * sx * se) - first / (2 * sx**2) - second / (2 * se**2)
        for value, variance in ((pi, slab[0] * sx**2), (theta, slab[1] * sx**2)):
            logs = logs - 0.5 * np.log(2 * math.pi * variance) - value**2 / (2 * variance)
        cell = (grid[1] - grid[0]) ** 2 * sx**2 * root[0, 0] * root[1, 1]
        total.append(math.log(np.exp(logs - logs.max()).sum()) + logs.max() + math.log(cell))
    total = np.array(total)
    return total.max() + math.log(np.exp(total - total.max()).sum() * (noises[1] - noises[0]))
