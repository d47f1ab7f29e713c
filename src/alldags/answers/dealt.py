"""`Dealt`: which actions go to groups of rows, or to single rows, so that all of them are worth most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Dealt:
    """Which actions go to which groups.

    Every row takes one from the budget, whatever it gets that is not the base; so those that gain most come first.

    Parameters
    ----------
    level, worth
        Mean outcome of each action in each group, and what that is worth, shape (groups, actions).
    rows, share
        Number of rows of each group, and for how much of all they count, shape (groups,).
    base
        Place of the action that takes nothing from the budget.
    budget
        Number of rows that get another one, at most; None: all may.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.answers.dealt import Dealt
    >>> worth = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, -1.0]])
    >>> Dealt(worth, worth, np.array([4, 4, 4]), np.full(3, 1 / 3), base=0, budget=5).given.tolist()
    [[3, 1], [0, 4], [4, 0]]
    """

    level: FloatArray
    worth: FloatArray
    rows: IntArray
    share: FloatArray
    base: int
    budget: int | None

    @cached_property
    def given(self) -> IntArray:
        """How many rows of each group get each action, shape (groups, actions)."""
        best, found = self.worth.argmax(axis=1), np.zeros(self.worth.shape, dtype=np.int64)
        gain = self.worth.max(axis=1) - self.worth[:, self.base]
        left = int(self.rows.sum()) if self.budget is None else self.budget
        for group in np.argsort(-gain, kind="stable").tolist():
            given = min(int(self.rows[group]), left) if gain[group] > 0.0 else 0
            found[group, best[group]] += given
            found[group, self.base] += self.rows[group] - given
            left -= given
        return found

    @cached_property
    def places(self) -> IntArray:
        """The action of each group, shape (groups,): the base only if no row has another."""
        others = self.given.copy()
        others[:, self.base] = 0
        return np.where(others.any(axis=1), others.argmax(axis=1), self.base)

    def at(self, values: FloatArray | IntArray) -> FloatArray:
        """Return what belongs to the action of each group, of values by group and action, shape (groups,)."""
        return np.asarray(np.take_along_axis(values, self.places[:, None], axis=1)[:, 0])

    @property
    def weights(self) -> FloatArray:
        """Share of all rows in each group and action, shape (groups, actions)."""
        return np.asarray(self.given * (self.share / self.rows)[:, None])

    @property
    def gaps(self) -> FloatArray:
        """The same less what the base would have if all had it, shape (groups, actions)."""
        found = self.weights
        found[:, self.base] -= self.share
        return found

    @property
    def tailoring(self) -> float:
        """What it is worth beyond the best single action for all, a row."""
        return float((self.weights * self.worth).sum() - (self.share @ self.worth).max())
