"""Weighted draws: moments, quantiles and probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.typing import FloatArray, IntArray

_BINS = 2048


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """A distribution as draws with weights.

    Parameters
    ----------
    values
        Shape (size,).
    weights
        Shape (size,); they add up to one.
    no_direct
        Probability that the treatment has no direct effect on the outcome; None if the engine cannot say.
    """

    values: FloatArray
    weights: FloatArray
    no_direct: float | None = None

    @cached_property
    def mean(self) -> float:
        """Mean."""
        return float(self.weights @ self.values)

    @cached_property
    def sd(self) -> float:
        """Standard deviation."""
        gap = self.values - self.mean
        gap *= gap
        return math.sqrt(max(float(self.weights @ gap), 0.0))

    def above(self, value: float) -> float:
        """Return the probability of more than `value`."""
        return min(float(self.weights @ (self.values > value)), 1.0)

    def below(self, value: float) -> float:
        """Return the probability of less than `value`."""
        return min(float(self.weights @ (self.values < value)), 1.0)

    @cached_property
    def _binned(self) -> tuple[IntArray, FloatArray]:
        """Bin of each draw, and the weight up to and with each bin: quantiles need not sort all draws."""
        low, high = float(self.values.min()), float(self.values.max())
        scale = (_BINS - 1) / (high - low) if high > low else 0.0
        places = self.values - low
        places *= scale
        bins = places.astype(np.int64)
        return bins, np.cumsum(np.bincount(bins, self.weights, minlength=_BINS))

    def quantile(self, level: float) -> float:
        """Return the smallest value whose cumulative probability reaches `level`."""
        bins, cumulative = self._binned
        target = level * cumulative[-1] - 1e-12
        chosen = min(int(np.searchsorted(cumulative, target)), _BINS - 1)
        inside = np.flatnonzero(bins == chosen)
        inside = inside[np.argsort(self.values[inside])]
        before = cumulative[chosen - 1] if chosen else 0.0
        place = int(np.searchsorted(np.cumsum(self.weights[inside]), target - before))
        return float(self.values[inside[min(place, len(inside) - 1)]])

    def interval(self, level: float) -> tuple[float, float]:
        """Return the central interval."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def scaled(self, unit: float) -> WeightedDraws:
        """Return the distribution in other units."""
        return WeightedDraws(unit * self.values, self.weights, self.no_direct)

    def stretched(self, factor: float) -> WeightedDraws:
        """Return the distribution with what is no zero so many times as wide about its mean."""
        there = self.values != 0.0
        weight = float(self.weights[there].sum())
        if factor == 1.0 or weight == 0.0:
            return self
        center = float(self.weights[there] @ self.values[there]) / weight
        wider = center + factor * (self.values - center)
        return WeightedDraws(np.where(there, wider, 0.0), self.weights, self.no_direct)


def pooled(parts: list[tuple[float, WeightedDraws]]) -> WeightedDraws:
    """Return the mixture of several distributions with these weights."""
    if len(parts) == 1:
        return parts[0][1]
    known = [(share, part.no_direct) for share, part in parts if part.no_direct is not None]
    return WeightedDraws(
        np.concatenate([part.values for _, part in parts]),
        np.concatenate([share * part.weights for share, part in parts]),
        sum(share * value for share, value in known) if len(known) == len(parts) else None,
    )
