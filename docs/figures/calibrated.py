"""Draw the pictures of docs/explanation/calibration.md from kept results: ``python docs/figures/calibrated.py``."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from calibration.cases import ROWS, Row  # noqa: E402
from calibration.ranks import LEVELS, Rank  # noqa: E402
from calibration.verdicts import RANKED, WORDS, column  # noqa: E402

from calibration import keep, robust  # noqa: E402

OUT = HERE.parent / "_static"
COLOURS = {"effect": "#0072B2", "coefficient": "#E69F00", "unit": "#009E73"}
GRID = np.linspace(0.0, 1.0, 41)
SURE = 0.99  # of the bands: a curve that leaves its band by chance is one of a hundred
COLUMNS = 5


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(OUT / f"calibration_{name}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def curves(found: Sequence[Rank]) -> None:
    """Draw how far the distribution of ranks is from uniform, one panel a row."""
    rows = [row for row in ROWS if any(item.row == row.key for item in found)]
    height = -(-len(rows) // COLUMNS)
    figure, axes = plt.subplots(height, COLUMNS, figsize=(11, 1.75 * height), sharex=True, sharey=True)
    for axis, row in zip(axes.flat, rows, strict=False):
        _panel(axis, row, [item for item in found if item.row == row.key])
    for axis in axes.flat[len(rows) :]:
        axis.set_visible(False)
    handles = [plt.Line2D([], [], color=COLOURS[name], label=WORDS[name]) for name in RANKED]
    figure.legend(handles=handles, loc="lower right", ncols=3, fontsize=8, frameon=False)
    figure.supylabel("share of truths below, less what it should be", fontsize=8)
    figure.supxlabel("rank of the truth among draws", fontsize=8)
    figure.tight_layout()
    save(figure, "ranks")


def _panel(axis: plt.Axes, row: Row, mine: Sequence[Rank]) -> None:
    band = stats.kstwo.ppf(SURE, len(mine))
    axis.fill_between([0, 1], -band, band, color="0.9", lw=0)
    for name in RANKED:
        ranks = column(mine, name)
        if not np.isnan(ranks).all():
            below = np.searchsorted(np.sort(ranks), GRID, side="right") / len(ranks)
            axis.plot(GRID, below - GRID, color=COLOURS[name], lw=1.1)
    axis.axhline(0.0, color="0.4", lw=0.5)
    kind = "approximation" if row.approximates else "truth near the prior" if row.truth == "near" else ""
    lines = [*textwrap.wrap(row.key.replace(";", ":"), 34), *([f"({kind})"] if kind else [])]
    axis.set_title("\n".join(lines), fontsize=6.5, loc="left")
    axis.set(ylim=(-0.2, 0.2), xlim=(0, 1))
    axis.tick_params(labelsize=6)


def coverage(found: Sequence[Rank]) -> None:
    """Draw how often 50, 80 and 95% intervals hold, with 99% intervals of chance."""
    rows = [row for row in ROWS if any(item.row == row.key for item in found)][::-1]
    figure, axes = plt.subplots(1, 3, figsize=(10, 0.24 * len(rows) + 0.8), sharey=True)
    for axis, name in zip(axes, RANKED, strict=True):
        for place, row in enumerate(rows):
            inside = column([item for item in found if item.row == row.key], f"{name}_within")
            if inside.any():
                _dots(axis, place, inside)
        for level in LEVELS:
            axis.axvline(level, color="0.7", lw=0.6, zorder=0)
        axis.set(xlim=(20, 101), xticks=LEVELS, title=WORDS[name])
        axis.set_yticks(range(len(rows)), [row.key for row in rows], fontsize=7)
        axis.tick_params(axis="x", labelsize=8)
    figure.supxlabel("held by 50, 80 and 95% intervals, per cent of the data sets", fontsize=8)
    figure.tight_layout()
    save(figure, "coverage")


def _dots(axis: plt.Axes, place: int, inside: np.ndarray) -> None:
    for level, colour in zip(LEVELS, ("#56B4E9", "#0072B2", "#000000"), strict=True):
        held = int((inside <= level).sum())
        ends = stats.binomtest(held, len(inside)).proportion_ci(SURE)
        axis.plot([100 * ends.low, 100 * ends.high], [place, place], color=colour, lw=1.0)
        axis.plot(100 * held / len(inside), place, "o", color=colour, ms=3)


def broken(found: Sequence[robust.Found]) -> None:
    """Draw how often 95% intervals hold where an assumption is broken."""
    cases = [(design.key, way) for design in robust.DESIGNS for way in design.ways][::-1]
    ways = list(robust.WAYS)
    figure, axis = plt.subplots(figsize=(8, 0.2 * len(cases) + 0.8))
    labels = []
    for place, (key, way) in enumerate(cases):
        held = [item.low <= item.truth <= item.high for item in found if (item.design, item.asked) == (key, way)]
        labels.append(f"{key}: {way}")
        if held:
            ends = stats.binomtest(sum(held), len(held)).proportion_ci(SURE)
            colour = mpl.colormaps["tab10"](ways.index(way))
            axis.plot([100 * ends.low, 100 * ends.high], [place, place], color=colour, lw=1.2)
            axis.plot(100 * np.mean(held), place, "o", color=colour, ms=3.5)
    axis.axvline(95, color="0.6", lw=0.8, zorder=0)
    axis.set_yticks(range(len(cases)), labels, fontsize=7)
    axis.set(xlim=(-2, 102), xlabel="held by 95% intervals, per cent of the data sets")
    save(figure, "robust")


def main() -> None:
    mpl.rcParams.update(
        {"font.size": 9, "svg.hashsalt": "calibration", "svg.fonttype": "none", "axes.spines.top": False}
    )
    ranks = keep.read(keep.FOLDER / "ranks.csv", Rank)
    curves(ranks)
    coverage(ranks)
    broken(keep.read(keep.FOLDER / "robust.csv", robust.Found))


if __name__ == "__main__":
    main()
