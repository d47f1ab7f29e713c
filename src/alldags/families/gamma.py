"""`Gamma`: a positive child whose spread grows in proportion to its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags.families.amounts import Amount
from alldags.families.canonical import capped
from alldags.typing import FloatArray

_NEWTON_STEPS = 30
_LARGEST_SHAPE = 1e12
_LEVELS = 201  # of a grid over the log shape
_REACH = 7.0  # standard deviations to both sides


@dataclass(frozen=True, slots=True)
class Gamma(Amount):
    """A positive, skewed number: gamma around ``mean = exp(intercept + coefficients . parents)``.

    Its standard deviation is the mean over the root of an unknown shape, which is learned; effects are differences of
    the mean. Of costs and durations the mean itself is modelled, whatever their logarithm looks like.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Gamma().name
    'gamma'
    """

    name: ClassVar[str] = "gamma"

    def loss(self, r: FloatArray) -> FloatArray:
        """Return ``exp(r) - 1 - r``."""
        return np.asarray(np.expm1(capped(r)) - r)

    def slopes(self, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``exp(r) - 1`` and ``exp(r)``."""
        ratio = np.exp(capped(r))
        return ratio - 1.0, ratio

    def log_constant(self, precision: FloatArray) -> FloatArray:
        """Return ``s log s - s - log gamma(s)``."""
        from scipy.special import gammaln

        return np.asarray(precision * (np.log(precision) - 1.0) - gammaln(precision))

    def best_precision(self, loss: float) -> tuple[float, float]:
        """Return the shape at which ``log s - digamma(s)`` is the mean loss, and ``2 s (s trigamma(s) - 1)``."""
        from scipy.special import digamma, polygamma

        d = max(loss, 0.5 / _LARGEST_SHAPE)
        s = (3.0 - d + math.sqrt((d - 3.0) ** 2 + 24.0 * d)) / (12.0 * d)  # within 1.5% of it (Minka 2002)
        for _ in range(_NEWTON_STEPS):
            step = (math.log(s) - float(digamma(s)) - d) / (1.0 - s * float(polygamma(1, s)))
            s *= math.exp(-min(max(step, -1.0), 1.0))
            if abs(step) < 1e-9:
                break
        return s, 2.0 * s * (s * float(polygamma(1, s)) - 1.0)

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return ``exp(eta)``."""
        del apart
        return np.exp(capped(eta))

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the value at a level of the distribution; its shape is one over what is apart, or one."""
        from scipy.special import gammaincinv

        shape = 1.0 if apart is None else 1.0 / apart[0]
        return np.asarray(self.mean(eta) * gammaincinv(shape, uniform) / shape)

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the level of the value, twice: there is only one."""
        from scipy.special import gammainc

        shape = 1.0 if apart is None else 1.0 / apart[0]
        level = np.asarray(gammainc(shape, shape * value / self.mean(eta)))
        return level, level

    def draw_precision(self, child: FloatArray, eta: FloatArray, rng: np.random.Generator) -> float:
        """Return a draw of the shape, from a grid over its logarithm."""
        loss = -float(self.height(child, eta).sum())
        best, worth = self.best_precision(loss / len(child))
        reach = _REACH / math.sqrt(0.5 * worth * len(child))
        shapes = best * np.exp(np.linspace(-reach, reach, _LEVELS))
        height = len(child) * self.log_constant(shapes) - shapes * loss
        share = np.exp(height - height.max())
        step = 2.0 * reach / (_LEVELS - 1)
        return float(rng.choice(shapes, p=share / share.sum()) * math.exp(step * (rng.random() - 0.5)))
