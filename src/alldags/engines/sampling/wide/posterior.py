"""The posterior of a wide node: nothing in it is k x k unless that is asked for."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np

from alldags.engines.conjugate.one_set import draw_given_sets, known_variance
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.sampling.diagnostics import MCMCDiagnostics, mean_errors
from alldags.engines.sampling.estimates import Estimates, unseen
from alldags.engines.sampling.evidence import Evidence
from alldags.engines.sampling.posterior import LEAST_SETS, SetsPosterior, _second_moment
from alldags.engines.sampling.sample import Wishes
from alldags.engines.sampling.wide.evidence import wide_evidence
from alldags.engines.sampling.wide.given_sets import SetMoments, met, narrowed, set_moments
from alldags.engines.sampling.wide.sample import WideSample, rarely, sharpened
from alldags.errors import EngineError
from alldags.kernels.sampler.target import MEAN
from alldags.memory import check_memory
from alldags.nodes import NodePosterior, NodeProblem
from alldags.typing import BoolArray, FloatArray, IntArray

ABSENT = 1e-300  # prior probability of an edge that is taken to be absent


class Sampler(Wishes, Protocol):
    """The engine that sampled a node, which may have to sample it again with an edge forced in or out."""

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node."""


class WidePosterior(SetsPosterior):
    """A node's posterior from chains that sweep a few hot candidates often and all others rarely."""

    diagnostics: MCMCDiagnostics

    def __init__(
        self,
        problem: NodeProblem,
        sample: WideSample,
        estimates: Estimates,
        diagnostics: MCMCDiagnostics,
        engine: Sampler,
        rng: np.random.Generator,
    ) -> None:
        self.problem = problem
        self.sample = sample
        self.estimates = estimates
        self.diagnostics = diagnostics
        self._engine = engine
        self._rng = rng

    @cached_property
    def settled_inclusion(self) -> FloatArray:
        return sharpened(self._engine, self.sample)[1].inclusion

    @cached_property
    def sets(self) -> BoolArray:
        """Stored parent sets of all chains, shape (sets, k)."""
        return np.concatenate(list(self.sample.recorded.sets))

    @cached_property
    def set_settings(self) -> IntArray:
        """Index of the hyperparameter value of each stored set, shape (sets,)."""
        return self.sample.recorded.settings.reshape(-1)

    @cached_property
    def _evidence(self) -> Evidence:
        return wide_evidence(self.sample, deepcopy(self._rng))  # the same answer whenever it is asked for

    @cached_property
    def _moments(self) -> SetMoments:
        return self._moments_with(np.full(len(self.sets), 1.0 / len(self.sets)))

    def _moments_with(self, weights: FloatArray) -> SetMoments:
        return set_moments(self.sample.wide, self.sets, self.set_settings, weights)

    @property
    def squares(self) -> FloatArray:
        return self.estimates.variance + self.mean**2

    @property
    def second_moment(self) -> FloatArray:
        return self.second_moments(self._everything())

    @property
    def second_moment_between(self) -> FloatArray:
        return self.second_moments_between(self._everything())

    def _everything(self) -> list[int]:
        k = self.problem.k
        check_memory(3.0 * k * k, f"second moments of all {k} coefficients", "ask for single ones", EngineError)
        return list(range(k))

    def second_moments(self, places: list[int]) -> FloatArray:
        return self._second(places, self.estimates.variance, "second")

    def second_moments_between(self, places: list[int]) -> FloatArray:
        return self._second(places, self.estimates.variance_between, "between")

    def _second(self, places: list[int], variance: FloatArray, of: str) -> FloatArray:
        """Return a second moment: correlations from the stored sets, all else from all sweeps."""
        at, found = np.asarray(places, dtype=int), self._moments
        mean = found.spread(self.problem.k)[at]
        return _second_moment(found.at(at, getattr(found, of)) - np.outer(mean, mean), variance[at], self.mean[at])

    def mean_given(self, parent: int, present: bool) -> FloatArray:
        """Return the mean given one edge present or absent, from the stored sets or, if too few, from a new run."""
        chosen = self.sets[:, parent] == present
        if chosen.sum() < LEAST_SETS:
            return self._forced(parent, present)
        return self._moments_with(chosen / chosen.sum()).spread(self.problem.k)

    def _forced(self, parent: int, present: bool) -> FloatArray:
        rng = deepcopy(self._rng)  # the same answer however often and in whatever order it is asked for
        if present:
            return self._engine(self.problem.with_certain(parent), rng).mean
        probability = np.where(np.arange(self.problem.k) == parent, ABSENT, self.problem.probability)
        return self._engine(replace(self.problem, probability=probability), rng).mean

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        chosen = np.sort(rng.integers(len(self.sets), size=size))
        columns = met(self.sample.wide, self.sets)
        narrow, sets = narrowed(self.sample.wide, columns), self.sets[:, columns]
        coefficients, variances = np.zeros((size, self.problem.k)), np.zeros(size)
        for index, setting in enumerate(self.problem.settings):
            rows = np.flatnonzero(self.set_settings[chosen] == index)
            if rows.size:
                part = narrow.with_setting(setting)
                drawn = draw_given_sets(conjugate_system(part), np.ascontiguousarray(sets[chosen[rows]]), rng)
                coefficients[np.ix_(rows, columns)], variances[rows] = drawn[0], drawn[1] * known_variance(part)
        order = rng.permutation(size)
        return coefficients[order], variances[order]

    def linear_error(self, weights: FloatArray) -> float:
        weights, sample = np.asarray(weights, dtype=float), self.sample
        combined = sample.recorded.trace[:, :, MEAN] @ weights
        error = float(mean_errors(combined[:, :, None])[0])
        rare = unseen(weights * sample.wide.reach * rarely(sample), sample.recorded)
        return math.hypot(error, float(np.sqrt((rare**2).sum())))
