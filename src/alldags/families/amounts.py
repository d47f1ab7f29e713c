"""What log-normal and gamma children share: a positive number whose logarithm is a line plus noise.

With ``r = log y - eta`` and a noise precision s, a row has the log-likelihood::

    l = c(s) - log y - s D(r),        dl/d eta = s D'(r),        -d2l/d eta2 = s D''(r)

with a convex D that is 0 at 0. The logarithm of y as the child with normal noise (``D = r^2/2``) *is* this with the
Jacobian ``-log y``; for a gamma distribution of shape s, ``D = exp(r) - 1 - r``. The log-likelihood of N normal rows is
matched to it at one point, in the coefficients and in ``phi = log s``: ``N = 2 (-d2l/d phi2)`` at the best s.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

import numpy as np

from alldags.errors import DataError
from alldags.families.base import Batch, Draws, Plain, Point, RowSums
from alldags.families.canonical import row_blocks
from alldags.families.quadratic import MatchedNoise, Quadratic, leaving
from alldags.priors.prior import Prior
from alldags.typing import FloatArray
from alldags.wording import option

_STEPS = 60
_DECREMENT = 1e-6  # of Newton's iteration: the point need not be the mode itself


class Amount(Plain):
    """A positive child with an unknown noise precision."""

    __slots__ = ()

    name: ClassVar[str]
    measure: ClassVar[str] = "amount"
    link_words: ClassVar[str] = "log mean"
    is_line: ClassVar[bool] = False
    has_levels: ClassVar[bool] = False
    most_k_hat: ClassVar[float] = 0.9  # as for heavy tails: above, weights miss coefficients that few rows speak of
    exact: ClassVar[bool] = False  # whether the match is the likelihood itself

    @abstractmethod
    def loss(self, r: FloatArray) -> FloatArray:
        """Return D, any shape."""

    @abstractmethod
    def slopes(self, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return D' and D'', any shape."""

    @abstractmethod
    def log_constant(self, precision: FloatArray) -> FloatArray:
        """Return c(s), any shape."""

    @abstractmethod
    def best_precision(self, loss: float) -> tuple[float, float]:
        """Return the most probable s at a mean loss, and how many normal rows a row is worth in telling it."""

    # -- prior and point ---------------------------------------------------------------------------------------------

    def check(self, child: str, batches: Iterable[FloatArray]) -> Self:
        """Refuse values that are not positive."""
        values = np.concatenate(list(batches))
        if values.min() <= 0.0:
            zeros = int((values == 0.0).sum())
            what = f"is 0 in {zeros:,} rows" if values.min() == 0.0 else f"has the value {values.min():g}"
            raise DataError(
                f"{child!r} is to be positive ({self.name}), but {what}; zeros and amounts are two regressions, "
                f"{option('families', {child: 'hurdle'})}; or leave it out of {option('families')}: straight lines are "
                "about its mean, too"
            )
        return self

    def prior(self, prior: Prior) -> Prior:
        """Return the prior of a normal node, of the logarithm: slabs follow the noise."""
        return prior

    def link(self, mean: float) -> float:
        """Return the logarithm."""
        return math.log(mean)

    def mode(self, rows: RowSums, slab_variance: float) -> Point:
        """Return the mode with all columns, and the best precision there; Newton's iteration with step halving."""
        batches = rows.batches()
        penalty = np.full(len(rows.names) + 1, 1.0 / slab_variance)
        penalty[0] = 0.0
        at = np.zeros(len(penalty))
        total, weight = rows.totals()
        at[0] = self.link(total / weight)
        here = self._height(batches, at, penalty)
        for _ in range(_STEPS):
            information, gradient = self._sums(batches, at)
            gradient = gradient - penalty * at
            step = np.linalg.solve(information + np.diag(penalty), gradient)
            share, there = 1.0, self._height(batches, at + step, penalty)
            while not there >= here - 1e-9 * abs(here) and share > 1e-6:
                share *= 0.5
                there = self._height(batches, at + share * step, penalty)
            at, here = at + share * step, there
            if float(gradient @ step) < _DECREMENT:
                break
        return Point(at)

    def _height(self, batches: Sequence[Batch], at: FloatArray, penalty: FloatArray) -> float:
        loss = sum(float(batch.weighted(self.loss(left(batch, at))).sum()) for batch in batches)
        return -loss - 0.5 * float(penalty @ at**2)

    def _sums(self, batches: Sequence[Batch], at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return information and gradient at a point, over s."""
        information, gradient = np.zeros((len(at), len(at))), np.zeros(len(at))
        for batch in batches:
            first, second = self.slopes(left(batch, at))
            information += batch.products(second)
            gradient += batch.sums(first)
        return information, gradient

    # -- the quadratic -----------------------------------------------------------------------------------------------

    def quadratic(
        self, names: tuple[str, ...], batches: Sequence[Batch], point: Point, root: FloatArray | None = None
    ) -> Quadratic:
        """Return the normal log-likelihood that matches this one at a point, at the precision that suits it best."""
        del root
        rows = sum(batch.count for batch in batches)
        loss = sum(float(batch.weighted(self.loss(left(batch, point.at))).sum()) for batch in batches)
        s, worth = self.best_precision(loss / rows)
        information, gradient = self._sums(batches, point.at)
        return Quadratic(
            family=self.name,
            names=names,
            at=point.at,
            information=information,
            gradient=gradient if self.exact else leaving(information, gradient, rows * worth / s),
            value=math.nan,
            rows=rows,
            events=sum(float(batch.weighted(batch.child).sum()) for batch in batches),
            spread=0.0 if self.exact else math.nan,
            noise=MatchedNoise(s, rows * worth, 0.0),
        )

    def flatness(self, quadratic: Quadratic) -> float:
        """Return the last match's factor."""
        del quadratic
        return 1.0 if self.exact else 0.9

    # -- how probable rows are ---------------------------------------------------------------------------------------

    def log_likelihoods(self, batches: Iterable[Batch], draws: Draws) -> FloatArray:
        """Return the log-likelihood of each draw, shape (draws,)."""
        loss, constant, count = np.zeros(len(draws.intercept)), 0.0, 0.0
        slopes = np.vstack([-draws.coefficients.T, -draws.intercept, np.ones(len(loss))])
        for batch in batches:
            logs = np.log(batch.child)
            constant, count = constant - float(batch.weighted(logs).sum()), count + batch.count
            rows = np.column_stack([batch.columns, np.ones(len(logs)), logs])
            for part in row_blocks(len(rows), len(loss)):
                own = self.loss(rows[part] @ slopes)
                loss += own.sum(axis=0) if batch.weight is None else batch.weight[part] @ own
        return np.asarray(constant + count * self.log_constant(draws.precision) - draws.precision * loss)

    def log_likelihood_by_row(self, batch: Batch, draws: Draws) -> FloatArray:
        """Return the log-likelihood of each row, weights and all, shape (rows, draws)."""
        logs = np.log(batch.child)[:, None]
        loss = self.loss(logs - batch.predictor(draws.coefficients) - draws.intercept)
        value = self.log_constant(draws.precision) - logs - draws.precision * loss
        return value if batch.weight is None else value * batch.weight[:, None]

    def score(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return D' of the rows, and ones, which are what is expected of D'', shape (rows,) each."""
        return self.slopes(np.log(child) - eta)[0], np.ones(len(child))

    def height(self, child: FloatArray, eta: FloatArray) -> FloatArray:
        """Return ``-D``."""
        return -self.loss(np.log(child) - eta)

    @abstractmethod
    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the mean at a predictor and the noise variances of the draws, in the user's units."""


def left(batch: Batch, at: FloatArray) -> FloatArray:
    """Return the logarithm of the child less its predictor, shape (rows,); `at` is intercept and coefficients."""
    return np.asarray(np.log(batch.child) - (batch.columns @ at[1:] + at[0]))
