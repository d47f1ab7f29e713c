"""One parent set at a time: closed forms of the conjugate model, and draws given parent sets.

Used by every engine that has a notion of a parent set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.noise import log_term, mean_variance, shape_of
from alldags.engines.conjugate.system import ConjugateSystem, conjugate_system
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem, ParentSet
from alldags.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SetSummary:
    """The posterior given one parent set.

    Parameters
    ----------
    log_weight
        Log of prior probability times marginal likelihood of the set.
    mean
        Shape (k,), zero outside the set.
    covariance
        Shape (k, k), zero outside the set; infinite inside if it does not exist.
    noise_variance
        Posterior mean; infinite if it does not exist.
    """

    log_weight: float
    mean: FloatArray
    covariance: FloatArray
    noise_variance: float


def summarize_set(system: ConjugateSystem, mask: BoolArray, certain: BoolArray) -> SetSummary:
    """Return the closed-form posterior given the parent set `mask`, shape (k,)."""
    from scipy.linalg import cho_factor, cho_solve

    k = mask.size
    mean, inverse = np.zeros(k), np.zeros((k, k))
    half_log_determinant = 0.0
    if mask.any():
        factor = cho_factor(system.precision[np.ix_(mask, mask)], lower=True)
        mean[mask] = cho_solve(factor, system.shift[mask])
        inverse[np.ix_(mask, mask)] = cho_solve(factor, np.eye(int(mask.sum())))
        half_log_determinant = float(np.log(np.diag(factor[0])).sum())
    q = float(system.shift @ mean)
    log_weight = system.log_constant + float(system.log_factor[mask].sum())
    size = int((mask & ~certain).sum())
    log_weight += system.log_sizes(mask) + log_term(system.noise, q, size)
    if system.has_determinant:
        log_weight -= half_log_determinant
    variance = mean_variance(system.noise, q, size)
    covariance = np.multiply(variance, inverse, out=np.zeros((k, k)), where=inverse != 0.0)  # it may be infinite
    return SetSummary(log_weight, mean, covariance, variance)


def draw_given_sets(
    system: ConjugateSystem,
    masks: BoolArray,
    rng: np.random.Generator,
    rows: IntArray | None = None,
    out: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Draw coefficients (size, k) and noise variances (size,) given one parent set per row of `masks`.

    Equal sets should be neighbours: they share one factorisation. Draws come in the order of `masks`, unless `rows`
    says which row of the result each goes to. `out` is where to write them; its coefficients must be zero before. With
    known noise the returned variance is 1; the caller knows the precision.
    """
    from alldags.kernels.draws import draw_coefficients

    size, k = masks.shape
    rows = np.arange(size) if rows is None else rows
    normals = rng.standard_normal(int(masks.sum()))
    gammas = np.ones(0) if system.noise.known else rng.standard_gamma(shape_of(system.noise, system.size(masks)))
    coefficients, variance = (np.zeros((size, k)), np.empty(size)) if out is None else out
    draw_coefficients(
        system.precision, system.shift, system.noise, masks, normals, gammas, rows,
        np.empty(k, dtype=np.int64), np.empty((k + 2, k + 1)), coefficients, variance,
    )  # fmt: skip
    return coefficients, variance


def known_variance(problem: NodeProblem) -> float:
    """Return the noise variance of a problem with known noise, 1 otherwise (a factor for the functions above)."""
    (setting,) = problem.settings
    return setting.noise.unit


class SingleSetPosterior(NodePosterior):
    """The posterior of a node whose parents are taken as known: all candidates, or a selected set."""

    def __init__(self, problem: NodeProblem, mask: BoolArray, diagnostics: Diagnostics) -> None:
        self.problem = problem
        self.mask = mask
        self.diagnostics = diagnostics

    @cached_property
    def _system(self) -> ConjugateSystem:
        return conjugate_system(self.problem)

    @cached_property
    def _summary(self) -> SetSummary:
        return summarize_set(self._system, self.mask, self.problem.certain)

    @property
    def mean(self) -> FloatArray:
        return self._summary.mean

    @property
    def inclusion(self) -> FloatArray:
        return self.mask.astype(float)

    @property
    def second_moment(self) -> FloatArray:
        return self._summary.covariance + self.second_moment_between

    @property
    def second_moment_between(self) -> FloatArray:
        return np.outer(self.mean, self.mean)

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood given the one parent set, without its prior probability."""
        problem = self.problem
        prior = float(problem.log_odds[self.mask & problem.heads].sum())
        if problem.log_size is None:
            prior += float(np.log1p(-problem.probability[problem.uncertain]).sum())
        else:
            prior += float(problem.log_size[(self.mask & problem.uncertain).sum()])
        return self._summary.log_weight - prior

    @property
    def noise_variance(self) -> float:
        return self._summary.noise_variance * known_variance(self.problem)

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        return (~(masks & self.mask).any(axis=1)).astype(float)

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        names = tuple(name for name, present in zip(self.problem.terms, self.mask, strict=True) if present)
        return (ParentSet(names, 1.0),)[:size]

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        masks = np.broadcast_to(self.mask, (size, self.problem.k)).copy()
        coefficients, variance = draw_given_sets(self._system, masks, rng)
        return coefficients, variance * known_variance(self.problem)
