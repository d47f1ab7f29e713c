"""`Quantity`: the posterior of one number, by draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags import checks
from alldags.effects.outcome import check_level
from alldags.notes import Note
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Quantity:
    """Posterior of one number, by draws.

    Parameters
    ----------
    draws
        Shape (draws,).
    notes
        What a reader should know of it.
    """

    draws: FloatArray
    notes: tuple[Note, ...] = ()

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(self.draws.mean())

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return float(self.draws.std(ddof=1))

    @property
    def median(self) -> float:
        """Posterior median."""
        return float(np.median(self.draws))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds the number with probability `level`."""
        check_level(level)
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    def probability_above(self, value: float) -> float:
        """Return the posterior probability of more than `value`."""
        return float(np.mean(self.draws > checks.finite("value", value)))

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        noted = "".join(f"; note: {note}" for note in self.notes)
        return f"Quantity(median {self.median:.4g}, 95% {low:.4g} to {high:.4g}{noted})"
