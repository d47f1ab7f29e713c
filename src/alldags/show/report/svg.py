"""Pictures of a report as SVG, coloured by the page's own style: they turn dark with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

import numpy as np

from alldags.show.measures import axis_name
from alldags.show.numbers import amount, percent
from alldags.show.plots.effect import smooth_density
from alldags.show.plots.layout import Curve, DrawnGraph, Edge, Layout, lay_out
from alldags.show.screen import with_short_names
from alldags.show.summary import EffectSummary
from alldags.typing import FloatArray

EM = 13.0  # pixels per em of a drawn graph
_WIDTH, _HEIGHT, _FLOOR = 640.0, 210.0, 150.0  # of the picture of an effect; where its axis lies
_VISIBLE = 5e-4  # an atom that rounds to 0.0% is not drawn


def element(name: str, text: str = "", /, **attributes: object) -> str:
    """Return an element; `text` is markup, attribute values are escaped, ``_`` in names stands for ``-``."""
    pairs = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(_plain(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{pairs}>{text}</{name}>"


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


# -- graph -----------------------------------------------------------------------------------------------------------


def graph_svg(graph: DrawnGraph, roles: Mapping[str, str], labels: Mapping[Edge, str]) -> tuple[str, float]:
    """Return a drawn graph and its natural width in pixels.

    Parameters
    ----------
    graph
        What to draw, edges as wide as they are probable.
    roles
        ``"treatment"`` or ``"outcome"`` of the variables that have one.
    labels
        Text for each edge; an edge that has one can be focused.
    """
    layout = lay_out(graph)
    low, high = layout.extent() + np.array([[-1.0, -1.0], [1.0, 1.0]])
    width, height = ((high - low) * EM).tolist()
    place = _Place(low, high)
    edges = sorted(graph.edges, key=graph.edges.__getitem__)
    parts = [_edge(layout, edge, graph.edges[edge], labels.get(edge, ""), place) for edge in edges]
    boxes = [_box(layout, i, name, roles.get(name, ""), place) for i, name in enumerate(graph.variables)]
    picture = element(
        "svg", "".join((*parts, *boxes)), viewBox=f"0 0 {width:.1f} {height:.1f}", role="group",
        aria_label="candidate graph", class_="graph",
    )  # fmt: skip
    return picture, width


class _Place:
    """From em, upwards, to pixels, downwards."""

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        self._left, self._top = low[0], high[1]

    def __call__(self, points: FloatArray) -> FloatArray:
        return np.stack([points[..., 0] - self._left, self._top - points[..., 1]], axis=-1) * EM


def _edge(layout: Layout, edge: Edge, probability: float, label: str, place: _Place) -> str:
    curve = place(layout.curves[edge])
    width = 0.8 + 4.2 * probability
    head = _head(curve, 5.0 + 2.2 * width)
    curve = curve.copy()
    curve[-1] = head[1:].mean(axis=0)
    kind = "edge certain" if probability >= 1.0 else "edge"
    inside = (
        (element("title", escape(label)) if label else "")
        + element("path", d=_path(curve), class_="hit")
        + element("path", d=_path(curve), class_="line", stroke_width=width)
        + element("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in head.tolist()), class_="head")
    )
    focus = {"tabindex": 0, "role": "button", "aria_label": label} if label else {}
    return element(
        "g", inside, class_=kind, opacity=0.3 + 0.7 * probability, data_cause=edge[0], data_effect=edge[1], **focus
    )


def _path(curve: Curve) -> str:
    points = [f"{x:.1f} {y:.1f}" for x, y in curve.tolist()]
    return f"M{points[0]}C{' '.join(points[1:])}"


def _head(curve: Curve, length: float) -> FloatArray:
    direction = curve[-1] - curve[-2]
    direction = direction / np.linalg.norm(direction)
    across = np.array([-direction[1], direction[0]]) * 0.42 * length
    base = curve[-1] - direction * length
    return np.array([curve[-1], base + across, base - across])


def _box(layout: Layout, index: int, name: str, role: str, place: _Place) -> str:
    x, y = place(layout.centre[index]).tolist()
    width, height = (layout.size[index] * EM).tolist()
    lines = layout.labels[index].split("\n")
    top = y - 0.6 * EM * (len(lines) - 1)
    words = "".join(
        element("tspan", escape(line), x=x, y=top + 1.2 * EM * i + 0.34 * EM) for i, line in enumerate(lines)
    )
    inside = (
        element("title", escape(f"{name} ({role})" if role else name))
        + element("rect", x=x - width / 2, y=y - height / 2, width=width, height=height, rx=6.0)
        + element("text", words, text_anchor="middle", font_size=EM)
    )
    return element("g", inside, class_=f"box {role}".strip(), data_name=name)


# -- effect ----------------------------------------------------------------------------------------------------------


def effect_svg(summary: EffectSummary, draws: FloatArray) -> str:
    """Return the posterior of an effect: density, interval, mean, and a bar for the chance that there is none."""
    atom = summary.probability_no_effect or 0.0
    values = draws[draws != 0.0]
    has_density = len(values) > 1 and values.std() > 0
    grid, density = smooth_density(values) if has_density else (np.array([summary.low, summary.high]), np.zeros(2))
    low, high = _range(grid, summary)
    across = _Scale(low, high)
    parts = [_density(across(grid), density)] if has_density else []
    parts += [_zero(across), *_axis(across, summary)]
    if atom >= _VISIBLE:
        parts.append(_atom(across, atom))
    parts.append(_interval(across, summary))
    label = f"posterior of the effect of {summary.treatment} on {summary.outcome}"
    return element(
        "svg", "".join(parts), viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}", role="img", aria_label=label, class_="effect"
    )


def _range(grid: FloatArray, summary: EffectSummary) -> tuple[float, float]:
    ends = [*grid[[0, -1]].tolist(), summary.low, summary.high, summary.mean, 0.0]
    low, high = min(ends), max(ends)
    margin = 0.04 * (high - low) or max(1.0, abs(low))
    return low - margin, high + margin


class _Scale:
    """From units of the effect to pixels across."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, value: FloatArray | float) -> FloatArray:
        return np.asarray(20.0 + (_WIDTH - 40.0) * (np.asarray(value) - self.low) / (self.high - self.low))


def _density(x: FloatArray, density: FloatArray) -> str:
    y = _FLOOR - 0.88 * (_FLOOR - 10.0) * density / density.max()
    points = " ".join(f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    area = f"M{x[0]:.1f} {_FLOOR}L{points}L{x[-1]:.1f} {_FLOOR}Z"
    return element("path", d=area, class_="area") + element("path", d=f"M{points}", class_="curve")


def _zero(across: _Scale) -> str:
    if not across.low < 0 < across.high:
        return ""
    x = float(across(0.0))
    return element("line", x1=x, x2=x, y1=10.0, y2=_FLOOR, class_="zero")


def _axis(across: _Scale, summary: EffectSummary) -> list[str]:
    line = element("line", x1=20.0, x2=_WIDTH - 20.0, y1=_FLOOR, y2=_FLOOR, class_="axis")
    ticks = ticks_between(across.low, across.high)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    marks = [
        element("line", x1=float(across(t)), x2=float(across(t)), y1=_FLOOR, y2=_FLOOR + 5, class_="axis")
        + element("text", f"{t:,.{decimals}f}", x=float(across(t)), y=_FLOOR + 19, text_anchor="middle")
        for t in ticks
    ]
    name = escape(axis_name(with_short_names(summary)))
    return [line, *marks, element("text", name, x=_WIDTH / 2, y=_HEIGHT - 8, text_anchor="middle", class_="name")]


def ticks_between(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers between two others, at most `most` of them.

    Examples
    --------
    >>> from alldags.show.report.svg import ticks_between
    >>> ticks_between(-0.1, 1.3)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _atom(across: _Scale, atom: float) -> str:
    x = float(across(0.0))
    top = _FLOOR - (_FLOOR - 10.0) * atom
    left = x < 0.7 * _WIDTH
    height = min(max(top, 14.0) + 4.0, _FLOOR - 20.0)
    words = element(
        "text", f"no effect: {percent(atom)}", x=x + (8.0 if left else -8.0), y=height,
        text_anchor="start" if left else "end", class_="atom",
    )  # fmt: skip
    return element("line", x1=x, x2=x, y1=top, y2=_FLOOR, class_="atom") + words


def _interval(across: _Scale, summary: EffectSummary) -> str:
    y = _FLOOR - 5.0
    low, high, mean = (float(across(value)) for value in (summary.low, summary.high, summary.mean))
    words = f"mean {amount(summary, summary.mean)}"
    return element("line", x1=low, x2=high, y1=y, y2=y, class_="interval") + element(
        "circle", element("title", escape(words)), cx=mean, cy=y, r=5.0, class_="interval"
    )


# -- bars ------------------------------------------------------------------------------------------------------------


def bar_svg(start: float, end: float, low: float, high: float) -> str:
    """Return a small bar from `start` to `end` on an axis from `low` to `high`, with a line at zero."""
    width = 160.0
    span = (high - low) or 1.0
    a, b, zero = ((value - low) / span * width for value in (start, end, 0.0))
    bar = element(
        "rect", x=min(a, b), y=3.0, width=max(abs(b - a), 1.0), height=10.0, class_="up" if b >= a else "down"
    )
    line = element("line", x1=zero, x2=zero, y1=0.0, y2=16.0, class_="zero") if 0 <= zero <= width else ""
    return element("svg", bar + line, viewBox=f"-1 0 {width + 2:g} 16", class_="bar", aria_hidden="true")
