"""Checks as pictures: residuals along the fitted values, and how far the arms of a 0/1 treatment differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from alldags.show.plots import style
from alldags.show.plots.axes import name_axis, name_rows, on_axes, rows_high, zero_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGE = 0.25  # standard deviations, marked


def plot_residuals(child: str, bins: Sequence[Sequence[float]], ax: Axes | None = None) -> Axes:
    """Draw the mean residual of rows grouped by fitted value, with two standard errors on each side.

    Parameters
    ----------
    child
        Whose regression it is.
    bins
        Mean fitted value, mean residual and its standard error, shape (3, groups).
    ax
        Matplotlib axes to draw on; by default a new figure.
    """
    axes = on_axes(ax, 2.8)
    fitted, residual, error = (np.asarray(values) for values in bins)
    zero_line(axes, vertical=False)
    axes.errorbar(
        fitted, residual, 2.0 * error, fmt="o", color=style.EFFECT, ecolor=style.EFFECT, elinewidth=1.4, capsize=3,
        markersize=5,
    )  # fmt: skip
    name_axis(axes, f"fitted {child}, in ten groups of rows")
    name_axis(axes, "mean residual ± 2 s.e.", "y")
    result: Axes = axes
    return result


def plot_balance(names: Sequence[str], gaps: Sequence[float], ax: Axes | None = None) -> Axes:
    """Draw the standardised mean difference of each covariate between the arms, the largest on top.

    Parameters
    ----------
    names, gaps
        Covariates, and treated less untreated in standard deviations.
    ax
        Matplotlib axes to draw on; by default a new figure.
    """
    order = np.argsort(-np.abs(np.asarray(gaps)), kind="stable")
    axes = on_axes(ax, rows_high(len(names)))
    for edge in (-_LARGE, _LARGE):
        axes.axvline(edge, color=style.ZERO, linewidth=0.8, linestyle="--", zorder=0)
    zero_line(axes)
    for row, place in enumerate(order):
        axes.plot([0.0, gaps[place]], [row, row], color=style.ZERO, linewidth=2, zorder=1)
        axes.plot([gaps[place]], [row], "o", color=style.EFFECT, markersize=6, zorder=2)
    name_rows(axes, [names[place] for place in order])
    name_axis(axes, "treated less untreated, in standard deviations")
    result: Axes = axes
    return result
