"""`Drawn` and `Quantity`: the posterior of one number, by draws, without and with a mean."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from alldags import checks
from alldags.effects.outcome import check_level
from alldags.notes import Note
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Drawn:
    """Posterior of one number by draws, of which no mean is asked: it need not exist.

    Parameters
    ----------
    draws
        Shape (draws,).
    """

    draws: FloatArray = field(repr=False)

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


@dataclass(frozen=True, eq=False)
class Quantity(Drawn):
    """Posterior of one number, by draws; its posterior mean where a plain number is wanted.

    Parameters
    ----------
    draws
        Shape (draws,).
    notes
        What a reader should know of it.
    exact
        Posterior mean and standard deviation, where they are known better than from the draws; else None.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.effects.quantity import Quantity
    >>> risk = Quantity(np.array([0.1, 0.2, 0.3]))
    >>> round(float(risk), 3), f"{risk:.1f}"
    (0.2, '0.2')
    """

    notes: tuple[Note, ...] = ()
    exact: tuple[float, float] | None = None

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(self.draws.mean()) if self.exact is None else self.exact[0]

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        if self.exact is not None:
            return self.exact[1]
        return float(self.draws.std(ddof=1)) if len(self.draws) > 1 else 0.0

    def __float__(self) -> float:
        return self.mean

    def __format__(self, spec: str) -> str:
        return format(self.mean, spec) if spec else repr(self)

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        noted = "".join(f"; note: {note}" for note in self.notes)
        return f"Quantity(median {self.median:.4g}, 95% {low:.4g} to {high:.4g}{noted})"


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Quantity):
    """Posterior of a difference of two mean outcomes: what `Intervention.minus` returns.

    Parameters
    ----------
    probability_no_effect
        Posterior probability that no directed path leads from what is set differently to the outcome, so that the
        difference is zero; None if the engine has no notion of a graph.
    """

    probability_no_effect: float | None = None

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        none = "" if self.probability_no_effect is None else f", no effect {self.probability_no_effect:.2g}"
        noted = "".join(f"; note: {note}" for note in self.notes)
        return f"Difference({self.mean:.4g}, sd {self.sd:.4g}, 95% {low:.4g} to {high:.4g}{none}{noted})"
