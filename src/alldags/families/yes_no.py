"""`Bernoulli`: a child that is yes or no."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags.errors import DataError
from alldags.families.base import ChainPrior, ChainRows, ChainState, Draws, RowSums, Sampler
from alldags.families.canonical import Canonical, capped, log_product
from alldags.families.quadratic import Quadratic
from alldags.priors.grid import Setting
from alldags.typing import FloatArray
from alldags.wording import option

_NODES = 9  # of the quadrature over the predictor


@dataclass(frozen=True, slots=True)
class Bernoulli(Canonical):
    """Yes or no, coded 1 and 0: ``log odds = intercept + coefficients . parents``.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Bernoulli().name
    'bernoulli'
    """

    name: ClassVar[str] = "bernoulli"
    measure: ClassVar[str] = "risk"
    link_words: ClassVar[str] = "log-odds"

    def cumulant(self, eta: FloatArray) -> FloatArray:
        """Return ``log(1 + exp(eta))``."""
        return np.log1p(np.exp(capped(eta)))

    def total_cumulant(self, eta: FloatArray) -> FloatArray:
        """Return the sum of ``log(1 + exp(eta))`` over rows; logarithms are taken of products of eight factors."""
        factor = capped(eta)
        np.exp(factor, out=factor)
        factor += 1.0
        return log_product(factor)

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the probability of a one."""
        del apart
        out = np.negative(eta)
        with np.errstate(over="ignore"):  # one over infinity is the right zero
            np.exp(out, out=out)
        out += 1.0
        return np.reciprocal(out, out=out)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return ``p (1 - p)``."""
        return np.asarray(mean * (1.0 - mean))

    def total_variance(self, mean: FloatArray) -> FloatArray:
        """Return the sum of ``p - p^2`` over rows, without an array for it."""
        return np.asarray(mean.sum(axis=0) - np.einsum("nd,nd->d", mean, mean))

    def averaged(self, eta: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return averages of ``p`` and ``p (1 - p)``, by Gauss-Hermite quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        mean, variance = np.zeros(len(eta)), np.zeros(len(eta))
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            p = self.mean(eta + node * spread)
            mean += weight * p
            variance += weight * p * (1.0 - p)
        return mean, variance

    def link(self, mean: float) -> float:
        """Return the log-odds."""
        return math.log(mean / (1.0 - mean))

    def constants(self, values: FloatArray) -> FloatArray:
        """Return zeros."""
        return np.zeros(len(values))

    def rarer(self, quadratic: Quadratic) -> float:
        """Return the number of ones or of zeros, whichever is less."""
        return min(quadratic.events, quadratic.rows - quadratic.events)

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return 1 where the level lies below the probability of a one."""
        del apart
        return np.asarray(uniform < self.mean(eta), dtype=float)

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return from 0 to the probability of a one for a one, from there to 1 for a zero."""
        del apart
        mean = self.mean(eta)
        return np.where(value == 1.0, 0.0, mean), np.where(value == 1.0, mean, 1.0)

    def remarks(self, rows: RowSums, draws: Draws) -> tuple[str, ...]:
        """Return nothing: a yes/no child has no other spread than its mean says."""
        del rows, draws
        return ()

    def sampler(self, settings: Sequence[Setting], *, weighted: bool) -> Sampler | None:
        """Return the sampler with Polya-Gamma weights of the rows; none where rows count as fractions of one."""
        if weighted or any(setting.slab != "independent" for setting in settings):
            return None
        return Sampler("polya-gamma", _advance)

    def check(self, child: str, batches: Iterable[FloatArray]) -> Bernoulli:
        """Refuse values other than 0 and 1, and a child that is always the same."""
        seen: set[float] = set()
        for values in batches:
            seen.update(np.unique(values).tolist()[:8])
            if other := sorted(seen - {0.0, 1.0}):
                raise DataError(
                    f"{child!r} is to be yes/no (bernoulli), but has the value {other[0]:g}; code it as 0 and 1, or "
                    f"leave it out of {option('families')}"
                )
        if len(seen) < 2:
            raise DataError(f"{child!r} is {seen.pop():g} in every row: nothing shows what acts on it")
        return self


def _advance(
    rng: np.random.Generator,
    rows: ChainRows,
    prior: ChainPrior,
    information: FloatArray,
    state: ChainState,
    out: FloatArray,
) -> None:
    from alldags.kernels.polya_gamma import run_chain

    del information
    run_chain(rng, rows.rows, rows.child, *prior, state.present, state.z, state.place, out)
