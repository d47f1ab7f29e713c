"""Writing pictures to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from alldags.errors import AlldagsError, require
from alldags.files import replacing
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
    with replacing(target) as partial:
        figure.savefig(partial, format=kind, dpi=DPI, bbox_inches="tight")
    pyplot.close(figure)
