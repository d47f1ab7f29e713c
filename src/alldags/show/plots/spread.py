"""Where the uncertainty of effects comes from: not knowing the graph, or not knowing the coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alldags.show.numbers import whole_percent
from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, name_rows, on_axes, rows_high
from alldags.show.summary import EffectSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_spread(summaries: Sequence[EffectSummary], ax: Axes | None = None) -> Axes:
    """Draw, for each effect, the shares of its variance from not knowing the graph and the coefficients.

    Parameters
    ----------
    summaries
        The effects; one whose engine has no notion of a graph is drawn as coefficients only.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.show.plots.spread import plot_spread
    >>> study = ad.datasets.example()
    >>> ax = plot_spread([ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").summary()])
    >>> [text.get_text() for text in ax.texts]
    ['29%', '71%']
    """
    axes = on_axes(ax, rows_high(len(summaries)) + 0.3)
    learned = any(summary.learns_hyperparameters for summary in summaries)
    unknown = "not knowing graph or prior" if learned else "not knowing the graph"
    for place, summary in enumerate(summaries):
        share = structure_share(summary)
        first = place == 0
        axes.barh(place, share, height=0.6, color=style.STRUCTURE, label=unknown if first else None)
        axes.barh(
            place, 1 - share, left=share, height=0.6, color=style.COEFFICIENTS,
            label="not knowing the coefficients" if first else None,
        )  # fmt: skip
        for middle, part, colour in ((share / 2, share, "white"), ((1 + share) / 2, 1 - share, style.TEXT)):
            if part >= 0.08:
                axes.text(
                    middle, place, whole_percent(part), ha="center", va="center", color=colour, fontsize=style.SMALL
                )
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter("{x:.0%}")
    name_rows(axes, [f"{summary.treatment} → {summary.outcome}" for summary in summaries])
    name_axis(axes, "share of the posterior variance")
    legend_below(axes, 1)
    result: Axes = axes
    return result


def structure_share(summary: EffectSummary) -> float:
    """Return the share of the variance that comes from not knowing the graph."""
    if summary.sd_structure is None or not summary.sd > 0:
        return 0.0
    return min((summary.sd_structure / summary.sd) ** 2, 1.0)
