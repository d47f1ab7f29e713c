"""`LogNormal`: a positive child whose logarithm has normal noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags.families.amounts import Amount
from alldags.families.canonical import capped
from alldags.typing import FloatArray


@dataclass(frozen=True, slots=True)
class LogNormal(Amount):
    """A positive, skewed number: ``log y = intercept + coefficients . parents + normal noise``.

    Its regression is the normal one of the logarithm, computed as exactly; effects are differences of the mean in the
    user's own units, ``exp(predictor + variance / 2)``, draw by draw. The mean of a log-normal outcome hangs on its
    tail: where the noise is wide and rows are few, so is the interval.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.LogNormal().name
    'lognormal'
    """

    name: ClassVar[str] = "lognormal"
    exact: ClassVar[bool] = True

    def loss(self, r: FloatArray) -> FloatArray:
        """Return ``r^2 / 2``."""
        return np.asarray(0.5 * r * r)

    def slopes(self, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return r, and ones."""
        return r, np.ones_like(r)

    def log_constant(self, precision: FloatArray) -> FloatArray:
        """Return ``log(s / 2 pi) / 2``."""
        return np.asarray(0.5 * np.log(precision / (2.0 * math.pi)))

    def best_precision(self, loss: float) -> tuple[float, float]:
        """Return one over the mean square; a row is worth one."""
        return 0.5 / max(loss, 1e-300), 1.0

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return ``exp(eta + variance / 2)``; the median where no variance is given."""
        return np.exp(capped(eta if apart is None else eta + 0.5 * apart[0]))

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the value at a level of the distribution, of variance one on the log scale if none is given."""
        from scipy.special import ndtri

        return np.exp(capped(eta + (1.0 if apart is None else np.sqrt(apart[0])) * ndtri(uniform)))

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the level of the value, twice: there is only one."""
        from scipy.special import ndtr

        level = np.asarray(ndtr((np.log(value) - eta) / (1.0 if apart is None else np.sqrt(apart[0]))))
        return level, level

    def draw_precision(self, child: FloatArray, eta: FloatArray, rng: np.random.Generator) -> float:
        """Return a draw of a gamma distribution."""
        return float(0.5 * rng.chisquare(len(child)) / max(-self.height(child, eta).sum(), 1e-300))
