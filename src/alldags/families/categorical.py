"""`Categorical`: a child that is one of several levels, by a multinomial logit.

With K levels there are m = K - 1 predictors phi, and the log odds of the levels are ``eta = C phi`` with a (K, m)
matrix of contrasts, ``C'C = I / 2`` and columns that add up to zero. A row of level l has the log-likelihood::

    eta_l - log(sum of exp(eta)),     gradient C'(e_l - p),     information C'(diag(p) - pp')C

Independent slabs of variance tau on the coefficients phi are ``tau (I - 11'/K) / 2`` on those of the levels: the same
for every level, whatever is first, and tau between any two of them, as in a yes/no regression, which this is for K = 2.
The first intercept is that of the quadratic; the others are beside it, integrated out and drawn.

Coefficients of one column are side by side, shape (draws, k m); predictors come first in arrays, (m, rows, draws).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from alldags.errors import DataError, EngineError, did_you_mean
from alldags.families.base import Batch, Draws, Plain, Point, RowSums
from alldags.families.canonical import capped, flatness, link_prior, log_product, row_blocks
from alldags.families.quadratic import Beside, Quadratic
from alldags.priors.prior import Prior
from alldags.typing import FloatArray, IntArray
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.data.levels import Levels

MOST_LEVELS = 12  # more have next to no rows each, and a group of columns for each cause that is too wide
_STEPS = 60
_DECREMENT = 1e-6  # of Newton's iteration: the point need not be the mode itself
_LEAST = 1e-300  # of a probability: its logarithm is finite


class _Sums(NamedTuple):
    """Log-likelihood at a point, its derivatives by intercepts and coefficients, shape ((k + 1) m,), and the largest
    standard deviation of a predictor that they were averaged over.
    """

    value: float
    gradient: FloatArray
    information: FloatArray
    widest: float


@dataclass(frozen=True, slots=True)
class Categorical(Plain):
    """One of several levels: the log odds of any two of them are ``intercept + coefficients . parents``.

    Parameters
    ----------
    level
        The level whose probability effects are on; None: the most frequent. `Effect.probability.levels` has all.
    words
        The levels, in the order of their codes; taken from the table.
    name_of
        The variable, of which the table has codes; taken from the graph.
    ranks
        Place of each level by frequency, from which contrasts are made, so that draws do not depend on the order.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Categorical().name, ad.Categorical(level="north").level
    ('categorical', 'north')
    """

    name: ClassVar[str] = "categorical"
    measure: ClassVar[str] = "risk"
    link_words: ClassVar[str] = "log-odds"
    is_line: ClassVar[bool] = False
    has_levels: ClassVar[bool] = True
    most_k_hat: ClassVar[float] = math.inf
    takes_levels: ClassVar[bool] = True

    level: Any = None
    words: tuple[str, ...] = ()
    name_of: str = ""
    ranks: tuple[int, ...] = ()

    @property
    def predictors(self) -> int:
        """One less than there are levels."""
        return len(self.words) - 1

    @property
    def reads(self) -> tuple[str, ...]:
        """Its own codes, which are no column of the graph."""
        return (self.name_of,) if self.name_of else ()

    def labelled(self, child: str, levels: Levels) -> Categorical:
        """Return the family with the levels of a column; refuse too many, or a level that it does not have."""
        words = levels.words
        if len(words) > MOST_LEVELS:
            raise DataError(
                f"{child!r} is to be one of several levels (categorical), but has {len(words)}; at most "
                f"{MOST_LEVELS} have probabilities of their own: group them"
            )
        if self.level is not None and str(self.level) not in words:
            raise DataError(
                f"Categorical level of {child!r} must be one of {', '.join(map(repr, words))}, got {self.level!r}"
                f"{did_you_mean(str(self.level), words)}"
            )
        level = words[int(np.argmax(levels.counts))] if self.level is None else str(self.level)
        ranks = sorted(range(len(words)), key=lambda place: (-levels.counts[place], words[place]))
        return replace(self, level=level, words=words, name_of=child, ranks=tuple(map(ranks.index, range(len(words)))))

    @property
    def contrasts(self) -> FloatArray:
        """From predictors to log odds of levels, shape (levels, m)."""
        found = contrasts(len(self.words))
        return found[list(self.ranks)] if self.ranks else found

    def asked(self, level: str) -> Categorical:
        """Return the same family with the probability of another level as its mean."""
        return replace(self, level=level)

    def check(self, child: str, batches: Iterable[FloatArray]) -> Categorical:
        """Refuse what was not read as levels, and levels that no row has."""
        if not self.words:
            raise DataError(
                f"{child!r} is to be one of several levels (categorical), but has two, or is a number; leave it out of "
                f"{option('families')}"
            )
        counts = np.zeros(len(self.words))
        for values in batches:
            counts += np.bincount(values.astype(np.int64), minlength=len(counts))
        if (empty := np.flatnonzero(counts == 0)).size:
            raise DataError(
                f"no complete row of {child!r} (categorical) has the level {self.words[int(empty[0])]!r}: nothing "
                "shows what makes it probable; leave out rows with it before, or group it with another"
            )
        return self

    # -- coefficients ------------------------------------------------------------------------------------------------

    def by_predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients (draws, k m) with predictors first, shape (m, draws, k)."""
        parts = coefficients.reshape(len(coefficients), -1, self.predictors)
        return np.ascontiguousarray(np.moveaxis(parts, 2, 0))

    def intercepts(self, first: FloatArray, beside: FloatArray | None) -> FloatArray:
        """Return the intercepts of all predictors, shape (m, draws)."""
        return np.vstack([first[None], np.zeros((0, len(first))) if beside is None else beside.T])

    def _by_level(self, draws: Draws) -> FloatArray:
        """Return coefficients of each level, the intercept last, shape (levels, draws, k + 1)."""
        both = np.concatenate(
            [self.by_predictor(draws.coefficients), self.intercepts(draws.intercept, draws.beside)[:, :, None]], axis=2
        )
        return np.tensordot(self.contrasts, both, axes=1)

    # -- prior and point ---------------------------------------------------------------------------------------------

    def prior(self, prior: Prior) -> Prior:
        """Return the prior on the scale of the log odds of two levels."""
        return link_prior(prior)

    def link(self, mean: float) -> float:
        """Return zero: a probability of one level says nothing of the others."""
        del mean
        return 0.0

    def mode(self, rows: RowSums, slab_variance: float) -> Point:
        """Return the mode with all columns; Newton's iteration with step halving."""
        batches, m = rows.batches(), self.predictors
        at = np.zeros(m + len(rows.names))
        penalty = np.full(len(at), 1.0 / slab_variance)
        penalty[:m] = 0.0
        at[:m] = self._start(batches)
        here = self._sums(batches, at)
        for _ in range(_STEPS):
            gradient = here.gradient - penalty * at
            step = np.linalg.solve(here.information + np.diag(penalty), gradient)
            if float(gradient @ step) < _DECREMENT:
                return Point(np.concatenate([at[:1], at[m:]]), beside=at[1:m])
            share, height = 1.0, here.value - 0.5 * float(penalty @ at**2)
            while True:
                moved = at + share * step
                there = self._sums(batches, moved)
                if there.value - 0.5 * float(penalty @ moved**2) >= height - 1e-9 * abs(height) or share < 1e-6:
                    break
                share *= 0.5
            at, here = moved, there
        raise EngineError(f"the regression of {rows.child!r} has no mode that could be found; check its columns")

    def _start(self, batches: Sequence[Batch]) -> FloatArray:
        """Return the intercepts at which levels are as frequent as they are, shape (m,)."""
        counts = np.zeros(len(self.words))
        for batch in batches:
            counts += np.bincount(batch.child.astype(np.int64), batch.weighted(np.ones(len(batch.child))), len(counts))
        return np.asarray(2.0 * self.contrasts.T @ np.log(counts))

    # -- the quadratic -----------------------------------------------------------------------------------------------

    def _sums(self, batches: Sequence[Batch], at: FloatArray, root: FloatArray | None = None) -> _Sums:
        """Return value and derivatives at intercepts and coefficients, all of one column side by side.

        With a square root of their covariance, derivatives are averaged over a normal distribution around the point.
        """
        m, size = self.predictors, len(at) // self.predictors
        value, gradient, information, widest = 0.0, np.zeros((size, m)), np.zeros((size, m, size, m)), 0.0
        for batch in batches:
            rows = np.column_stack([np.ones(len(batch.child)), batch.columns])
            eta, code = rows @ at.reshape(size, m), batch.child.astype(np.int64)
            p = self.probabilities(eta.T).T
            value += float(batch.weighted(np.log(np.maximum(p[np.arange(len(code)), code], _LEAST))).sum())
            if root is None:
                left, inside = _derivatives(self.contrasts, code, p)
            else:
                points = _around(eta, rows, root)
                widest = max(widest, float(np.abs(points - eta).max()) / math.sqrt(m))
                each = [self.derivatives(batch.child, point) for point in points]
                left, inside = (np.mean(np.stack(parts), axis=0) for parts in zip(*each, strict=True))
            gradient += rows.T @ (left if batch.weight is None else left * batch.weight[:, None])
            for a in range(m):
                for b in range(a, m):
                    found = batch.products(inside[:, a, b])
                    information[:, a, :, b] += found
                    if b > a:
                        information[:, b, :, a] += found
        return _Sums(value, gradient.ravel(), information.reshape(size * m, size * m), widest)

    def quadratic(
        self, names: tuple[str, ...], batches: Sequence[Batch], point: Point, root: FloatArray | None = None
    ) -> Quadratic:
        """Return the log-likelihood at a point, or averaged around it, integrated over all intercepts but the first."""
        m = self.predictors
        other = self._start(batches)[1:] if point.beside is None else point.beside
        at = np.concatenate([point.at[:1], other, point.at[1:]])
        beside = np.arange(1, m)
        kept = np.concatenate([[0], np.arange(m, len(at))])
        found = self._sums(batches, at)
        if root is not None:
            found = self._sums(batches, at, _root_of_all(found.information, kept, beside, root))
        inside, across = found.information[np.ix_(beside, beside)], found.information[np.ix_(kept, beside)]
        inverse = np.linalg.inv(inside)
        slope, move = -inverse @ across.T, inverse @ found.gradient[beside]
        spread = 0.5 * (m - 1) * math.log(2.0 * math.pi) - 0.5 * float(np.linalg.slogdet(inside)[1])
        return Quadratic(
            family=self.name,
            names=names,
            at=point.at,
            information=found.information[np.ix_(kept, kept)] + across @ slope,
            gradient=found.gradient[kept] - across @ move,
            value=found.value + 0.5 * float(found.gradient[beside] @ move) + spread,
            rows=sum(batch.count for batch in batches),
            events=self._events(batches),
            spread=found.widest,
            beside=Beside(other + move, slope, np.linalg.cholesky(inverse), logs=False) if m > 1 else None,
        )

    def _events(self, batches: Sequence[Batch]) -> float:
        """Return in how many rows the level that is asked about is there."""
        code = self.words.index(self.level) if self.level in self.words else 0
        return sum(float(batch.weighted((batch.child == code).astype(float)).sum()) for batch in batches)

    def flatness(self, quadratic: Quadratic) -> float:
        """Return the last expansion's factor: nearer to one where the posterior is all but normal."""
        return flatness(quadratic)

    # -- how probable rows are ---------------------------------------------------------------------------------------

    def log_likelihoods(self, batches: Iterable[Batch], draws: Draws) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,), in one pass over the rows."""
        value, slopes = np.zeros(len(draws.intercept)), self._by_level(draws)
        for batch in batches:
            rows = np.column_stack([batch.columns, np.ones(len(batch.child))])
            for level, own in enumerate(slopes):
                value += own @ (rows.T @ batch.weighted((batch.child == level).astype(float)))
            for part in row_blocks(len(rows), len(value)):
                total = _exponentials(rows[part] @ own.T for own in slopes)
                value -= log_product(total) if batch.weight is None else batch.weight[part] @ np.log(total)
        return value

    def log_likelihood_by_row(self, batch: Batch, draws: Draws) -> FloatArray:
        """Return the log-likelihood of each row, weights and all, shape (rows, draws)."""
        rows, slopes = np.column_stack([batch.columns, np.ones(len(batch.child))]), self._by_level(draws)
        value = -np.log(_exponentials(rows @ own.T for own in slopes))
        for level, own in enumerate(slopes):
            there = batch.child == level
            value[there] += rows[there] @ own.T
        return value if batch.weight is None else value * batch.weight[:, None]

    def derivatives(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient (rows, m) and information (rows, m, m) of rows at predictors, shape (rows, m)."""
        return _derivatives(self.contrasts, child.astype(np.int64), self.probabilities(eta.T).T)

    # -- what follows from predictors --------------------------------------------------------------------------------

    def probabilities(self, eta: FloatArray) -> FloatArray:
        """Return the probability of each level, predictors (m, ...) to (levels, ...)."""
        found = np.tensordot(self.contrasts, eta, axes=1)
        found -= found.max(axis=0)
        np.exp(found, out=found)
        return np.asarray(found / found.sum(axis=0))

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the probability of the level that is asked about, predictors (m, rows, draws) to (rows, draws)."""
        del apart
        return np.asarray(self.probabilities(eta)[self.words.index(self.level)])

    def observed(self, child: str, values: Mapping[str, FloatArray], weight: FloatArray) -> float:
        """Return how frequent that level is in rows as they are, whatever acts on them."""
        return float(np.average(values[child] == self.words.index(self.level), weights=weight))

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the code of the level at some level of the distribution, (m, rows, draws) to (rows, draws)."""
        del apart
        below = self.probabilities(eta)[:-1].cumsum(axis=0)
        return np.asarray((uniform >= below).sum(axis=0), dtype=float)

    def score(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return residuals of a line: what has levels is checked along lines."""
        return child - eta, np.ones(len(eta))

    def height(self, child: FloatArray, eta: FloatArray) -> FloatArray:
        """Return minus half the square of these."""
        return np.asarray(-0.5 * (child - eta) ** 2)

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return between which levels of the distribution a code is drawn."""
        del apart
        edges = np.concatenate([np.zeros((1, *eta.shape[1:])), self.probabilities(eta).cumsum(axis=0)])
        code: IntArray = np.broadcast_to(np.asarray(value, dtype=np.int64), eta.shape[1:])
        low, high = (np.take_along_axis(edges, (code + step)[None], axis=0)[0] for step in (0, 1))
        return low, high


@cache
def contrasts(levels: int) -> FloatArray:
    """Return contrasts of levels that add up to zero, with ``C'C = I / 2``, shape (levels, levels - 1).

    Examples
    --------
    >>> from alldags.families.categorical import contrasts
    >>> contrasts(2).ravel().tolist()
    [-0.5, 0.5]
    """
    found = np.zeros((levels, levels - 1))
    for place in range(1, levels):
        found[:place, place - 1], found[place, place - 1] = -1.0, place
    return np.asarray(found / np.sqrt(2.0 * (found**2).sum(axis=0)))


def _derivatives(c: FloatArray, code: IntArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gradient (rows, m) and information (rows, m, m) by predictors, at probabilities (rows, levels)."""
    mean, m = p @ c, c.shape[1]
    squares = (p @ (c[:, :, None] * c[:, None, :]).reshape(len(c), -1)).reshape(len(p), m, m)
    return c[code] - mean, squares - mean[:, :, None] * mean[:, None, :]


def _root_of_all(information: FloatArray, kept: IntArray, beside: IntArray, root: FloatArray) -> FloatArray:
    """Return a square root of the covariance of all coefficients: intercepts beside them follow the rest."""
    inside = information[np.ix_(beside, beside)]
    found = np.zeros((len(information), root.shape[1] + len(beside)))
    found[kept, : root.shape[1]] = root
    found[beside, : root.shape[1]] = -np.linalg.solve(inside, information[np.ix_(beside, kept)] @ root)
    found[beside, root.shape[1] :] = np.linalg.cholesky(np.linalg.inv(inside))
    return found


def _around(eta: FloatArray, rows: FloatArray, root: FloatArray) -> FloatArray:
    """Return predictors (2 m, rows, m) that have the mean and covariance of each row's (cubature of degree three)."""
    m = eta.shape[1]
    moved = np.tensordot(rows, root.reshape(rows.shape[1], m, -1), axes=1)
    covariance = np.einsum("nap,nbp->nab", moved, moved)
    values, vectors = np.linalg.eigh(covariance)
    away = math.sqrt(m) * np.moveaxis(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :], 2, 0)
    return np.concatenate([eta + away, eta - away])


def _exponentials(parts: Iterator[FloatArray]) -> FloatArray:
    """Return the sum of exponentials of log odds that add up to zero: it is at least one."""
    total: FloatArray | float = 0.0
    for part in parts:
        total = total + np.exp(capped(part))
    return np.asarray(total)
