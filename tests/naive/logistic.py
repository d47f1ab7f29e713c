"""Every parent set of a yes/no or count node: its mode by Newton, its evidence by importance sampling around it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln

_DEGREES = 6.0


@dataclass
class Reference:
    """Posterior over all sets: inclusion (k,), mean (k,), second moments of each coefficient (k,), log evidence."""

    inclusion: np.ndarray
    mean: np.ndarray
    second: np.ndarray
    log_evidence: float

    @property
    def sd(self):
        return np.sqrt(np.maximum(self.second - self.mean**2, 0.0))


def log_likelihood(family, y, eta):
    if family == "bernoulli":
        return (y[:, None] * eta - np.logaddexp(0.0, eta)).sum(axis=0)
    return (y[:, None] * eta - np.exp(eta) - gammaln(y + 1.0)[:, None]).sum(axis=0)


def enumerate_sets(family, x, y, probability, tau, draws=400, seed=0, offset=0.0, again=0):
    """Average over all 2^k sets of standardised columns `x`; flat intercept, slab of variance `tau`.

    Without `draws` the evidence of a set is Laplace's; sets with more than 1e-5 of the weight get `again` draws.
    """
    rng = np.random.default_rng(seed)
    n, k = x.shape
    offset = np.broadcast_to(offset, (n,))
    found = []
    for mask in itertools.product([False, True], repeat=k):
        chosen = np.array(mask, dtype=bool)
        prior = np.log(np.where(chosen, probability, 1.0 - np.asarray(probability)))
        if not np.isfinite(prior).all():
            continue
        found.append((chosen, prior.sum(), *_one_set(family, x[:, chosen], y, tau, draws, rng, offset)))
    weight = np.array([prior + evidence for _, prior, evidence, _, _ in found])
    if again:
        first = np.exp(weight - weight.max())
        for place in np.flatnonzero(first > 1e-5 * first.sum()):
            chosen, prior = found[place][:2]
            found[place] = (chosen, prior, *_one_set(family, x[:, chosen], y, tau, again, rng, offset))
            weight[place] = prior + found[place][2]
    share = np.exp(weight - weight.max())
    total = share.sum()
    inclusion, mean, second = np.zeros(k), np.zeros(k), np.zeros(k)
    for w, (chosen, _, _, first, square) in zip(share / total, found, strict=True):
        inclusion += w * chosen
        mean[chosen] += w * first
        second[chosen] += w * square
    return Reference(inclusion, mean, second, float(weight.max() + math.log(total)))


def _one_set(family, x, y, tau, draws, rng, offset):
    """Return log evidence, mean and second moments of the coefficients of one set."""
    z = np.column_stack([np.ones(len(y)), x])
    d = z.shape[1]
    penalty = np.full(d, 1.0 / tau)
    penalty[0] = 0.0
    mode, precision = _mode(family, z, y, penalty, offset)
    lower = np.linalg.cholesky(np.linalg.inv(precision))
    if not draws:
        height = log_likelihood(family, y, (z @ mode + offset)[:, None])[0] - 0.5 * penalty @ mode**2
        spread = np.log(np.diag(lower)).sum() + 0.5 * d * math.log(2 * math.pi)
        prior = 0.5 * (d - 1) * math.log(2 * math.pi * tau)
        return height + spread - prior, mode[1:], mode[1:] ** 2 + (lower[1:] ** 2).sum(axis=1)
    half = rng.standard_normal((draws // 2, d))
    normals = np.vstack([half, -half])
    chi = np.tile(rng.chisquare(_DEGREES, draws // 2), 2)
    stretched = normals * np.sqrt(_DEGREES / chi)[:, None]
    points = mode + stretched @ lower.T
    target = log_likelihood(family, y, z @ points.T + offset[:, None]) - 0.5 * points**2 @ penalty
    target -= 0.5 * (d - 1) * math.log(2 * math.pi * tau)
    proposal = math.lgamma((_DEGREES + d) / 2) - math.lgamma(_DEGREES / 2) - 0.5 * d * math.log(_DEGREES * math.pi)
    proposal += -np.log(np.diag(lower)).sum() - 0.5 * (_DEGREES + d) * np.log1p((stretched**2).sum(axis=1) / _DEGREES)
    log_weight = target - proposal
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    share = weight / weight.sum()
    return top + math.log(weight.mean()), share @ points[:, 1:], share @ points[:, 1:] ** 2


def _mode(family, z, y, penalty, offset):
    def height(point):
        eta = (z @ point + offset)[:, None]
        return float(log_likelihood(family, y, eta)[0] - 0.5 * penalty @ point**2)

    point = np.zeros(z.shape[1])
    rate = y.sum() / np.exp(offset).sum()
    point[0] = math.log(rate / (1 - rate)) if family == "bernoulli" else math.log(rate)
    for _ in range(100):
        eta = z @ point + offset
        mean = expit(eta) if family == "bernoulli" else np.exp(eta)
        weight = mean * (1 - mean) if family == "bernoulli" else mean
        precision = (z * weight[:, None]).T @ z + np.diag(penalty)
        step = np.linalg.solve(precision, z.T @ (y - mean) - penalty * point)
        share = 1.0
        while height(point + share * step) < height(point) - 1e-12 and share > 1e-8:
            share /= 2
        point = point + share * step
        if np.abs(step).max() < 1e-9:
            break
    return point, precision
