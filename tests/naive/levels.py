"""Every parent set of a category: its mode by a general optimiser, its evidence by importance sampling.

Coefficients are those of the levels themselves, shape (k, levels), whose rows add up to zero, in a basis that is made
by a decomposition here and not by contrasts: independent slabs of ``tau / 2`` in any orthonormal basis are the same.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize

from naive.logistic import Reference

_DEGREES = 6.0


def basis(levels):
    """Orthonormal columns that add up to zero, shape (levels, levels - 1)."""
    return np.linalg.svd(np.ones((levels, 1)))[0][:, 1:]


def log_probabilities(eta):
    """Log probabilities of log odds of levels, shape (rows, levels)."""
    top = eta.max(axis=1, keepdims=True)
    return eta - top - np.log(np.exp(eta - top).sum(axis=1, keepdims=True))


def log_joint(point, x, code, tau, levels):
    """Log-likelihood and prior at one point: coordinates of intercepts, which are flat, and of coefficients.

    Intercepts are flat in log odds of two levels each, as in a yes/no regression: orthonormal coordinates times sqrt 2.
    """
    turned = basis(levels)
    z = point.reshape(1 + x.shape[1], levels - 1)
    eta = np.column_stack([np.ones(len(code)), x]) @ z @ turned.T
    likelihood = log_probabilities(eta)[np.arange(len(code)), code].sum()
    theta = z[1:].ravel()
    prior = -0.5 * len(theta) * math.log(math.pi * tau) - theta @ theta / tau
    return likelihood + prior + 0.5 * (levels - 1) * math.log(2.0)


def one_set(x, code, tau, levels, draws, rng):
    """Log evidence, mean and second moments of the coefficients of levels, shape (k, levels)."""
    m = levels - 1
    d = m * (1 + x.shape[1])

    def height(point):
        return -log_joint(point, x, code, tau, levels)

    mode = minimize(height, np.zeros(d), method="BFGS").x
    moves = np.eye(d) * 1e-3
    second = [
        [sum(a * b * height(mode + a * moves[i] + b * moves[j]) for a in (1, -1) for b in (1, -1)) for j in range(d)]
        for i in range(d)
    ]
    lower = np.linalg.cholesky(np.linalg.inv(np.array(second) / 4e-6))
    half = rng.standard_normal((draws // 2, d))
    stretched = np.vstack([half, -half]) * np.sqrt(_DEGREES / np.tile(rng.chisquare(_DEGREES, draws // 2), 2))[:, None]
    points = mode + stretched @ lower.T
    proposal = math.lgamma((_DEGREES + d) / 2) - math.lgamma(_DEGREES / 2) - 0.5 * d * math.log(_DEGREES * math.pi)
    proposal += -np.log(np.diag(lower)).sum() - 0.5 * (_DEGREES + d) * np.log1p((stretched**2).sum(axis=1) / _DEGREES)
    log_weight = np.array([-height(point) for point in points]) - proposal
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    share = weight / weight.sum()
    theta = points[:, m:].reshape(len(points), -1, m) @ basis(levels).T
    return (
        top + math.log(weight.mean()),
        np.tensordot(share, theta, axes=1),
        np.tensordot(share, theta**2, axes=1),
    )


def enumerate_levels(x, code, probability, tau, levels, draws=2000, seed=0):
    """Average over all 2^k sets of standardised columns; mean and second moments are of shape (k, levels)."""
    rng = np.random.default_rng(seed)
    k = x.shape[1]
    found = []
    for mask in itertools.product([False, True], repeat=k):
        chosen = np.array(mask, dtype=bool)
        prior = np.log(np.where(chosen, probability, 1.0 - np.asarray(probability))).sum()
        found.append((chosen, prior, *one_set(x[:, chosen], code, tau, levels, draws, rng)))
    weight = np.array([item[1] + item[2] for item in found])
    share = np.exp(weight - weight.max())
    inclusion, mean, second = np.zeros(k), np.zeros((k, levels)), np.zeros((k, levels))
    for w, (chosen, _, _, first, square) in zip(share / share.sum(), found, strict=True):
        inclusion += w * chosen
        mean[chosen] += w * first
        second[chosen] += w * square
    return Reference(inclusion, mean, second, float(weight.max() + math.log(share.sum())))
