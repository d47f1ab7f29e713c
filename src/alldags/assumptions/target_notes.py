"""How far other rows than those of the fit lie outside of these."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alldags.answers.rows_given import OtherRows
from alldags.assumptions.overlap import LARGE_OUTSIDE, overlap
from alldags.assumptions.regression import Regressed
from alldags.data.batches import RowTable
from alldags.data.columns import columns_of
from alldags.models.workings import Workings
from alldags.notes import Note
from alldags.show.numbers import whole_percent
from alldags.text import some
from alldags.typing import BoolArray, FloatArray, IntArray

_IS_OTHER = "among the other rows"
_MOST_ROWS = 20_000  # of either kind that are compared


def target_notes(workings: Workings, other: OtherRows, covariates: Sequence[str]) -> tuple[Note, ...]:
    """Say which share of other rows is outside the rows of the fit, by their covariates together and one by one."""
    share, outside = share_outside(workings, other, covariates)
    if not share > 0.0:
        return ()
    named = f" ({some(map(repr, outside))} beyond all values that were observed)" if outside else ""
    text = (
        f"{whole_percent(share)} of the other rows are outside the rows of the fit{named}: the answer extends what was "
        "found to where there are no data"
    )
    return (Note(text, "changes the answer" if share >= LARGE_OUTSIDE else "check"),)


def share_outside(workings: Workings, other: OtherRows, covariates: Sequence[str]) -> tuple[float, tuple[str, ...]]:
    """Return the share of other rows outside the rows of the fit, and the covariates that are by themselves.

    Rows are compared as the two arms of a treatment are (`Overlap`): by the fitted probability of being among the
    others; and by the ends of each covariate.
    """
    data = workings.data
    values = other.values(data, tuple(covariates)) if covariates else {}
    ends = {name: data.look(name).ends for name in values if name in data.pooled.index}
    beyond = {name: _beyond(column, ends.get(name)) for name, column in values.items()}
    named = tuple(name for name, mask in beyond.items() if mask.any())
    by_ends = float(np.any(list(beyond.values()), axis=0).mean()) if beyond else 0.0
    return max(by_ends, _by_propensity(workings, values)), named


def _beyond(column: FloatArray, ends: tuple[float, float] | None) -> BoolArray:
    if ends is None:
        return np.zeros(len(column), dtype=bool)
    slack = 1e-9 * (ends[1] - ends[0])
    return np.asarray((column < ends[0] - slack) | (column > ends[1] + slack))


def _by_propensity(workings: Workings, values: dict[str, FloatArray]) -> float:
    """Return the share of other rows outside the range of the fitted probability of being one; 0 if it has no fit."""
    table = workings.data.table
    if table is None and workings.table is not None:
        table = workings.table.rows(workings.data.pooled.names)
    if table is None or not values:
        return 0.0
    rng = np.random.default_rng(0)
    here, there = _part(table.count, rng), _part(len(next(iter(values.values()))), rng)
    if len(there) < 20:
        return 0.0
    both = {name: np.concatenate([table.column(name)[here], column[there]]) for name, column in values.items()}
    names = tuple(name for name, column in both.items() if column.std() > 0.0)
    both[_IS_OTHER] = np.repeat([0.0, 1.0], [len(here), len(there)])
    rows = RowTable(columns_of(both, len(both[_IS_OTHER])))
    center = {name: float(column.mean()) for name, column in both.items()}
    deviation = {name: float(column.std()) for name, column in both.items()}
    if not names:
        return 0.0
    found = overlap(Regressed(_IS_OTHER, names, rows, center, deviation)).treated_outside
    return 0.0 if math.isnan(found) else found


def _part(count: int, rng: np.random.Generator) -> IntArray:
    return np.arange(count) if count <= _MOST_ROWS else rng.choice(count, _MOST_ROWS, replace=False)
