"""`WeightedPosterior`: a node that is not normal, as an engine's posterior of its quadratic and weighted draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.engines.weighted.expansion import Expanded
from alldags.engines.weighted.weighing import WeightedDraws
from alldags.families.base import Draws, Family
from alldags.nodes.posterior import Diagnostics, NodePosterior, ParentSet
from alldags.nodes.problem import Origin
from alldags.typing import BoolArray, FloatArray, IntArray

_LEAST_IN_SET = 30  # draws of a parent set, or with an edge, from which its own correction is estimated


@dataclass(frozen=True)
class FamilyDiagnostics(Diagnostics):
    """How a node that is not normal was computed.

    Parameters
    ----------
    family
        Its name.
    rows, events
        Number of rows, and sum of the child: of a yes/no child the number of ones.
    draws
        Number of weighted draws, or of kept sweeps of the fallback.
    ess
        Share of the draws that equally weighted ones would need for the same accuracy, 0 to 1.
    k_hat
        Shape of the largest weights' distribution; above 0.7 they are not used.
    total_variation
        About how far any probability under the expansion alone may be off.
    fallback
        Whether the node was sampled because the weights could not be used.
    r_hat
        Largest split R-hat of the fallback's chains; nan without fallback.
    converged
        False if neither weights nor chains can be trusted.
    df, df_sd
        Degrees of freedom of heavy-tailed noise; nan for other families. Posterior mean and standard deviation where
        they were learned, else 0.
    light
        Number of rows that heavy tails give a weight below a quarter.
    least_weight, largest_weight
        Of the rows under heavy tails, where a normal node gives each the weight one.
    """

    family: str = "bernoulli"
    rows: float = math.nan
    events: float = math.nan
    draws: int = 0
    ess: float = 1.0
    k_hat: float = 0.0
    total_variation: float = 0.0
    fallback: bool = False
    r_hat: float = math.nan
    converged: bool = True
    df: float = math.nan
    df_sd: float = 0.0
    light: int = 0
    least_weight: float = 1.0
    largest_weight: float = 1.0

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is issued as a Python warning."""
        return () if self.converged else self.warnings


class WeightedPosterior(NodePosterior):
    """A weighted sample of sets, coefficients and intercepts, beside the posterior of an approximation.

    Means, inclusion probabilities and second moments are those of the approximation, which an engine knows exactly (or
    as well as it can), plus the difference that the weights make over the same draws.

    Parameters
    ----------
    family
        Of the child.
    expanded
        The quadratic, and the posterior under it.
    draws
        From it, weighted.
    diagnostics
        How it was computed.
    center
        Means of child and columns over all rows, in working units; None where the child has none.
    """

    def __init__(
        self,
        family: Family,
        expanded: Expanded,
        draws: WeightedDraws,
        diagnostics: FamilyDiagnostics,
        center: Origin | None = None,
    ) -> None:
        self.family = family
        self.problem = expanded.posterior.problem
        self.diagnostics = diagnostics
        self.base = expanded.posterior
        self.quadratic = expanded.quadratic
        self.weighted = draws
        self._center = center

    def _corrected(self, exact: FloatArray, values: FloatArray) -> FloatArray:
        """Return `exact` plus the weighted less the plain mean of `values`, shape (draws, ...)."""
        return np.asarray(exact + np.tensordot(self._change, values, axes=1))

    def _corrected_product(self, exact: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return `exact`, shape (k, k), plus the weighted less the plain mean of products of rows (draws, k)."""
        return np.asarray(exact + (left * self._change[:, None]).T @ right)

    @cached_property
    def _change(self) -> FloatArray:
        return np.asarray(self.weighted.weights - 1.0 / self.weighted.size)

    @cached_property
    def _present(self) -> FloatArray:
        return np.asarray(self.weighted.coefficients != 0.0, dtype=float)

    @cached_property
    def mean(self) -> FloatArray:
        return self._corrected(self.base.mean, self.weighted.coefficients)

    @cached_property
    def inclusion(self) -> FloatArray | None:
        if self.base.inclusion is None:
            return None
        found = np.clip(self._corrected(self.base.inclusion, self._present), 0.0, 1.0)
        return np.asarray(np.where(self.problem.certain, 1.0, found))

    @cached_property
    def second_moment(self) -> FloatArray:
        return self._corrected_product(self.base.second_moment, self.weighted.coefficients, self.weighted.coefficients)

    @cached_property
    def second_moment_between(self) -> FloatArray | None:
        """Second moment of the conditional means; with pairs of draws that share their set, as `_corrected`."""
        between = self.base.second_moment_between
        if between is None:
            return None
        found = self._corrected_product(between, self.weighted.coefficients, self.weighted.partners)
        return np.asarray(0.5 * (found + found.T))

    @property
    def log_evidence(self) -> float | None:
        base = self.base.log_evidence
        return None if base is None else base + self.weighted.log_mean_weight

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        base = self.base.probability_disjoint(masks)
        if base is None:
            return None
        apart = (self._present @ masks.T.astype(float) == 0.0).astype(float)
        return np.clip(self._corrected(base, apart), 0.0, 1.0)

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        base = self.base.mean_given(parent, present)
        chosen = (self.weighted.coefficients[:, parent] != 0.0) == present
        if base is None or chosen.sum() < _LEAST_IN_SET:
            return base
        weights = self.weighted.weights[chosen]
        theta = self.weighted.coefficients[chosen]
        return np.asarray(base + weights @ theta / weights.sum() - theta.mean(axis=0))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...] | None:
        """Return the most probable sets: the expansion's probabilities times the mean weight of draws of the set."""
        found = self.base.top_parent_sets(4 * size)
        if found is None:
            return None
        scaled = [ParentSet(item.parents, item.probability * self._factor(item.parents)) for item in found]
        return tuple(sorted(scaled, key=lambda item: -item.probability)[:size])

    def _factor(self, parents: tuple[str, ...]) -> float:
        inside = np.isin(self.problem.terms, parents).astype(float)
        same = (self._present == inside).all(axis=1)
        count = int(same.sum())
        return 1.0 if count < _LEAST_IN_SET else float(self.weighted.weights[same].mean()) * self.weighted.size

    # -- noise and intercept -----------------------------------------------------------------------------------------

    @property
    def noise_variance(self) -> float:
        """Posterior mean of the variance of the noise, tails and all; nan where there is none."""
        return self._mean_variance * self.family.noise_factor

    @cached_property
    def _mean_variance(self) -> float:
        """Posterior mean of one over the precision."""
        exact = np.array(self.base.noise_variance)
        return max(float(self._corrected(exact, self.weighted.variance)), 0.0)

    @cached_property
    def origin(self) -> Origin:
        """A point that the line passes through, whatever its coefficients, in working units."""
        if self._center is None:
            return super().origin
        information = self.quadratic.information
        place = information[0, 1:] / information[0, 0]
        height = self.weighted.weights @ (self.weighted.intercept + self.weighted.coefficients @ place)
        return Origin(self._center.child + float(height), self._center.terms + place)

    @property
    def intercept_share(self) -> float:
        """Variance of the intercept at the origin over the noise variance."""
        if not self.family.is_line:
            return super().intercept_share
        return 1.0 / (float(self.quadratic.information[0, 0]) * self.family.noise_factor)

    # -- draws -------------------------------------------------------------------------------------------------------

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return coefficients (size, k), resampled by weight, and the noise variance of a row of its own for each.

        Under heavy tails a row's weight is drawn with it, so that normal noise of this variance has them; nan where the
        mean is no line.
        """
        place_rng, row_rng = rng.spawn(2) if self.family.is_line else (rng, rng)
        places = self.places(size, place_rng)
        beside = None if self.weighted.beside is None else self.weighted.beside[places]
        factors = self.family.row_factors(size, row_rng, beside)
        return self.weighted.coefficients[places], self.weighted.variance[places] * factors

    def draw_with_intercept(self, size: int, rng: np.random.Generator) -> Draws:
        """Return intercepts (size,) at the means of the columns, coefficients (size, k), and what else is drawn."""
        return self.weighted.at(self.places(size, rng))

    def places(self, size: int, rng: np.random.Generator) -> IntArray:
        """Return which draws a resampling by weight takes, shape (size,): evenly spread, in random order."""
        levels = (np.arange(size) + rng.random()) / size
        found = np.searchsorted(np.cumsum(self.weighted.weights), levels * (1.0 - 1e-12))
        return np.asarray(rng.permutation(np.minimum(found, self.weighted.size - 1)))

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error of ``weights @ mean``: that of the difference, and of the expansion's engine."""
        spread = (self.weighted.coefficients - self.mean) @ weights
        own = math.sqrt(float((self._change**2) @ spread**2))
        return math.hypot(own, self.base.linear_error(weights))

    @property
    def mean_bound(self) -> FloatArray:
        return self.base.mean_bound

    @property
    def inclusion_bound(self) -> FloatArray:
        return self.base.inclusion_bound

    @property
    def set_draws(self) -> float:
        return min(self.weighted.size * self.weighted.effective_share, self.base.set_draws)
