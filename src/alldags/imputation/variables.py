"""What a variable is to an imputation: its values, how they are drawn, and in which rows it was set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.families.base import Family
from alldags.families.student import Student
from alldags.families.yes_no import Bernoulli
from alldags.imputation.regressions import Curve, Divided, Normal, Regression, Softmax
from alldags.typing import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Variable:
    """One variable, or one column outside the graph, of an imputation.

    Parameters
    ----------
    name
        Of the variable.
    values
        As they are in the table, codes of the levels of a category, shape (rows,); NaN where missing.
    levels
        Values that it has no others of, in the order of their codes: two of a yes/no variable, those of a category.
        None for a number.
    family
        Of a number: None for normal noise.
    was_set
        In which rows it was set from outside, shape (rows,); None for none.
    offset
        Of a count, shape (rows,); None for none.
    """

    name: str
    values: FloatArray
    levels: tuple[float, ...] | None = None
    family: Family | None = None
    was_set: BoolArray | None = None
    offset: FloatArray | None = None

    @property
    def missing(self) -> BoolArray:
        """Where it has no value, shape (rows,)."""
        return np.isnan(self.values)

    @property
    def is_category(self) -> bool:
        """Whether it has more than two levels, none larger than another."""
        return self.levels is not None and len(self.levels) > 2

    @cached_property
    def choices(self) -> tuple[float, ...] | None:
        """The values that it has no others of: levels, or the grades that were seen; None for a number."""
        if self.family is None or not self.family.has_levels:
            return self.levels
        return tuple(np.unique(self.values[~self.missing]).tolist())

    def regression(self) -> Regression:
        """Return how it depends on what comes before."""
        if self.choices is not None:
            return Softmax(len(self.choices)) if len(self.choices) > 2 else Curve(Bernoulli())
        if self.family is not None and not self.family.is_line:
            return Divided(self.family) if self.family.parts else Curve(self.family)
        return Normal(self.family if isinstance(self.family, Student) else None)

    def unit(self) -> tuple[float, float]:
        """Return centre and unit of a number that has normal noise, or heavy tails; 0 and 1 of all others."""
        if self.levels is not None or (self.family is not None and not self.family.is_line):
            return 0.0, 1.0
        seen = self.values[~self.missing]
        return float(seen.mean()), float(seen.std()) or 1.0

    def coded(self, values: FloatArray) -> FloatArray:
        """Return values as the regression takes them: codes of levels, other numbers as they are."""
        return values if self.choices is None else np.searchsorted(self.choices, values).astype(float)
