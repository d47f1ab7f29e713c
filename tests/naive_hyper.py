"""Every parent set times every hyperparameter value, one at a time, for learned hyperparameters."""

from __future__ import annotations

import itertools
import math

import numpy as np

from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.nodes import NodeProblem


def all_sets(problem: NodeProblem) -> np.ndarray:
    """Return every parent set that contains the certain parents, shape (2**free, k)."""
    rows = itertools.product([False, True], repeat=problem.k)
    return np.array([row for row in rows if np.array(row)[problem.certain].all()]).reshape(-1, problem.k)


def brute_force(problem: NodeProblem) -> tuple[float, np.ndarray, np.ndarray]:
    """Return log evidence, inclusion and mean over parent sets x settings."""
    log_weights, masks, means = [], [], []
    for setting in problem.settings:
        single = problem.with_setting(setting)
        system = conjugate_system(single)
        for mask in all_sets(problem):
            summary = summarize_set(system, mask, problem.certain)
            log_weights.append(setting.log_weight + summary.log_weight)
            masks.append(mask)
            means.append(summary.mean)
    log_weight = np.array(log_weights)
    log_evidence = float(np.logaddexp.reduce(log_weight))
    share = np.exp(log_weight - log_evidence)
    return log_evidence, share @ np.array(masks), share @ np.array(means)


def log_likelihood(x: np.ndarray, y: np.ndarray, mask: np.ndarray, s: float, tau: float) -> float:
    """Marginal likelihood of the rows themselves: ``y ~ N(0, I/s + tau X X')``."""
    covariance = np.eye(len(y)) / s + tau * x[:, mask] @ x[:, mask].T
    log_determinant = np.linalg.slogdet(2 * math.pi * covariance)[1]
    return float(-0.5 * (log_determinant + y @ np.linalg.solve(covariance, y)))


def log_gamma_density(u: float, shape: float, rate: float) -> float:
    """Log density of ``u = log s``, ``s ~ Gamma(shape, rate)``."""
    return shape * math.log(rate) - math.lgamma(shape) + shape * u - rate * math.exp(u)
