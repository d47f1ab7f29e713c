"""What was believed of each edge before the data, and what after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, name_rows, on_axes, rows_high
from alldags.show.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_beliefs(edges: Table, limit: int = 25, ax: Axes | None = None) -> Axes:
    """Draw prior and posterior probability of edges, those that moved most on top.

    Parameters
    ----------
    edges
        As from `Posterior.edge_probabilities`.
    limit
        How many edges are drawn.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> from alldags.show.plots.beliefs import plot_beliefs
    >>> from alldags.show.table import Table
    >>> table = Table({"cause": ["x", "z"], "effect": ["y", "y"], "prior": [0.5, 0.5], "posterior": [0.6, 0.9]})
    >>> plot_beliefs(table, limit=1).get_yticklabels()[0].get_text()
    'z → y'
    """
    after = "posterior" if "posterior" in edges.columns else "shrinkage"
    rows = sorted(edges.rows(), key=lambda row: -abs(row[after] - row["prior"]))[:limit]
    axes = on_axes(ax, rows_high(len(rows)) + 0.1)
    for place, row in enumerate(rows):
        first = place == 0
        axes.plot([row["prior"], row[after]], [place, place], color=style.ZERO, linewidth=3, zorder=1)
        axes.plot(
            [row["prior"]], [place], "o", color=style.EFFECT, markerfacecolor="white", markersize=6.5, zorder=2,
            label="before the data" if first else None,
        )  # fmt: skip
        axes.plot(
            [row[after]], [place], "o", color=style.EFFECT, markersize=6.5, zorder=3,
            label=("after" if after == "posterior" else "share that survives") if first else None,
        )  # fmt: skip
    axes.set_xlim(-0.03, 1.03)
    axes.xaxis.set_major_formatter("{x:.0%}")
    name_rows(axes, [f"{row['cause']} → {row['effect']}" for row in rows])
    name_axis(axes, "probability of the edge")
    legend_below(axes)
    result: Axes = axes
    return result
