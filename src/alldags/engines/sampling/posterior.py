"""The posterior of a node from sampled parent sets."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from copy import deepcopy
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.one_set import draw_given_sets, known_variance
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.sampling.diagnostics import MCMCDiagnostics, mean_errors
from alldags.engines.sampling.estimates import Estimates, unseen
from alldags.engines.sampling.evidence import Evidence, evidence
from alldags.engines.sampling.sample import Sample, reach
from alldags.kernels.sampler.chain import new_chain
from alldags.kernels.sampler.replay import replay
from alldags.kernels.sampler.target import MEAN
from alldags.nodes import NodePosterior, NodeProblem, ParentSet
from alldags.typing import BoolArray, FloatArray, IntArray

LEAST_SETS = 100  # stored parent sets that must contain (or lack) an edge to condition on it without a new run


class SetsPosterior(NodePosterior):
    """A node's posterior from Gibbs samples of its parent sets.

    `inclusion` and `mean` are averages over all sweeps; second moments have the variances of all sweeps and the
    correlations of the stored parent sets; `draw`, `probability_disjoint` and `top_parent_sets` use the stored sets.
    """

    diagnostics: MCMCDiagnostics
    estimates: Estimates

    @property
    def inclusion(self) -> FloatArray:
        return self.estimates.inclusion

    @property
    def mean(self) -> FloatArray:
        return self.estimates.mean

    @property
    def noise_variance(self) -> float:
        return self.estimates.noise_variance

    @property
    @abstractmethod
    def _evidence(self) -> Evidence: ...

    @property
    @abstractmethod
    def sets(self) -> BoolArray:
        """Stored parent sets of all chains, shape (sets, k)."""

    @property
    @abstractmethod
    def set_settings(self) -> IntArray:
        """Index of the hyperparameter value of each stored set, shape (sets,)."""

    @property
    def log_evidence(self) -> float:
        return self._evidence.value

    @property
    def log_evidence_error(self) -> float:
        """Monte-Carlo standard error of `log_evidence`."""
        return self._evidence.error

    @cached_property
    def setting_weights(self) -> FloatArray:
        """Posterior probability of each hyperparameter value, shape (settings,)."""
        count = np.bincount(self.set_settings, minlength=len(self.problem.settings))
        return np.asarray(count / count.sum())

    @property
    def set_draws(self) -> float:
        return float(len(self.sets))

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        hits = self.sets.astype(np.float32) @ masks.T.astype(np.float32)
        return np.asarray((hits == 0).mean(axis=0), dtype=float)

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        if self.problem.k == 0:
            return (ParentSet((), 1.0),)[:size]
        sets, counts = np.unique(self.sets, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:size]
        names = np.array(self.problem.terms, dtype=object)
        return tuple(ParentSet(tuple(names[sets[i]]), counts[i] / len(self.sets)) for i in order)


class SampledPosterior(SetsPosterior):
    """The same from chains that sweep all candidates alike."""

    def __init__(
        self,
        problem: NodeProblem,
        sample: Sample,
        estimates: Estimates,
        diagnostics: MCMCDiagnostics,
        refit: Callable[[NodeProblem, np.random.Generator], NodePosterior],
        rng: np.random.Generator,
    ) -> None:
        self.problem = problem
        self.diagnostics = diagnostics
        self.estimates = estimates
        self._refit = refit
        self._rng = rng
        self.sample = sample

    @cached_property
    def _evidence(self) -> Evidence:
        sample = self.sample
        rng = deepcopy(self._rng)  # the same answer whenever it is asked for
        return evidence(sample.systems, sample.target, sample.recorded, self.inclusion, rng)

    @cached_property
    def sets(self) -> BoolArray:
        """Stored parent sets of all chains, shape (sets, k)."""
        return np.concatenate(list(self.sample.recorded.sets))

    @cached_property
    def set_settings(self) -> IntArray:
        """Index of the hyperparameter value of each stored set, shape (sets,)."""
        return self.sample.recorded.settings.reshape(-1)

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self._replayed(np.full(len(self.sets), 1.0 / len(self.sets)))

    def _replayed(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean, second moment and between-set second moment over the stored sets with these weights."""
        k = self.problem.k
        out = np.zeros(k), np.zeros((k, k)), np.zeros((k, k))
        replay(self.sample.systems, new_chain(k), self.sets, self.set_settings, weights, *out)
        return out

    @cached_property
    def second_moment(self) -> FloatArray:
        mean, second, _ = self._moments
        return _second_moment(second - np.outer(mean, mean), self.estimates.variance, self.mean)

    @cached_property
    def second_moment_between(self) -> FloatArray:
        mean, _, between = self._moments
        return _second_moment(between - np.outer(mean, mean), self.estimates.variance_between, self.mean)

    def second_moments(self, places: list[int]) -> FloatArray:
        alone = self._alone(places, self.estimates.variance)
        return super().second_moments(places) if alone is None else alone

    def second_moments_between(self, places: list[int]) -> FloatArray | None:
        alone = self._alone(places, self.estimates.variance_between)
        return super().second_moments_between(places) if alone is None else alone

    def _alone(self, places: list[int], variance: FloatArray) -> FloatArray | None:
        """Return the second moment of a single coefficient, which needs no correlations and so no stored sets."""
        if len(places) != 1 or not np.isfinite(variance).all():
            return None
        return np.asarray(variance[places] + self.mean[places] ** 2).reshape(1, 1)

    def mean_given(self, parent: int, present: bool) -> FloatArray:
        """Return the mean given one edge present or absent, from the stored sets or, if too few, from a new run."""
        chosen = self.sets[:, parent] == present
        if chosen.sum() < LEAST_SETS:
            return self._forced(parent, present)
        return self._replayed(chosen / chosen.sum())[0]

    def _forced(self, parent: int, present: bool) -> FloatArray:
        rng = deepcopy(self._rng)  # the same answer however often and in whatever order it is asked for
        if present:
            return self._refit(self.problem.with_certain(parent), rng).mean
        mean = np.zeros(self.problem.k)
        mean[~self.problem.group_of(parent)] = self._refit(self.problem.without([parent]), rng).mean
        return mean

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        chosen = np.sort(rng.integers(len(self.sets), size=size))  # equal sets side by side share a factorisation
        coefficients = np.zeros((size, self.problem.k))
        variances = np.zeros(size)
        for index, setting in enumerate(self.problem.settings):
            rows = np.flatnonzero(self.set_settings[chosen] == index)
            if rows.size:
                part = self.problem.with_setting(setting)
                drawn = draw_given_sets(conjugate_system(part), self.sets[chosen[rows]], rng)
                coefficients[rows], variances[rows] = drawn[0], drawn[1] * known_variance(part)
        order = rng.permutation(size)
        return coefficients[order], variances[order]

    def linear_error(self, weights: FloatArray) -> float:
        weights = np.asarray(weights, dtype=float)
        combined = self.sample.recorded.trace[:, :, MEAN] @ weights
        error = float(mean_errors(combined[:, :, None])[0])
        rare = unseen(weights * reach(self.sample.systems), self.sample.recorded)
        return math.hypot(error, float(np.sqrt((rare**2).sum())))


def _second_moment(covariance: FloatArray, variance: FloatArray, mean: FloatArray) -> FloatArray:
    """Return ``correlation * sqrt(variances) + mean mean'``: correlations from `covariance`, the rest as given."""
    if not np.isfinite(variance).all():
        return np.where(np.isfinite(variance)[:, None] & np.isfinite(variance)[None, :], np.outer(mean, mean), np.inf)
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    ratio = np.divide(np.sqrt(variance), sd, out=np.zeros_like(sd), where=sd > 0)
    scaled = covariance * np.outer(ratio, ratio)
    scaled[np.diag_indices(mean.size)] = variance
    return np.asarray(scaled + np.outer(mean, mean))
