"""Every parent set of a survival time, its heights and coefficients by importance sampling; rows times pieces, in full.

The log hazards have a flat mean, and their steps are independent and normal: no eigenvectors, no sums over cells. With
two arms, each has heights of its own, and the steps of their difference are normal, too.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize

from naive.logistic import Reference

_DEGREES = 8.0


def overlap(start, stop, cuts):
    """Time of every row in every piece, shape (rows, pieces), one by one."""
    edges = [0.0, *cuts, np.inf]
    return np.array(
        [
            [max(0.0, min(b, high) - max(a, low)) for low, high in itertools.pairwise(edges)]
            for a, b in zip(start, stop, strict=True)
        ]
    )


def log_likelihood(psi, eta, start, stop, event, cuts):
    """Of heights (pieces,), or of each row's own (rows, pieces), and predictors (rows,)."""
    heights = np.broadcast_to(psi, (len(eta), len(cuts) + 1))
    pieces = np.searchsorted(cuts, stop, side="left")
    seen = event @ (heights[np.arange(len(eta)), pieces] + eta)
    return seen - (np.exp(heights + eta[:, None]) * overlap(start, stop, cuts)).sum()


def heights(theta, count, arm, spread, ratio_spread):
    """From level and standard normal steps to each row's heights, shape (rows, pieces), and their log density."""
    steps = theta[1:count] * spread / np.sqrt(count)
    walk = np.concatenate([[0.0], np.cumsum(steps)])
    psi = theta[0] + walk - walk.mean()
    if arm is None or len(theta) == count:
        return psi, -0.5 * theta[1:] @ theta[1:]
    other = np.concatenate([[0.0], np.cumsum(theta[count:] * ratio_spread / np.sqrt(count))])
    other = other - other.mean()
    return psi + (arm[:, None] - 0.5) * other, -0.5 * theta[1:] @ theta[1:]


def enumerate_survival(x, start, stop, event, cuts, probability, tau, arm=None, draws=4000, seed=0, spreads=(2.0, 2.0)):
    """Average over all sets of columns and, with arms, over hazard ratios that change and that do not."""
    rng, count, k = np.random.default_rng(seed), len(cuts) + 1, x.shape[1]
    exposure, piece = overlap(start, stop, cuts), np.searchsorted(cuts, stop, side="left")
    found = []
    for mask in itertools.product([False, True], repeat=k):
        chosen = np.array(mask, dtype=bool)
        log_prior = np.log(np.where(chosen, probability, 1.0 - np.asarray(probability))).sum()
        if not np.isfinite(log_prior):
            continue
        for size in (count,) if arm is None else (count, 2 * count - 1):
            own = log_prior - (0.0 if arm is None else np.log(2.0))

            def height(z, chosen=chosen, size=size):
                psi, prior = heights(z[:size], count, arm, *spreads)
                rows = np.broadcast_to(psi, exposure.shape)
                beta = z[size:]
                eta = x[:, chosen] @ beta
                seen = event @ (rows[np.arange(len(eta)), piece] + eta)
                lost = (np.exp(np.minimum(rows + eta[:, None], 50.0)) * exposure).sum()
                return seen - lost + prior - 0.5 * beta @ beta / tau

            evidence, mean, second = _one(height, size, int(chosen.sum()), tau, draws, rng)
            found.append((chosen, own + evidence, mean, second))
    weight = np.array([item[1] for item in found])
    share = np.exp(weight - weight.max())
    inclusion, mean, square = np.zeros(k), np.zeros(k), np.zeros(k)
    for w, (chosen, _, first, second) in zip(share / share.sum(), found, strict=True):
        inclusion[chosen] += w
        mean[chosen] += w * first
        square[chosen] += w * second
    return Reference(inclusion, mean, square, float(weight.max() + np.log(share.sum())))


def _one(height, size, used, tau, draws, rng):
    """Log evidence, and first and second moments of the coefficients, of one set."""
    dims = size + used
    best = minimize(lambda z: -height(z), np.zeros(dims), method="BFGS", options={"gtol": 1e-4})
    root = np.linalg.cholesky(_covariance(height, best.x))
    normals = rng.standard_normal((draws, dims))
    scale = np.sqrt(_DEGREES / rng.chisquare(_DEGREES, draws))
    steps = normals * scale[:, None]
    points = best.x + steps @ root.T
    proposal = -0.5 * (_DEGREES + dims) * np.log1p((steps**2).sum(axis=1) / _DEGREES) - np.log(np.diag(root)).sum()
    from scipy.special import gammaln

    proposal += gammaln((_DEGREES + dims) / 2) - gammaln(_DEGREES / 2) - 0.5 * dims * np.log(_DEGREES * np.pi)
    values = np.array([height(point) for point in points])
    normalised = -0.5 * (size - 1) * np.log(2 * np.pi) - 0.5 * used * np.log(2 * np.pi * tau)
    logs = values - proposal + normalised
    weight = np.exp(logs - logs.max())
    share = weight / weight.sum()
    beta = points[:, size:]
    return float(logs.max() + np.log(weight.mean())), share @ beta, share @ beta**2


def _covariance(height, at):
    """Inverse of minus the second derivatives, by differences."""
    dims, step = len(at), 1e-3
    eye = step * np.eye(dims)
    second = np.empty((dims, dims))
    for i in range(dims):
        for j in range(i, dims):
            four = (height(at + eye[i] + eye[j]) - height(at + eye[i] - eye[j])
                    - height(at - eye[i] + eye[j]) + height(at - eye[i] - eye[j]))  # fmt: skip
            second[i, j] = second[j, i] = four / (4 * step**2)
    return np.linalg.inv(-second)
