"""Slow, obvious twins for the sampler: every parent set under every hyperparameter value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise


@dataclass
class Everything:
    inclusion: np.ndarray
    mean: np.ndarray
    second_moment: np.ndarray
    second_moment_between: np.ndarray
    noise_variance: float
    setting_weights: np.ndarray
    sets: dict[tuple[bool, ...], float]
    set_means: dict[tuple[bool, ...], np.ndarray]


def every_set(problem: NodeProblem) -> Everything:
    """Average over all parent sets and settings by brute force."""
    masks = [
        np.array(mask)
        for mask in product([False, True], repeat=problem.k)
        if all(present or not certain for present, certain in zip(mask, problem.certain, strict=True))
    ]
    rows = []
    for index, setting in enumerate(problem.settings):
        system = conjugate_system(replace(problem, settings=(setting,)))
        unit = 1.0 / setting.noise.precision if isinstance(setting.noise, KnownNoise) else 1.0
        rows += [(index, mask, summarize_set(system, mask, problem.certain), unit) for mask in masks]
    logs = np.array([row[2].log_weight for row in rows])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    k = problem.k
    out = Everything(
        np.zeros(k), np.zeros(k), np.zeros((k, k)), np.zeros((k, k)), 0.0, np.zeros(len(problem.settings)), {}, {}
    )
    for weight, (index, mask, summary, unit) in zip(weights, rows, strict=True):
        between = np.outer(summary.mean, summary.mean)
        out.inclusion += weight * mask
        out.mean += weight * summary.mean
        out.second_moment += weight * (summary.covariance + between)
        out.second_moment_between += weight * between
        out.noise_variance += weight * summary.noise_variance * unit
        out.setting_weights[index] += weight
        out.sets[tuple(mask)] = out.sets.get(tuple(mask), 0.0) + weight
        out.set_means[tuple(mask)] = out.set_means.get(tuple(mask), 0.0) + weight * summary.mean
    return out


def problem_of(
    x: np.ndarray,
    y: np.ndarray,
    *,
    probability: float | np.ndarray = 0.5,
    settings: tuple[Setting, ...] = (Setting(1.0, UnknownNoise()),),
    log_size: np.ndarray | None = None,
) -> NodeProblem:
    """Return the problem of regressing `y` (n,) on the columns of `x` (n, k), as they are."""
    n, k = x.shape
    return NodeProblem(
        child="y",
        terms=tuple(f"x{i}" for i in range(k)),
        gram=x.T @ x,
        cross=x.T @ y,
        total=float(y @ y),
        n=n,
        probability=np.broadcast_to(np.asarray(probability, dtype=float), (k,)).copy(),
        settings=settings,
        log_size=log_size,
    )


def swept_by_inversion(precision: np.ndarray, shift: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the swept matrix (k, k), its linear column (k,) and the quadratic form, from an explicit inverse."""
    k = mask.size
    inverse = np.linalg.inv(precision[np.ix_(mask, mask)])
    swept = np.zeros((k, k))
    swept[np.ix_(mask, mask)] = -inverse
    swept[np.ix_(mask, ~mask)] = inverse @ precision[np.ix_(mask, ~mask)]
    swept[np.ix_(~mask, mask)] = swept[np.ix_(mask, ~mask)].T
    swept[np.ix_(~mask, ~mask)] = (
        precision[np.ix_(~mask, ~mask)] - precision[np.ix_(~mask, mask)] @ inverse @ precision[np.ix_(mask, ~mask)]
    )
    linear = np.where(mask, 0.0, shift)
    linear[mask] = inverse @ shift[mask]
    linear[~mask] -= precision[np.ix_(~mask, mask)] @ linear[mask]
    return swept, linear, shift[mask] @ linear[mask]
