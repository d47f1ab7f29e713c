"""The outcome when the treatment is set to a range of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, on_axes
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_fan(
    names: tuple[str, str],
    x: FloatArray,
    mean: FloatArray,
    intervals: Sequence[tuple[float, FloatArray, FloatArray]],
    ax: Axes | None = None,
    of: str = "of new units",
) -> Axes:
    """Draw the outcome's mean and intervals over values of the treatment.

    Parameters
    ----------
    names
        Treatment and outcome.
    x, mean
        Values the treatment is set to, and the outcome's mean at each; shape (points,).
    intervals
        Level, low and high ends, shape (points,) each, of nested intervals, widest first.
    ax
        Matplotlib axes to draw on; by default a new figure.
    of
        What the intervals are of, for the legend.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.show.plots.fan import plot_fan
    >>> x = np.linspace(0, 1, 3)
    >>> plot_fan(("smoking", "risk"), x, x, [(0.9, x - 1, x + 1)]).get_xlabel()
    'smoking is set to'
    """
    axes = on_axes(ax, 3.2)
    shades = style.SHADES[-len(intervals) :] if intervals else ()
    for (level, low, high), shade in zip(intervals, shades, strict=True):
        axes.fill_between(x, low, high, color=shade, linewidth=0, label=f"{level:.0%} {of}")
    axes.plot(x, mean, color=style.INTERVAL, linewidth=1.8, label="mean")
    axes.margins(x=0)
    name_axis(axes, f"{names[0]} is set to")
    name_axis(axes, names[1], "y")
    legend_below(axes, 2)
    result: Axes = axes
    return result
