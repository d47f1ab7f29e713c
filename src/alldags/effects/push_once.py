"""A push without stops: with normal nodes only before the outcome, its predictor is linear in what was drawn.

Rows with the treatment's move beside them, times draws with the slope of that move beside them, are the predictor; all
draws are looked at together, a few rows at a time, which is what matrix products are fast at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from alldags.effects.comparison import Comparison
from alldags.effects.push import Route, Rows, Samples
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.effects.response import Response

_BLOCK_VALUES = 2**17  # rows times draws looked at together: they stay in the cache


def goes_at_once(response: Response, route: Route) -> bool:
    """Tell whether nothing has to be stopped at before the outcome, which is not normal."""
    return not route.stops and response.span.variables[-1] in response.families


def sums_at_once(response: Response, rows: Rows, samples: Samples, route: Route, contrast: Comparison) -> FloatArray:
    """Return sums over rows as `Push.sums` does, shape (4, draws)."""
    source, target = response.span.variables[0], response.span.variables[-1]
    family, sample = response.families[target], samples[target]
    size = len(sample.coefficients)
    slope = route.slopes.get((source, target), np.zeros(1))
    intercept = np.zeros(size) if sample.intercept is None else sample.intercept
    slopes = np.vstack([sample.coefficients.T, intercept, np.ones(size), np.broadcast_to(slope, (size,))])
    sums = np.zeros((4, size))
    for low, high in _designs(rows, target, contrast, max(_BLOCK_VALUES // size, 8)):
        one, other = family.mean(low @ slopes), family.mean(high @ slopes)
        sums[0] += one.sum(axis=0)
        sums[1] += other.sum(axis=0)
        if not contrast.is_level:
            other -= one
        sums[3] += np.einsum("nd,nd->d", other, other)
    sums[2] = sums[1] if contrast.is_level else sums[1] - sums[0]
    return sums


def _designs(rows: Rows, target: str, contrast: Comparison, step: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield a few rows at a time under both values of the treatment, shape (rows, k + 3)."""
    design, offset = rows.designs[target]
    offset = np.zeros(rows.count) if offset is None else offset
    moves = [shift / rows.treatment_scale for shift in contrast.shifts(rows.treatment)]
    low, high = (np.column_stack([design, np.ones(rows.count), offset, move]) for move in moves)
    for start in range(0, rows.count, step):
        yield low[start : start + step], high[start : start + step]
