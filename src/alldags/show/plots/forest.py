"""Many effects, one row each: mean, interval, and how probable it is that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alldags.show.numbers import whole_percent
from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, name_rows, on_axes, rows_high, zero_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class ForestRow:
    """One effect of a forest: its name, mean and interval, and the probability of no effect, None if not known."""

    name: str
    mean: float
    low: float
    high: float
    no_effect: float | None = None


def plot_forest(rows: Sequence[ForestRow], label: str, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Draw effects below each other, each with its interval; at the right the probability that there is none.

    Parameters
    ----------
    rows
        The effects, first on top.
    label
        Name of the axis.
    level
        Of the intervals.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> from alldags.show.plots.forest import ForestRow, plot_forest
    >>> ax = plot_forest([ForestRow("age", 0.4, 0.1, 0.7, 0.01)], "effect on risk")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['age']
    """
    axes = on_axes(ax, rows_high(len(rows)) + 0.1)
    for place, row in enumerate(rows):
        open_ = row.no_effect is not None and row.no_effect >= 0.5
        axes.plot([row.low, row.high], [place, place], color=style.INTERVAL, linewidth=2.2, solid_capstyle="butt")
        axes.plot(
            [row.mean], [place], "o", color=style.INTERVAL, markerfacecolor="white" if open_ else style.INTERVAL,
            markersize=5.5, zorder=3,
        )  # fmt: skip
    _label_intervals(axes, level, any(row.no_effect is not None and row.no_effect >= 0.5 for row in rows))
    zero_line(axes)
    name_rows(axes, [row.name for row in rows])
    name_axis(axes, label)
    _no_effect_column(axes, rows)
    legend_below(axes)
    result: Axes = axes
    return result


def _label_intervals(axes: Any, level: float, any_open: bool) -> None:
    axes.plot([], [], "-o", color=style.INTERVAL, linewidth=2.2, markersize=5.5, label=f"mean, {level:.0%} interval")
    if any_open:
        axes.plot(
            [], [], "o", color=style.INTERVAL, markerfacecolor="white", markersize=5.5, label="more likely no effect"
        )


def _no_effect_column(axes: Any, rows: Sequence[ForestRow]) -> None:
    """Write the probabilities of no effect at the right."""
    if all(row.no_effect is None for row in rows):
        return
    right = axes.get_yaxis_transform()
    axes.text(1.02, -0.65, "no effect", transform=right, fontsize=style.SMALL, color=style.NO_EFFECT, va="bottom")
    for place, row in enumerate(rows):
        if row.no_effect is not None:
            text = whole_percent(row.no_effect)
            axes.text(1.02, place, text, transform=right, fontsize=style.SMALL, color=style.NO_EFFECT, va="center")
