"""`Contrast`: what a change of the treatment other than by one unit does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alldags.results.effect import Effect


@dataclass(frozen=True, slots=True)
class Contrast:
    """Change of the outcome when the treatment goes from one value to another, in units of the outcome.

    Parameters
    ----------
    start, stop
        Values of the treatment.
    mean, sd
        Posterior mean and standard deviation.
    low, high
        Ends of the central interval.
    level
        Its probability.
    """

    start: float
    stop: float
    mean: float
    sd: float
    low: float
    high: float
    level: float


def contrast(effect: Effect, start: float, stop: float, level: float) -> Contrast:
    """Return the contrast of two values of the treatment: effects are lines, so it is a multiple of the effect."""
    step = stop - start
    low, high = sorted(step * end for end in effect.interval(level))
    return Contrast(start, stop, step * effect.mean, abs(step) * effect.sd, low, high, level)


def contrast_of_rows(effect: Effect, ends: Sequence[float], level: float) -> Contrast:
    """Return the contrast of two values that `effect` compares in every row."""
    return Contrast(ends[0], ends[1], effect.mean, effect.sd, *effect.interval(level), level)
