"""The posterior of a node from sampled parent sets."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.one_set import draw_given_sets, known_variance
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.kernels.sampler.block import CONTROL
from alldags.engines.kernels.sampler.chain import new_chain, replay
from alldags.engines.kernels.sampler.flip import DRIFT, FLIPS, SETTING_MOVES, SWAPS
from alldags.engines.sampling.diagnostics import (
    LEAST_INCLUSION,
    MCMCDiagnostics,
    coarser,
    is_constant,
    long_batches,
    mean_errors,
    split_r_hat,
    with_control_variates,
)
from alldags.engines.sampling.run import Run, added_up, total
from alldags.nodes import NodePosterior, NodeProblem, ParentSet
from alldags.typing import BoolArray, FloatArray, IntArray

LEAST_SETS = 100  # stored parent sets that must contain (or lack) an edge to condition on it without a new run


@dataclass(frozen=True, eq=False)
class Estimates:
    """Rao-Blackwellised averages with control variates.

    Parameters
    ----------
    inclusion, mean, variance, variance_between
        Of each coefficient, shape (k,); the last is the variance of the conditional mean over parent sets.
    batch_means
        Of long batches, whose spread gives Monte-Carlo errors, shape (batches, k).
    controls, batches
        Control variates used, and short batches in all chains.
    """

    inclusion: FloatArray
    mean: FloatArray
    variance: FloatArray
    variance_between: FloatArray
    batch_means: FloatArray
    controls: int
    batches: int


def judge(problem: NodeProblem, run: Run) -> tuple[Estimates, MCMCDiagnostics]:
    """Return what a run says so far, and how far it can be trusted."""
    whole, batch = coarser(run.trace, run.batch)
    chains, batches, _, k = whole.shape
    values, effects = whole[:, :, :CONTROL].reshape(chains, batches, 2 * k), run.effects.reshape(k, 2 * k)
    both, used = with_control_variates(values, whole[:, :, CONTROL], effects, batch)
    inclusion, mean = both.mean(axis=(0, 1)).reshape(2, k)
    trace = both[:, :, k:]
    estimates = Estimates(
        inclusion=np.where(problem.certain, 1.0, np.clip(inclusion, 0.0, 1.0)),
        mean=mean,
        variance=_variance(run, "square"),
        variance_between=_variance(run, "square_between"),
        batch_means=long_batches(trace),
        controls=used,
        batches=chains * batches,
    )
    return estimates, _diagnose(run, trace, batch, estimates)


def _variance(run: Run, name: str) -> FloatArray:
    """Return second moment minus squared mean; the plain mean of the same sweeps keeps it from going below zero."""
    visits = np.maximum(added_up(run, "visits"), 1.0)
    return np.asarray(np.maximum(added_up(run, name) / visits - (added_up(run, "mean") / visits) ** 2, 0.0))


def _diagnose(run: Run, trace: FloatArray, batch: int, estimates: Estimates) -> MCMCDiagnostics:
    judged = estimates.inclusion > LEAST_INCLUSION
    still = is_constant(trace)
    agree = is_constant(trace.mean(axis=1)[None])
    r_hat = np.where(still & agree, np.nan, split_r_hat(trace, estimates.variance, batch))
    mcse = mean_errors(estimates.batch_means, estimates.controls, estimates.batches)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(mcse > 0, estimates.variance / mcse**2, np.inf)
    return MCMCDiagnostics(
        "mcmc",
        sweeps=run.sweeps,
        chains=len(run.chains),
        warm_up=run.warm_up,
        mcse=mcse,
        effective_draws=effective,
        split_r_hat=np.where(judged, r_hat, np.nan),
        constant=judged & still,
        trace=trace,
        drift=max(float(chain.numbers[DRIFT]) for chain in run.chains),
        flips=_count(run, FLIPS),
        swaps=_count(run, SWAPS),
        setting_moves=_count(run, SETTING_MOVES),
    )


def _count(run: Run, place: int) -> int:
    return sum(int(chain.counts[place]) for chain in run.chains)


class SampledPosterior(NodePosterior):
    """A node's posterior from Gibbs samples of its parent sets.

    `inclusion` and `mean` are averages over all sweeps; second moments have the variances of all sweeps and the
    correlations of the stored parent sets; `draw`, `probability_disjoint` and `top_parent_sets` use the stored sets.
    """

    diagnostics: MCMCDiagnostics

    def __init__(
        self,
        problem: NodeProblem,
        run: Run,
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
        self._run = run

    @property
    def inclusion(self) -> FloatArray:
        return self.estimates.inclusion

    @property
    def mean(self) -> FloatArray:
        return self.estimates.mean

    @cached_property
    def noise_variance(self) -> float:
        return float(total(self._run, "noise_variance")[0])

    @cached_property
    def sets(self) -> BoolArray:
        """Stored parent sets of all chains, shape (sets, k)."""
        return np.concatenate(list(self._run.sets))

    @cached_property
    def set_settings(self) -> IntArray:
        """Index of the hyperparameter value of each stored set, shape (sets,)."""
        return self._run.set_settings.reshape(-1)

    @cached_property
    def setting_weights(self) -> FloatArray:
        """Posterior probability of each hyperparameter value, shape (settings,)."""
        return total(self._run, "setting")

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self._replayed(np.full(len(self.sets), 1.0 / len(self.sets)))

    def _replayed(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean, second moment and between-set second moment over the stored sets with these weights."""
        k = self.problem.k
        out = np.zeros(k), np.zeros((k, k)), np.zeros((k, k))
        replay(self._run.systems, new_chain(k), self.sets, self.set_settings, weights, *out)
        return out

    @cached_property
    def second_moment(self) -> FloatArray:
        mean, second, _ = self._moments
        return _second_moment(second - np.outer(mean, mean), self.estimates.variance, self.mean)

    @cached_property
    def second_moment_between(self) -> FloatArray:
        mean, _, between = self._moments
        return _second_moment(between - np.outer(mean, mean), self.estimates.variance_between, self.mean)

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
        rest = self._refit(self.problem.without([parent]), rng).mean
        return np.insert(rest, parent, 0.0)

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
        combined = self.estimates.batch_means @ weights
        error = float(mean_errors(combined[:, None], self.estimates.controls, self.estimates.batches)[0])
        return max(error, self._unseen(weights))

    def _unseen(self, weights: FloatArray) -> float:
        """Return what parent sets too rare to have been met may amount to: a posterior deviation over their number."""
        variance = weights @ (self.second_moment - np.outer(self.mean, self.mean)) @ weights
        return math.sqrt(max(float(variance), 0.0)) / self.set_draws if math.isfinite(variance) else 0.0


def _second_moment(covariance: FloatArray, variance: FloatArray, mean: FloatArray) -> FloatArray:
    """Return ``correlation * sqrt(variances) + mean mean'``: correlations from `covariance`, the rest as given."""
    if not np.isfinite(variance).all():
        return np.where(np.isfinite(variance)[:, None] & np.isfinite(variance)[None, :], np.outer(mean, mean), np.inf)
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    ratio = np.divide(np.sqrt(variance), sd, out=np.zeros_like(sd), where=sd > 0)
    scaled = covariance * np.outer(ratio, ratio)
    scaled[np.diag_indices(mean.size)] = variance
    return np.asarray(scaled + np.outer(mean, mean))
