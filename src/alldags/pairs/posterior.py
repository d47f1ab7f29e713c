"""`PairPosterior`: what is known of two regressions with correlated errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from alldags.nodes.posterior import Diagnostics
from alldags.pairs.leaves import Leaves
from alldags.pairs.problem import PairProblem
from alldags.typing import FloatArray, IntArray

_CHUNK = 2000


@dataclass(frozen=True, eq=False)
class PairDraws:
    """Draws of a pair.

    Parameters
    ----------
    terms
        Coefficients of the stacked regression in units of `PairProblem.scale`, zero where absent, shape (size, K).
    noise
        Standard deviations of both errors in the same units, shape (size, 2).
    flat
        By how much the flat coefficients of both regressions are off their means given the rest, in working units,
        shape (2, size, f).
    correlation
        Of the errors, shape (size,); exact zeros where nothing hidden acts on both.
    """

    terms: FloatArray
    noise: FloatArray
    flat: FloatArray
    correlation: FloatArray


@dataclass(frozen=True, eq=False)
class PairPosterior:
    """Posterior of a pair.

    Parameters
    ----------
    leaves
        Its parts.
    hidden
        Probability that the errors are correlated at all.
    log_weight
        Log of the sum of the weights of all leaves; None where these were sampled.
    diagnostics
        How it was computed.
    set_draws
        Number of draws behind probabilities of sets; infinite where those were summed.
    """

    leaves: Leaves
    hidden: float
    log_weight: float | None
    diagnostics: Diagnostics
    set_draws: float = math.inf

    @property
    def problem(self) -> PairProblem:
        """What was asked."""
        return self.leaves.problem

    @cached_property
    def log_evidence(self) -> float | None:
        """Log marginal likelihood of both columns in working units, flat coefficients with density one."""
        one = self.problem
        if self.log_weight is None:
            return None
        flat = 0.0 if one.flat_gram is None else float(np.linalg.slogdet(one.flat_gram)[1])
        rows = float((one.n + one.counts[1:]) @ np.log(one.scale[:2])) + flat
        return self.log_weight + float(gammaln(one.half)) - one.half * math.log(math.pi) - math.log(2.0) - rows

    @cached_property
    def _given_hidden(self) -> tuple[FloatArray, FloatArray]:
        """Correlations in order, and the probability of each, given that something hidden acts on both."""
        there = self.leaves.is_hidden
        zetas, which = np.unique(self.leaves.zeta[there], return_inverse=True)
        shares = np.bincount(which.ravel(), self.leaves.weight[there])
        return np.tanh(zetas), shares / shares.sum()

    @property
    def correlation(self) -> tuple[float, float]:
        """Mean and standard deviation of the correlation, given that there is one."""
        rho, share = self._given_hidden
        mean = float(share @ rho)
        return mean, math.sqrt(max(float(share @ rho**2) - mean**2, 0.0))

    def correlation_interval(self, level: float) -> tuple[float, float]:
        """Return the central interval that holds the correlation, given that there is one."""
        rho, share = self._given_hidden
        middle = np.cumsum(share) - 0.5 * share
        low, high = np.interp([(1 - level) / 2, (1 + level) / 2], middle, rho)
        return float(low), float(high)

    @property
    def learned(self) -> float:
        """By which share data made the standard deviation of the correlation smaller, at least 0."""
        return max(1.0 - self.correlation[1] / self.problem.correlation.sd, 0.0)

    def draw(self, size: int, rng: np.random.Generator) -> PairDraws:
        """Draw coefficients, noise and correlation; equal generators give equal draws."""
        one, leaves = self.problem, self.leaves
        which = rng.choice(len(leaves), size, p=leaves.weight)
        moved = leaves.start[which] + leaves.width[which] * rng.random(size)
        noise = leaves.left[which] / (2.0 * rng.gamma(one.half, 1.0, size))
        terms = leaves.mean[which] + leaves.slope[which] * moved[:, None]
        terms += np.sqrt(noise)[:, None] * self._spread(which, rng.standard_normal((size, one.size)))
        apart = leaves.width[which] > 0.0
        rho = np.where(apart, np.tanh(leaves.zeta[which] + moved), 0.0)
        first = np.sqrt(noise)
        second = leaves.lam[which] * first / np.sqrt(1.0 - rho**2)
        return PairDraws(terms, np.column_stack([first, second]), self._flat(which, first, rng), rho)

    def _spread(self, which: IntArray, normal: FloatArray) -> FloatArray:
        parts = [slice(i, i + _CHUNK) for i in range(0, len(which), _CHUNK)]
        found = [(self.leaves.root[which[rows]] @ normal[rows, :, None])[:, :, 0] for rows in parts]
        return np.concatenate(found) if found else normal

    def _flat(self, which: IntArray, noise: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the errors of flat coefficients: those of x, and those of y, which share a part of them."""
        one, leaves = self.problem, self.leaves
        apart = rng.standard_normal((2, len(which), len(one.flat))) @ self.flat_root.T * noise[:, None]
        lam, t = leaves.lam[which, None], leaves.tangent[which, None]
        return np.array([one.scale[0] * apart[0], one.scale[1] * lam * (apart[1] + t * apart[0])])

    @cached_property
    def flat_root(self) -> FloatArray:
        """``R`` with ``R R'`` the inverse of the flat columns' cross-products, shape (f, f)."""
        gram = self.problem.flat_gram
        return np.zeros((0, 0)) if gram is None else np.linalg.cholesky(np.linalg.inv(gram))
