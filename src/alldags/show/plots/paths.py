"""The paths that carry an effect, as a waterfall: each begins where the one before ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.show.numbers import amount
from alldags.show.plots import style
from alldags.show.plots.axes import name_axis, name_rows, on_axes, rows_high, zero_line
from alldags.show.summary import EffectSummary
from alldags.show.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_paths(summary: EffectSummary, paths: Table, ax: Axes | None = None) -> Axes:
    """Draw the mean contribution of each path, one after the other, down to the whole effect.

    Parameters
    ----------
    summary
        The effect.
    paths
        Its paths, as from `Effect.paths`.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.show.plots.paths import plot_paths
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
    >>> [text.get_text() for text in plot_paths(effect.summary(), effect.paths()).get_yticklabels()][-1]
    'whole effect'
    """
    axes = on_axes(ax, rows_high(len(paths) + 1))
    start = 0.0
    for place, mean in enumerate(paths["mean"]):
        down = mean < 0
        axes.barh(
            place, mean, left=start, height=0.6, color=style.NO_EFFECT if down else style.EFFECT,
            hatch=style.DOWN_HATCH if down else "", edgecolor="white", linewidth=0,
        )  # fmt: skip
        axes.plot([start + mean] * 2, [place, place + 1], color=style.ZERO, linewidth=0.8, zorder=0)
        right = max(start, start + mean)
        axes.annotate(
            f"{amount(summary, mean)}", (right, place), xytext=(4, 0), textcoords="offset points", va="center",
            fontsize=style.SMALL,
        )  # fmt: skip
        start += mean
    _whole(axes, summary, len(paths))
    zero_line(axes)
    axes.margins(x=0.12)
    name_rows(axes, [*(path.replace("->", "→") for path in paths["path"]), "whole effect"])
    name_axis(axes, f"effect of {summary.treatment} on {summary.outcome}")
    result: Axes = axes
    return result


def _whole(axes: Axes, summary: EffectSummary, place: int) -> None:
    axes.barh(place, summary.mean, height=0.6, color=style.INTERVAL)
    axes.annotate(
        amount(summary, summary.mean), (max(summary.mean, 0.0), place), xytext=(4, 0), textcoords="offset points",
        va="center", fontsize=style.SMALL, fontweight="bold",
    )  # fmt: skip
