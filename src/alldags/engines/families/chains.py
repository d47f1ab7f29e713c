"""Chains of a sampled node: run until they agree, and what is read from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from alldags.engines.families.posterior import WeightedPosterior
from alldags.engines.families.weighing import WeightedDraws
from alldags.nodes.problem import NodeProblem
from alldags.typing import BoolArray, FloatArray, IntArray

CHAINS = 4
WARM_UP = 500
FIRST, _MOST = 2000, 32_000  # steps kept of each chain
_R_HAT = 1.01
_CORRELATED = 5.0  # steps of a chain that are worth one independent draw, about
_KEPT = 16_000  # draws of all chains together that are stored


def start(
    problem: NodeProblem, weighted: WeightedDraws, rng: np.random.Generator
) -> tuple[BoolArray, FloatArray, IntArray]:
    """Return where a chain starts: a set (k,), intercept and coefficients (k + 1,), which slab (1,).

    Overdispersed: a draw under the approximation, not by weight.
    """
    place = int(rng.integers(weighted.size))
    z = np.concatenate([[weighted.intercept[place]], weighted.coefficients[place]])
    return z[1:] != 0.0, z, np.array([len(problem.settings) // 2])


def run_chains(
    step: Callable[[Any, FloatArray], None], states: Sequence[Any], width: int, most: float
) -> tuple[FloatArray, float]:
    """Return what the chains wrote, shape (chains, steps, width), and the largest split R-hat of coefficients.

    Parameters
    ----------
    step
        Goes on with a state and writes the steps, shape (steps, width): the intercept, the coefficients, and what else.
    states
        One for each chain.
    width
        Numbers written at each step.
    most
        Steps that all chains together may take.
    """
    chains = np.empty((len(states), 0, width))
    wanted = WARM_UP + FIRST
    while True:
        more = np.empty((len(states), wanted, width))
        for out, state in zip(more, states, strict=True):
            step(state, out)
        chains = np.concatenate([chains, more], axis=1) if chains.size else more[:, WARM_UP:]
        r_hat = largest_r_hat(chains[:, :, 1:])
        steps = chains.shape[1]
        if r_hat < _R_HAT or 2 * steps > _MOST or len(states) * 2 * steps > most:
            return chains, r_hat
        wanted = steps


def kept_draws(chains: FloatArray) -> FloatArray:
    """Return the steps that are stored as draws, shape (draws, width)."""
    thin = max(1, chains.shape[0] * chains.shape[1] // _KEPT)
    return np.asarray(chains[:, ::thin].reshape(-1, chains.shape[2]))


def largest_r_hat(chains: FloatArray) -> float:
    """Return the largest split R-hat of coefficients and of their presence; `chains` has shape (chains, steps, k)."""
    half = chains.shape[1] // 2
    split = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    values = [_r_hat(split), _r_hat((split != 0.0).astype(float))]
    return float(max(np.max(value, initial=1.0) for value in values))


def _r_hat(split: FloatArray) -> FloatArray:
    steps = split.shape[1]
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = split.mean(axis=1).var(axis=0, ddof=1)
    moving = within > 1e-12
    ratio = (steps - 1) / steps + between / np.where(moving, within, 1.0)
    return np.asarray(np.where(moving, np.sqrt(ratio), 1.0))


def bridge(log_base: FloatArray, log_chain: FloatArray) -> float:
    """Return the log of the mean weight from draws of the approximation and of a chain (Meng and Wong 1996).

    Both kinds of draws take part, so that the answer holds where neither reaches all of the other.

    Parameters
    ----------
    log_base, log_chain
        Log weights, likelihood over approximation, of draws from the approximation and from the posterior itself.
    """
    worth = len(log_chain) / _CORRELATED
    own, other = math.log(worth / (worth + len(log_base))), math.log(len(log_base) / (worth + len(log_base)))
    found = float(np.logaddexp.reduce(log_base)) - math.log(len(log_base))
    for _ in range(200):
        above = log_base - np.logaddexp(own + log_base, other + found)
        below = -np.logaddexp(own + log_chain, other + found)
        above_mean = float(np.logaddexp.reduce(above)) - math.log(len(above))
        before, found = found, above_mean - float(np.logaddexp.reduce(below)) + math.log(len(below))
        if abs(found - before) < 1e-9:
            break
    return found


class SampledPosterior(WeightedPosterior):
    """A sampled node: all it knows are its draws; `_chains` are the coefficients, shape (chains, steps, k)."""

    _chains: FloatArray

    def _corrected(self, exact: FloatArray, values: FloatArray) -> FloatArray:
        """Return the plain mean over the draws; `exact` is the expansion's and not used."""
        del exact
        return np.asarray(values.mean(axis=0))

    def _corrected_product(self, exact: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the plain mean of products over the draws."""
        del exact
        return np.asarray(left.T @ right / len(left))

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self._chains.mean(axis=(0, 1)))

    @cached_property
    def inclusion(self) -> FloatArray | None:
        return np.asarray((self._chains != 0.0).mean(axis=(0, 1)))

    @cached_property
    def second_moment(self) -> FloatArray:
        theta = self._chains.reshape(-1, self.problem.k)
        return np.asarray(theta.T @ theta / len(theta))

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        theta = self._chains.reshape(-1, self.problem.k)
        chosen = (theta[:, parent] != 0.0) == present
        return np.asarray(theta[chosen].mean(axis=0)) if chosen.sum() > 30 else self.base.mean_given(parent, present)

    def _factor(self, parents: tuple[str, ...]) -> float:
        return self._share(parents) / max(self._base_share(parents), 1e-300)

    def _share(self, parents: tuple[str, ...]) -> float:
        inside = np.isin(self.problem.terms, parents).astype(float)
        return float((self._present == inside).all(axis=1).mean())

    def _base_share(self, parents: tuple[str, ...]) -> float:
        found = self.base.top_parent_sets(4096) or ()
        return next((item.probability for item in found if item.parents == parents), 1.0)

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error of ``weights @ mean``, from batch means within the chains."""
        values = np.asarray(self._chains @ weights)
        count = 20
        length = values.shape[1] // count
        means = values[:, : count * length].reshape(CHAINS * count, length).mean(axis=1)
        return float(means.std(ddof=1) / math.sqrt(len(means)))

    @property
    def set_draws(self) -> float:
        return float(self._chains.shape[0] * self._chains.shape[1] / 10.0)  # steps are correlated
