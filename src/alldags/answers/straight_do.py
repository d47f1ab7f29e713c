"""`do()` of straight lines: every row keeps its residual, so that the mean outcome over rows is a line in the effect.

With the means of outcome and treatment over the rows asked about, and the total effect T::

    mean outcome when the treatment is set to x  =  ybar + T (x - xbar)

whatever the covariates are, and so for categories among them, too. If the rows are a sample of those asked about, the
variance over rows of ``y + T (x - x_i)`` over their number is added. Where regressions have rows of their own, as with
experiments, each has its own intercept, and all of them are gone through in order (`alldags.effects.outcome`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from alldags import meetings
from alldags.answers.closed import ClosedAnswer
from alldags.answers.held import HeldEffect
from alldags.answers.level_do import unit_of_rows
from alldags.data.record import MomentsRecord
from alldags.effects.intervention import Intervention
from alldags.effects.new_unit import NewUnit
from alldags.effects.outcome import check_near, outcome_distribution, outcome_mean
from alldags.effects.quantity import Quantity
from alldags.effects.span import Span
from alldags.effects.total import TotalEffect
from alldags.graph.hidden import pair_among
from alldags.memory import check_memory
from alldags.notes import Note
from alldags.typing import FloatArray

DRAWS = 4000


@dataclass(frozen=True)
class RowMeans:
    """The rows asked about, in the user's units.

    Parameters
    ----------
    outcome, treatment
        Their means.
    covariance
        Over rows, outcome first, shape (2, 2).
    rows
        Their number.
    """

    outcome: float
    treatment: float
    covariance: FloatArray
    rows: float


def straight_intervention(effect: HeldEffect, x: float, size: int, notes: tuple[Note, ...]) -> Intervention:
    """Return the outcome when the treatment is set to `x`, along straight lines; `effect` is per unit."""
    models = effect.workings.models
    check_near(models.items[0].data, effect.treatment, x)
    edges = sum(len(model.graph.edges) for model in models.items)
    check_memory(float(size) * (2 * edges + 8), f"{size:,} draws", "ask for fewer at a time")
    average, unit = partial(_average, effect, x, size, notes), partial(_new_unit, effect, x, size, notes)
    return Intervention(effect.treatment, effect.outcome, x, effect.over, average, unit, notes)


def _new_unit(effect: HeldEffect, x: float, size: int, notes: tuple[Note, ...]) -> NewUnit:
    _check_level(effect, "new unit")
    if _category_before(effect) is not None:
        return unit_of_rows(effect, x, size, notes)
    _check_pairs(effect, "new unit")
    stream = effect.posterior.workings.stream()
    found = outcome_distribution(effect.workings.models, effect.treatment, effect.outcome, x, size, stream)
    return replace(found, notes=notes)


def _check_level(effect: HeldEffect, what: str) -> None:
    """Refuse to say where a unit is if its level, whose intercept is not known, acts on its outcome."""
    if effect.posterior.workings.data.is_within:
        meetings.check({what: (), "fixed effects": ()})


def _check_pairs(effect: HeldEffect, what: str) -> None:
    """Refuse what takes the errors of two variables behind the outcome for independent."""
    for model in effect.workings.models.items:
        behind = Span.behind(model.graph, effect.treatment, effect.outcome).variables
        if pair := pair_among(model.graph.hidden, behind):
            meetings.check({what: (), "correlated errors": pair})


def _category_before(effect: HeldEffect) -> str | None:
    """Return a category, which has no mean, that may act on the outcome; None if there is none."""
    graphs = [model.graph for model in effect.workings.models.items]
    names = effect.posterior.workings.data.categories
    return next((name for name in names for graph in graphs if name in graph.ancestors(effect.outcome)), None)


# -- the mean over rows ------------------------------------------------------------------------------------------------


def _average(effect: HeldEffect, x: float, size: int, notes: tuple[Note, ...]) -> Quantity:
    if any(model.data.own for model in effect.workings.models.items):
        return _by_own_rows(effect, x, size, notes)
    means = [_row_means(effect, total) for total in effect.workings.totals.items]
    draws = _drawn(effect, x, means, size)
    return Quantity(draws, notes, _moments(effect, x, means))


def _closed(effect: HeldEffect) -> ClosedAnswer:
    assert isinstance(effect.answer, ClosedAnswer)
    return effect.answer


def _row_means(effect: HeldEffect, total: TotalEffect) -> RowMeans:
    """Return the means of the rows asked about in one completed table."""
    target = _closed(effect).target
    if target is not None:
        outcome, treatment = target.means((effect.outcome, effect.treatment)).tolist()
        return RowMeans(outcome, treatment, np.zeros((2, 2)), math.inf)  # chosen rows are no sample
    data, seen = total.model.data, effect.posterior.workings.data.seen
    if not total.model.prior.intercept and seen is not None:
        return _of_moments(seen.moments, effect)  # about their means, which working data do not hold here
    places = [data.pooled.index[name] for name in (effect.outcome, effect.treatment)]
    scale = data.scale[places]
    with np.errstate(over="ignore"):  # columns of 1e160 have variances that are no number
        covariance = data.pooled.scatter[np.ix_(places, places)] / data.pooled.rows * np.outer(scale, scale)
    outcome, treatment = (data.pooled.mean[places] * scale).tolist()
    return RowMeans(outcome, treatment, covariance, data.pooled.rows)


def _of_moments(moments: MomentsRecord, effect: HeldEffect) -> RowMeans:
    part = moments.select((effect.outcome, effect.treatment))
    return RowMeans(float(part.mean[0]), float(part.mean[1]), part.scatter / part.n, float(part.n))


def _moments(effect: HeldEffect, x: float, means: list[RowMeans]) -> tuple[float, float]:
    """Return mean and standard deviation, exact where those of the effect are."""
    totals = effect.workings.totals
    if totals.weights.tables == 1:
        step = x - means[0].treatment
        spread = abs(step) * effect.sd if step else 0.0
        return means[0].outcome + step * effect.mean, math.hypot(spread, _rows_sd(effect, means[0]))
    paired = totals.paired(_same(totals, means))
    unit, steps = _closed(effect).per_unit, np.array([x - one.treatment for one in means])
    center = float(np.mean([one.outcome for one in means]))
    first = paired.average(lambda pair: _level(pair, x, unit) - center)
    second = paired.average(lambda pair: _square(pair, x, unit, center))
    step = float(steps.mean())
    wider = effect.uncertainty.stretch is not None
    added = max(effect.sd**2 - effect.answer.sd**2, 0.0) if wider else 0.0  # by clusters and uneven noise
    variance = max(second - first**2, 0.0) + step**2 * added + _rows_sd(effect, means[0]) ** 2
    return center + first + step * (effect.mean - effect.answer.mean), math.sqrt(variance)


def _same(totals: Any, means: list[RowMeans]) -> Any:
    """Return the means as a mixture of the same models."""
    return type(totals)(tuple(means), totals.weights)


def _level(pair: tuple[TotalEffect, RowMeans], x: float, unit: float) -> float:
    total, means = pair
    return means.outcome + (x - means.treatment) * unit * total.mean


def _square(pair: tuple[TotalEffect, RowMeans], x: float, unit: float, center: float) -> float:
    """Return the second moment of the mean outcome about `center` in one model."""
    total, means = pair
    step = (x - means.treatment) * unit
    return (_level(pair, x, unit) - center) ** 2 + step**2 * max(total.second - total.mean**2, 0.0)


def _rows_sd(effect: HeldEffect, means: RowMeans) -> float:
    """Return what is not known of a population's mean because it was sampled; 0 if these rows are asked about."""
    if effect.over != "population":
        return 0.0
    step = np.array([1.0, -effect.mean])
    variance = float(step @ means.covariance @ step) + effect.sd**2 * float(means.covariance[1, 1])
    return math.sqrt(max(variance, 0.0) / (means.rows + 1.0))


def _drawn(effect: HeldEffect, x: float, means: list[RowMeans], size: int) -> FloatArray:
    """Return draws of the mean outcome, shape (size,)."""
    by_total = dict(zip(map(id, effect.workings.totals.items), means, strict=True))

    def draw(total: TotalEffect, count: int, stream: np.random.Generator) -> FloatArray:
        one = by_total[id(total)]
        line = np.full(count, one.outcome), np.full(count, x - one.treatment)
        return np.array([_closed(effect).per_unit * total.draws(count, stream), *line])

    rng = effect.posterior.workings.stream()
    slope, outcome, step = effect.workings.totals.draw(size, rng, draw)
    slope = slope if effect.uncertainty.stretch is None else effect.uncertainty.stretch(slope)
    found = outcome + step * slope
    if effect.over == "population":
        square = means[0].covariance
        variance = square[0, 0] - 2.0 * slope * square[0, 1] + slope**2 * square[1, 1]
        found = found + np.sqrt(np.maximum(variance, 0.0) / (means[0].rows + 1.0)) * rng.standard_normal(size)
    return np.asarray(found)


def _by_own_rows(effect: HeldEffect, x: float, size: int, notes: tuple[Note, ...]) -> Quantity:
    """Return the mean outcome where regressions have rows, and so intercepts, of their own."""
    _check_level(effect, "mean of set rows")
    _check_pairs(effect, "mean of set rows")
    name = _category_before(effect)
    if name is not None:
        meetings.check({"mean of set rows": (), "categories": (name,)})
    models, names = effect.workings.models, (effect.treatment, effect.outcome)
    rng = effect.posterior.workings.stream()
    mean, sd, draws, variances = outcome_mean(models, *names, x, size, rng)
    if effect.over == "population":
        share = variances / (effect.posterior.rows + 1.0)
        draws, sd = draws + np.sqrt(share) * rng.standard_normal(size), math.hypot(sd, math.sqrt(float(share.mean())))
    return Quantity(draws, notes, (mean, sd))
