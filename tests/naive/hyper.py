"""Densities of rows and of a noise precision, for integrals over hyperparameters."""

from __future__ import annotations

import math

import numpy as np


def log_likelihood(x: np.ndarray, y: np.ndarray, mask: np.ndarray, s: float, tau: float) -> float:
    """Marginal likelihood of the rows themselves: ``y ~ N(0, I/s + tau X X')``."""
    covariance = np.eye(len(y)) / s + tau * x[:, mask] @ x[:, mask].T
    log_determinant = np.linalg.slogdet(2 * math.pi * covariance)[1]
    return float(-0.5 * (log_determinant + y @ np.linalg.solve(covariance, y)))


def log_gamma_density(u: float, shape: float, rate: float) -> float:
    """Log density of ``u = log s``, ``s ~ Gamma(shape, rate)``."""
    return shape * math.log(rate) - math.lgamma(shape) + shape * u - rate * math.exp(u)
