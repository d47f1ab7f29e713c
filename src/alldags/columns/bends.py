"""`Bend`: a line that begins at a knot, and where knots are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.columns.base import Column, RowValues
from alldags.data.look import look_at_values
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


def bends_at(name: str, values: FloatArray, knots: int) -> list[Column]:
    """Return bends at inner quantiles of a variable; none if it has two values.

    Parameters
    ----------
    name
        Of the variable.
    values
        Of its rows, shape (rows,).
    knots
        How many quantiles, of which several may be the same value.
    """
    if knots == 0 or not look_at_values(values).can_bend:
        return []
    places = np.unique(np.quantile(values, np.linspace(0.0, 1.0, knots + 2)[1:-1]))
    return [Bend(name, float(knot)) for knot in places if values.min() < knot < values.max()]
