"""Curves: the mean outcome against what the treatment is set to, and each row's effect against a covariate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, on_axes, zero_line
from alldags.show.table import Table
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 300  # rows whose interval is drawn; of more an even part


def plot_curve(curve: Table, treatment: str, outcome: str, ax: Axes | None = None) -> Axes:
    """Draw the mean outcome over the rows against the value that the treatment is set to, with its interval.

    Parameters
    ----------
    curve
        As `Effect.curve` returns it.
    treatment, outcome
        Names.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> from alldags.show.plots.curves import plot_curve
    >>> from alldags.show.table import Table
    >>> curve = Table({"dose": [0.0, 1.0], "mean": [1.0, 2.0], "sd": [0.1, 0.1], "low": [0.8, 1.8], "high": [1.2, 2.2]})
    >>> plot_curve(curve, "dose", "answer").get_ylabel()
    'mean of answer'
    """
    axes = on_axes(ax, 3.2)
    mean, low, high = (np.asarray(curve[name], dtype=float) for name in ("mean", "low", "high"))
    words = [str(value) for value in curve[treatment]] if isinstance(curve[treatment][0], str) else None
    x = np.arange(len(mean), dtype=float) if words else np.asarray(curve[treatment], dtype=float)
    if words or len(x) == 2:
        axes.errorbar(x, mean, [mean - low, high - mean], fmt="o", color=style.INTERVAL, capsize=3, label="mean")
        axes.set_xticks(x, words)
        axes.margins(x=0.3)
    else:
        axes.fill_between(x, low, high, color=style.SHADES[1], linewidth=0, label="95% interval of the mean")
        axes.plot(x, mean, color=style.INTERVAL, linewidth=1.8, label="mean")
        axes.margins(x=0)
    name_axis(axes, f"{treatment} is set to")
    name_axis(axes, f"mean of {outcome}", "y")
    legend_below(axes, 2)
    result: Axes = axes
    return result


def plot_by_covariate(
    x: FloatArray, effects: Table, covariate: str, treatment: str, outcome: str, ax: Axes | None = None
) -> Axes:
    """Draw each row's effect with its interval against a covariate.

    Parameters
    ----------
    x
        The covariate's values, shape (rows,).
    effects
        As `Effect.by` returns them for the same rows.
    covariate, treatment, outcome
        Names.
    ax
        Matplotlib axes to draw on; by default a new figure.
    """
    axes: Any = on_axes(ax, 3.2)
    shown = np.argsort(x, kind="stable")[:: max(1, -(-len(x) // _MOST_BARS))]
    mean, low, high = (np.asarray(effects[name], dtype=float)[shown] for name in ("mean", "low", "high"))
    zero_line(axes, vertical=False)
    axes.vlines(x[shown], low, high, color=style.SHADES[1], linewidth=1.0, label="95% interval of a row")
    axes.plot(x[shown], mean, ".", color=style.INTERVAL, markersize=4, label="effect of a row")
    name_axis(axes, covariate)
    name_axis(axes, f"effect of {treatment} on {outcome}", "y")
    legend_below(axes, 2)
    result: Axes = axes
    return result
