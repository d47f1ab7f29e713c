"""The posterior of an effect: a density, and a bar for the chance that there is no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.errors import require
from alldags.show.measures import axis_name
from alldags.show.numbers import amount, some_effect
from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, zero_line
from alldags.show.summary import EffectSummary, GivenEffect
from alldags.show.words import interval_name
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WORTH_DRAWING = 0.01  # probability of no effect, from which the effect given that there is one is drawn apart
_VISIBLE = 5e-4  # an atom that rounds to 0.0% is not drawn


def plot_effect(summary: EffectSummary, draws: FloatArray, ax: Axes | None = None) -> Axes:
    """Draw an effect's posterior: a density for the effect if there is one, a bar for the chance that there is none.

    The density integrates to the probability that there is an effect; the bar at zero has a scale of its own, on the
    right, because an atom has no density. Needs the extra ``plot``.

    Parameters
    ----------
    summary
        Mean, interval and probability of no effect.
    draws
        Draws of the effect, exact zeros where there is none; shape (size,).
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    >>> plot_effect(effect.summary(level=0.8), effect.draws(2000)).get_xlabel()
    'total effect of smoking on risk, per unit'
    """
    pyplot: Any = require("matplotlib.pyplot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=style.FIGURE_SIZE, layout="constrained")
    axes: Any = ax
    atom = summary.probability_no_effect or 0.0
    values = draws[draws != 0.0]
    if len(values) > 1 and values.std() > 0:
        _draw_density(axes, values, 1.0 - atom, some_effect(summary))
    _draw_interval(axes, summary)
    if atom >= _VISIBLE:
        _draw_atom(axes, atom)
    zero_line(axes)
    name_axis(axes, f"total {axis_name(summary)}")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    result: Axes = axes
    return result


def _draw_density(axes: Any, values: FloatArray, mass: float, probability: str) -> None:
    grid, density = smooth_density(values)
    axes.fill_between(grid, mass * density, color=style.EFFECT, alpha=0.25, linewidth=0)
    axes.plot(grid, mass * density, color=style.EFFECT, linewidth=1.5, label=f"there is an effect: {probability}")
    axes.set_ylabel("posterior density")


def smooth_density(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a grid and a kernel density estimate on it, over the central 99.8% of the values.

    The values are counted in bins much finer than the kernel, which is then laid over the counts: the same to the eye
    as a sum over all values, and a hundred times as fast.
    """
    from scipy.ndimage import gaussian_filter1d

    low, high = np.quantile(values, [0.001, 0.999])
    margin = 0.05 * (high - low)
    grid = np.linspace(low - margin, high + margin, 400)
    inside = values[(values >= low - margin) & (values <= high + margin)]
    spread = min(inside.std(), np.subtract(*np.quantile(inside, [0.75, 0.25])) / 1.349)
    width = max(0.9 * spread * len(inside) ** -0.2, 1e-3 * inside.std())  # Silverman's rule, robust to heavy tails
    step = min(width / 8, (grid[-1] - grid[0]) / 1000)
    edges = np.arange(grid[0] - 5 * width, grid[-1] + 5 * width + step, step)
    counts, _ = np.histogram(inside, edges)
    smooth = gaussian_filter1d(counts / (len(values) * step), width / step, mode="constant", truncate=5.0)
    return grid, np.interp(grid, (edges[1:] + edges[:-1]) / 2, smooth)


def _draw_interval(axes: Any, summary: EffectSummary) -> None:
    low, high = summary.low, summary.high
    height = 0.02
    axes.plot(
        [low, high], [height, height], transform=axes.get_xaxis_transform(), color=style.INTERVAL, linewidth=3,
        solid_capstyle="butt", label=f"{interval_name(summary)} {amount(summary, low)} to {amount(summary, high)}",
    )  # fmt: skip
    axes.plot(
        [summary.mean], [height], "o", transform=axes.get_xaxis_transform(), color=style.INTERVAL, markersize=6,
        label=f"mean {amount(summary, summary.mean)}",
    )  # fmt: skip
    if summary.given_effect is not None and (summary.probability_no_effect or 0.0) >= _WORTH_DRAWING:
        _draw_given_effect(axes, summary, summary.given_effect)
    legend_below(axes, columns=2)


def _draw_given_effect(axes: Any, summary: EffectSummary, given: GivenEffect) -> None:
    """Draw mean and interval given that there is an effect, above those averaged over both."""
    height, ends = 0.075, f"{amount(summary, given.low)} to {amount(summary, given.high)}"
    axes.plot(
        [given.low, given.high], [height, height], transform=axes.get_xaxis_transform(), color=style.EFFECT,
        linewidth=1.6, linestyle=(0, (4, 1.5)), label=f"if there is an effect: {amount(summary, given.mean)} ({ends})",
    )  # fmt: skip
    axes.plot(
        [given.mean], [height], "o", transform=axes.get_xaxis_transform(), color=style.EFFECT, markerfacecolor="white",
        markersize=6,
    )  # fmt: skip


def _draw_atom(axes: Any, atom: float) -> None:
    right = axes.twinx()
    right.vlines(0.0, 0.0, atom, color=style.NO_EFFECT, linewidth=4)
    right.set_ylim(0, max(1.0, atom))
    right.set_ylabel("probability of no effect", color=style.NO_EFFECT)
    right.tick_params(axis="y", colors=style.NO_EFFECT)
    right.spines[["top", "left"]].set_visible(False)
    right.annotate(
        f"no effect: {atom:.1%}", (0.0, max(atom, 0.08)), xytext=(6, -2), textcoords="offset points",
        color=style.NO_EFFECT, va="top", fontsize=style.SMALL,
    )  # fmt: skip
