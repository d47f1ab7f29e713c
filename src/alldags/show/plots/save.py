"""Writing pictures to files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    kind = target.suffix.lstrip(".").lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise AlldagsError(f"cannot write a picture as {target.name!r}; use an ending such as .png, .svg or .pdf")
    with _replacing(target) as partial:
        figure.savefig(partial, format=kind, dpi=DPI, bbox_inches="tight")
    pyplot.close(figure)


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; it takes the target's name at the end."""
    partial = target.with_name(f".{target.stem}.part{target.suffix}")
    yield partial
    partial.replace(target)
