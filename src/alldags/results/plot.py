"""Pictures of results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.errors import AlldagsError, require
from alldags.files import replacing
from alldags.palette import BLUE, NAVY, RUST
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.results.effect import Effect

_VISIBLE = 5e-4  # an atom that rounds to 0.0% is not drawn


def plot_effect(effect: Effect, ax: Axes | None = None) -> Axes:
    """Draw an effect's posterior: a density for the effect if there is one, a bar for the chance that there is none.

    The density integrates to the probability that there is an effect; the bar at zero has a scale of its own, on the
    right, because an atom has no density.
    """
    pyplot: Any = require("matplotlib.pyplot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes: Any = ax
    atom = effect.probability_no_path or 0.0
    values = effect.sample.draws[effect.sample.draws != 0.0]
    if len(values) > 1 and values.std() > 0:
        _draw_density(axes, values, 1.0 - atom)
    _draw_interval(axes, effect)
    if atom >= _VISIBLE:
        _draw_atom(axes, atom)
    axes.axvline(0.0, color="0.75", linewidth=0.8, zorder=0)
    axes.set_xlabel(f"total effect of {effect.treatment} on {effect.outcome}")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    result: Axes = axes
    return result


def _draw_density(axes: Any, values: FloatArray, mass: float) -> None:
    grid, density = smooth_density(values)
    axes.fill_between(grid, mass * density, color=BLUE, alpha=0.25, linewidth=0)
    axes.plot(grid, mass * density, color=BLUE, linewidth=1.5, label=f"there is an effect: {mass:.1%}")
    axes.set_ylabel("posterior density")


def smooth_density(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a grid and a kernel density estimate on it, over the central 99.8% of the values."""
    from scipy.stats import gaussian_kde

    low, high = np.quantile(values, [0.001, 0.999])
    margin = 0.05 * (high - low)
    grid = np.linspace(low - margin, high + margin, 400)
    inside = values[(values >= low - margin) & (values <= high + margin)]
    share = len(inside) / len(values)
    spread = min(inside.std(), np.subtract(*np.quantile(inside, [0.75, 0.25])) / 1.349)
    width = 0.9 * spread * len(inside) ** -0.2 / inside.std()  # Silverman's rule, robust to heavy tails
    return grid, np.asarray(gaussian_kde(inside, bw_method=max(width, 1e-3))(grid)) * share


def _draw_interval(axes: Any, effect: Effect) -> None:
    low, high = effect.interval(0.95)
    height = 0.02
    axes.plot(
        [low, high], [height, height], transform=axes.get_xaxis_transform(), color=NAVY, linewidth=3,
        solid_capstyle="butt", label=f"95% interval {low:.3g} to {high:.3g}",
    )  # fmt: skip
    axes.plot(
        [effect.mean], [height], "o", transform=axes.get_xaxis_transform(), color=NAVY, markersize=6,
        label=f"mean {effect.mean:.3g}",
    )  # fmt: skip
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(0, -0.2), ncols=4)


def _draw_atom(axes: Any, atom: float) -> None:
    right = axes.twinx()
    right.vlines(0.0, 0.0, atom, color=RUST, linewidth=4)
    right.set_ylim(0, max(1.0, atom))
    right.set_ylabel("probability of no effect", color=RUST)
    right.tick_params(axis="y", colors=RUST)
    right.spines[["top", "left"]].set_visible(False)
    right.annotate(
        f"no effect: {atom:.1%}", (0.0, max(atom, 0.08)), xytext=(6, -2), textcoords="offset points",
        color=RUST, va="top", fontsize="small",
    )  # fmt: skip


def save_figure(axes: Axes, target: Path) -> None:
    """Write the figure of some axes to a file, all or nothing."""
    pyplot: Any = require("matplotlib.pyplot", "plot")
    figure: Any = axes.figure
    known = figure.canvas.get_supported_filetypes()
    kind = target.suffix.lstrip(".").lower()
    if kind not in known:
        raise AlldagsError(f"cannot write a picture as {target.name!r}; use an ending such as .png, .svg or .pdf")
    with replacing(target) as temporary:
        figure.savefig(temporary, format=kind, dpi=150, bbox_inches="tight")
    pyplot.close(figure)
