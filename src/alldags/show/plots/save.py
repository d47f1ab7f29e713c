"""Writing pictures to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alldags.errors import AlldagsError, require
from alldags.show.plots.style import DPI

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def save_figure(axes: Axes, target: Path) -> None:
    """Write the figure of some axes to a file, and close it. The file is there as a whole or not at all."""
    pyplot: Any = require("matplotlib.pyplot", "plot")
    figure: Any = axes.figure
    known = figure.canvas.get_supported_filetypes()
    if target.suffix.lstrip(".").lower() not in known:
        raise AlldagsError(f"cannot write a picture as {target.name!r}; use an ending such as .png, .svg or .pdf")
    _write_whole(target, lambda partial: figure.savefig(partial, dpi=DPI, bbox_inches="tight"))
    pyplot.close(figure)


def _write_whole(target: Path, write: Callable[[Path], object]) -> None:
    """Write under a temporary name of the same ending, then rename."""
    partial = target.with_name(f".{target.stem}.part{target.suffix}")
    write(partial)
    partial.replace(target)
