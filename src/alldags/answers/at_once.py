"""A push without stops: with straight lines only before a straight outcome, its predictor is linear in what was drawn.

Rows with the treatment's move beside them, times draws with the slope of that move beside them, are the predictor; all
draws are looked at together, a few rows at a time, which is what matrix products are fast at.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from alldags.answers.comparison import Comparison
from alldags.answers.nodes import Samples
from alldags.answers.push import BLOCK_VALUES, PushedRows
from alldags.answers.route import Route
from alldags.typing import FloatArray


def goes_at_once(route: Route, samples: Samples) -> bool:
    """Tell whether nothing has to be stopped at before the outcome, which is not normal and does not bend."""
    target = samples[route.target]
    return not route.stops and not route.bent and target.family is not None and target.family.complete


def sums_at_once(rows: PushedRows, samples: Samples, route: Route, comparison: Comparison) -> FloatArray:
    """Return sums over rows of both outcomes, of their difference and of its square, shape (4, draws)."""
    sample = samples[route.target]
    family, size, apart = sample.family, sample.size, sample.apart()
    assert family is not None
    none = np.zeros(1)
    own = [np.broadcast_to(route.slopes.get((name, route.target), none), (size,)) for name in route.entries]
    slopes = np.vstack([sample.coefficients.T, sample.intercept, np.ones(size), *own])
    sums = np.zeros((4, size))
    for low, high, weight in _designs(rows, samples, route, comparison, max(BLOCK_VALUES // size, 8)):
        one, other = family.mean(low @ slopes, apart), family.mean(high @ slopes, apart)
        sums[0] += one.sum(axis=0) if weight is None else weight @ one
        sums[1] += other.sum(axis=0) if weight is None else weight @ other
        if not comparison.is_level:
            other -= one
        sums[3] += np.einsum("nd,nd->d", other, other) if weight is None else weight @ (other * other)
    sums[2] = sums[0] if comparison.is_level else sums[1] - sums[0]
    return sums


def _designs(
    rows: PushedRows, samples: Samples, route: Route, comparison: Comparison, step: int
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray | None]]:
    """Yield a few rows at a time under both values of the treatment, shape (rows, k + 2 + entries), and weights."""
    sample = samples[route.target]
    assert sample.family is not None
    design, offset = rows.design(route.target, sample), rows.offset(sample.family)
    offset = np.zeros(rows.count) if offset is None else offset
    before = [design, np.ones(rows.count), offset]
    low, high = (
        np.column_stack([*before, *(move[name][:, 0] for name in route.entries)])
        for move in rows.moves(route.source, comparison)
    )
    for start in range(0, rows.count, step):
        part = slice(start, start + step)
        yield low[part], high[part], None if rows.weight is None else rows.weight[part]
