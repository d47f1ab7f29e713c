"""Curves: the outcome against what the treatment is set to, and each row's effect against a covariate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alldags.show.plots.style import BLUE, GREY, styled_axes
from alldags.show.table import Table
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
