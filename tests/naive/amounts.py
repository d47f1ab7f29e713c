"""Every parent set of a positive child: its mode by a general optimiser, its evidence by importance sampling."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize
from scipy.stats import gamma, lognorm

from naive.logistic import Reference

_DEGREES = 6.0


def log_density(family, y, eta, phi):
    """Log-density of each row, shape (rows, draws): `eta` (rows, draws), log precision `phi` (draws,)."""
    if family == "lognormal":
        return lognorm.logpdf(y[:, None], np.exp(-0.5 * phi), scale=np.exp(eta))
    return gamma.logpdf(y[:, None], np.exp(phi), scale=np.exp(eta - phi))


def log_joint(family, points, x, y, tau):
    """Log-likelihood and prior at points (draws, 2 + p): intercept, log precision, coefficients; columns `x` (n, p).

    Flat intercept and log precision; coefficients are normal with variance ``tau`` over the precision.
    """
    intercept, phi, theta = points[:, 0], points[:, 1], points[:, 2:]
    likelihood = log_density(family, y, intercept + x @ theta.T, phi).sum(axis=0)
    variance, count = tau * np.exp(-phi), theta.shape[1]
    return likelihood - 0.5 * count * np.log(2 * math.pi * variance) - 0.5 * (theta**2).sum(axis=1) / variance


def one_set(family, x, y, tau, draws, rng):
    """Log evidence, mean and second moments of the coefficients, and mean of one over the precision."""
    d = 2 + x.shape[1]
    start = np.zeros(d)
    start[0], start[1] = np.log(y).mean(), -math.log(np.log(y).var())

    def height(point):
        return -log_joint(family, point[None], x, y, tau)[0]

    mode = minimize(height, start, method="BFGS").x
    lower = np.linalg.cholesky(_covariance(height, mode))
    half = rng.standard_normal((draws // 2, d))
    stretched = np.vstack([half, -half]) * np.sqrt(_DEGREES / np.tile(rng.chisquare(_DEGREES, draws // 2), 2))[:, None]
    points = mode + stretched @ lower.T
    proposal = math.lgamma((_DEGREES + d) / 2) - math.lgamma(_DEGREES / 2) - 0.5 * d * math.log(_DEGREES * math.pi)
    proposal += -np.log(np.diag(lower)).sum() - 0.5 * (_DEGREES + d) * np.log1p((stretched**2).sum(axis=1) / _DEGREES)
    log_weight = log_joint(family, points, x, y, tau) - proposal
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    share = weight / weight.sum()
    theta = points[:, 2:]
    return top + math.log(weight.mean()), share @ theta, share @ theta**2, float(share @ np.exp(-points[:, 1]))


def _covariance(height, mode, step=1e-3):
    """Inverse of the second derivatives, by differences."""
    d = len(mode)
    moves = np.eye(d) * step
    second = np.array([
        [sum(a * b * height(mode + a * moves[i] + b * moves[j]) for a in (1, -1) for b in (1, -1)) for j in range(d)]
        for i in range(d)
    ])  # fmt: skip
    return np.linalg.inv(second / (4 * step**2))


def enumerate_amounts(family, x, y, probability, tau, draws=2000, seed=0):
    """Average over all 2^k sets; returns the reference and the posterior mean of one over the precision.

    The evidence has the factor sqrt(rows) that the flat intercept of a normal node has by convention.
    """
    rng = np.random.default_rng(seed)
    k = x.shape[1]
    found = []
    for mask in itertools.product([False, True], repeat=k):
        chosen = np.array(mask, dtype=bool)
        prior = np.log(np.where(chosen, probability, 1.0 - np.asarray(probability))).sum()
        found.append((chosen, prior, *one_set(family, x[:, chosen], y, tau, draws, rng)))
    weight = np.array([item[1] + item[2] for item in found])
    share = np.exp(weight - weight.max())
    inclusion, mean, second, variance = np.zeros(k), np.zeros(k), np.zeros(k), 0.0
    for w, (chosen, _, _, first, square, noise) in zip(share / share.sum(), found, strict=True):
        inclusion += w * chosen
        mean[chosen] += w * first
        second[chosen] += w * square
        variance += w * noise
    evidence = float(weight.max() + math.log(share.sum()) + 0.5 * math.log(len(y)))
    return Reference(inclusion, mean, second, evidence), variance
