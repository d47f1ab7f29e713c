"""Contours of an effect over the strength of a hidden cause, with measured covariates as landmarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from alldags.errors import require
from alldags.show.numbers import number
from alldags.show.plots import style
from alldags.show.summary import EffectSummary
from alldags.show.words import interval_name
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (5.6, 5.0)  # inches: two axes with the same scale
_APART = 0.035  # of the axes, by which labels of landmarks are kept apart


def plot_sensitivity(
    summary: EffectSummary,
    grid: FloatArray,
    means: FloatArray,
    factors: FloatArray,
    reaches_zero: float | None,
    marks: Mapping[str, tuple[float, float]],
    of_treatment: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean effect over what a hidden cause explains of treatment and outcome. Needs the extra ``plot``.

    Parameters
    ----------
    summary
        Names, level, and the effect without hidden cause.
    grid
        Shares on both axes, shape (g,).
    means, factors
        Mean effect and bias factor, row = share of the outcome, column = share of the treatment, shape (g, g).
    reaches_zero
        Bias factor at which the interval reaches zero; None for none.
    marks
        What measured covariates explain of treatment and outcome, by name.
    of_treatment
        What the treatment's shares are shares of, such as its unexplained variance.
    ax
        Matplotlib axes to draw on; by default a new figure.
    """
    pyplot: Any = require("matplotlib.pyplot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=_SIZE, layout="constrained")
    axes: Any = ax
    lines = axes.contour(grid, grid, means, levels=9, colors=style.EFFECT, linewidths=1.0, linestyles="solid")
    axes.clabel(lines, fontsize=style.SMALL, fmt=number)
    if means.min() < 0 < means.max():
        axes.contour(grid, grid, means, levels=[0.0], colors=style.NO_EFFECT, linewidths=2.0)
        axes.plot([], [], color=style.NO_EFFECT, linewidth=2.0, label="estimate is zero")
    if reaches_zero is not None and 0 < reaches_zero < factors.max():
        axes.contour(
            grid, grid, factors, levels=[reaches_zero], colors=style.INTERVAL, linewidths=1.6, linestyles="dashed"
        )
        label = f"{interval_name(summary)} reaches zero"
        axes.plot([], [], color=style.INTERVAL, linewidth=1.6, linestyle="dashed", label=label)
    _draw_marks(axes, marks, float(grid[-1]))
    axes.plot([0.0], [0.0], "o", color=style.TEXT, markersize=5, clip_on=False, zorder=3)
    axes.set_xlabel(f"share of {of_treatment} that a hidden cause explains")
    axes.set_ylabel(f"share of unexplained variance of {summary.outcome}")
    axes.set_title(f"{summary.treatment} on {summary.outcome}: {number(summary.mean)} without a hidden cause")
    axes.set_xlim(0, grid[-1])
    axes.set_ylim(0, grid[-1])
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", fontsize=style.SMALL, framealpha=0.9)
    result: Axes = axes
    return result


def _draw_marks(axes: Any, marks: Mapping[str, tuple[float, float]], top: float) -> None:
    """Draw what covariates explain, with names that do not lie on each other."""
    taken: list[tuple[float, float]] = []
    for name, (x, y) in sorted(marks.items(), key=lambda item: -sum(item[1])):
        if x > top or y > top:
            continue
        axes.plot([x], [y], "D", color=style.TEXT, markersize=5, clip_on=False, zorder=4)
        height = max(y, 0.012 * top)
        while any(abs(height - h) < _APART * top and abs(x - other) < 0.25 * top for other, h in taken):
            height += 0.5 * _APART * top
        taken.append((x, height))
        axes.annotate(
            name, (x, height), xytext=(7, 0), textcoords="offset points", fontsize=style.SMALL, color=style.TEXT,
            va="center", bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            zorder=5,
        )  # fmt: skip
