"""Edge probabilities as a map: row = cause, column = effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.show.numbers import whole_percent
from alldags.show.plots import style
from alldags.show.plots.axes import name_axis, on_axes, shortened
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NUMBERS = 14  # variables up to which each probability is written down


def plot_heat(names: tuple[str, ...], matrix: FloatArray, label: str, ax: Axes | None = None) -> Axes:
    """Draw a map of probabilities; what is no candidate stays white.

    Parameters
    ----------
    names
        The variables, m of them, causes first.
    matrix
        Probabilities, nan where the edge is not a candidate; shape (m, m), row = cause, column = effect.
    label
        Of the colours.
    ax
        Matplotlib axes to draw on; by default a new figure.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.show.plots.heat import plot_heat
    >>> ax = plot_heat(("x", "y"), np.array([[np.nan, 0.7], [np.nan, np.nan]]), "posterior probability")
    >>> [text.get_text() for text in ax.texts]
    ['70']
    """
    rows, columns = (np.flatnonzero(~np.isnan(matrix).all(axis=axis)) for axis in (1, 0))
    shown = matrix[np.ix_(rows, columns)]
    axes = on_axes(ax, 1.4 + 0.26 * len(rows))
    image = axes.imshow(shown, vmin=0.0, vmax=1.0, cmap=style.HEAT, aspect="auto")
    axes.set_xticks(range(len(columns)), [shortened(names[j], 18) for j in columns], rotation=45, ha="right")
    axes.set_yticks(range(len(rows)), [shortened(names[i], 18) for i in rows])
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        text.set_parse_math(False)
    _between_cells(axes, shown)
    if max(shown.shape) <= _MOST_NUMBERS:
        _write(axes, shown)
    name_axis(axes, "effect")
    name_axis(axes, "cause", "y")
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85, ticks=[0, 0.5, 1], format="{x:.0%}")
    bar.set_label(label)
    bar.outline.set_visible(False)
    result: Axes = axes
    return result


def _between_cells(axes: Any, shown: FloatArray) -> None:
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(shown.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(shown.shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    axes.set_facecolor("#f4f4f4")


def _write(axes: Any, shown: FloatArray) -> None:
    """Write each probability in percent, light on dark."""
    for (i, j), value in np.ndenumerate(shown):
        if not np.isnan(value):
            axes.text(
                j, i, whole_percent(value).rstrip("%"), ha="center", va="center", fontsize=style.SMALL,
                color="white" if value > 0.6 else style.TEXT,
            )  # fmt: skip
