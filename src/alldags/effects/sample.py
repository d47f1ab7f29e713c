"""Draws of an effect together with what is known exactly about its atom at zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class AtomicSample:
    """A distribution with an atom at zero: draws off the atom, and the atom's probability.

    Parameters
    ----------
    draws
        Draws of the effect, exact zeros where there is no path; shape (size,).
    atom
        Probability of the atom; the share of zeros among the draws if it is not known.
    effective
        How many independent draws they are worth; all of them by default. Draws from a sampled node repeat its stored
        parent sets.
    """

    draws: FloatArray
    atom: float
    effective: float = math.inf

    @cached_property
    def _values(self) -> FloatArray:
        return np.sort(np.append(self.draws[self.draws != 0.0], 0.0))

    @cached_property
    def _weights(self) -> FloatArray:
        off = len(self._values) - 1
        weights = np.full(off + 1, (1.0 - self.atom) / max(off, 1))
        weights[np.searchsorted(self._values, 0.0)] = self.atom if off else 1.0
        return weights

    @cached_property
    def _cumulative(self) -> FloatArray:
        return np.cumsum(self._weights)

    @cached_property
    def without_atom(self) -> AtomicSample | None:
        """The distribution given that the value is not the atom; None if no draw is off it."""
        off = self.draws[self.draws != 0.0]
        share = len(off) / len(self.draws)
        return AtomicSample(off, 0.0, self.effective * share) if len(off) else None

    def above(self, delta: float) -> float:
        """Return the probability of a value greater than `delta`."""
        place = int(np.searchsorted(self._values, delta, side="right"))
        return min(float(self._weights[place:].sum()), 1.0)

    def below(self, delta: float) -> float:
        """Return the probability of a value less than `delta`."""
        place = int(np.searchsorted(self._values, delta, side="left"))
        return min(float(self._weights[:place].sum()), 1.0)

    def quantile(self, level: float) -> float:
        """Return the smallest value whose cumulative probability reaches `level`."""
        place = int(np.searchsorted(self._cumulative, level - 1e-12))
        return float(self._values[min(place, len(self._values) - 1)])

    def quantile_error(self, level: float) -> float:
        """Return the Monte-Carlo standard error of a quantile, from the order statistics around it."""
        half = math.sqrt(level * (1 - level) / min(len(self.draws), self.effective))
        return 0.5 * (self.quantile(min(level + half, 1.0)) - self.quantile(max(level - half, 0.0)))
