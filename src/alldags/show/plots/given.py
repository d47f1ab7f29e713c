"""The effect given that there is one: its density, mean and interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.errors import AlldagsError
from alldags.show.numbers import amount, some_effect
from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, on_axes, zero_line
from alldags.show.plots.effect import smooth_density
from alldags.show.summary import EffectSummary
from alldags.show.words import interval_name
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_given_effect(summary: EffectSummary, draws: FloatArray, ax: Axes | None = None) -> Axes:
    """Draw the posterior of an effect given that there is one; the density integrates to one.

    Parameters
    ----------
    summary
        Of the effect.
    draws
        Draws of the effect, exact zeros where there is none; shape (size,).
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
    >>> effect.plots.given_effect().get_xlabel()
    'effect of smoking on risk, if there is one'
    """
    given, values = summary.given_effect, draws[draws != 0.0]
    if given is None or len(values) < 2 or values.std() == 0.0:
        raise AlldagsError(f"{_why_not(summary)}; use effect.plot()")
    axes = on_axes(ax, 3.0)
    grid, density = smooth_density(values)
    axes.fill_between(grid, density, color=style.EFFECT, alpha=0.25, linewidth=0)
    axes.plot(grid, density, color=style.EFFECT, linewidth=1.5)
    top = 1.08 * float(density.max())
    ends = f"{amount(summary, given.low)} to {amount(summary, given.high)}"
    axes.plot(
        [given.low, given.high], [0.0, 0.0], color=style.INTERVAL, linewidth=4, solid_capstyle="butt", clip_on=False,
        label=f"{interval_name(summary)} {ends}",
    )  # fmt: skip
    axes.plot(
        [given.mean], [0.0], "o", color=style.INTERVAL, markerfacecolor="white", markersize=7, clip_on=False, zorder=4,
        label=f"mean {amount(summary, given.mean)}",
    )  # fmt: skip
    zero_line(axes)
    axes.set_ylim(0.0, top)
    axes.set_ylabel("posterior density")
    axes.set_title(f"probability that there is an effect: {some_effect(summary)}", fontsize=style.SMALL, loc="left")
    name_axis(axes, f"effect of {summary.treatment} on {summary.outcome}, if there is one")
    legend_below(axes)
    result: Axes = axes
    return result


def _why_not(summary: EffectSummary) -> str:
    """Say why there is nothing to draw given that there is an effect."""
    of, none = f"effect of {summary.treatment!r} on {summary.outcome!r}", summary.probability_no_effect
    if none is None:
        return f"whether there is an {of} was not asked: the engine has no notion of a graph"
    if none == 0.0:
        return f"that there is an {of} is certain, so that the effect itself is what would be drawn"
    return f"there is no {of} to draw: it is too improbable"
