"""`Bend`: a line that begins at a knot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.columns.base import RowValues
from alldags.typing import FloatArray


@dataclass(frozen=True)
class Bend:
    """What a variable exceeds a knot by, else zero: lines with a bend there; tails are straight."""

    variable: str
    knot: float

    @property
    def name(self) -> str:
        return f"{self.variable} above {self.knot:.3g}"

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        return np.maximum(rows.values[self.variable] - self.knot, 0.0)
