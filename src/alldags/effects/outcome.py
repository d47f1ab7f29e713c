"""The outcome's distribution under an intervention: exact mean and variance, and the posterior mixture of normals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags import checks
from alldags.effects.draws import outcome_variables
from alldags.effects.propagate import Nodes, second_moments, total
from alldags.errors import AlldagsError
from alldags.graph.candidate import CandidateGraph
from alldags.typing import FloatArray


def noise_reaching(graph: CandidateGraph, nodes: Nodes, source: str, target: str) -> float:
    """Return ``sum_{k != source} E[U_k^2] E[1/s_k]``; U_k is the effect of k along paths that avoid the source."""
    variables = outcome_variables(graph, source, target)
    result = 0.0
    for position, name in enumerate(variables):
        later = variables[position:]
        reach = second_moments(graph, nodes, later, total)[-1, -1]
        if reach > 0:
            result += reach * nodes(name).noise_variance
    return result


def check_level(level: float) -> None:
    """Refuse a probability that is not strictly between 0 and 1."""
    if not 0 < checks.finite("level", level) < 1:
        raise AlldagsError(f"level must lie strictly between 0 and 1, got {level!r}; 0.95 means 95%")


@dataclass(frozen=True, eq=False)
class OutcomeDistribution:
    """p(outcome | do(treatment = x)), in the user's units.

    The posterior mixture of normals, which is the estimate of the distribution that is optimal under Kullback-Leibler
    loss (Horii and Suko 2019). Mean and standard deviation are exact where the engine is; density, distribution
    function and quantiles average over posterior draws.

    Parameters
    ----------
    x
        The value the treatment is set to.
    mean, sd
        Of the outcome of a new unit.
    centers, spreads
        Mean and standard deviation of the outcome for each posterior draw, shape (draws,).
    """

    x: float
    mean: float
    sd: float
    centers: FloatArray
    spreads: FloatArray

    def density(self, y: float | FloatArray) -> FloatArray:
        """Return the density at `y`."""
        z = (np.atleast_1d(np.asarray(y, dtype=float))[:, None] - self.centers) / self.spreads
        values = (np.exp(-0.5 * z**2) / (self.spreads * np.sqrt(2 * np.pi))).mean(axis=1)
        return np.asarray(values if np.ndim(y) else values[0])

    def cdf(self, y: float | FloatArray) -> FloatArray:
        """Return the probability of an outcome of at most `y`."""
        from scipy.special import ndtr

        z = (np.atleast_1d(np.asarray(y, dtype=float))[:, None] - self.centers) / self.spreads
        values = ndtr(z).mean(axis=1)
        return np.asarray(values if np.ndim(y) else values[0])

    def quantile(self, level: float) -> float:
        """Return the outcome below which a new unit falls with probability `level`."""
        from scipy.optimize import brentq

        check_level(level)
        low = float((self.centers - 40 * self.spreads).min())
        high = float((self.centers + 40 * self.spreads).max())
        return float(brentq(lambda y: float(self.cdf(y)) - level, low, high, xtol=1e-10 * (high - low)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds a new unit's outcome with probability `level`."""
        check_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def __repr__(self) -> str:
        return f"OutcomeDistribution(do(x = {self.x:g}): mean {self.mean:.4g}, sd {self.sd:.4g})"
