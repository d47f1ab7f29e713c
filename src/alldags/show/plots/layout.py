"""Where to draw the variables and edges of a candidate graph: plain geometry in units of the font size (em).

Variables stand in columns, one per tier, causes left of effects. An edge is a chain of cubic Bezier curves from the
right side of its cause to the left side of its effect; inside a tier, an arc beside the boxes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from alldags.show.plots.beside import arcs_beside, room
from alldags.typing import BoolArray, FloatArray

LINE = 1.25  # height of a line of text
PADDING = (0.75, 0.42)  # between text and box, sideways and upwards
ROW_GAP = 2.1
CLEARANCE = 0.35  # that a curve keeps from boxes
MAX_LINE, MAX_LINES = 16, 3  # characters and lines of a label

Edge: TypeAlias = tuple[str, str]  # cause and effect
Curve: TypeAlias = FloatArray  # (3 * pieces + 1, 2): Bezier points, pieces joined


class DrawnGraph(Protocol):
    """What a picture needs to know of a graph."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names."""

    @property
    def edges(self) -> Mapping[Edge, float]:
        """Probability of each edge."""

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """Return the variables in layers, causes first."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Boxes and curves of a drawn graph, in em.

    Parameters
    ----------
    labels
        Text of each variable, broken into lines.
    centre, size
        Of the boxes, shape (m, 2) each.
    curves
        Bezier points of each edge.
    """

    labels: tuple[str, ...]
    centre: FloatArray
    size: FloatArray
    curves: Mapping[Edge, Curve]

    def extent(self) -> FloatArray:
        """Return the lower left and the upper right corner of everything, shape (2, 2)."""
        points = [self.centre - self.size / 2, self.centre + self.size / 2, *map(sampled, self.curves.values())]
        stacked = np.concatenate(points)
        return np.array([stacked.min(axis=0), stacked.max(axis=0)])


def lay_out(graph: DrawnGraph) -> Layout:
    """Place the variables by tiers and route every edge around the boxes that it does not touch."""
    labels = tuple(wrapped(name) for name in graph.variables)
    size = np.array([text_size(label) for label in labels]) + 2 * np.array(PADDING)
    index = {name: i for i, name in enumerate(graph.variables)}
    tiers = [[index[name] for name in tier] for tier in graph.tiers()]
    pairs = [(index[cause], index[effect]) for cause, effect in graph.edges]
    ordered = untangled(tiers, pairs)
    centre = _place(ordered, size, beside=room(pairs, ordered))
    inside = arcs_beside(pairs, ordered, centre, size)
    between = [pair for pair in pairs if pair not in inside]
    one_row = all(len(tier) == 1 for tier in tiers)
    routed = (_arcs if one_row else _route)(between, tiers, centre, size)
    curves = {**dict(zip(between, routed, strict=True)), **inside}
    return Layout(labels, centre, size, {edge: curves[pair] for edge, pair in zip(graph.edges, pairs, strict=True)})


# -- labels ----------------------------------------------------------------------------------------------------------


def wrapped(name: str) -> str:
    """Break a name into at most three lines, preferably after a space, an underscore or a point."""
    clean = "".join(char if char.isprintable() else " " for char in name)
    lines = [""]
    for part in _parts(clean):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > MAX_LINE:
            lines.append("")
        lines[-1] += part
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], lines[MAX_LINES - 1].rstrip()[: MAX_LINE - 1] + "…"]
    return "\n".join(line.strip() for line in lines)


def _parts(name: str) -> list[str]:
    """Cut a name after separators, and longer pieces into lines."""
    parts = [""]
    for char in name:
        if parts[-1] and (parts[-1][-1] in " _.-/" or len(parts[-1]) == MAX_LINE):
            parts.append("")
        parts[-1] += char
    return parts


def text_size(text: str) -> tuple[float, float]:
    """Estimate width and height of a text without a font: close enough to fit a box around it."""
    lines = text.split("\n")
    return max(1.5, *(sum(map(_char_width, line)) for line in lines)), LINE * len(lines)


def _char_width(char: str) -> float:
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    if char in "ijlftrI.,;:'|!()[] ":
        return 0.38
    return 0.9 if char in "mwMW@%—…" else 0.75 if char.isupper() else 0.62


# -- boxes -----------------------------------------------------------------------------------------------------------


def untangled(tiers: Sequence[Sequence[int]], pairs: Sequence[tuple[int, int]], sweeps: int = 8) -> list[list[int]]:
    """Order each tier by the mean height of its neighbours, so that fewer edges cross."""
    neighbours: dict[int, list[int]] = {}
    for cause, effect in pairs:
        neighbours.setdefault(cause, []).append(effect)
        neighbours.setdefault(effect, []).append(cause)
    ordered = [list(tier) for tier in tiers]
    for sweep in range(sweeps):
        for position in range(len(ordered)) if sweep % 2 == 0 else reversed(range(len(ordered))):
            height = {v: rank - (len(tier) - 1) / 2 for tier in ordered for rank, v in enumerate(tier)}
            tier = ordered[position]
            wanted = {v: float(np.mean([height[u] for u in neighbours.get(v, [v])])) for v in tier}
            tier.sort(key=wanted.__getitem__)  # stable: ties keep the user's order
    return ordered


def _place(tiers: Sequence[Sequence[int]], size: FloatArray, beside: float) -> FloatArray:
    """Return the centres, shape (m, 2): tiers side by side, each centred on the middle line."""
    tallest = max(len(tier) for tier in tiers)
    gap = 3.4 + 0.4 * min(tallest, 16) + 2 * beside  # steep edges need room, and so do arcs beside the boxes
    centre = np.zeros_like(size)
    left = 0.0
    for tier in tiers:
        width = size[tier, 0].max()
        heights = size[tier, 1] + ROW_GAP
        top = heights.sum() / 2
        centre[tier, 0] = left + width / 2
        centre[tier, 1] = top - np.cumsum(heights) + heights / 2
        left += width + gap
    return centre


# -- edges -----------------------------------------------------------------------------------------------------------


def _route(
    pairs: Sequence[tuple[int, int]], tiers: Sequence[Sequence[int]], centre: FloatArray, size: FloatArray
) -> list[Curve]:
    depth = {v: position for position, tier in enumerate(tiers) for v in tier}
    start, end = _ports(pairs, centre, size)
    columns = _columns(tiers, centre, size)
    used: dict[tuple[int, int], int] = {}
    curves = []
    for number, (cause, effect) in enumerate(pairs):
        others = _on_the_way(start[number, 0], end[number, 0], centre, size)
        others[[cause, effect]] = False
        boxes = (centre[others], size[others] / 2 + CLEARANCE)
        curve = _bowed(start[number], end[number], boxes)
        if curve is None:
            curve = _threaded(start[number], end[number], columns, (depth[cause], depth[effect]), used)
        curves.append(curve)
    return curves


def _on_the_way(left: float, right: float, centre: FloatArray, size: FloatArray) -> BoolArray:
    """Tell which boxes share some x with the stretch from left to right, shape (m,)."""
    return (centre[:, 0] + size[:, 0] / 2 > left) & (centre[:, 0] - size[:, 0] / 2 < right)


def _ports(pairs: Sequence[tuple[int, int]], centre: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Spread the ends of the edges over the sides of their boxes, ordered like the other ends."""
    ends = []
    for side, sign in ((0, 0.5), (1, -0.5)):
        points = np.array([centre[pair[side]] for pair in pairs]).reshape(-1, 2)
        for box in {pair[side] for pair in pairs}:
            mine = [number for number, pair in enumerate(pairs) if pair[side] == box]
            slope = [_slope(centre[pairs[number][0]], centre[pairs[number][1]]) * (1 - 2 * side) for number in mine]
            spread = np.linspace(-0.5, 0.5, len(mine) + 2)[1:-1] * 0.8 * size[box, 1]
            rank = np.argsort(np.argsort(slope, kind="stable"))
            points[mine, 1] += spread[rank]
            points[mine, 0] += sign * size[box, 0]
        ends.append(points)
    return ends[0], ends[1]


def _slope(a: FloatArray, b: FloatArray) -> float:
    return float((b[1] - a[1]) / (b[0] - a[0]))


def _bowed(start: FloatArray, end: FloatArray, boxes: tuple[FloatArray, FloatArray]) -> Curve | None:
    """Return the least bent single curve that touches no box, or None if all do."""
    length = float(end[0] - start[0])
    reach = 0.35 * length
    steps = 8 + int(2.5 * length)  # close enough that no corner slips through between two points
    for bow in _bows(length, upwards=bool(start[1] + end[1] >= 0)):
        lead = np.array([reach, bow])
        curve = np.array([start, start + lead, end + lead * [-1, 1], end])
        if not _touches(sampled(curve, steps), *boxes):
            return curve
    return None


def _bows(length: float, *, upwards: bool) -> FloatArray:
    """Return vertical offsets to try, least first; a short edge must not bow far."""
    limit = 1.5 + 0.22 * length
    sizes = np.arange(0.0, limit, max(0.5, limit / 20))
    sign = 1.0 if upwards else -1.0
    return np.stack([sizes * sign, -sizes * sign], axis=1).ravel()


def _touches(points: FloatArray, centre: FloatArray, half: FloatArray) -> bool:
    inside = np.abs(points[:, None, :] - centre[None, :, :]) < half[None, :, :]
    return bool(inside.all(axis=2).any())


def _arcs(
    pairs: Sequence[tuple[int, int]], tiers: Sequence[Sequence[int]], centre: FloatArray, size: FloatArray
) -> list[Curve]:
    """Route the edges of a single row: straight to the next box, else by nested arcs above and below."""
    depth = {tier[0]: position for position, tier in enumerate(tiers)}
    start, end = _ports(pairs, centre, size)
    curves = []
    for number, (cause, effect) in enumerate(pairs):
        steps = depth[effect] - depth[cause]
        if steps == 1:
            curves.append(_smooth(np.array([start[number] * [1, 0], end[number] * [1, 0]])))
        else:
            side = 1.0 if steps % 2 == 0 else -1.0
            leave = _arc_end(centre[cause], size[cause], 1 / steps, side)
            arrive = _arc_end(centre[effect], size[effect], -1 / steps, side)
            curves.append(_arc(leave, arrive, side))
    return curves


def _arc_end(centre: FloatArray, size: FloatArray, share: float, side: float) -> FloatArray:
    """Return where an arc meets the upper or lower side of a box; longer arcs nearer to the middle, so they nest."""
    return np.array([centre[0] + 0.7 * share * size[0], centre[1] + 0.5 * side * size[1]])


def _arc(start: FloatArray, end: FloatArray, side: float) -> Curve:
    length = end[0] - start[0]
    lead = np.array([0.14 * length, side * (1.5 + 0.19 * length)])
    return np.array([start, start + lead, end + lead * [-1, 1], end])


@dataclass(frozen=True, eq=False)
class _Column:
    """A tier as obstacles: x from left to right, and its free gaps, lowest first, shape (gaps, 2)."""

    left: float
    right: float
    gaps: FloatArray


def _columns(tiers: Sequence[Sequence[int]], centre: FloatArray, size: FloatArray) -> list[_Column]:
    columns = []
    for tier in tiers:
        members = sorted(tier, key=lambda v: centre[v, 1])
        low = centre[members, 1] - size[members, 1] / 2
        high = centre[members, 1] + size[members, 1] / 2
        gaps = np.stack([np.append(low[0] - ROW_GAP, high), np.append(low, high[-1] + ROW_GAP)], axis=1)
        x = centre[tier[0], 0]
        half = size[list(tier), 0].max() / 2
        columns.append(_Column(float(x - half), float(x + half), gaps))
    return columns


def _threaded(
    start: FloatArray,
    end: FloatArray,
    columns: Sequence[_Column],
    tiers: tuple[int, int],
    used: dict[tuple[int, int], int],
) -> Curve:
    """Lead an edge through the gap nearest to its straight line in every column on its way."""
    first, last = tiers
    # boxes of the same column may be wider: stay level until past them
    stops = [start, np.array([columns[first].right, start[1]])]
    for tier in range(first + 1, last):
        column = columns[tier]
        x = (column.left + column.right) / 2
        straight = np.interp(x, [stops[-1][0], end[0]], [stops[-1][1], end[1]])
        gap = int(np.argmin(np.abs(column.gaps.mean(axis=1) - straight)))
        lane = used[tier, gap] = used.get((tier, gap), 0) + 1
        y = _lane(column.gaps[gap], lane)
        stops += [np.array([column.left, y]), np.array([column.right, y])]
    stops += [np.array([columns[last].left, end[1]]), end]
    return _smooth(np.array(stops))


def _lane(gap: FloatArray, number: int) -> float:
    """Return the height of a lane inside a gap: middle first, then spread evenly (golden section), never on a box."""
    fraction = 0.2 + 0.6 * ((0.5 + 0.618034 * (number - 1)) % 1.0)
    return float(gap[0] + (gap[1] - gap[0]) * fraction)


def _smooth(stops: FloatArray) -> Curve:
    """Join the stops, shape (s, 2), with curves that are level at each of them."""
    stops = stops[np.append(True, np.diff(stops[:, 0]) > 1e-9)]
    before, after = stops[:-1], stops[1:]
    reach = np.zeros_like(before)
    reach[:, 0] = 0.45 * (after[:, 0] - before[:, 0])
    pieces = np.stack([before + reach, after - reach, after], axis=1).reshape(-1, 2)
    return np.concatenate([stops[:1], pieces])


def sampled(curve: Curve, steps: int = 24) -> FloatArray:
    """Return points along a curve, shape (points, 2)."""
    t = np.linspace(0, 1, steps)[:, None]
    pieces = [curve[i : i + 4] for i in range(0, len(curve) - 1, 3)]
    return np.concatenate(
        [(1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d for a, b, c, d in pieces]
    )
