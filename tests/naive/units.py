"""Every set of causes, where a cause may be a category: all its columns or none.

The columns of a category are here the left singular vectors of its centred 0/1 columns: another rotation than the
package's, which has to make no difference.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from alldags.nodes import NodeProblem
from naive.sets import one_set


@dataclass
class AllCauses:
    """Averages over all sets of causes; means and moments of those that are no categories, zero elsewhere."""

    sets: dict[tuple[bool, ...], float]
    inclusion: np.ndarray
    mean: np.ndarray
    second_moment: np.ndarray
    second_moment_between: np.ndarray
    noise_variance: float
    log_evidence: float
    set_means: dict[tuple[bool, ...], np.ndarray]

    def mean_given(self, cause: int, present: bool) -> np.ndarray:
        chosen = [mask for mask in self.sets if mask[cause] == present]
        return sum(self.set_means[mask] for mask in chosen) / sum(self.sets[mask] for mask in chosen)


def columns_of(cause: np.ndarray) -> np.ndarray:
    """Return standardised columns (n, r): of numbers, or of the levels of a category."""
    if cause.dtype.kind == "f":
        return ((cause - cause.mean()) / cause.std(ddof=1))[:, None]
    levels = np.unique(cause)
    dummies = np.array([cause == level for level in levels[1:]], dtype=float).T
    u, *_ = np.linalg.svd(dummies - dummies.mean(axis=0), full_matrices=False)
    return u * np.sqrt(len(cause) - 1)


def _all_certain(table: np.ndarray, child: np.ndarray, settings) -> NodeProblem:
    """Return the problem in which every column is present."""
    return NodeProblem(
        child="y",
        terms=tuple(f"x{i}" for i in range(table.shape[1])),
        gram=table.T @ table,
        cross=table.T @ child,
        total=float(child @ child),
        n=float(len(child) - 1),
        probability=np.ones(table.shape[1]),
        settings=tuple(settings),
    )


def every_set_of_causes(causes: list[np.ndarray], child: np.ndarray, settings, log_prior) -> AllCauses:
    """Average over all sets of causes; `log_prior` is a function of the set, a tuple of truth values."""
    pieces = [columns_of(cause) for cause in causes]
    owner = np.repeat(np.arange(len(causes)), [piece.shape[1] for piece in pieces])
    plain = [int(np.flatnonzero(owner == i)[0]) for i, cause in enumerate(causes) if cause.dtype.kind == "f"]
    places = [i for i, cause in enumerate(causes) if cause.dtype.kind == "f"]
    table = np.hstack(pieces)
    problem = _all_certain(table, columns_of(child)[:, 0], settings)
    found = []
    for mask in itertools.product([False, True], repeat=len(causes)):
        if np.isfinite(log_prior(mask)):
            for setting in settings:
                part = one_set(problem, setting, np.array(mask)[owner])
                found.append((mask, part.log_weight + log_prior(mask), part))
    evidence = float(np.logaddexp.reduce([log for _, log, _ in found]))
    k = len(causes)
    out = AllCauses({}, np.zeros(k), np.zeros(k), np.zeros((k, k)), np.zeros((k, k)), 0.0, evidence, {})
    for mask, log, part in found:
        weight = float(np.exp(log - evidence))
        mean, covariance = np.zeros(k), np.zeros((k, k))
        mean[places], covariance[np.ix_(places, places)] = part.mean[plain], part.covariance[np.ix_(plain, plain)]
        out.sets[mask] = out.sets.get(mask, 0.0) + weight
        out.set_means[mask] = out.set_means.get(mask, 0.0) + weight * mean
        out.inclusion += weight * np.array(mask)
        out.mean += weight * mean
        out.second_moment += weight * (covariance + np.outer(mean, mean))
        out.second_moment_between += weight * np.outer(mean, mean)
        out.noise_variance += weight * part.noise_variance
    return out
