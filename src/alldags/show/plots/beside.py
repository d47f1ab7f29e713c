"""Edges between variables of one column, whose order is open: arcs beside the boxes, in units of the font size (em).

Downwards they run on the right of the column, upwards on the left, so that both directions of an edge are seen. Longer
arcs lie further out, and end nearer to the middle of their boxes, so that they nest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alldags.typing import FloatArray

_NEAREST, _STEP = 1.1, 0.75  # how far arcs reach beyond the boxes: to the next box, and more for each one further


def room(pairs: Sequence[tuple[int, int]], tiers: Sequence[Sequence[int]]) -> float:
    """Return how far the arcs of any column reach beyond its boxes; 0 if there are none."""
    place = {v: (column, row) for column, tier in enumerate(tiers) for row, v in enumerate(tier)}
    spans = [abs(place[a][1] - place[b][1]) for a, b in pairs if place[a][0] == place[b][0]]
    return max((_reach(span) for span in spans), default=0.0)


def _reach(span: int) -> float:
    return _NEAREST + _STEP * (span - 1)


def arcs_beside(
    pairs: Sequence[tuple[int, int]], tiers: Sequence[Sequence[int]], centre: FloatArray, size: FloatArray
) -> Mapping[tuple[int, int], FloatArray]:
    """Return a Bezier curve, shape (4, 2), for each edge inside a column; the tiers must be ordered as drawn."""
    curves = {}
    for tier in tiers:
        inside = [(cause, effect) for cause, effect in pairs if cause in tier and effect in tier]
        for cause, effect in inside:
            curves[cause, effect] = _arc([tier.index(cause), tier.index(effect)], centre[list(tier)], size[list(tier)])
    return curves


def _arc(rows: list[int], centre: FloatArray, size: FloatArray) -> FloatArray:
    """Return the arc from one row of a column to another; centre and size of its boxes have shape (rows, 2)."""
    start, end = rows
    side = 1.0 if start < end else -1.0  # row 0 is the uppermost
    span = abs(start - end)
    inset = (0.12 + 0.26 / span) * side
    ends = [
        centre[row] + 0.5 * side * np.array([size[row, 0], 0.0]) - np.array([0.0, sign * inset * size[row, 1]])
        for row, sign in ((start, 1.0), (end, -1.0))
    ]
    between = slice(min(rows), max(rows) + 1)
    outermost = (side * centre[between, 0] + size[between, 0] / 2).max()
    # halfway along, a cubic curve is at 1/8 of its ends and 3/8 of its control points
    turn = (8 * side * (outermost + _reach(span)) - ends[0][0] - ends[1][0]) / 6
    return np.array([ends[0], [turn, ends[0][1]], [turn, ends[1][1]], ends[1]])
