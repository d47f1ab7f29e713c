"""Overlap of a 0/1 treatment: are there rows of the other arm that are alike?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.assumptions.regression import Fitted, fit_rows
from alldags.assumptions.rows import Regressed
from alldags.nodes.data import ChildData
from alldags.nodes.family import Bernoulli
from alldags.typing import FloatArray


@dataclass(frozen=True, slots=True)
class Overlap:
    """How far treated and untreated rows are alike.

    Parameters
    ----------
    treatment, covariates
        Names.
    treated, untreated
        Number of rows.
    treated_outside, untreated_outside
        Share of the rows of one arm outside the other arm's range of the fitted propensity; nan if the propensity has
        no fit.
    differences
        Standardised mean difference of each covariate: treated less untreated, over the root of the mean of the two
        variances (from moments alone: over the deviation inside the arms).
    """

    treatment: str
    covariates: tuple[str, ...]
    treated: int
    untreated: int
    treated_outside: float
    untreated_outside: float
    differences: tuple[float, ...]

    @property
    def outside(self) -> float:
        """Share of all rows outside the other arm's range."""
        rows = self.treated + self.untreated
        return (self.treated * self.treated_outside + self.untreated * self.untreated_outside) / rows


def overlap(of: Regressed) -> Overlap:
    """Fit the propensity to the rows, by logistic regression on all covariates, and compare the arms.

    Parameters
    ----------
    of
        The treatment, with values 0 and 1, on the covariates.
    """
    arms = _arm_sums(of)
    counts = arms[:, 0, 0]
    fitted = fit_rows(Regressed(of.child, of.causes, of.table, of.center, of.deviation, Bernoulli()))
    outside = (math.nan, math.nan) if fitted is None else _outside(fitted, counts)
    mean = arms[:, 1] / counts[:, None]
    variance = np.maximum(arms[:, 2] / counts[:, None] - mean**2, 0.0)
    gaps = _over(mean[1] - mean[0], np.sqrt(variance.mean(axis=0)))[1:]
    return Overlap(of.child, of.causes, int(counts[1]), int(counts[0]), outside[1], outside[0], tuple(gaps.tolist()))


def differences_of_moments(data: ChildData, treatment: str, covariates: tuple[str, ...]) -> tuple[float, ...]:
    """Return standardised mean differences from moments, over the deviation inside the arms."""
    t, places = data.index[treatment], [data.index[name] for name in covariates]
    slope = data.scatter[t, places] / data.scatter[t, t]
    inside = np.diag(data.scatter)[places] - slope * data.scatter[t, places]
    step = _arm_gap(data, t)
    return tuple(_over(step * slope, np.sqrt(np.maximum(inside, 0.0) / data.rows)).tolist())


def _arm_gap(data: ChildData, t: int) -> float:
    """Return the distance between the two values of a variable, in working units: spread and mean give both."""
    variance, mean = data.scatter[t, t] / data.rows, data.mean[t]
    return float((variance + mean**2) / mean)


def _over(gap: FloatArray, spread: FloatArray) -> FloatArray:
    """Return differences over deviations; infinite where the arms differ and nothing varies inside them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0.0, 0.0, gap / spread)


def _arm_sums(of: Regressed) -> FloatArray:
    """Return sums of ones, values and squares by arm, shape (2, 3, 1 + k)."""
    sums = np.zeros((2, 3, 1 + len(of.causes)))
    for batch in of.batches():
        for arm in (0, 1):
            part = batch.design[batch.child == arm]
            sums[arm] += np.array([np.full(part.shape[1], len(part)), part.sum(axis=0), (part**2).sum(axis=0)])
    return sums


def _outside(fitted: Fitted, counts: FloatArray) -> tuple[float, float]:
    """Return, for untreated and treated rows, the share outside the other arm's range of the fitted propensity."""
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for batch in fitted.of.batches():
        eta = fitted.predictor(batch)
        for arm in (0, 1):
            part = eta[batch.child == arm]
            low[arm], high[arm] = min(low[arm], part.min(initial=np.inf)), max(high[arm], part.max(initial=-np.inf))
    gone = np.zeros(2)
    for batch in fitted.of.batches():
        eta = fitted.predictor(batch)
        for arm in (0, 1):
            part = eta[batch.child == arm]
            gone[arm] += float(((part < low[1 - arm]) | (part > high[1 - arm])).sum())
    return float(gone[0] / counts[0]), float(gone[1] / counts[1])
