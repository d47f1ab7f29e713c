"""Drawing candidate graphs with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.errors import GraphError, require
from alldags.graph.candidate import CandidateGraph, Edge
from alldags.graph.layout import Curve, Layout, lay_out, text_size
from alldags.palette import BLUE, GREEN, GREY, INK, MINT, PEACH, RUST, TEXT, WHITE
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_SIZE = 10.0  # points, of a figure of its own
MAX_INCHES = 40.0
MARGIN = 1.0  # em
LEGEND = 2.6  # em, below the graph
CERTAIN, UNCERTAIN = INK, BLUE
FACES = {"treatment": (PEACH, RUST), "outcome": (MINT, GREEN), "": (WHITE, GREY)}


def plot_graph(
    graph: CandidateGraph,
    ax: Axes | None = None,
    treatment: str | None = None,
    outcome: str | None = None,
    probabilities: Mapping[Edge, float] | Any | None = None,
) -> Axes:
    """Draw a candidate graph, causes left of effects; the more probable an edge, the wider and darker.

    Certain edges are black, uncertain ones blue. Needs the extra ``plot``.

    Parameters
    ----------
    graph
        The graph.
    ax
        Matplotlib axes to draw on; by default a new figure in the size that the graph needs.
    treatment, outcome
        Variables to highlight.
    probabilities
        Drawn instead of the graph's own, for example after seeing data: ``posterior.edge_probabilities()`` or another
        table with the columns ``cause``, ``effect`` and ``posterior`` or ``probability``; or
        ``{(cause, effect): probability}``; or a square matrix or labelled frame, row = cause. Edges left out are not
        drawn; only edges that are certain in `graph` are drawn as certain.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import alldags as ad
    >>> graph = ad.CandidateGraph.from_order(["age", "smoking", "cancer"])
    >>> ax = graph.plot(treatment="smoking", outcome="cancer")
    >>> ax.figure.savefig("graph.png")  # doctest: +SKIP
    """
    require("matplotlib", "plot")
    shown = _shown_probabilities(graph, probabilities)
    roles = _roles(graph, treatment, outcome)
    layout = lay_out(graph)
    entries = list(roles.values()) + [label for _, label in _legend_values(list(shown.values()))]
    low, high = _with_legend(layout.extent(), entries)
    ax = _new_axes(high - low) if ax is None else ax
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()
    em = _em(ax, high - low)
    _draw_edges(ax, layout, shown, em)
    _draw_boxes(ax, layout, [roles.get(name, "") for name in graph.variables], em)
    _draw_legend(ax, list(shown.values()), list(roles.values()), em)
    return ax


def _shown_probabilities(graph: CandidateGraph, probabilities: Any) -> dict[Edge, float]:
    """Return the probability to draw for each candidate edge."""
    if probabilities is None:
        return dict(graph.edges)
    drawn = _as_graph(graph.variables, probabilities)
    for cause, effect in drawn.edges:
        if (cause, effect) not in graph.edges:
            raise GraphError(f"probabilities has {cause!r} -> {effect!r}, which is not a candidate edge of the graph")
    # data never make an edge certain: what rounds to 1 is still drawn as uncertain
    below_one = float(np.nextafter(1.0, 0.0))
    return {
        edge: 1.0 if prior == 1.0 else min(drawn.edges.get(edge, 0.0), below_one) for edge, prior in graph.edges.items()
    }


def _as_graph(variables: tuple[str, ...], probabilities: Any) -> CandidateGraph:
    """Read probabilities from a mapping, a table with one row per edge, or a square matrix; clip rounding above 1."""
    columns = list(getattr(probabilities, "columns", ()))
    value = next((name for name in ("posterior", "probability") if name in columns), None)
    if value is not None and {"cause", "effect"} <= set(columns):
        edges = zip(probabilities["cause"], probabilities["effect"], strict=True)
        probabilities = dict(zip(edges, map(float, probabilities[value]), strict=True))
    if not isinstance(probabilities, Mapping):
        return CandidateGraph.from_matrix(probabilities, None if columns else variables)
    return CandidateGraph(variables, {edge: 1.0 if 1 < p < 1 + 1e-9 else p for edge, p in probabilities.items()})


def _roles(graph: CandidateGraph, treatment: str | None, outcome: str | None) -> dict[str, str]:
    if treatment is not None and treatment == outcome:
        raise GraphError(f"treatment and outcome are both {treatment!r}; name two variables")
    roles = {name: role for name, role in ((treatment, "treatment"), (outcome, "outcome")) if name is not None}
    for name in roles:
        graph.parents(name)  # raises for unknown names
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
    """Return axes that fill a figure in which one em is `FONT_SIZE` points."""
    import matplotlib.pyplot as plt

    inches = extent * FONT_SIZE / 72
    figure = plt.figure(figsize=tuple(inches * min(1.0, MAX_INCHES / inches.max())))
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
        return 0.26 * em, to_rgba(CERTAIN)
    return (0.05 + 0.2 * probability) * em, to_rgba(UNCERTAIN, 0.18 + 0.77 * probability)


def _draw_edges(ax: Axes, layout: Layout, probabilities: Mapping[Edge, float], em: float) -> None:
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path

    edges = sorted((edge for edge in probabilities if probabilities[edge] > 0), key=probabilities.__getitem__)
    if not edges:
        return
    styles = [line_style(probabilities[edge], em) for edge in edges]
    heads = [
        _arrow_head(layout.curves[edge], 2.2 * width / em + 0.3) for edge, (width, _) in zip(edges, styles, strict=True)
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


def _draw_boxes(ax: Axes, layout: Layout, roles: list[str], em: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    for label, centre, size, role in zip(layout.labels, layout.centre, layout.size, roles, strict=True):
        face, edge = FACES[role]
        x, y = (float(value) for value in centre - size / 2)
        width, height = (float(value) for value in size)
        style = "round,pad=0,rounding_size=0.5"
        ax.add_patch(FancyBboxPatch((x, y), width, height, style, fc=face, ec=edge, linewidth=0.11 * em, zorder=2))
        # names are shown as they are: no mathematics between dollar signs, no TeX
        ax.text(
            x + width / 2, y + height / 2, label, ha="center", va="center", fontsize=em, color=TEXT, zorder=3,
            linespacing=1.1, parse_math=False, usetex=False,
        )  # fmt: skip


def _draw_legend(ax: Axes, values: list[float], roles: list[str], em: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(facecolor=FACES[role][0], edgecolor=FACES[role][1], label=role) for role in roles]
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
