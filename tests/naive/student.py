"""Every parent set of a node with heavy tails: its mode by a general optimiser, its evidence by importance sampling."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t as student_t

from naive.logistic import Reference

_DEGREES = 6.0


def log_joint(points, x, y, df, tau):
    """Log-likelihood and prior at points (draws, 2 + p): intercept, log precision, coefficients; columns `x` (n, p).

    Flat intercept and log precision; coefficients are normal with variance ``tau`` over the precision.
    """
    intercept, phi, theta = points[:, 0], points[:, 1], points[:, 2:]
    scale = np.exp(-0.5 * phi)
    left = y[:, None] - (intercept + x @ theta.T)
    likelihood = student_t.logpdf(left, df, scale=scale).sum(axis=0)
    count = theta.shape[1]
    prior = -0.5 * count * np.log(2 * math.pi * tau * scale**2) - 0.5 * (theta**2).sum(axis=1) / (tau * scale**2)
    return likelihood + prior


def one_set(x, y, df, tau, draws, rng):
    """Log evidence, mean and second moments of the coefficients, and mean of one over the precision."""
    d = 2 + x.shape[1]
    start = np.zeros(d)
    start[0], start[1] = np.median(y), -2 * math.log(np.median(np.abs(y - np.median(y))) + 1e-9)
    found = minimize(lambda z: -log_joint(z[None], x, y, df, tau)[0], start, method="BFGS")
    mode, covariance = found.x, _covariance(found.x, x, y, df, tau)
    lower = np.linalg.cholesky(covariance)
    half = rng.standard_normal((draws // 2, d))
    stretched = np.vstack([half, -half]) * np.sqrt(_DEGREES / np.tile(rng.chisquare(_DEGREES, draws // 2), 2))[:, None]
    points = mode + stretched @ lower.T
    proposal = math.lgamma((_DEGREES + d) / 2) - math.lgamma(_DEGREES / 2) - 0.5 * d * math.log(_DEGREES * math.pi)
    proposal += -np.log(np.diag(lower)).sum() - 0.5 * (_DEGREES + d) * np.log1p((stretched**2).sum(axis=1) / _DEGREES)
    log_weight = log_joint(points, x, y, df, tau) - proposal
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    share = weight / weight.sum()
    theta = points[:, 2:]
    return top + math.log(weight.mean()), share @ theta, share @ theta**2, float(share @ np.exp(-points[:, 1]))


def _covariance(mode, x, y, df, tau, step=1e-3):
    """Inverse of minus the second derivatives, by differences."""
    d = len(mode)
    moves = np.eye(d) * step
    pairs = [(i, j) for i in range(d) for j in range(d)]
    corners = [mode + a * moves[i] + b * moves[j] for i, j in pairs for a in (1, -1) for b in (1, -1)]
    value = log_joint(np.array(corners), x, y, df, tau).reshape(d, d, 2, 2)
    second = (value[..., 0, 0] - value[..., 0, 1] - value[..., 1, 0] + value[..., 1, 1]) / (4 * step**2)
    return np.linalg.inv(-second)


def enumerate_student(x, y, probability, tau, df, draws=2000, seed=0):
    """Average over all 2^k sets; returns the reference and the posterior mean of one over the precision.

    The evidence has the factor sqrt(rows) that the flat intercept of a normal node has by convention.
    """
    rng = np.random.default_rng(seed)
    k = x.shape[1]
    found = []
    for mask in itertools.product([False, True], repeat=k):
        chosen = np.array(mask, dtype=bool)
        prior = np.log(np.where(chosen, probability, 1.0 - np.asarray(probability))).sum()
        found.append((chosen, prior, *one_set(x[:, chosen], y, df, tau, draws, rng)))
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
