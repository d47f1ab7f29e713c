"""Figures of the experiments, as PNG and SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from alldags.errors import require
from alldags.files import replacing
from replication.methods import METHODS, REFERENCE
from replication.runner import Result
from replication.summary import Summary

Point = tuple[float, float]  # value and half-width of its error bar


def synthetic_figure(rows: Sequence[Summary], stem: Path, titles: dict[str, str]) -> list[Path]:
    """Draw mean squared error (top) and its ratio to Bayes optimal (bottom), one column per group."""
    figure, axes = _grid(2, len(titles), height=(3.2, 2.4))
    for column, (group, title) in enumerate(titles.items()):
        part = [row for row in rows if row.group == group and row.prior == "paper"]
        top, bottom = axes[0][column], axes[1][column]
        _curves(top, part, _mean_point)
        _curves(bottom, [row for row in part if row.method != REFERENCE], ratio_point(part))
        _log_axes(top, sorted({row.size for row in part}))
        _log_axes(bottom, sorted({row.size for row in part}))
        bottom.axhline(1.0, color="black", linewidth=1)
        top.set_title(title, fontsize=10)
        bottom.set_xlabel("sample size")
    axes[0][0].set_ylabel("mean squared error")
    axes[1][0].set_ylabel("ratio to Bayes optimal")
    _legend(figure, axes[0][0])
    return _save(figure, stem)


def curves_figure(rows: Sequence[Summary], stem: Path, groups: dict[str, str], priors: dict[str, str]) -> list[Path]:
    """Draw mean squared error against sample size, one row per group, one column per prior."""
    figure, axes = _grid(len(groups), len(priors), height=(3.3,) * len(groups))
    for i, (group, group_title) in enumerate(groups.items()):
        for j, (prior, prior_title) in enumerate(priors.items()):
            part = [row for row in rows if row.group == group and row.prior in (prior, "none")]
            _curves(axes[i][j], part, _mean_point)
            _log_axes(axes[i][j], sorted({row.size for row in part}))
            axes[i][j].set_title(f"{group_title}\n{prior_title}", fontsize=10)
            axes[i][j].set_xlabel("sample size")
        axes[i][0].set_ylabel("mean squared error")
    _legend(figure, axes[0][0])
    return _save(figure, stem)


def box_figure(results: Sequence[Result], stem: Path, priors: dict[str, str]) -> list[Path]:
    """Draw the spread of absolute errors over replications, one panel per prior."""
    figure, axes = _grid(1, len(priors), height=(3.4,))
    for axis, (prior, title) in zip(axes[0], priors.items(), strict=True):
        _boxes(axis, [result for result in results if result.prior in (prior, "none")], title)
    figure.supxlabel("absolute error (box: quartiles, whiskers: 5% to 95%)", fontsize=10)
    for axis in axes[0][1:]:
        axis.tick_params(labelleft=False)
    return _save(figure, stem)


def groups_figure(results: Sequence[Result], stem: Path, groups: dict[str, str]) -> list[Path]:
    """Draw the spread of absolute errors over replications, one panel per group, at most three in a row."""
    shown = {group: title for group, title in groups.items() if any(r.group == group for r in results)}
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure, axes = _grid(rows, columns, height=(2.9,) * rows)
    places = [axis for row in axes for axis in row]
    for place, axis in enumerate(places):
        axis.set_visible(place < len(shown))
    for axis, (group, title) in zip(places, shown.items(), strict=False):
        _boxes(axis, [result for result in results if result.group == group], title)
    _same_axis(places[: len(shown)])
    figure.supxlabel("absolute error (box: quartiles, whiskers: 5% to 95%)", fontsize=10)
    return _save(figure, stem)


def _same_axis(panels: Sequence[Any]) -> None:
    """Give logarithmic panels one scale, with labels that do not touch."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low = min(axis.get_xlim()[0] for axis in panels)
    high = max(axis.get_xlim()[1] for axis in panels)
    for axis in panels:
        axis.set_xlim(low, high)
        axis.xaxis.set_major_locator(LogLocator(subs=_tick_marks(high / low)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())


def _boxes(axis: Any, results: Sequence[Result], title: str) -> None:
    found = [result for result in results if math.isfinite(result.estimate)]
    names = [name for name in METHODS if any(result.method == name for result in found)]
    values = [[math.sqrt(r.squared_error) for r in found if r.method == name] for name in names]
    boxes = axis.boxplot(values, orientation="horizontal", whis=(5, 95), sym="", patch_artist=True)
    for box, name in zip(boxes["boxes"], names, strict=True):
        box.set_facecolor(METHODS[name].colour)
        box.set_alpha(0.6)
    axis.set_yticks(range(1, len(names) + 1), [METHODS[name].label for name in names])
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_title(title, fontsize=10)


def ratio_point(rows: Sequence[Summary]) -> Callable[[Summary], Point]:
    """Return a function to ``1 + paired difference / Bayes-optimal error`` with two standard errors."""
    base = {row.size: row.mean for row in rows if row.method == REFERENCE}

    def point(row: Summary) -> Point:
        whole = base.get(row.size, math.nan)
        return 1 + row.difference / whole, 2 * row.difference_error / whole

    return point


def _mean_point(row: Summary) -> Point:
    return row.mean, 2 * row.standard_error


def _curves(axis: Any, rows: Sequence[Summary], point: Callable[[Summary], Point]) -> None:
    names = [name for name in METHODS if any(row.method == name for row in rows)]
    for position, name in enumerate(names):
        method = METHODS[name]
        mine = [row for row in rows if row.method == name]
        shift = 1.0 + 0.012 * (position - len(names) / 2)  # keeps error bars apart
        points = [point(row) for row in mine]
        axis.errorbar(
            [row.size * shift for row in mine],
            [value for value, _ in points],
            # on a logarithmic axis a bar must not reach zero
            yerr=[[min(half, 0.95 * abs(value)) for value, half in points], [half for _, half in points]],
            color=method.colour,
            marker=method.marker,
            markersize=4,
            linewidth=1.8 if name == REFERENCE else 1.1,
            elinewidth=0.9,
            capsize=1.5,
            label=method.label,
            zorder=3 if name == REFERENCE else 2,
        )


def _log_axes(axis: Any, sizes: Sequence[int]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(sizes, [str(size) for size in sizes])
    axis.xaxis.set_minor_locator(NullLocator())
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=_tick_marks(high / low)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid(True, which="major", color="#DDDDDD", linewidth=0.6)


def _tick_marks(span: float) -> tuple[float, ...]:
    """Return the leading digits to label on a logarithmic axis whose ends have this ratio."""
    if span < 4:
        return (1.0, 1.2, 1.5, 2.0, 3.0, 5.0)
    return (1.0, 2.0, 5.0) if span < 30 else (1.0,)


def _grid(rows: int, columns: int, height: Sequence[float]) -> tuple[Any, Any]:
    matplotlib: Any = require("matplotlib.figure", "plot")
    size = (max(7.0, 3.6 * columns), sum(height) + 0.7)
    figure = matplotlib.Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw={"height_ratios": list(height)})
    return figure, axes


def _legend(figure: Any, axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    columns = min(len(labels), int(figure.get_size_inches()[0] / 1.4))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def _save(figure: Any, stem: Path) -> list[Path]:
    matplotlib: Any = require("matplotlib", "plot")
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    with matplotlib.rc_context({"svg.hashsalt": stem.name}):  # the same figure gives the same file
        with replacing(paths[0]) as temporary:
            figure.savefig(temporary, format="png", dpi=150)
        with replacing(paths[1]) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
    return paths
