"""`Answer`: what every way of computing an effect knows of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from alldags.answers.nodes import Samples
from alldags.answers.question import Question
from alldags.columns.base import RowValues
from alldags.typing import FloatArray


class Answer(Protocol):
    """An effect in the user's units, averaged over models."""

    @property
    def question(self) -> Question:
        """What was asked."""

    @property
    def lacks(self) -> Mapping[str, str]:
        """What it cannot say, by the name under which it is asked for, and why."""

    @property
    def mean(self) -> float:
        """Posterior mean."""

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of the mean."""

    @property
    def bound(self) -> float:
        """Bound on the error of the mean from sets left out by certified engines; 0 if none was."""

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""

    @property
    def structure_variance(self) -> float | None:
        """Variance of the mean given the graph; None if it is not known."""

    @property
    def missing_sd(self) -> float:
        """Standard deviation of the mean between completed copies of the table; 0 for a single one."""

    @property
    def size(self) -> int:
        """Number of draws behind intervals."""

    @property
    def values(self) -> FloatArray:
        """These draws, shape (size,)."""

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return new draws, shape (size,); exact zeros where there is no path."""

    @property
    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Draws of the mean outcome under the low and the high value of the treatment, shape (draws,) each."""

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`, shape (size,)."""

    def level_mean(self, x: float) -> float:
        """Return its posterior mean."""

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return each row's mean effect, shape (rows,), and draws of it, shape (size, rows)."""

    @property
    def drawn(self) -> tuple[FloatArray, Samples] | None:
        """Draws of the effect, shape (draws,), and of the nodes that they come from; None if these are not at hand."""
