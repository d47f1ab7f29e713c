"""The infinitesimal jackknife: how far a posterior mean would move if rows counted a little more or less.

The posterior mean of any functional ``g`` moves with the weight of a piece of the data (a row, a cluster) by
``psi = cov(g, log-likelihood of the piece | data)``, over draws that are there anyway (Giordano and Broderick 2023). So
``V = C/(C - 1) sum(psi**2)`` is the variance of the mean over other samples of such pieces, whatever the noise is like.
Under the model's own noise it would be ``sum(cov(g, eta)**2 J)``, with ``eta`` the predictor of a row and ``J`` its
information. What V has beyond that is what the model does not know of, and is added to the posterior variance:

    factor**2 = max(1, 1 + (V - expected) / var(g | data))

It never makes an answer more certain. Both are of the effect given that there is one: two separate lumps of
probability, no effect and some, would have a ratio that says nothing about noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from alldags.typing import FloatArray

Kind: TypeAlias = Literal["rows", "weights", "clusters", "errors"]
_AT_THEIR_WORD = ("clusters", "errors")  # pieces whose spread is known to be more than the model takes it for
UNSURE = 0.5  # standard error of a variance, as a share of it, from which on a row or two carry it all
ERRORS = 2.0  # standard errors by which single rows must say more than the model before an interval is widened


@dataclass(frozen=True, eq=False)
class Moves:
    """By how much a posterior mean moves with each piece of the data.

    Parameters
    ----------
    psi
        From each half of the draws, whose Monte-Carlo errors are independent, shape (2, pieces).
    expected
        Sum of squares that the model's own noise would give.
    """

    psi: FloatArray
    expected: float

    def scaled(self, factor: float) -> Moves:
        """Return the moves of an effect in other units."""
        return Moves(factor * self.psi, factor**2 * self.expected)

    @property
    def count(self) -> int:
        """Number of pieces."""
        return int(self.psi.shape[1])

    @property
    def variance(self) -> float:
        """Variance of the mean over other samples of pieces; errors of the two halves do not add to it."""
        first, second = self.psi - self.psi.mean(axis=1, keepdims=True)
        return max(float(first @ second), 0.0) * self.count / max(self.count - 1, 1)

    @property
    def error(self) -> float:
        """Standard error of `variance`, as a share of it."""
        squares = np.square(self.psi.mean(axis=0) - self.psi.mean())
        total = float(squares.sum())
        return math.sqrt(max(float(squares @ squares) / total**2 - 1.0 / self.count, 0.0)) if total > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Jackknife:
    """What pieces of the data say of the spread of an effect, given that there is one.

    Parameters
    ----------
    kind
        What the pieces are: rows, rows with sampling weights, clusters, or rows with errors of measurement.
    pieces
        Their number.
    sd
        Posterior standard deviation, in units of the effect.
    sd_pieces
        Standard deviation of the posterior mean over other samples of such pieces, in units of the effect.
    sd_expected
        What `sd_pieces` would be if the model's noise were the data's.
    error
        Standard error of the square of `sd_pieces`, as a share of it.
    """

    kind: Kind
    pieces: int
    sd: float
    sd_pieces: float
    sd_expected: float
    error: float

    @classmethod
    def of(cls, moves: Moves, kind: Kind, variance: float) -> Jackknife:
        """Return it for an effect with this posterior variance."""
        sd, pieces, expected = (math.sqrt(max(value, 0.0)) for value in (variance, moves.variance, moves.expected))
        return cls(kind, moves.count, sd, pieces, expected, moves.error)

    def of_errors(self) -> Jackknife:
        """Return it where rows have errors of measurement, of which the model's spread knows nothing."""
        return replace(self, kind="clusters" if self.kind == "clusters" else "errors", sd_expected=self.sd)

    def scaled(self, unit: float) -> Jackknife:
        """Return it in other units."""
        return replace(self, sd=unit * self.sd, sd_pieces=unit * self.sd_pieces, sd_expected=unit * self.sd_expected)

    @property
    def is_told(self) -> bool:
        """Whether pieces say more than the model; rows by more than their own error, clusters at their word."""
        if self.sd_expected == 0.0 or (self.kind not in _AT_THEIR_WORD and self.error >= UNSURE):
            return False
        error = 0.0 if self.kind in _AT_THEIR_WORD else self.error
        return (self.sd_pieces / self.sd_expected) ** 2 - 1.0 > ERRORS * error

    @property
    def factor(self) -> float:
        """By how much the posterior standard deviation is too small, at least 1."""
        if not self.is_told or not 0.0 < self.sd < math.inf:
            return 1.0
        return math.sqrt(max(1.0, 1.0 + (self.sd_pieces / self.sd) ** 2 - (self.sd_expected / self.sd) ** 2))

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the spread, one less than there are clusters; infinite for single rows."""
        return self.pieces - 1.0 if self.kind == "clusters" else math.inf


@dataclass(frozen=True, slots=True)
class Stretch:
    """Draws of an effect made as wide as the jackknife says; exact zeros stay, and so does the mean.

    Parameters
    ----------
    factor
        What distances from the mean are multiplied by.
    center, sd
        Mean and standard deviation of the effect given that there is one.
    freedom
        Degrees of freedom: quantiles of draws become those of Student's distribution where they were normal.
    """

    factor: float
    center: float
    sd: float
    freedom: float = math.inf

    def __call__(self, draws: FloatArray) -> FloatArray:
        """Return the draws stretched about the mean of those that are not zero, any shape."""
        return self.about(draws, self.center, self.sd)

    def about(self, draws: FloatArray, center: float | FloatArray, sd: float | FloatArray) -> FloatArray:
        """Return draws of numbers that are spread alike, each with its own center and standard deviation."""
        return np.asarray(np.where(draws == 0.0, 0.0, center + self._wider(draws - center, sd)))

    def about_mean(self, draws: FloatArray) -> FloatArray:
        """Return draws of a number that depends on the effect, shape (draws, ...), stretched about their own mean."""
        center, sd = draws.mean(axis=0), draws.std(axis=0)
        return np.asarray(np.where(sd > 1e-12 * np.abs(center), center + self._wider(draws - center, sd), draws))

    def _wider(self, gap: FloatArray, sd: float | FloatArray) -> FloatArray:
        if math.isinf(self.freedom):
            return self.factor * gap
        from scipy.special import ndtr, stdtrit

        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.abs(gap) / sd
            inside = np.minimum(size, 8.0)  # further out quantiles are no numbers any more
            wider = -self.factor * sd * stdtrit(self.freedom, ndtr(-inside)) * size / inside
        return np.asarray(np.where(np.isfinite(wider), np.sign(gap) * wider, gap))  # gaps of rounding have no spread
