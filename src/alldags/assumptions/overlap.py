"""Overlap of a 0/1 treatment, or of two levels of a category: are there rows of the other arm that are alike?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from alldags.assumptions.checked import Checked, rows_of
from alldags.assumptions.examined import ExaminedEffect
from alldags.assumptions.regression import Fitted, Regressed, fit_rows
from alldags.effects.regression import adjustment_set
from alldags.families.yes_no import Bernoulli
from alldags.nodes.data import ChildData
from alldags.notes import Note
from alldags.show.checks import CheckLine
from alldags.show.numbers import percent, whole_percent
from alldags.typing import FloatArray

LARGE_OUTSIDE = 0.1  # share of rows without a row of the other arm that is alike
_MOST_WORK = 2e8  # rows times squared columns of a propensity that is fitted only for a note


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
        variances (from moments alone: over the deviation inside the arms). Of a category, the distance of the shares of
        its levels in such units, which has no sign.
    words
        What 0 and 1 stand for, where the arms are two levels of a category.
    """

    treatment: str
    covariates: tuple[str, ...]
    treated: int
    untreated: int
    treated_outside: float
    untreated_outside: float
    differences: tuple[float, ...]
    words: tuple[str, str] | None = None

    @property
    def arms(self) -> tuple[str, str]:
        """The values of the treatment, as they are printed."""
        return ("0", "1") if self.words is None else (repr(self.words[0]), repr(self.words[1]))

    @property
    def outside(self) -> float:
        """Share of all rows outside the other arm's range."""
        rows = self.treated + self.untreated
        return (self.treated * self.treated_outside + self.untreated * self.untreated_outside) / rows


def overlap(
    of: Regressed, covariates: Mapping[str, Sequence[str]] | None = None, words: tuple[str, str] | None = None
) -> Overlap:
    """Fit the propensity to the rows, by logistic regression on all covariates, and compare the arms.

    Parameters
    ----------
    of
        The treatment, with values 0 and 1, on the columns of the covariates.
    covariates
        The columns of each; None: every column is one.
    words
        What 0 and 1 stand for, where they are two levels of a category.
    """
    arms = _arm_sums(of)
    counts = arms[:, 0, 0]
    fitted = fit_rows(Regressed(of.child, of.causes, of.table, of.center, of.deviation, Bernoulli()))
    outside = (math.nan, math.nan) if fitted is None else _outside(fitted, counts)
    mean = arms[:, 0] / counts[:, None]
    inside = arms[:, 1:] / counts[:, None, None] - np.einsum("ai,aj->aij", mean, mean)
    places = {name: 1 + place for place, name in enumerate(of.causes)}
    written = {name: (name,) for name in of.causes} if covariates is None else covariates
    groups = [[places[column] for column in columns] for columns in written.values()]
    gaps = tuple(_gap(mean[1] - mean[0], inside.mean(axis=0), group) for group in groups)
    sizes = int(counts[1]), int(counts[0])
    return Overlap(of.child, tuple(written), *sizes, outside[1], outside[0], gaps, words)


def _gap(gap: FloatArray, covariance: FloatArray, group: list[int]) -> float:
    """Return a difference of means over the deviation; of several columns, their distance."""
    if len(group) == 1:
        variance = np.maximum(covariance[group, group], 0.0)
        return float(_over(gap[group], np.sqrt(variance))[0])
    inverse = np.linalg.pinv(covariance[np.ix_(group, group)], rcond=1e-10, hermitian=True)
    return math.sqrt(max(float(gap[group] @ inverse @ gap[group]), 0.0))


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
    """Return sums and, below them, cross-products of ones and columns by arm, shape (2, 2 + k, 1 + k)."""
    sums = np.zeros((2, 2 + len(of.causes), 1 + len(of.causes)))
    for batch in of.batches():
        for arm in (0, 1):
            part = batch.design[batch.child == arm]
            sums[arm] += np.vstack([part.sum(axis=0), part.T @ part])
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


# -- what is said of it -----------------------------------------------------------------------------------------------


def overlap_line(found: Overlap) -> CheckLine:
    """Return the check of overlap, flagged if the effect is extrapolated."""
    far = is_extrapolated(found)
    plain = f"{percent(found.outside)} of the rows lie outside the other arm's range of the fitted propensity"
    words = extrapolation(found) if far else plain
    if math.isnan(found.outside):
        words = f"the propensity of {found.treatment} has no fit"
    return CheckLine(
        "overlap", found.treatment, "fitted propensity", "share of rows outside the other arm's range", found.outside,
        math.nan, far, words,
    )  # fmt: skip


def is_extrapolated(found: Overlap) -> bool:
    """Tell whether so many rows have none of the other arm that is alike that a reader must know.

    The range of n rows leaves out some 2 / n of the others by chance, and every fitted covariate some more.
    """
    chance = (2 + len(found.covariates)) / min(found.treated, found.untreated)
    return max(found.outside, found.treated_outside) > LARGE_OUTSIDE + chance


def extrapolation(found: Overlap) -> str:
    """Say for how many rows there is none of the other arm that is alike."""
    return (
        f"{whole_percent(found.outside)} of the rows have no counterpart in the other arm of {found.treatment} "
        f"({whole_percent(found.treated_outside)} at {found.arms[1]}, {whole_percent(found.untreated_outside)} at "
        f"{found.arms[0]}): for them the effect is extrapolated, by the model alone; their fitted propensity lies "
        "outside the other arm's range"
    )


def extrapolation_note(effect: ExaminedEffect) -> Iterator[Note]:
    """Say that the effect of a 0/1 treatment is extrapolated, where that is quick to see."""
    posterior, treatment = effect.posterior, effect.treatment
    data = posterior.workings.data
    names = adjustment_set(posterior.graphs, treatment, effect.outcome)
    levels = effect.answer.question.comparison.values if treatment in data.categories else None
    work = posterior.rows * (1 + len(data.columns(names))) ** 2
    if not names or work > _MOST_WORK or (levels is None and not data.look(treatment).is_yes_no):
        return
    table, _ = rows_of(posterior, data.columns((treatment, *names)))
    if table is None:
        return
    checked = Checked(posterior.graphs, data, table, treatment, effect.outcome)
    found = _of_levels(checked, treatment, names, levels) if levels else _of_values(checked, treatment, names)
    if found is not None and is_extrapolated(found):
        yield Note(extrapolation(found), "changes the answer")


def _of_values(checked: Checked, treatment: str, covariates: Sequence[str]) -> Overlap | None:
    of = checked.regressed(treatment, covariates)
    known = of is not None and checked.is_yes_no(treatment)
    return overlap(of, checked.written(covariates)) if known and of is not None else None


def _of_levels(
    checked: Checked, treatment: str, covariates: Sequence[str], levels: tuple[float, float]
) -> Overlap | None:
    """Compare the rows that have either of two levels of a category; None if one has no rows."""
    words = checked.data.levels[treatment].words
    of = checked.two_levels(treatment, covariates, levels)
    named = words[int(levels[0])], words[int(levels[1])]
    return None if of is None else overlap(of, checked.written(covariates), named)


def overlaps(checked: Checked, treatment: str, covariates: Sequence[str]) -> Iterator[Overlap]:
    """Yield the comparison of both arms of a treatment; of a category, of each level with the first."""
    if treatment not in checked.data.categories:
        found = _of_values(checked, treatment, covariates)
        if found is not None:
            yield found
        return
    for level in range(1, len(checked.data.levels[treatment].words)):
        found = _of_levels(checked, treatment, covariates, (0.0, float(level)))
        if found is not None:
            yield found
