"""Would curves be worth it? A quick look at what bends, squares and interactions add to a straight-line regression.

Columns are added greedily to least squares on all causes. Each is charged as a choice among all of them: half the log
of the number of rows, and the log of the number of columns. What is left is a rough log evidence ratio, too small
rather than too large. Where noise is largest where a column is, the column explains more than its share by chance: what
it gains is divided by how much larger its own variance is than even noise would make it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.columns.base import Column, RowValues, matrix_of
from alldags.columns.bends import bends_at
from alldags.columns.line import Line
from alldags.columns.products import Times
from alldags.engines.curves.moments import arm_moments
from alldags.nodes.rows import CountedRows
from alldags.typing import FloatArray

_MOST_ADDED = 6
_MOST_COLUMNS = 400
_SPARE_ROWS = 10  # beyond those that straight lines use up
_KNOTS = 3
_ROUNDING = 1e-8  # share of a column that is left of it, below which it is taken for rounding
_NOTHING = 1e-12  # share of what straight lines leave, at which curves have explained all


@dataclass(frozen=True)
class Worth:
    """What curves would add.

    Parameters
    ----------
    nats
        Log evidence ratio of some curves against straight lines, roughly; 0 if none is worth it.
    columns
        Names of the columns added, most useful first.
    exact
        Whether straight lines leave nothing of the child but rounding.
    """

    nats: float
    columns: tuple[str, ...] = ()
    exact: bool = False


def worth_of_curves(rows: CountedRows, causes: tuple[str, ...], treatment: str) -> Worth:
    """Return what bends of all causes, and interactions of the treatment, would add to straight lines.

    Parameters
    ----------
    rows
        Of the child; of many an even part is looked at.
    causes
        Names.
    treatment
        Whose interactions are looked at, if it is one of the causes.
    """
    sample = rows.sample()
    columns = _candidates(sample, causes, treatment)
    if sample.count < len(causes) + _SPARE_ROWS or len(columns) == len(causes):
        return Worth(0.0)
    moments = arm_moments(columns, rows.child, None, np.array([]), [(sample, None)]).standardised()
    scatter, lines = moments.scatter[0], len(causes)
    if float(_swept(scatter, list(range(lines)))[-1, -1]) <= _ROUNDING * float(scatter[-1, -1]):
        return Worth(0.0, exact=True)
    price = 0.5 * math.log(sample.count) + math.log(max(len(columns) - lines, 1))
    added = _greedy(scatter, lines, float(sample.count), price)
    uneven = _uneven(sample, rows.child, columns[:lines], tuple(columns[place] for place, _ in added))
    worth = [(place, gain / ratio - price) for (place, gain), ratio in zip(added, uneven, strict=True)]
    kept = [(place, value) for place, value in worth if value > 0.0]
    return Worth(sum(value for _, value in kept), tuple(columns[place].name for place, _ in kept))


def _uneven(sample: RowValues, child: str, lines: tuple[Column, ...], added: tuple[Column, ...]) -> FloatArray:
    """Return how many times its variance under even noise each added column's coefficient has, at least 1."""
    design = matrix_of((*lines, *added), sample)
    design = np.column_stack([np.ones(sample.count), (design - design.mean(axis=0)) / (design.std(axis=0) + 1e-300)])
    own, _ = np.linalg.qr(design)  # each column without those before it
    values = sample.values[child] / (np.abs(sample.values[child]).max() + 1e-300)
    left = values - own @ (own.T @ values)
    squares = left**2 / max(float(left @ left), 1e-300)
    return np.asarray(np.maximum(sample.count * squares @ own[:, 1 + len(lines) :] ** 2, 1.0))


def _candidates(sample: RowValues, causes: tuple[str, ...], treatment: str) -> tuple[Column, ...]:
    lines: list[Column] = [Line(name) for name in causes]
    bends = [bend for name in causes for bend in bends_at(name, sample.values[name], _KNOTS)]
    center = float(sample.values[treatment].mean()) if treatment in causes else 0.0
    others = [Line(name) for name in causes if name != treatment] if treatment in causes else []
    products = [Times(line, treatment, center) for line in others]
    return (*lines, *[*products, *bends][:_MOST_COLUMNS])


def _greedy(scatter: FloatArray, lines: int, rows: float, price: float) -> list[tuple[int, float]]:
    """Add columns to the first `lines` ones while each gains more than its price; return their places and gains."""
    left = _swept(scatter, list(range(lines)))
    start = rest = float(left[-1, -1])
    original = np.diag(scatter)
    added: list[tuple[int, float]] = []
    while len(added) < _MOST_ADDED and rest > _NOTHING * start:
        size = np.diag(left)[:-1]
        usable = size > _ROUNDING * original[:-1]
        drop = np.where(usable, left[:-1, -1] ** 2 / np.where(usable, size, 1.0), 0.0)
        best = int(np.argmax(drop))
        gain = 0.5 * rows * math.log(rest / max(rest - float(drop[best]), _NOTHING * start))
        if gain <= price:
            break
        added.append((best, gain))
        left = _swept(left, [best])
        rest = float(left[-1, -1])
    return added


def _swept(matrix: FloatArray, places: list[int]) -> FloatArray:
    """Return cross-products of what some columns leave of all; columns that hang on earlier ones are passed over."""
    found, original = matrix.copy(), np.diag(matrix).copy()
    for place in places:
        pivot = found[place, place]
        if pivot > _ROUNDING * original[place]:
            found -= np.outer(found[:, place], found[place]) / pivot
    return found
