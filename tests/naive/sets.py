"""Every parent set under every hyperparameter value, one singular value decomposition each.

A node's problem holds cross-products only; here they are turned back into rows. With ``X = U D V'`` the columns of a
parent set, the prior adds to direction i of the data ``r_i`` times the noise variance: ``tau d_i^2`` for an independent
slab, ``g`` for a g-prior. That gives the marginal density of y, and the posterior of the coefficients, without the
normal equations, Schur complements or Cholesky factors that the engines are made of.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from alldags.nodes import NodeProblem, Setting
from alldags.priors.noise import EquivalentNoise, KnownNoise


@dataclass
class OneSet:
    """The posterior given one parent set and one hyperparameter value; arrays are zero outside the set."""

    log_weight: float  # log of prior probability times marginal likelihood
    mean: np.ndarray  # (k,)
    covariance: np.ndarray  # (k, k)
    noise_variance: float


@dataclass
class Everything:
    """Averages over all parent sets and settings."""

    inclusion: np.ndarray
    mean: np.ndarray
    second_moment: np.ndarray
    second_moment_between: np.ndarray
    noise_variance: float
    setting_weights: np.ndarray
    sets: dict[tuple[bool, ...], float] = field(default_factory=dict)
    set_means: dict[tuple[bool, ...], np.ndarray] = field(default_factory=dict)
    log_evidence: float = 0.0


def all_sets(problem: NodeProblem) -> np.ndarray:
    """Return every parent set that contains the certain parents and splits no group, shape (2**free, k)."""
    certain, groups = problem.probability >= 1.0, groups_of(problem)
    chosen = itertools.product([False, True], repeat=len(set(groups.tolist())))
    rows = [np.array(row, dtype=bool)[groups] for row in chosen]
    return np.array([row for row in rows if row[certain].all()]).reshape(-1, problem.k)


def groups_of(problem: NodeProblem) -> np.ndarray:
    """Return the number of the group of each column, shape (k,)."""
    return np.arange(problem.k) if problem.groups is None else problem.groups


@lru_cache(maxsize=4)
def rows_of(problem: NodeProblem, ridge: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return k + 1 rows of parents (k + 1, k) and child (k + 1,) that have the problem's cross-products.

    A g-prior does not exist where parents are collinear; then, and by convention always, each parent gets a row of its
    own with 1e-10 of its sum of squares (`ridge`).
    """
    joint = np.block([[problem.gram, problem.cross[:, None]], [problem.cross[None, :], np.array([[problem.total]])]])
    scale = np.sqrt(np.where(np.diag(joint) > 0, np.diag(joint), 1.0))
    values, vectors = np.linalg.eigh(joint / np.outer(scale, scale))
    root = (np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T) * scale
    x, y = root[:, :-1], root[:, -1]
    own = np.diag(1e-5 * np.sqrt(np.diag(problem.gram)))
    return (np.vstack([x, own]), np.append(y, np.zeros(problem.k))) if ridge else (x, y)


def log_prior(problem: NodeProblem, mask: np.ndarray) -> float:
    """Log prior probability of a parent set."""
    firsts = [int(np.flatnonzero(groups_of(problem) == number)[0]) for number in np.unique(groups_of(problem))]
    free = [place for place in firsts if problem.probability[place] < 1.0]
    p, present = problem.probability[free], mask[free]
    if problem.log_size is None:
        return float(np.log(np.where(present, p, 1.0 - p)).sum())
    return float(np.log(p / (1.0 - p))[present].sum() + problem.log_size[present.sum()])


def one_set(problem: NodeProblem, setting: Setting, mask: np.ndarray) -> OneSet:
    """Return the posterior given one parent set."""
    x, y = rows_of(problem, setting.slab == "g")
    u, d, vt = np.linalg.svd(x[:, mask], full_matrices=False)
    s = setting.noise.precision if isinstance(setting.noise, KnownNoise) else 1.0
    slab = s * setting.slab_variance
    added = slab * d**2 if setting.slab == "independent" else np.full(d.size, slab / s)
    inverse = slab / (1.0 + added) if setting.slab == "independent" else added / (1.0 + added) / d**2
    along = u.T @ y
    left = float(((y - u @ along) ** 2).sum() + (along**2 / (1.0 + added)).sum())
    log_likelihood, variance = given_noise(setting, problem.n, left, int(mask.sum()))
    k = problem.k
    mean, covariance = np.zeros(k), np.zeros((k, k))
    mean[mask] = vt.T @ (inverse * d * along)
    covariance[np.ix_(mask, mask)] = variance * (vt.T * inverse) @ vt
    log_weight = setting.log_weight + log_prior(problem, mask) + log_likelihood - 0.5 * float(np.log1p(added).sum())
    return OneSet(log_weight, mean, covariance, variance)


def given_noise(setting: Setting, n: float, left: float, parents: int) -> tuple[float, float]:
    """Return log likelihood, less the determinant, and mean noise variance; `left` is the residual sum of squares."""
    noise = setting.noise
    if isinstance(noise, KnownNoise):
        return n / 2 * math.log(noise.precision / (2 * math.pi)) - noise.precision / 2 * left, 1.0 / noise.precision
    if isinstance(noise, EquivalentNoise):
        shape, rate = (noise.dof + parents) / 2, 0.5 / setting.slab_variance
    else:
        shape, rate = noise.shape, noise.rate
    value = math.lgamma(shape + n / 2) - n / 2 * math.log(2 * math.pi) - (shape + n / 2) * math.log(rate + left / 2)
    if shape > 0 and rate > 0:
        value += shape * math.log(rate) - math.lgamma(shape)
    above = shape + n / 2 - 1
    return value, (rate + left / 2) / above if above > 0 else math.inf


def every_set(problem: NodeProblem) -> Everything:
    """Average over all parent sets and settings."""
    cases = [(i, mask) for i in range(len(problem.settings)) for mask in all_sets(problem)]
    parts = [one_set(problem, problem.settings[i], mask) for i, mask in cases]
    logs = np.array([part.log_weight for part in parts])
    log_evidence = float(np.logaddexp.reduce(logs))
    k = problem.k
    zeros = np.zeros(len(problem.settings))
    out = Everything(np.zeros(k), np.zeros(k), np.zeros((k, k)), np.zeros((k, k)), 0.0, zeros)
    out.log_evidence = log_evidence
    for weight, (i, mask), part in zip(np.exp(logs - log_evidence), cases, parts, strict=True):
        between = np.outer(part.mean, part.mean)
        out.inclusion += weight * mask
        out.mean += weight * part.mean
        out.second_moment += weight * (part.covariance + between)
        out.second_moment_between += weight * between
        out.noise_variance += weight * part.noise_variance
        out.setting_weights[i] += weight
        out.sets[tuple(mask)] = out.sets.get(tuple(mask), 0.0) + weight
        out.set_means[tuple(mask)] = out.set_means.get(tuple(mask), 0.0) + weight * part.mean
    return out


def brute_force(problem: NodeProblem) -> tuple[float, np.ndarray, np.ndarray]:
    """Return log evidence, inclusion and mean over parent sets x settings."""
    found = every_set(problem)
    return found.log_evidence, found.inclusion, found.mean
