"""The chains of a sampled regression: do they agree, and do they stay where they are?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from alldags.errors import AlldagsError, require
from alldags.show.plots import style
from alldags.show.plots.axes import shortened
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_traces(names: Sequence[str], traces: FloatArray, child: str, ax: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw batch means of coefficients, one small picture for each cause, one line for each chain.

    Parameters
    ----------
    names
        Causes, k of them.
    traces
        Batch means of their coefficients, in the user's units; shape (chains, batches, k).
    child
        The variable whose regression it is.
    ax
        As many axes as there are causes; by default those of a new figure.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.show.plots.traces import plot_traces
    >>> len(plot_traces(["age", "smoking"], np.zeros((4, 50, 2)), "risk"))
    2
    """
    pyplot: Any = require("matplotlib.pyplot", "plot")
    if ax is None:
        _, found = pyplot.subplots(
            len(names), 1, figsize=(style.COLUMN, 0.6 + 0.85 * len(names)), sharex=True, squeeze=False,
            layout="constrained",
        )  # fmt: skip
        ax = list(found[:, 0])
    if len(ax) != len(names):
        raise AlldagsError(f"{len(names)} causes need {len(names)} axes, got {len(ax)}")
    drawn: list[Any] = list(ax)
    for axes, name, values in zip(drawn, names, traces.transpose(2, 0, 1), strict=True):
        for chain, line in enumerate(values):
            axes.plot(
                line, color=style.LINES[chain % 4], linestyle=style.DASHES[chain % 4], linewidth=0.9,
                label=f"chain {chain + 1}" if chain < 4 else None,
            )  # fmt: skip
        axes.set_title(f"{shortened(name)} → {shortened(child)}", fontsize=style.SMALL, loc="left", parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
    drawn[-1].set_xlabel("batch of sweeps")
    drawn[0].legend(frameon=False, fontsize=style.SMALL, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return drawn
