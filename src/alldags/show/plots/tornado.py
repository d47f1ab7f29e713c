"""What single edges do to an effect: its mean without and with each of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from alldags.show.measures import axis_name
from alldags.show.numbers import whole_percent
from alldags.show.plots import style
from alldags.show.plots.axes import legend_below, name_axis, name_rows, on_axes, rows_high, zero_line
from alldags.show.summary import EffectSummary
from alldags.show.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_influence(summary: EffectSummary, influence: Table, limit: int = 10, ax: Axes | None = None) -> Axes:
    """Draw the effect without and with each edge, most informative on top; at the right the variance it would remove.

    Parameters
    ----------
    summary
        The effect.
    influence
        Its edges, as from `Effect.edge_influence`.
    limit
        How many edges are drawn.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.show.plots.tornado import plot_influence
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    >>> plot_influence(effect.summary(), effect.edge_influence(), limit=1).get_yticklabels()[0].get_text()
    'smoking → risk'
    """
    rows = [row for row in influence.rows() if math.isfinite(row["effect_if_present"] - row["effect_if_absent"])]
    rows = rows[:limit]
    axes = on_axes(ax, rows_high(len(rows)) + 0.1)
    for place, row in enumerate(rows):
        _range(axes, place, row["effect_if_absent"], row["effect_if_present"], first=place == 0)
        axes.text(
            1.02, place, whole_percent(row["variance_removed"]), transform=axes.get_yaxis_transform(),
            fontsize=style.SMALL, va="center",
        )  # fmt: skip
    axes.axvline(summary.mean, color=style.INTERVAL, linewidth=1, linestyle=":", zorder=0, label="as it is")
    axes.text(1.02, -0.65, "variance\nremoved", transform=axes.get_yaxis_transform(), fontsize=style.SMALL, va="bottom")
    name_rows(axes, [f"{row['cause']} → {row['effect']}" for row in rows])
    zero_line(axes)
    name_axis(axes, axis_name(summary))
    axes.margins(x=0.08)
    legend_below(axes)
    result: Axes = axes
    return result


def _range(axes: Any, place: int, absent: float, present: float, *, first: bool) -> None:
    axes.plot([absent, present], [place, place], color=style.ZERO, linewidth=4, solid_capstyle="butt", zorder=1)
    axes.plot(
        [absent], [place], "o", markerfacecolor="white", color=style.EFFECT, markersize=6.5, zorder=2,
        label="without the edge" if first else None,
    )  # fmt: skip
    axes.plot([present], [place], "o", color=style.EFFECT, markersize=6.5, zorder=3, label="with it" if first else None)
