"""Axes to draw on, in one style."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alldags.errors import require
from alldags.show.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEGEND_POINTS = 36.0  # from the axis down to the legend


def on_axes(ax: Axes | None, height: float) -> Any:
    """Return the axes that were given, or those of a new figure one column wide and `height` inches high."""
    pyplot: Any = require("matplotlib.pyplot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(style.COLUMN, height), layout="constrained")
    axes: Any = ax
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def rows_high(rows: int) -> float:
    """Return the height in inches of a picture with so many rows, its axis and its legend."""
    return 1.1 + style.ROW * max(rows, 1)


def name_rows(axes: Any, names: list[str]) -> None:
    """Write the rows' names at the left, the first on top; names are shown as they are, never as mathematics."""
    axes.set_yticks(range(len(names)), [shortened(name) for name in names])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def name_axis(axes: Any, text: str, which: str = "x") -> None:
    """Name an axis, as it is."""
    label = axes.set_xlabel(text) if which == "x" else axes.set_ylabel(text)
    label.set_parse_math(False)


def shortened(name: str, most: int = 28) -> str:
    """Return a name that fits beside a row.

    Examples
    --------
    >>> from alldags.show.plots.axes import shortened
    >>> shortened("a" * 50)
    'aaaaaaaaaaaaa…aaaaaaaaaaaaaa'
    """
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most // 2) :]}"


def zero_line(axes: Any, *, vertical: bool = True) -> None:
    """Draw a line at zero behind everything."""
    draw = axes.axvline if vertical else axes.axhline
    draw(0.0, color=style.ZERO, linewidth=0.8, zorder=0)


def legend_below(axes: Any, columns: int = 3) -> None:
    """Put the legend under the picture and the name of its axis, however high the picture is."""
    from matplotlib.transforms import ScaledTranslation

    below = axes.transAxes + ScaledTranslation(0.0, -_LEGEND_POINTS / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        frameon=False, fontsize=style.SMALL, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=below,
        ncols=columns, borderaxespad=0.0, handlelength=1.8, columnspacing=1.3,
    )  # fmt: skip
