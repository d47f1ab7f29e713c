"""What each step would bring an effect to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, on_axes, rows_high, shortened
from alldags.show.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 12


def plot_steps(steps: Table, name: str, ax: Axes | None = None) -> Axes:
    """Draw the expected standard deviation after each step as a bar, the best on top, beside that of now.

    Parameters
    ----------
    steps
        As from `NextSteps.table`.
    name
        What the axis is called.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> from alldags.show.plots.steps import plot_steps
    >>> from alldags.show.table import Table
    >>> steps = Table({"step": ["500 more rows"], "sd": [0.7], "before": [1.0]})
    >>> plot_steps(steps, "sd").get_yticklabels()[0].get_text()
    '500 more rows'
    """
    rows = list(steps.rows())[:_MOST]
    axes = on_axes(ax, rows_high(len(rows)) + 0.1)
    before, after = ([row[column] for row in rows] for column in ("before", "sd"))
    axes.barh(range(len(rows)), before, color=style.ZERO, alpha=0.35, height=0.6, label="now")
    axes.barh(range(len(rows)), after, color=style.INTERVAL, height=0.6, label="expected after the step")
    axes.set_yticks(range(len(rows)), [shortened(row["step"], 40) for row in rows])
    axes.invert_yaxis()
    name_axis(axes, name)
    legend_below(axes)
    result: Axes = axes
    return result
