"""What is believed of the correlation of two errors, given that something hidden acts on both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, gammaln

from alldags.typing import FloatArray

SHAPE = 2.0
FAR = 3.2  # of the inverse hyperbolic tangent of a correlation: one of 0.997


@dataclass(frozen=True)
class Correlation:
    """Density of a correlation ``rho``, proportional to ``(1 - rho^2)^(shape - 1)`` between two limits.

    Parameters
    ----------
    shape
        1: all values alike; 2: standard deviation 0.45; larger ones nearer to zero.
    low, high
        Limits.

    Examples
    --------
    >>> from alldags.pairs.correlation import Correlation
    >>> round(Correlation().sd, 3), [round(x, 2) for x in Correlation().interval(0.95)]
    (0.447, [-0.81, 0.81])
    """

    shape: float = SHAPE
    low: float = -1.0
    high: float = 1.0

    @classmethod
    def of(cls, given: float | tuple[float, float] | None) -> Correlation:
        """Return what a graph says: nothing, a shape, or a range in which all values are equally probable."""
        if given is None:
            return cls()
        return cls(1.0, *given) if isinstance(given, tuple) else cls(float(given))

    @property
    def ends(self) -> tuple[float, float]:
        """The limits as inverse hyperbolic tangents, none further than what doubles resolve."""
        low, high = (math.atanh(min(max(end, -1 + 1e-9), 1 - 1e-9)) for end in (self.low, self.high))
        return max(low, -FAR), min(high, FAR)

    @cached_property
    def _mass(self) -> float:
        """Probability between the limits under the density without them."""
        return float(self._cdf(self.high) - self._cdf(self.low))

    def _cdf(self, rho: float) -> float:
        return float(betainc(self.shape, self.shape, 0.5 * (1.0 + rho)))

    def log_density(self, zeta: FloatArray) -> FloatArray:
        """Return the log density of the inverse hyperbolic tangent, whatever the limits; any shape."""
        norm = gammaln(self.shape + 0.5) - gammaln(self.shape) - 0.5 * math.log(math.pi)
        return np.asarray(-2.0 * self.shape * np.log(np.cosh(zeta)) + norm - math.log(self._mass))

    @cached_property
    def _grid(self) -> tuple[FloatArray, FloatArray]:
        rho = np.linspace(self.low, self.high, 4001)
        weight = np.maximum(1.0 - rho**2, 0.0) ** (self.shape - 1.0)
        return rho, weight / weight.sum()

    @property
    def sd(self) -> float:
        """Standard deviation."""
        rho, weight = self._grid
        return math.sqrt(float(weight @ rho**2) - float(weight @ rho) ** 2)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the central interval that holds it with this probability."""
        rho, weight = self._grid
        low, high = np.interp([(1 - level) / 2, (1 + level) / 2], np.cumsum(weight), rho)
        return float(low), float(high)
