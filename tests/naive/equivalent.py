"""Slow twin of the score-equivalent noise prior: one inverse-Wishart prior of the covariance matrix of all variables.

The marginal likelihood of any columns is a ratio of multivariate gamma functions and determinants (Kuipers, Moffa and
Heckerman 2014); a node's is that of child and parents over that of the parents. Nothing here comes from the package.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import multigammaln


def log_columns(scatter: np.ndarray, n: float, columns: list[int], dof: float, t: float) -> float:
    """Log density of some columns with these cross-products; the prior scale matrix is ``t`` times the identity."""
    size = len(columns)
    if size == 0:
        return 0.0
    prior = 0.5 * (dof + size - 1)
    block = scatter[np.ix_(columns, columns)] + t * np.eye(size)
    value = multigammaln(prior + 0.5 * n, size) - multigammaln(prior, size) - 0.5 * size * n * math.log(math.pi)
    return value + prior * size * math.log(t) - (prior + 0.5 * n) * np.linalg.slogdet(block)[1]


def log_node(scatter: np.ndarray, n: float, child: int, parents: list[int], dof: float, t: float) -> float:
    """Log evidence of one child given its parents."""
    return log_columns(scatter, n, [*parents, child], dof, t) - log_columns(scatter, n, parents, dof, t)


@dataclass
class Averages:
    """Averages over all parent sets."""

    log_evidence: float
    inclusion: np.ndarray
    mean: np.ndarray
    second: np.ndarray
    between: np.ndarray
    noise: float


def brute_force(scatter: np.ndarray, n: float, probability: np.ndarray, dof: float, t: float) -> Averages:
    """Average over all parent sets of the last column; the others are its candidates."""
    k = len(probability)
    rows = []
    for bits in itertools.product([False, True], repeat=k):
        mask = np.array(bits)
        prior = np.where(mask, probability, 1.0 - probability).prod()
        if prior > 0:
            rows.append((mask, math.log(prior) + log_node(scatter, n, k, list(np.flatnonzero(mask)), dof, t)))
    logs = np.array([value for _, value in rows])
    weights = np.exp(logs - logs.max())
    total = logs.max() + math.log(weights.sum())
    out = Averages(total, np.zeros(k), np.zeros(k), np.zeros((k, k)), np.zeros((k, k)), 0.0)
    for (mask, _), w in zip(rows, weights / weights.sum(), strict=True):
        mean, covariance, noise = given(scatter, n, mask, dof, t)
        out.inclusion += w * mask
        out.mean += w * mean
        out.between += w * np.outer(mean, mean)
        out.second += w * (np.outer(mean, mean) + covariance)
        out.noise += w * noise
    return out


def given(
    scatter: np.ndarray, n: float, mask: np.ndarray, dof: float, t: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and covariance of the coefficients and mean noise variance given a parent set."""
    k = len(mask)
    mean, covariance = np.zeros(k), np.zeros((k, k))
    inverse = np.linalg.inv(scatter[:k, :k][np.ix_(mask, mask)] + t * np.eye(mask.sum()))
    mean[mask] = inverse @ scatter[:k, k][mask]
    left = t + scatter[k, k] - scatter[:k, k] @ mean
    variance = left / (dof + mask.sum() + n - 2)
    covariance[np.ix_(mask, mask)] = variance * inverse
    return mean, covariance, variance
