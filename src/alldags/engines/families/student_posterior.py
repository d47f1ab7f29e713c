"""`StudentPosterior`: a node with heavy tails, as an engine's posterior of its match and weighted draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.families.posterior import FamilyDiagnostics, WeightedPosterior
from alldags.engines.families.weighing import WeightedDraws
from alldags.nodes.heavy import Student
from alldags.nodes.problem import Origin
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.engines.families.student import Matched


@dataclass(frozen=True)
class StudentDiagnostics(FamilyDiagnostics):
    """How a node with heavy tails was computed.

    Parameters
    ----------
    df
        Degrees of freedom of the noise.
    light
        Number of rows of weight below a quarter.
    least_weight, largest_weight
        Of the rows, where a normal node gives each the weight one.
    """

    df: float = 4.0
    light: int = 0
    least_weight: float = 1.0
    largest_weight: float = 1.0


class StudentPosterior(WeightedPosterior):
    """A node with heavy tails: coefficients as of any straight line, and a noise variance.

    Parameters
    ----------
    found
        The match and the posterior under it.
    draws, variance
        Weighted draws, and one over the precision of each, shape (draws,).
    diagnostics
        How it was computed.
    family
        How heavy the tails are.
    center
        Means of child and terms over all rows, in working units.
    """

    def __init__(
        self,
        found: Matched,
        draws: WeightedDraws,
        diagnostics: StudentDiagnostics,
        family: Student,
        variance: FloatArray,
        center: Origin,
    ) -> None:
        super().__init__(found.posterior, draws, diagnostics)
        self.statistics = found.statistics
        self.family = family
        self.variance = variance
        self._center = center

    @cached_property
    def _mean_variance(self) -> float:
        """Posterior mean of one over the precision."""
        exact = np.array(self.base.noise_variance)
        return max(float(self._corrected(exact, self.variance)), 0.0)

    @property
    def noise_variance(self) -> float:
        """Posterior mean of the variance of the noise, tails and all."""
        return self._mean_variance * self.family.variance

    @cached_property
    def origin(self) -> Origin:
        """A point that the line passes through, whatever its coefficients, in working units."""
        information = self.statistics.information
        place = information[0, 1:] / information[0, 0]
        height = self.weighted.weights @ (self.weighted.intercept + self.weighted.coefficients @ place)
        return Origin(self._center.child + float(height), self._center.terms + place)

    @property
    def intercept_share(self) -> float:
        """Variance of the intercept at the origin over the noise variance."""
        return 1.0 / (float(self.statistics.information[0, 0]) * self.family.variance)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return coefficients (size, k), resampled by weight, and the noise variance of a row of its own for each.

        A row's weight is drawn with it, so that normal noise of this variance has the tails of Student's distribution.
        """
        place_rng, weight_rng = rng.spawn(2)
        places = self.places(size, place_rng)
        half = 0.5 * self.family.df
        return self.weighted.coefficients[places], self.variance[places] * half / weight_rng.gamma(half, 1.0, size)

    def draw_with_precision(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return coefficients (size, k), resampled by weight, and one over the precision of each, shape (size,)."""
        places = self.places(size, rng)
        return self.weighted.coefficients[places], self.variance[places]
