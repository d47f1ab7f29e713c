"""`Student`: a child with heavy tails, whose log-likelihood is matched by that of weighted normal rows.

The noise of a row is ``e = z / sqrt(s w)`` with z standard normal and a weight ``w ~ Gamma(df/2, df/2)`` of its own, so
that s is the noise precision of a row of weight one. With the weights integrated out, ``u = s e^2`` and
``phi = log s``, a row has the log-likelihood ``l = constant + phi/2 - (df + 1)/2 log(1 + u/df)`` and::

    dl/d eta = s w e,   w = (df + 1)/(df + u)          -d2l/d eta2 = s (df + 1)(df - u)/(df + u)^2
    dl/d phi = (1 - w u)/2                             -d2l/d phi2 = (df + 1) df u / (2 (df + u)^2)

The log-likelihood of N normal rows can have the same gradient and curvature in the coefficients and in phi at one
point: that fixes the quadratic. As df grows it becomes the normal node itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import ClassVar

import numpy as np

from alldags import checks
from alldags.errors import DataError
from alldags.families.base import (
    Batch,
    ChainPrior,
    ChainRows,
    ChainState,
    Draws,
    Plain,
    Point,
    RowSums,
    Sampler,
    Variant,
)
from alldags.families.canonical import log_product, row_blocks
from alldags.families.quadratic import MatchedNoise, Quadratic, leaving
from alldags.priors.grid import Setting
from alldags.priors.noise import UnknownNoise
from alldags.priors.prior import Prior
from alldags.typing import FloatArray
from alldags.wording import option

LIGHT = 0.25  # a row of less weight hardly counts
_LEAST_CURVATURE = 0.3  # of that expected: rows far out curve the other way, and must not turn the sum around
_FLATTER = 0.9  # the last match has this many times the information: weights of draws then have light tails
_NEWTON_STEPS = 50
_STEPS = 200
_STOP = 1e-3  # standard errors: the start need not be the mode itself
_GRID = (2.5, 3.0, 3.5, 4.0, 5.0, 6.5, 8.5, 11.0, 15.0, 20.0, 30.0, 50.0, 100.0)  # degrees of freedom that are learned
_SHAPE, _RATE = 2.0, 0.1  # of their gamma prior (Juarez and Steel 2010)
_FIRST = 4.0  # those under which rows are looked at first
_FAR = 10.0  # log-likelihood below the best from which degrees of freedom are left out


@dataclass(frozen=True, slots=True)
class Student(Plain):
    """A number whose noise has heavy tails: Student's t instead of a normal distribution.

    The regression stays a straight line, and effects stay sums of products along paths; rows far from it count less.

    Parameters
    ----------
    df
        Degrees of freedom, above 2. Few make tails heavy; above about 30 the noise is all but normal. None: they are
        learned, on a grid from 2.5 to 100, and all else is averaged over them.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Student(df=4.0)
    Student(df=4.0)
    """

    name: ClassVar[str] = "student"
    measure: ClassVar[str] = "mean"
    link_words: ClassVar[str] = "mean"
    is_line: ClassVar[bool] = True
    has_levels: ClassVar[bool] = False
    most_k_hat: ClassVar[float] = 0.9  # above, weights miss the tails of coefficients that few rows say anything about

    df: float | None = None

    def __post_init__(self) -> None:
        if self.df is not None:
            checks.above("Student df", self.df, 2, DataError)

    @property
    def degrees(self) -> float:
        """The degrees of freedom; where they are to be learned, those under which rows are looked at first."""
        return _FIRST if self.df is None else self.df

    def variants(self, rows: RowSums) -> tuple[Variant, ...]:
        """Return the family with each number of degrees of freedom that the rows leave open, if they are to be learned.

        The others would carry no weight: what one regression leaves of the rows is far less probable under them.
        """
        if self.df is not None:
            return ()
        point, batches = replace(self, df=_FIRST).mode(rows, 1.0), rows.batches()
        every = [replace(self, df=df) for df in _GRID]
        height = np.array([one.likelihood_at(batches, point) for one in every])
        near = height > height.max() - _FAR
        shares = _prior().tolist()
        return tuple(Variant(*one) for one in compress(zip(every, shares, _GRID, strict=True), near))

    def likelihood_at(self, batches: Sequence[Batch], point: Point) -> float:
        """Return the log-likelihood at a point, with the precision that suits it best."""
        s = np.array([self.best_precision(batches, point.at, point.precision)])
        return float(self.log_likelihoods(batches, Draws(point.at[:1], point.at[None, 1:], s))[0])

    def drawn(self, square: FloatArray, rng: np.random.Generator) -> Student:
        """Return the family with degrees of freedom drawn given squared residuals at precision one, shape (rows,)."""
        each = [replace(self, df=df) for df in _GRID]
        rows = [len(square) * one.constant + float(one.height(np.sqrt(square), np.zeros(1)).sum()) for one in each]
        logs = np.log(_prior()) + rows
        return each[int(rng.choice(len(each), p=np.exp(logs - np.logaddexp.reduce(logs))))]

    def settled(self, learned: FloatArray | None) -> Student:
        """Return the family with the mean of the degrees of freedom that were learned."""
        return self if self.df is not None or learned is None else replace(self, df=float(learned[:, 1].mean()))

    @property
    def noise_factor(self) -> float:
        """Variance of the noise of precision one."""
        return self.degrees / (self.degrees - 2.0)

    def row_factors(self, size: int, rng: np.random.Generator, beside: FloatArray | None = None) -> FloatArray:
        """Return one over the weights of rows, drawn, shape (size,)."""
        half = 0.5 * (self.degrees if beside is None else beside[:, 1])
        return np.asarray(half / rng.gamma(half, 1.0, size))

    @property
    def constant(self) -> float:
        """What the log-density of a row has apart from its residual and the precision."""
        half = 0.5 * self.degrees
        return math.lgamma(half + 0.5) - math.lgamma(half) - 0.5 * math.log(self.degrees * math.pi)

    def weight(self, square: FloatArray) -> FloatArray:
        """Return the mean weight of rows with these squared residuals in units of 1/s, any shape."""
        return np.asarray((self.degrees + 1.0) / (self.degrees + square))

    def check(self, child: str, batches: Iterable[FloatArray]) -> Student:
        """Refuse a child of which so many values are the same that the noise would vanish."""
        values = np.concatenate(list(batches))
        _, counts = np.unique(values, return_counts=True)
        share = float(counts.max()) / len(values)
        least = _GRID[0] if self.df is None else self.df
        if share >= least / (least + 1.0):
            raise DataError(
                f"{child!r} has the same value in {100 * share:.0f}% of the rows, which is no noise with heavy tails; "
                f"leave it out of {option('families')}, or ask whether it is that value (0/1)"
            )
        return self

    # -- prior and point ---------------------------------------------------------------------------------------------

    def prior(self, prior: Prior) -> Prior:
        """Return the prior of a normal node; its noise precision is that of a row of weight one."""
        return prior

    def mode(self, rows: RowSums, slab_variance: float) -> Point:
        """Return about the mode with all columns, and the precision there.

        Weighted least squares with the rows' mean weights, from the median of the child on: rows far out count little
        from the start.
        """
        batches = rows.batches()
        point = np.zeros(len(rows.names) + 1)
        point[0], spread = _middle(batches)
        s = self.best_precision(batches, point, 1.0 / spread**2)
        penalty = np.full(len(point), 1.0 / slab_variance)
        penalty[0] = 0.0
        for _ in range(_STEPS):
            system, shift = np.diag(penalty), np.zeros(len(point))
            for batch, e in zip(batches, residuals(batches, point), strict=True):
                weight = self.weight(s * e**2)
                system += batch.products(weight)
                shift += batch.sums(weight * batch.child)
            moved = np.asarray(np.linalg.solve(system, shift), dtype=float)
            step = float((moved - point) @ system @ (moved - point)) * s
            point, s = moved, self.best_precision(batches, moved, s)
            if step < _STOP**2 * len(point):
                break
        return Point(point, s)

    def best_precision(self, batches: Sequence[Batch], at: FloatArray, start: float) -> float:
        """Return the precision under which residuals are most probable; the log-likelihood is concave in its log."""
        square = np.concatenate([each**2 for each in residuals(batches, at)])
        counts = np.concatenate([batch.weighted(np.ones(len(batch.child))) for batch in batches])
        phi = math.log(start)
        for _ in range(_NEWTON_STEPS):
            u = square * math.exp(phi)
            total = self.degrees + u
            slope = 0.5 * float((counts * (1.0 - (self.degrees + 1.0) * u / total)).sum())
            curvature = 0.5 * (self.degrees + 1.0) * self.degrees * float((counts * u / total**2).sum())
            step = min(max(slope / max(curvature, 1e-300), -2.0), 2.0)
            phi += step
            if abs(step) < 1e-9:
                break
        return math.exp(phi)

    # -- the quadratic -----------------------------------------------------------------------------------------------

    def quadratic(
        self, names: tuple[str, ...], batches: Sequence[Batch], point: Point, root: FloatArray | None = None
    ) -> Quadratic:
        """Return the normal log-likelihood that matches that of heavy tails at one point.

        The precision of the point is where to start looking for the one that suits it best; `root` is not used.
        """
        del root
        s, df, size = self.best_precision(batches, point.at, point.precision), self.degrees, len(point.at)
        observed, expected, gradient = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
        count, slope, light, least, largest = 0.0, 0.0, 0, math.inf, 0.0
        for batch, e in zip(batches, residuals(batches, point.at), strict=True):
            u = s * e**2
            weight = self.weight(u)
            observed += batch.products(weight * (df - u) / (df + u))
            expected += batch.products()
            gradient += batch.sums(weight * e)
            count += float(batch.weighted(weight * df * u / (df + u)).sum())
            slope += 0.5 * float(batch.weighted(1.0 - weight * u).sum())
            light += int((weight < LIGHT).sum())
            least, largest = min(least, float(weight.min())), max(largest, float(weight.max()))
        information = _curved_enough(observed, (df + 1.0) / (df + 3.0) * expected)
        return Quadratic(
            family=self.name,
            names=names,
            at=point.at,
            information=information,
            gradient=leaving(information, gradient, count / s),
            value=math.nan,
            rows=sum(batch.count for batch in batches),
            spread=math.nan,
            noise=MatchedNoise(s, count, slope),
            light=light,
            weights=(least, largest),
        )

    def flatness(self, quadratic: Quadratic) -> float:
        """Return the last match's factor."""
        del quadratic
        return _FLATTER

    # -- how probable rows are ---------------------------------------------------------------------------------------

    def log_likelihoods(self, batches: Iterable[Batch], draws: Draws) -> FloatArray:
        """Return the log-likelihood of each draw, shape (draws,)."""
        value = np.zeros(len(draws.intercept))
        slopes = self._slopes(draws)
        for batch in batches:
            value += batch.count * (self.constant + 0.5 * np.log(draws.precision))
            rows = np.column_stack([batch.columns, np.ones(len(batch.child)), -batch.child])
            for part in row_blocks(len(rows), len(value)):
                left = rows[part] @ slopes
                np.multiply(left, left, out=left)
                left += 1.0
                logs = log_product(left) if batch.weight is None else batch.weight[part] @ np.log(left)
                value -= 0.5 * (self.degrees + 1.0) * logs
        return value

    def _slopes(self, draws: Draws) -> FloatArray:
        """Return draws in units in which one plus a squared residual is what is multiplied, shape (k + 2, draws)."""
        root = np.sqrt(draws.precision / self.degrees)
        return np.vstack([(draws.coefficients * root[:, None]).T, draws.intercept * root, root])

    def log_likelihood_by_row(self, batch: Batch, draws: Draws) -> FloatArray:
        """Return the log-likelihood of each row, weights and all, shape (rows, draws)."""
        left = np.column_stack([batch.columns, np.ones(len(batch.child)), -batch.child]) @ self._slopes(draws)
        value = self.constant + 0.5 * np.log(draws.precision) - 0.5 * (self.degrees + 1.0) * np.log1p(left**2)
        return value if batch.weight is None else value * batch.weight[:, None]

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the predictor itself."""
        del apart
        return eta

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the value at a level of the distribution around the predictor; of precision one if none is given."""
        from scipy.special import stdtrit

        return np.asarray(eta + (1.0 if apart is None else np.sqrt(apart[0])) * stdtrit(self._tails(apart), uniform))

    def _tails(self, apart: FloatArray | None) -> float | FloatArray:
        """Return the degrees of freedom of draws: where they were learned, they come after the noise variance."""
        return self.degrees if apart is None or len(apart) < 2 else apart[1]

    def link(self, mean: float) -> float:
        """Return the mean itself."""
        return mean

    def score(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weighted residuals, and the information expected of a row, shape (rows,) each."""
        left = child - eta
        return self.weight(left**2) * left, np.full(len(left), (self.degrees + 1.0) / (self.degrees + 3.0))

    def height(self, child: FloatArray, eta: FloatArray) -> FloatArray:
        """Return the log-density of precision one, without its constant."""
        return np.asarray(-0.5 * (self.degrees + 1.0) * np.log1p((child - eta) ** 2 / self.degrees))

    def draw_precision(self, child: FloatArray, eta: FloatArray, rng: np.random.Generator) -> float:
        """Return a draw given weights of the rows, which are drawn, too, at precision one."""
        square = (child - eta) ** 2
        weight = rng.gamma(0.5 * (self.degrees + 1.0), 2.0 / (self.degrees + square))
        return float(rng.chisquare(len(child)) / (weight @ square))

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the level of the value, twice: with noise of any size there is only one."""
        from scipy.special import stdtr

        level = np.asarray(stdtr(self._tails(apart), (value - eta) / (1.0 if apart is None else np.sqrt(apart[0]))))
        return level, level

    def is_rare(self, quadratic: Quadratic) -> bool:
        """Tell that weights can be judged by themselves."""
        del quadratic
        return False

    def remarks(self, rows: RowSums, draws: Draws) -> tuple[str, ...]:
        """Return nothing."""
        del rows, draws
        return ()

    def sampler(self, settings: Sequence[Setting], *, weighted: bool) -> Sampler | None:
        """Return the sampler with weights of rows; it takes slabs that follow the noise."""
        noise = settings[0].noise
        suits = all(one.slab == "independent" and isinstance(one.noise, UnknownNoise) for one in settings)
        if weighted or not suits or not isinstance(noise, UnknownNoise):
            return None
        gamma = np.array([self.degrees, noise.shape, noise.rate])
        return Sampler("row-weights", lambda *chain: _advance(gamma, *chain))


def _prior() -> FloatArray:
    """Return the prior probabilities of the grid, shape (grid,): the density times the width of each step."""
    df = np.array(_GRID)
    share = df ** (_SHAPE - 1.0) * np.exp(-_RATE * df) * np.gradient(df)
    return np.asarray(share / share.sum())


def residuals(batches: Sequence[Batch], at: FloatArray) -> list[FloatArray]:
    """Return the child less its line in each batch, shape (rows,) each; `at` is intercept and coefficients."""
    return [batch.child - (batch.columns @ at[1:] + at[0]) for batch in batches]


def _middle(batches: Sequence[Batch]) -> tuple[float, float]:
    """Return median and spread of the child, about."""
    child = np.concatenate([batch.child for batch in batches])
    median = float(np.median(child))
    return median, float(np.median(np.abs(child - median))) or float(child.std()) or 1.0


def _curved_enough(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the observed information, mixed with the expected one where some direction has too little of it."""
    scale = np.sqrt(np.diag(expected))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(expected / np.outer(scale, scale))
    kept = values > 1e-9 * values[-1]
    root = (vectors[:, kept] / np.sqrt(values[kept])) / scale[:, None]
    lowest = float(np.linalg.eigvalsh(root.T @ observed @ root)[0])
    if lowest >= _LEAST_CURVATURE:
        return observed
    share = min((_LEAST_CURVATURE - lowest) / (1.0 - lowest), 1.0)
    return np.asarray((1.0 - share) * observed + share * expected)


def _advance(
    noise: FloatArray,
    rng: np.random.Generator,
    rows: ChainRows,
    prior: ChainPrior,
    information: FloatArray,
    state: ChainState,
    out: FloatArray,
) -> None:
    from alldags.kernels.student import run_student_chain

    del information
    run_student_chain(rng, rows.rows, rows.child, noise, *prior, *state, out)
