"""The outcome of a new unit under an intervention, where it is no mixture of normals: by draws, or yes and no."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.effects.outcome import OutcomeDistribution, check_level
from alldags.notes import Note
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class OutcomeDraws:
    """p(outcome | do(treatment = x)) of a new unit by draws, in the user's units: of a count, or along curves.

    A draw is the outcome of a random one of the rows asked about, with the treatment set to `x`, and with the noise of
    everything that the treatment may act on.

    Parameters
    ----------
    x
        The value the treatment is set to: a number, or the level of a category; what is set, in words, if it is more.
    draws
        Shape (draws,).
    notes
        What a reader should know.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.effects.new_unit import OutcomeDraws
    >>> visits = OutcomeDraws(1.0, np.array([0.0, 1.0, 1.0, 2.0]))
    >>> visits.mean, visits.interval(0.5), float(visits.cdf(1.0))
    (1.0, (0.0, 1.0), 0.75)
    """

    x: float | str
    draws: FloatArray
    notes: tuple[Note, ...] = ()

    @property
    def mean(self) -> float:
        """Mean of the outcome of a new unit."""
        return float(self.draws.mean())

    @property
    def sd(self) -> float:
        """Its standard deviation."""
        return float(self.draws.std())

    def cdf(self, y: float | FloatArray) -> FloatArray:
        """Return the probability of an outcome of at most `y`."""
        places = np.searchsorted(np.sort(self.draws), np.asarray(y, dtype=float), side="right")
        return np.asarray(places / len(self.draws))

    def quantile(self, level: float) -> float:
        """Return the least outcome that a new unit does not exceed with probability `level`."""
        check_level(level)
        return float(np.quantile(self.draws, level, method="inverted_cdf"))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds a new unit's outcome with probability `level`."""
        check_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def __repr__(self) -> str:
        noted = "".join(f"; note: {note}" for note in self.notes)
        return f"OutcomeDraws(do({done(self.x)}): mean {self.mean:.4g}, sd {self.sd:.4g}{noted})"


@dataclass(frozen=True, eq=False)
class YesNoOutcome:
    """A new unit's yes/no outcome: a one with some probability, which is all there is to know of it.

    Parameters
    ----------
    x
        The value the treatment is set to: a number, or the level of a category.
    probability
        Of a one, averaged over the rows asked about and over the posterior.
    notes
        What a reader should know.

    Examples
    --------
    >>> from alldags.effects.new_unit import YesNoOutcome
    >>> YesNoOutcome(1.0, 0.2)
    YesNoOutcome(do(x = 1): a one with probability 0.2)
    >>> round(YesNoOutcome(1.0, 0.2).sd, 3), YesNoOutcome(1.0, 0.01).interval(0.9)
    (0.4, (0.0, 0.0))
    """

    x: float | str
    probability: float
    notes: tuple[Note, ...] = ()

    @property
    def mean(self) -> float:
        """The probability."""
        return self.probability

    @property
    def sd(self) -> float:
        """Standard deviation of a zero or one."""
        return math.sqrt(max(self.probability * (1.0 - self.probability), 0.0))

    def cdf(self, y: float | FloatArray) -> FloatArray:
        """Return the probability of an outcome of at most `y`."""
        values = np.asarray(y, dtype=float)
        return np.where(values < 0.0, 0.0, np.where(values < 1.0, 1.0 - self.probability, 1.0))

    def quantile(self, level: float) -> float:
        """Return 0 or 1, the least that a new unit does not exceed with probability `level`."""
        check_level(level)
        return 0.0 if level <= 1.0 - self.probability else 1.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval: from 0 to 1, unless one of the two is improbable."""
        check_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def __repr__(self) -> str:
        noted = "".join(f"; note: {note}" for note in self.notes)
        return f"YesNoOutcome(do({done(self.x)}): a one with probability {self.probability:.4g}{noted})"


class Done(str):
    """What is set, in words: ``"dose = 1, sex = 'f'"``."""

    __slots__ = ()


def done(x: float | str, name: str = "x") -> str:
    """Return what is set as it is printed: a name and its value, or the words for several."""
    return str(x) if isinstance(x, Done) else f"{name} = {shown(x)}"


def shown(x: float | str) -> str:
    """Return the value that a treatment is set to as it is printed: a number, or the level of a category."""
    return repr(x) if isinstance(x, str) else f"{x:g}"


NewUnit = OutcomeDistribution | OutcomeDraws | YesNoOutcome
