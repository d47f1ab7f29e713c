"""`Level`: one of the columns that stand for the levels of a category."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.columns.base import RowValues
from alldags.typing import FloatArray


@dataclass(frozen=True)
class Level:
    """A contrast of a category's levels, which is in the rows under a name of its own.

    Parameters
    ----------
    name
        Of the column of numbers.
    category
        The variable whose levels it contrasts.
    """

    name: str
    category: str

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.category,)

    def is_straight_in(self, variable: str) -> bool:
        del variable
        return False

    def values(self, rows: RowValues) -> FloatArray:
        return np.asarray(rows.values[self.name], dtype=float)
