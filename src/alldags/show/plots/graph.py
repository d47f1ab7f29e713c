"""Candidate graphs: causes left of effects, edges as wide and dark as they are probable."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.errors import GraphError, did_you_mean, require
from alldags.show.plots import style
from alldags.show.plots.layout import Curve, DrawnGraph, Edge, Layout, lay_out, sampled, text_size
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 1.0  # em
LEGEND = 2.6  # em, below the graph


def plot_graph(
    graph: DrawnGraph,
    ax: Axes | None = None,
    treatment: str | None = None,
    outcome: str | None = None,
    probabilities: Mapping[Edge, float] | None = None,
    folded: Collection[str] = (),
) -> Axes:
    """Draw a candidate graph, causes left of effects; the more probable an edge, the wider and darker.

    Certain edges are black, uncertain ones blue; those of probability 0 are not drawn. Needs the extra ``plot``.

    Parameters
    ----------
    graph
        The graph.
    ax
        Matplotlib axes to draw on; by default a new figure in the size that the graph needs.
    treatment, outcome
        Variables to highlight.
    probabilities
        Of every edge, drawn instead of the graph's own.
    folded
        Variables that stand for several others, drawn pale.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.show.plots.graph import plot_graph
    >>> ax = plot_graph(ad.CandidateGraph.from_order(["age", "smoking", "cancer"]), treatment="smoking")
    >>> [text.get_text() for text in ax.texts]
    ['age', 'smoking', 'cancer']
    """
    require("matplotlib", "plot")
    shown = graph.edges if probabilities is None else probabilities
    roles = _roles(graph, treatment, outcome)
    layout = lay_out(graph)
    entries = list(roles.values()) + [label for _, label in _legend_values(list(shown.values()))]
    hidden: Mapping[Edge, float] = getattr(graph, "hidden", {})
    arcs = [_arc(layout, graph.variables, pair) for pair in hidden]
    low, high = _with_legend(_around(layout.extent(), arcs), entries)
    ax = _new_axes(high - low) if ax is None else ax
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()
    em = _em(ax, high - low)
    _draw_edges(ax, layout, shown, em)
    _draw_hidden(ax, arcs, list(hidden.values()), em)
    pale = dict.fromkeys(folded, "folded")
    _draw_boxes(ax, layout, [roles.get(name, pale.get(name, "")) for name in graph.variables], em)
    _draw_legend(ax, list(shown.values()), list(roles.values()), em)
    return ax


def _roles(graph: DrawnGraph, treatment: str | None, outcome: str | None) -> dict[str, str]:
    if treatment is not None and treatment == outcome:
        raise GraphError(f"treatment and outcome are both {treatment!r}; name two variables")
    roles = {name: role for name, role in ((treatment, "treatment"), (outcome, "outcome")) if name is not None}
    for name in roles:
        if name not in graph.variables:
            raise GraphError(f"{name!r} is not a variable of the graph{did_you_mean(name, graph.variables)}")
    return roles


# -- size ------------------------------------------------------------------------------------------------------------


def _with_legend(extent: FloatArray, entries: list[str]) -> FloatArray:
    """Add margins and room for the legend to an extent of shape (2, 2)."""
    low, high = extent
    wanted = 0.85 * sum(text_size(entry)[0] + 4.8 for entry in entries)
    sideways = max(0.0, (wanted - (high[0] - low[0])) / 2) + MARGIN
    below = MARGIN + (LEGEND if entries else 0.0)
    return np.asarray(extent + np.array([[-sideways, -below], [sideways, MARGIN]]))


def _new_axes(extent: FloatArray) -> Axes:
    """Return axes that fill a figure in which one em is `style.FONT_SIZE` points."""
    import matplotlib.pyplot as plt

    inches = extent * style.FONT_SIZE / 72
    figure = plt.figure(figsize=tuple(inches * min(1.0, style.MAX_INCHES / inches.max())))
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _em(ax: Axes, extent: FloatArray) -> float:
    """Return the size of one em in points on these axes."""
    box = ax.get_window_extent()
    figure = ax.get_figure(root=True)
    points = np.array([box.width, box.height]) * 72 / (figure.dpi if figure else 72.0)
    return float(min(points / extent))


# -- parts -----------------------------------------------------------------------------------------------------------


def line_style(probability: float, em: float) -> tuple[float, tuple[float, float, float, float]]:
    """Return line width in points and colour: both grow with the probability, certain edges have their own."""
    from matplotlib.colors import to_rgba

    if probability >= 1.0:
        return 0.4 * em, to_rgba(style.CERTAIN)
    return (0.04 + 0.36 * probability) * em, to_rgba(style.UNCERTAIN, 0.25 + 0.7 * probability)


def _draw_edges(ax: Axes, layout: Layout, probabilities: Mapping[Edge, float], em: float) -> None:
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path

    edges = sorted((edge for edge in probabilities if probabilities[edge] > 0), key=probabilities.__getitem__)
    if not edges:
        return
    styles = [line_style(probabilities[edge], em) for edge in edges]
    heads = [
        _arrow_head(layout.curves[edge], 1.6 * width / em + 0.45)
        for edge, (width, _) in zip(edges, styles, strict=True)
    ]
    paths = []
    for edge, head in zip(edges, heads, strict=True):
        curve = layout.curves[edge].copy()
        curve[-1] = head[1:].mean(axis=0)  # the line ends where its head begins
        paths.append(Path(curve, [Path.MOVETO] + [Path.CURVE4] * (len(curve) - 1)))
    colours = [colour for _, colour in styles]
    widths = [width for width, _ in styles]
    lines = PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=widths, capstyle="butt", zorder=1)
    ax.add_collection(lines, autolim=False)
    ax.add_collection(PolyCollection(heads, facecolors=colours, linewidths=0, zorder=1.5), autolim=False)


def _arrow_head(curve: Curve, length: float) -> FloatArray:
    """Return the corners of an arrow head at the end of a curve, tip first, shape (3, 2)."""
    direction = curve[-1] - curve[-2]
    direction = direction / np.linalg.norm(direction)
    across = np.array([-direction[1], direction[0]]) * 0.42 * length
    base = curve[-1] - direction * length
    return np.array([curve[-1], base + across, base - across])


def _arc(layout: Layout, variables: tuple[str, ...], pair: Edge) -> Curve:
    """Return a curve from the top of one box to that of another, above all between, shape (4, 2)."""
    boxes = [variables.index(name) for name in pair]
    ends = [layout.centre[i] + np.array([0.0, layout.size[i, 1] / 2]) for i in boxes]
    top = max(ends[0][1], ends[1][1]) + 1.5 + 0.18 * float(np.linalg.norm(ends[1] - ends[0]))
    return np.array([ends[0], (ends[0][0], top), (ends[1][0], top), ends[1]])


def _around(extent: FloatArray, arcs: list[Curve]) -> FloatArray:
    """Return an extent that holds arcs, too."""
    points = np.concatenate([extent, *map(sampled, arcs)])
    return np.array([points.min(axis=0), points.max(axis=0)])


def _draw_hidden(ax: Axes, arcs: list[Curve], probabilities: list[float], em: float) -> None:
    """Draw hidden common causes: dashed, with two heads."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    for arc, probability in zip(arcs, probabilities, strict=True):
        width, colour = line_style(min(probability, 0.99), em)
        path = Path(arc, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        wide = max(0.5 * width, 0.1 * em)
        ax.add_patch(
            FancyArrowPatch(
                path=path, arrowstyle="<|-|>", linestyle=(0, (4, 2)), linewidth=wide, color=colour,
                mutation_scale=1.1 * em, zorder=1.2,
            )
        )  # fmt: skip


def _draw_boxes(ax: Axes, layout: Layout, roles: list[str], em: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    for label, centre, size, role in zip(layout.labels, layout.centre, layout.size, roles, strict=True):
        face, edge = style.ROLES[role]
        x, y = (float(value) for value in centre - size / 2)
        width, height = (float(value) for value in size)
        shape = "round,pad=0,rounding_size=0.5"
        ax.add_patch(FancyBboxPatch((x, y), width, height, shape, fc=face, ec=edge, linewidth=0.11 * em, zorder=2))
        # names are shown as they are: no mathematics between dollar signs, no TeX
        ax.text(
            x + width / 2, y + height / 2, label, ha="center", va="center", fontsize=em, color=style.TEXT, zorder=3,
            linespacing=1.1, parse_math=False, usetex=False,
        )  # fmt: skip


def _draw_legend(ax: Axes, values: list[float], roles: list[str], em: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for role in roles:
        face, edge = style.ROLES[role]
        handles.append(Patch(facecolor=face, edgecolor=edge, label=role))
    for value, label in _legend_values(values):
        width, colour = line_style(value, em)
        handles.append(Line2D([], [], linewidth=width, color=colour, label=label))
    if handles:
        ax.legend(
            handles=handles, loc="lower center", ncols=len(handles), frameon=False, fontsize=0.85 * em,
            borderaxespad=0.3, handlelength=2.2, columnspacing=1.4,
        )  # fmt: skip


def _legend_values(values: list[float]) -> list[tuple[float, str]]:
    """Return what to show of the probabilities: all of up to four, else a range; certain edges always."""
    uncertain = sorted({value for value in values if 0 < value < 1})
    if len(uncertain) > 4:
        uncertain = [0.1, 0.5, 0.9]
    entries = [(value, f"probability {value:.2g}") for value in uncertain]
    return entries + ([(1.0, "certain")] if 1.0 in values else [])
