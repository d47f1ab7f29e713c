"""A node that is much like one that was sampled: its sets are weighed anew, and no chain is run.

Completed tables differ in the cells that were missing; derived columns are the same. The sets that chains have stored
for the first table, each with its setting, are draws from its posterior ``w / Z``; under another table's weights ``v``
they count ``v / w``, whose mean is the ratio of the evidences. Where few of them count, chains run as ever.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.engines.sampling.estimates import Estimates
from alldags.engines.sampling.evidence import Evidence
from alldags.engines.sampling.posterior import SampledPosterior
from alldags.engines.sampling.run import stack_systems
from alldags.kernels.sampler.chain import Systems, new_chain
from alldags.kernels.sampler.replay import replay
from alldags.kernels.sampler.sets import set_log_weights
from alldags.nodes import NodeProblem
from alldags.typing import BoolArray, FloatArray, IntArray

_LEAST = 0.1  # share of the stored sets that must count
_LEAST_SETS = 50.0


@dataclass(frozen=True, eq=False)
class Weighed:
    """Stored sets of another problem under this one.

    Parameters
    ----------
    sets, settings
        Shape (D, k) and (D,).
    weights
        Add up to one, shape (D,).
    log_ratio
        Log of this problem's evidence over the other's.
    """

    sets: BoolArray
    settings: IntArray
    weights: FloatArray
    log_ratio: float

    @property
    def effective(self) -> float:
        """How many equally weighted sets they are worth."""
        return float(1.0 / (self.weights @ self.weights))

    @property
    def is_enough(self) -> bool:
        """Whether they stand for the posterior."""
        return self.effective >= max(_LEAST * len(self.weights), _LEAST_SETS)


def weighed(other: SampledPosterior, systems: Systems) -> Weighed:
    """Return the stored sets of another problem with their weights under these systems."""
    here, there = np.empty(len(other.sets)), np.empty(len(other.sets))
    set_log_weights(systems, other.sets, other.set_settings, here)
    set_log_weights(other.sample.systems, other.sets, other.set_settings, there)
    ratio = here - there
    top = float(ratio.max())
    weights = np.exp(ratio - top)
    mean = float(weights.mean())
    return Weighed(other.sets, other.set_settings, weights / weights.sum(), top + math.log(mean))


class RevisitedPosterior(SampledPosterior):
    """The posterior of a node by the sets that another one's chains have stored."""

    def __init__(
        self, other: SampledPosterior, problem: NodeProblem, systems: Systems, found: Weighed, rng: np.random.Generator
    ) -> None:
        sample = replace(other.sample, systems=systems)
        estimates = _estimates(systems, found, other.noise_variance)
        super().__init__(problem, sample, estimates, other.diagnostics, _no_refit, rng)
        self._other, self._found = other, found

    @cached_property
    def _places(self) -> IntArray:
        """As many sets as there are, each as often as it counts, shape (D,)."""
        size = len(self._found.weights)
        levels = (np.arange(size) + deepcopy(self._rng).random()) / size
        return np.minimum(np.searchsorted(np.cumsum(self._found.weights), levels * (1.0 - 1e-12)), size - 1)

    @cached_property
    def sets(self) -> BoolArray:
        """Sets, each as often as it counts, shape (D, k)."""
        return self._found.sets[self._places]

    @cached_property
    def set_settings(self) -> IntArray:
        """Index of the hyperparameter value of each, shape (D,)."""
        return self._found.settings[self._places]

    @cached_property
    def noise_variance(self) -> float:
        """Posterior mean, over draws."""
        return float(self.draw(len(self._places), deepcopy(self._rng))[1].mean())

    @cached_property
    def _evidence(self) -> Evidence:
        error = math.hypot(self._other.log_evidence_error, math.sqrt(1.0 / self._found.effective))
        return Evidence(self._other.log_evidence + self._found.log_ratio, error, 0)

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo standard error of ``weights @ mean``: as of the sampled node, with fewer sets."""
        return self._other.linear_error(weights) * math.sqrt(len(self._found.weights) / self._found.effective)


def revisited(other: SampledPosterior, problem: NodeProblem, rng: np.random.Generator) -> RevisitedPosterior | None:
    """Return the posterior of a node with the columns and settings of another; None if too few sets count."""
    if other.problem.k != problem.k or len(other.problem.settings) != len(problem.settings):
        return None
    systems = stack_systems(problem)
    found = weighed(other, systems)
    return RevisitedPosterior(other, problem, systems, found, rng) if found.is_enough else None


def _estimates(systems: Systems, found: Weighed, noise: float) -> Estimates:
    """Return averages over the sets by weight; the noise variance is that of the other problem."""
    k = found.sets.shape[1]
    mean, second, between = np.zeros(k), np.zeros((k, k)), np.zeros((k, k))
    replay(systems, new_chain(k), found.sets, found.settings, found.weights, mean, second, between)
    variance = np.maximum(np.diag(second) - mean**2, 0.0)
    inside = np.clip(np.diag(between) - mean**2, 0.0, variance)
    return Estimates(found.weights @ found.sets, mean, variance, inside, noise)


def _no_refit(problem: NodeProblem, rng: np.random.Generator) -> SampledPosterior:
    raise NotImplementedError("a node that was weighed anew is not refitted with a column forced in")
