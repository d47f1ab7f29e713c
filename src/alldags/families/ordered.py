"""`Ordered`: a child that is a grade, by cumulative log-odds.

The probability of at least level j is ``expit(eta - d_j)``, with thresholds ``0 = d_1 < d_2 < ... < d_{K-1}``; a row of
level j, with ``a = eta - d_j`` and ``b = eta - d_{j+1}``, then has the log-likelihood::

    l = -log(1 + exp(-a)) - log(1 + exp(b)) + log(1 - exp(d_j - d_{j+1}))

without the terms that the first and the last level do not have. It is concave in predictor and thresholds. These are
beside the predictor (`alldags.families.quadratic.Beside`) as the logarithms u of the steps between them: the quadratic
is integrated over them, and they are drawn and weighed with the coefficients. With two levels it is a logistic
regression.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from alldags.errors import DataError, EngineError
from alldags.families.base import Batch, Draws, Plain, Point, RowSums
from alldags.families.canonical import capped, link_prior, log_product, row_blocks
from alldags.families.quadratic import Beside, Quadratic
from alldags.priors.prior import Prior
from alldags.typing import FloatArray, IntArray
from alldags.wording import option

_MOST_LEVELS = 20
_STEPS = 100
_DECREMENT = 1e-6  # of Newton's iteration: the point need not be the mode itself
_NARROWEST, _WIDEST = 1e-100, 700.0  # of a level: beyond, computing overflows
_FLATTER = 0.85  # the last expansion has this many times the information: weights of draws then have light tails


class _Sums(NamedTuple):
    """Log-likelihood at a point with the prior of the steps; derivatives by intercept, coefficients and u together."""

    value: float
    gradient: FloatArray
    information: FloatArray


@dataclass(frozen=True, slots=True)
class Ordered(Plain):
    """A grade, such as 1 to 5: ``log odds of at least a level = predictor - threshold``, the same for all levels.

    Parameters
    ----------
    scores
        What each level counts, lowest first; None: its own value. Effects are differences of the mean score: with
        ``scores=(0, 0, 1, 1)`` of the probability of at least the third of four levels.
    levels
        The values, in order; taken from the table.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Ordered().name, ad.Ordered(scores=(0, 0, 1)).scores
    ('ordered', (0, 0, 1))
    """

    name: ClassVar[str] = "ordered"
    measure: ClassVar[str] = "score"
    link_words: ClassVar[str] = "log-odds"
    is_line: ClassVar[bool] = False
    has_levels: ClassVar[bool] = True
    most_k_hat: ClassVar[float] = math.inf

    scores: tuple[float, ...] | None = None
    levels: tuple[float, ...] = ()

    def check(self, child: str, batches: Iterable[FloatArray]) -> Ordered:
        """Return the family with the levels that the values have; refuse too many, or scores of other levels."""
        levels = tuple(sorted({float(value) for values in batches for value in np.unique(values)}))
        if len(levels) > _MOST_LEVELS:
            raise DataError(
                f"{child!r} is to be a grade (ordered), but has {len(levels)} different values; at most {_MOST_LEVELS} "
                f"have thresholds of their own: group them, or leave it out of {option('families')}"
            )
        if self.scores is not None and len(self.scores) != len(levels):
            listed = ", ".join(f"{level:g}" for level in levels)
            raise DataError(
                f"Ordered scores of {child!r} must be {len(levels)} numbers, one for each of its values {listed}, got "
                f"{len(self.scores)}"
            )
        return replace(self, levels=levels)

    # -- thresholds --------------------------------------------------------------------------------------------------

    @property
    def beside(self) -> int:
        """Number of steps between thresholds."""
        return len(self.levels) - 2

    def _thresholds(self, u: FloatArray | None, size: int) -> FloatArray:
        """Return the thresholds of some draws, shape (levels - 1, size); `u` has shape (steps, size)."""
        first = np.zeros((1, size))
        return first if u is None or not self.beside else np.vstack([first, np.exp(u).cumsum(axis=0)])

    def _codes(self, child: FloatArray) -> IntArray:
        return np.searchsorted(np.asarray(self.levels), child)

    def _start(self, batches: Sequence[Batch]) -> tuple[float, FloatArray]:
        """Return intercept and u at which levels are as frequent as they are."""
        counts = np.zeros(len(self.levels))
        for batch in batches:
            counts += np.bincount(self._codes(batch.child), batch.weighted(np.ones(len(batch.child))), len(counts))
        above = counts[::-1].cumsum()[::-1][1:] / counts.sum()
        odds = np.log(above / (1.0 - above))
        return float(odds[0]), np.log(-np.diff(odds))

    # -- prior and point ---------------------------------------------------------------------------------------------

    def prior(self, prior: Prior) -> Prior:
        """Return the prior on the scale of the predictor."""
        return link_prior(prior)

    def mode(self, rows: RowSums, slab_variance: float) -> Point:
        """Return the mode with all columns, thresholds and all; Newton's iteration with step halving."""
        batches, k = rows.batches(), len(rows.names) + 1
        penalty = np.zeros(k + self.beside)
        penalty[1:k] = 1.0 / slab_variance
        at = np.zeros(len(penalty))
        at[0], at[k:] = self._start(batches)
        here = self._sums(batches, at, k)
        for _ in range(_STEPS):
            gradient = here.gradient - penalty * at
            step = np.linalg.solve(here.information + np.diag(penalty), gradient)
            if float(gradient @ step) < _DECREMENT:
                return Point(at[:k], beside=at[k:])
            share, height = 1.0, here.value - 0.5 * float(penalty @ at**2)
            while True:
                moved = at + share * step
                there = self._sums(batches, moved, k)
                if there.value - 0.5 * float(penalty @ moved**2) >= height - 1e-9 * abs(height) or share < 1e-6:
                    break
                share *= 0.5
            at, here = moved, there
        raise EngineError(f"the regression of {rows.child!r} has no mode that could be found; check its columns")

    # -- the quadratic -----------------------------------------------------------------------------------------------

    def _sums(self, batches: Sequence[Batch], at: FloatArray, k: int) -> _Sums:
        """Return value and derivatives at a point: intercept and coefficients (k of them), and u."""
        u, size = at[k:], len(self.levels) + 1
        d = np.concatenate([[-np.inf], self._thresholds(u[:, None], 1)[:, 0], [np.inf]])
        value, by_d, curved = self._widths(batches, d)
        value += float(u.sum())
        first, second, cross = np.zeros(k), np.zeros((k, k)), np.zeros((k, size))
        for batch in batches:
            code, eta = self._codes(batch.child), batch.predictor(at[None, 1:k])[:, 0] + at[0]
            below, above = _expit(d[code] - eta), _expit(eta - d[code + 1])  # of lying outside the level
            slopes = below * (1.0 - below), above * (1.0 - above)
            value += float(batch.weighted(np.log1p(-below) + np.log1p(-above)).sum())
            first += batch.sums(below - above)
            second += batch.products(slopes[0] + slopes[1])
            for place, outside, slope in ((code, -below, slopes[0]), (code + 1, above, slopes[1])):
                by_d += np.bincount(place, batch.weighted(outside), size)
                curved[np.diag_indices(size)] += np.bincount(place, batch.weighted(slope), size)
                for level in range(2, size - 1):
                    cross[:, level] -= batch.sums(np.where(place == level, slope, 0.0))
        return _in_steps(value, first, second, by_d[2:-1], curved[2:-1, 2:-1], cross[:, 2:-1], u)

    def _widths(self, batches: Sequence[Batch], d: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return what rows of inner levels have whatever their predictors, and its derivatives by thresholds."""
        counts = sum(np.bincount(self._codes(b.child), b.weighted(np.ones(len(b.child))), len(d) - 1) for b in batches)
        value, by_d, curved = 0.0, np.zeros(len(d)), np.zeros((len(d), len(d)))
        for level, count in enumerate(np.asarray(counts)[1:-1].tolist(), start=1):
            own = slice(level, level + 2)
            width = min(max(float(d[level + 1] - d[level]), _NARROWEST), _WIDEST)
            odds = 1.0 / math.expm1(width)
            value += count * math.log(-math.expm1(-width))
            by_d[own] += count * odds * np.array([-1.0, 1.0])
            curved[own, own] += count * odds * (1.0 + odds) * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return value, by_d, curved

    def quadratic(
        self, names: tuple[str, ...], batches: Sequence[Batch], point: Point, root: FloatArray | None = None
    ) -> Quadratic:
        """Return the log-likelihood at a point, integrated over the steps between thresholds; `root` is not used."""
        del root
        k = len(point.at)
        u = self._start(batches)[1] if point.beside is None else point.beside
        found = self._sums(batches, np.concatenate([point.at, u]), k)
        inside = found.information[k:, k:]
        inverse = np.linalg.inv(inside) if self.beside else np.zeros((0, 0))
        slope = -inverse @ found.information[k:, :k]
        move = inverse @ found.gradient[k:]
        spread = 0.5 * self.beside * math.log(2.0 * math.pi) - 0.5 * float(np.linalg.slogdet(inside)[1])
        return Quadratic(
            family=self.name,
            names=names,
            at=point.at,
            information=found.information[:k, :k] + found.information[:k, k:] @ slope,
            gradient=found.gradient[:k] - found.information[:k, k:] @ move,
            value=found.value + 0.5 * float(found.gradient[k:] @ move) + spread,
            rows=sum(batch.count for batch in batches),
            events=sum(float(batch.weighted(batch.child).sum()) for batch in batches),
            spread=math.nan,
            beside=Beside(u + move, slope, np.linalg.cholesky(inverse)) if self.beside else None,
        )

    def flatness(self, quadratic: Quadratic) -> float:
        """Return the last expansion's factor."""
        del quadratic
        return _FLATTER

    # -- how probable rows are ---------------------------------------------------------------------------------------

    def log_likelihoods(self, batches: Iterable[Batch], draws: Draws) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,), in one pass over the rows."""
        value = np.zeros(len(draws.intercept))
        slopes = np.vstack([draws.coefficients.T, draws.intercept])
        d = self._thresholds(None if draws.beside is None else draws.beside.T, len(value))
        for batch in batches:
            rows = np.column_stack([batch.columns, np.ones(len(batch.child))])
            for level, own in self._by_level(batch.child):
                weight = None if batch.weight is None else batch.weight[own]
                count = float(len(own)) if weight is None else float(weight.sum())
                value += count * self._width(level, d)
                for part in row_blocks(len(own), len(value)):
                    eta = rows[own[part]] @ slopes
                    for outside in self._outside(level, eta, d):
                        value -= _summed(outside, None if weight is None else weight[part])
        return value

    def log_likelihood_by_row(self, batch: Batch, draws: Draws) -> FloatArray:
        """Return the log-likelihood of each row, weights and all, shape (rows, draws)."""
        eta = batch.predictor(draws.coefficients) + draws.intercept
        d = self._thresholds(None if draws.beside is None else draws.beside.T, len(draws.intercept))
        value = np.empty_like(eta)
        for level, own in self._by_level(batch.child):
            value[own] = self._width(level, d)
            for outside in self._outside(level, eta[own], d):
                value[own] -= np.log1p(np.exp(capped(outside)))
        return value if batch.weight is None else value * batch.weight[:, None]

    def _by_level(self, child: FloatArray) -> Iterator[tuple[int, IntArray]]:
        """Yield each level with the places of its rows."""
        codes = self._codes(child)
        return ((level, np.flatnonzero(codes == level)) for level in range(len(self.levels)))

    def _width(self, level: int, d: FloatArray) -> FloatArray:
        """Return what rows of a level have whatever their predictors, shape (draws,)."""
        inner = 0 < level < len(self.levels) - 1
        return np.log(-np.expm1(d[level - 1] - d[level])) if inner else np.zeros(d.shape[1])

    def _outside(self, level: int, eta: FloatArray, d: FloatArray) -> list[FloatArray]:
        """Return the log odds of lying below the lower threshold of a level, and above its upper one, like `eta`."""
        below = [d[level - 1] - eta] if level else []
        return below + ([eta - d[level]] if level < len(self.levels) - 1 else [])

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the mean score."""
        scores = self.levels if self.scores is None else self.scores
        found = np.full(np.shape(eta), float(scores[0]))
        for step, threshold in zip(np.diff(scores), self._thresholds(apart, eta.shape[-1]), strict=True):
            found += step * _expit(eta - threshold)
        return found

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the highest level that is reached with a probability above `uniform`."""
        code = sum((uniform < _expit(eta - each)).astype(np.int64) for each in self._thresholds(apart, eta.shape[-1]))
        return np.asarray(self.levels)[code]

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return from the probability of more than the value to that of at least it."""
        none, all_ = np.zeros(np.shape(eta)), np.ones(np.shape(eta))
        least = [all_, *(_expit(eta - each) for each in self._thresholds(apart, eta.shape[-1])), none]
        code = np.broadcast_to(np.searchsorted(np.asarray(self.levels), value), np.shape(eta))
        reached = np.stack(least)
        more, least_own = (np.take_along_axis(reached, (code + step)[None], axis=0)[0] for step in (1, 0))
        return more, least_own

    def link(self, mean: float) -> float:
        """Return zero: thresholds have to be known."""
        del mean
        return 0.0

    def score(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return residuals of a line: what has levels is checked along lines."""
        return child - eta, np.ones(len(eta))

    def height(self, child: FloatArray, eta: FloatArray) -> FloatArray:
        """Return minus half the square of these."""
        return np.asarray(-0.5 * (child - eta) ** 2)


def _in_steps(
    value: float,
    first: FloatArray,
    second: FloatArray,
    by_d: FloatArray,
    curved: FloatArray,
    cross: FloatArray,
    u: FloatArray,
) -> _Sums:
    """Return derivatives by logarithms of steps in place of thresholds, with the prior of the steps, which is flat."""
    turned = np.tril(np.broadcast_to(np.exp(u), (len(u), len(u))))  # of thresholds by u
    by_u = turned.T @ by_d
    inner = turned.T @ curved @ turned + np.diag(np.maximum(-by_u, 0.0))
    both = cross @ turned
    return _Sums(value, np.concatenate([first, by_u + 1.0]), np.block([[second, both], [both.T, inner]]))


def _expit(x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # one over infinity is the right zero
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _summed(log_odds: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the sum over rows, by weight, of ``log(1 + exp(x))``, shape (rows, draws) to (draws,)."""
    factors = 1.0 + np.exp(capped(log_odds))
    return log_product(factors) if weight is None else np.asarray(weight @ np.log(factors))
