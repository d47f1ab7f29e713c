"""Every parent set of a grade: its mode by a general optimiser, its evidence by importance sampling."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from naive.logistic import Reference

_DEGREES = 6.0


def probabilities(eta, thresholds):
    """Probability of each level, shape (rows, levels): thresholds rise, and the first need not be 0."""
    above = expit(eta[:, None] - np.asarray(thresholds))
    return -np.diff(np.column_stack([np.ones(len(eta)), above, np.zeros(len(eta))]), axis=1)


def log_joint(point, x, code, tau, levels):
    """Log-likelihood and prior at one point: first threshold, log steps, coefficients of columns `x` (n, p).

    Flat thresholds; coefficients are normal with variance ``tau``.
    """
    steps, theta = point[1 : levels - 1], point[levels - 1 :]
    found = probabilities(x @ theta, point[0] + np.concatenate([[0.0], np.exp(steps).cumsum()]))
    likelihood = np.log(np.maximum(found[np.arange(len(code)), code], 1e-300)).sum()
    prior = -0.5 * len(theta) * math.log(2 * math.pi * tau) - 0.5 * theta @ theta / tau
    return likelihood + steps.sum() + prior


def one_set(x, code, tau, levels, draws, rng):
    """Log evidence, mean and second moments of the coefficients."""
    d = levels - 1 + x.shape[1]

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
    theta = points[:, levels - 1 :]
    return top + math.log(weight.mean()), share @ theta, share @ theta**2


def enumerate_grades(x, code, probability, tau, levels, draws=1000, seed=0):
    """Average over all 2^k sets of standardised columns."""
    rng = np.random.default_rng(seed)
    k = x.shape[1]
    found = []
    for mask in itertools.product([False, True], repeat=k):
        chosen = np.array(mask, dtype=bool)
        prior = np.log(np.where(chosen, probability, 1.0 - np.asarray(probability))).sum()
        found.append((chosen, prior, *one_set(x[:, chosen], code, tau, levels, draws, rng)))
    weight = np.array([item[1] + item[2] for item in found])
    share = np.exp(weight - weight.max())
    inclusion, mean, second = np.zeros(k), np.zeros(k), np.zeros(k)
    for w, (chosen, _, _, first, square) in zip(share / share.sum(), found, strict=True):
        inclusion += w * chosen
        mean[chosen] += w * first
        second[chosen] += w * square
    return Reference(inclusion, mean, second, float(weight.max() + math.log(share.sum())))
