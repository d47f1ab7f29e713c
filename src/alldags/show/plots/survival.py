"""Survival under both values of a treatment, against time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, on_axes
from alldags.show.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_survival(curves: Table, words: tuple[str, str], outcome: str, ax: Axes | None = None) -> Axes:
    """Draw the probability to survive, with its interval, under both values of the treatment.

    Parameters
    ----------
    curves
        Time, and for each of `words` the probability, and the ends of its interval (``"a low"``, ``"a high"``).
    words
        What the two values are called in it.
    outcome
        Name.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> from alldags.show.plots.survival import plot_survival
    >>> from alldags.show.table import Table
    >>> one = {"time": [1.0, 2.0], "a": [0.9, 0.8], "a low": [0.8, 0.7], "a high": [0.95, 0.9]}
    >>> plot_survival(Table({**one, "b": [0.9, 0.8], "b low": [0.8, 0.7], "b high": [0.95, 0.9]}), ("a", "b"), "time")
    <Axes: xlabel='time', ylabel='probability to survive'>
    """
    axes = on_axes(ax, 3.2)
    time = np.append(0.0, np.asarray(curves["time"], dtype=float))
    for word, color, line in zip(words, style.LINES[1::-1], style.DASHES[1::-1], strict=True):
        low, middle, high = (np.append(1.0, curves[name]) for name in (f"{word} low", word, f"{word} high"))
        axes.fill_between(time, low, high, color=color, alpha=0.25, linewidth=0)
        axes.plot(time, middle, line, color=color, linewidth=1.8, label=word)
    axes.set_ylim(0.0, 1.02)
    axes.margins(x=0)
    name_axis(axes, outcome)
    name_axis(axes, "probability to survive", "y")
    legend_below(axes, 2)
    result: Axes = axes
    return result
