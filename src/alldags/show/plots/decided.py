"""Actions below each other: the mean outcome of each with its interval, and how probably it is best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alldags.show.decided import ActionRow
from alldags.show.numbers import whole_percent
from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, name_rows, on_axes, rows_high

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_actions(rows: Sequence[ActionRow], outcome: str, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Draw the mean outcome of each action, the best one filled; at the right how probably each is best.

    Parameters
    ----------
    rows
        The actions, first on top.
    outcome
        Its name.
    level
        Of the intervals.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> from alldags.show.decided import ActionRow
    >>> from alldags.show.plots.decided import plot_actions
    >>> stop = ActionRow("stop", 31.2, 29.0, 33.0, best=0.97, loss=0.02, worth=-31.2, sd=1.0)
    >>> rows = stop, ActionRow("go on", 40.0, 38.0, 42.0, best=0.03, loss=8.8, worth=-40.0, sd=1.0)
    >>> [text.get_text() for text in plot_actions(rows, "risk").get_yticklabels()]
    ['stop', 'go on']
    """
    axes = on_axes(ax, rows_high(len(rows)) + 0.1)
    best = max(range(len(rows)), key=lambda place: rows[place].worth)
    right = axes.get_yaxis_transform()
    for place, row in enumerate(rows):
        face = style.INTERVAL if place == best else "white"
        axes.plot([row.low, row.high], [place, place], color=style.INTERVAL, linewidth=2.2, solid_capstyle="butt")
        axes.plot([row.mean], [place], "o", color=style.INTERVAL, markerfacecolor=face, markersize=5.5, zorder=3)
        axes.text(1.02, place, whole_percent(row.best), transform=right, fontsize=style.SMALL, va="center")
    axes.text(1.02, -0.65, "best", transform=right, fontsize=style.SMALL, va="bottom")
    axes.plot(
        [], [], "-o", color=style.INTERVAL, linewidth=2.2, markersize=5.5, label=f"best choice, {level:.0%} interval"
    )
    name_rows(axes, [row.name for row in rows])
    name_axis(axes, f"mean {outcome}")
    legend_below(axes)
    result: Axes = axes
    return result
