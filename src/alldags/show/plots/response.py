"""What a change does step by step: mean and interval, and below the probability that nothing has arrived so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, on_axes
from alldags.show.response import ResponseSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_response(found: ResponseSummary, ax: Axes | None = None) -> Axes:
    """Draw the effect after each number of steps with its interval, and P(nothing by then) on an axis of its own.

    Parameters
    ----------
    found
        The answer.
    ax
        Matplotlib axes to draw on; by default a new figure.
    """
    axes = on_axes(ax, 3.2)
    steps = [one.step for one in found.steps]
    color = style.LINES[0]
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.fill_between(steps, [one.low for one in found.steps], [one.high for one in found.steps], color=color,
                      alpha=0.25, linewidth=0, label=f"{found.level:.0%} interval")  # fmt: skip
    axes.plot(steps, [one.mean for one in found.steps], "o-", color=color, linewidth=1.8, markersize=4, label="mean")
    other = axes.twinx()
    other.plot(steps, [one.none_by for one in found.steps], "s:", color=style.LINES[1], markersize=3.5, linewidth=1.2)
    axes.plot([], [], "s:", color=style.LINES[1], markersize=3.5, linewidth=1.2, label="nothing by then")
    other.set_ylim(0.0, 1.02)
    other.set_ylabel("probability of nothing by then")
    axes.xaxis.get_major_locator().set_params(integer=True)
    kind = "lasting change" if found.lasting else f"change of one {found.word}"
    name_axis(axes, f"{found.word}s after a {kind} of {found.treatment}")
    name_axis(axes, f"effect on {found.outcome}", "y")
    legend_below(axes, 3)
    result: Axes = axes
    return result
