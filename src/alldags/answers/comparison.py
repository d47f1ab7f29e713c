"""What is compared where effects vary: two values of the treatment, and over which rows the outcome is averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from alldags.data.batches import RowTable
from alldags.data.look import look_at_rows
from alldags.errors import AlldagsError
from alldags.typing import BoolArray, FloatArray

Over: TypeAlias = Literal["sample", "population", "treated", "untreated"]
OVER = ("sample", "population", "treated", "untreated")


@dataclass(frozen=True)
class Comparison:
    """Two values of the treatment, in the user's units; None and None: each row's own value, and one unit more."""

    low: float | None = None
    high: float | None = None

    @property
    def is_step(self) -> bool:
        """Whether every row goes up by one from its own value."""
        return self.low is None or self.high is None

    @property
    def is_level(self) -> bool:
        """Whether both values are the same: nothing is compared, the outcome at one value is asked for."""
        return self.low is not None and self.low == self.high

    @property
    def values(self) -> tuple[float, float] | None:
        """The two values; None for a step."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def shifts(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much the treatment, shape (rows,), is moved under either value."""
        if self.low is None or self.high is None:
            return np.zeros(len(values)), np.ones(len(values))
        return self.low - values, self.high - values


STEP = Comparison()


def natural_comparison(levels: Sequence[float]) -> Comparison:
    """Return the comparison that needs no saying: the higher against the lower of two neighbouring levels, else a step.

    Examples
    --------
    >>> from alldags.answers.comparison import natural_comparison
    >>> natural_comparison([0.0, 1.0])
    Comparison(low=0.0, high=1.0)
    >>> natural_comparison([0.0, 1.0, 2.0]).is_step
    True
    """
    two = len(levels) == 2 and levels[1] - levels[0] == 1.0
    return Comparison(levels[0], levels[1]) if two else Comparison()


def check_over(over: Any) -> None:
    """Refuse what does not say over which rows to average."""
    if isinstance(over, str) and over not in OVER:
        raise AlldagsError(
            f"over must be 'sample', 'population', 'treated', 'untreated' or one truth value per row, got {over!r}"
        )


def chosen_rows(over: Any, treatment: str, table: RowTable) -> BoolArray | None:
    """Return which rows are averaged over, shape (rows,); None for all."""
    check_over(over)
    if isinstance(over, str) and over in ("sample", "population"):
        return None
    known = treatment in table.columns.names  # a category has columns of other names
    if isinstance(over, str):
        levels = look_at_rows(table, [treatment])[treatment].two_values if known else None
        if levels is None:
            raise AlldagsError(
                f"over={over!r} needs a treatment with two values, {treatment!r} has more; give one truth value per row"
            )
        return np.asarray(table.column(treatment) == levels[1 if over == "treated" else 0])
    mask = np.asarray(over)
    rows = len(table.column(table.columns.names[0]))
    if mask.dtype != bool or mask.shape != (rows,):
        raise AlldagsError(f"over must have one truth value for each of the {rows} rows, got shape {mask.shape}")
    if not mask.any():
        raise AlldagsError("over picks no row at all")
    return mask
