"""`Line`: a variable itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.columns.base import RowValues
from alldags.typing import FloatArray


@dataclass(frozen=True)
class Line:
    """A variable itself."""

    variable: str

    @property
    def name(self) -> str:
        return self.variable

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)

    def is_straight_in(self, variable: str) -> bool:
        return variable == self.variable

    def values(self, rows: RowValues) -> FloatArray:
        return np.asarray(rows.values[self.variable], dtype=float)
