"""What yes/no children and counts share: the log-likelihood ``y eta - A(eta) + constant`` with a convex cumulant A.

At any point ``z* = (intercept, coefficients)``, with ``r = y - mean`` and ``w = variance`` of each row, and ``Z`` the
rows of columns with a one before them::

    l(z) ~ c + b'z - z'Hz / 2      H = Z' diag(w) Z,  b = H z* + Z'r,  c = l(z*) - z*'Z'r - z*'H z*/2

The gradient belongs in the shift b: ``b = H z*`` holds only at an unpenalised maximum. Averaged over a normal
distribution around the point, mean and variance fit a skewed likelihood better than its derivatives at the point do.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from alldags.errors import EngineError
from alldags.families.base import Batch, Draws, Plain, Point, RowSums
from alldags.families.quadratic import Quadratic
from alldags.priors.noise import KnownNoise
from alldags.priors.prior import Prior
from alldags.priors.slabs import LearnedSlab
from alldags.typing import FloatArray

# On the scale of the predictor, of standardised columns: narrow slabs lose where a cause is strong, wide ones drop
# confounders, so it is learned; measured in the explanation of yes/no outcomes.
LINK_SLAB = LearnedSlab(median=0.5, spread=1.0, low=0.5 * math.exp(-2.5), high=0.5 * math.exp(2.5), points=7)
SURE = 0.5  # of the predictor: where no row's is less sure, the posterior is normal for all that matters
LEAST_EVENTS = 5  # with fewer, or fewer than half the candidates, k-hat can miss what the expansion gets wrong
_FLATTER = 0.85  # the last expansion has this many times the information: weights of draws then have light tails
_STEPS = 60
_DECREMENT = 1e-6  # of Newton's iteration: the point need not be the mode itself
_BLOCK_VALUES = 2**17  # rows times draws looked at together: they stay in the cache
_GROUP = 8
_LARGEST = 700.0  # exp of more overflows; no posterior has draws out there


class Canonical(Plain):
    """A family with a convex cumulant, whose derivative is the mean."""

    __slots__ = ()

    name: ClassVar[str]
    is_line: ClassVar[bool] = False
    has_levels: ClassVar[bool] = False
    most_k_hat: ClassVar[float] = math.inf

    @abstractmethod
    def cumulant(self, eta: FloatArray) -> FloatArray:
        """Return A(eta), any shape."""

    @abstractmethod
    def total_cumulant(self, eta: FloatArray) -> FloatArray:
        """Return the sum of A(eta) over rows, shape (rows, draws) to (draws,); `eta` may be overwritten."""

    @abstractmethod
    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return A'(eta), the mean."""

    @abstractmethod
    def variance(self, mean: FloatArray) -> FloatArray:
        """Return A''(eta) as a function of the mean."""

    def total_variance(self, mean: FloatArray) -> FloatArray:
        """Return the sum of A'' over rows, shape (rows, draws) to (draws,)."""
        return np.asarray(self.variance(mean).sum(axis=0))

    @abstractmethod
    def averaged(self, eta: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance averaged over normal predictors with these means and standard deviations."""

    @abstractmethod
    def link(self, mean: float) -> float:
        """Return the eta at which the mean is this."""

    def score(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the child less its mean, and its variance, shape (rows,) each."""
        mean = self.mean(eta)
        return child - mean, self.variance(mean)

    def height(self, child: FloatArray, eta: FloatArray) -> FloatArray:
        """Return ``y eta - A(eta)``."""
        return np.asarray(child * eta - self.cumulant(eta))

    def draw_precision(self, child: FloatArray, eta: FloatArray, rng: np.random.Generator) -> float:
        """Return one: there is no noise."""
        del child, eta, rng
        return 1.0

    @abstractmethod
    def constants(self, values: FloatArray) -> FloatArray:
        """Return what the log-likelihood of each value has apart from eta, shape (rows,)."""

    @abstractmethod
    def rarer(self, quadratic: Quadratic) -> float:
        """Return the number of events, or of their absence, whichever is rarer."""

    # -- prior and point ---------------------------------------------------------------------------------------------

    def prior(self, prior: Prior) -> Prior:
        """Return the prior on the scale of the predictor: a slab that was given applies to it as it is."""
        return link_prior(prior)

    def mode(self, rows: RowSums, slab_variance: float) -> Point:
        """Return the mode with all columns."""
        return mode_from(rows, rows.quadratic, self._start(rows), slab_variance)

    def _start(self, rows: RowSums) -> Point:
        """Return the null model: the intercept at which the mean is the child's."""
        total, weight = rows.totals()
        start = np.zeros(len(rows.names) + 1)
        start[0] = self.link(total / weight)
        return Point(start)

    # -- the quadratic -----------------------------------------------------------------------------------------------

    def quadratic(
        self, names: tuple[str, ...], batches: Sequence[Batch], point: Point, root: FloatArray | None = None
    ) -> Quadratic:
        """Return the expansion of the log-likelihood at a point, or averaged around it.

        Parameters
        ----------
        names
            Of the columns, k of them.
        batches
            The rows.
        point
            Intercept and coefficients, shape (k + 1,).
        root
            Square root of their covariance, shape (k + 1, k + 1): derivatives are averaged over a normal distribution
            around the point. None: those at the point.
        """
        parts = [self._part(names, batch, point.at, root) for batch in batches]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def _part(self, names: tuple[str, ...], batch: Batch, at: FloatArray, root: FloatArray | None) -> Quadratic:
        eta = batch.predictor(at[None, 1:])[:, 0] + at[0]
        spread = None if root is None else row_spread(batch, root)
        mean, variance = self._mean_and_variance(eta, spread)
        own = batch.weighted(batch.child)
        cumulant, constants = batch.weighted(self.cumulant(eta)), batch.weighted(self.constants(batch.child))
        return Quadratic(
            family=self.name,
            names=names,
            at=at,
            information=batch.products(variance),
            gradient=batch.sums(batch.child - mean),
            value=float(own @ eta - cumulant.sum()) + float(constants.sum()),
            rows=batch.count,
            events=float(own.sum()),
            spread=0.0 if spread is None else float(spread.max()),
        )

    def _mean_and_variance(self, eta: FloatArray, spread: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of each row, shape (rows,) each, at `eta` or averaged around it."""
        if spread is None:
            mean = self.mean(eta)
            return mean, self.variance(mean)
        return self.averaged(eta, spread)

    def flatness(self, quadratic: Quadratic) -> float:
        """Return the last expansion's factor: nearer to one where the posterior is all but normal."""
        return flatness(quadratic)

    # -- how probable rows are ---------------------------------------------------------------------------------------

    def log_likelihoods(self, batches: Iterable[Batch], draws: Draws) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,), in one pass over the rows."""
        size = len(draws.intercept)
        value, slopes = np.zeros(size), np.vstack([draws.coefficients.T, draws.intercept, np.ones(size)])
        for batch in batches:
            offset = np.zeros(len(batch.child)) if batch.offset is None else batch.offset
            rows = np.column_stack([batch.columns, np.ones(len(batch.child)), offset])
            value += (batch.weighted(batch.child) @ rows) @ slopes
            value += float(batch.weighted(self.constants(batch.child)).sum())
            for part in row_blocks(len(rows), size):
                eta = rows[part] @ slopes
                if batch.weight is None:
                    value -= self.total_cumulant(eta)
                else:
                    value -= batch.weight[part] @ self.cumulant(eta)
        return value

    def log_likelihood_by_row(self, batch: Batch, draws: Draws) -> FloatArray:
        """Return the log-likelihood of each row, weights and all, shape (rows, draws)."""
        eta = batch.predictor(draws.coefficients) + draws.intercept
        value = batch.child[:, None] * eta - self.cumulant(eta) + self.constants(batch.child)[:, None]
        return value if batch.weight is None else value * batch.weight[:, None]

    def is_rare(self, quadratic: Quadratic) -> bool:
        """Tell whether there are so few events that weights cannot be judged by themselves."""
        return self.rarer(quadratic) < max(LEAST_EVENTS, len(quadratic.names) / 2)


def link_prior(prior: Prior) -> Prior:
    """Return the prior on the scale of a predictor: a slab that was given applies to it as it is."""
    slab = LINK_SLAB if prior.slab is not None and prior.slab == prior.noise.default_slab else prior.slab
    return replace(prior, noise=KnownNoise(1.0), slab=slab)


def mode_from(rows: RowSums, expand: Callable[[Point], Quadratic], start: Point, slab_variance: float) -> Point:
    """Return the mode with all columns; Newton's iteration with step halving on what `expand` returns."""
    penalty = np.full(len(rows.names) + 1, 1.0 / slab_variance)
    penalty[0] = 0.0

    def height(found: Quadratic) -> float:
        return found.value - 0.5 * float(penalty @ found.at**2)

    current = expand(start)
    for _ in range(_STEPS):
        gradient = current.gradient - penalty * current.at
        step = np.linalg.solve(current.information + np.diag(penalty), gradient)
        if float(gradient @ step) < _DECREMENT:
            return Point(current.at)
        share, nearby = 1.0, expand(Point(current.at + step))
        while not height(nearby) >= height(current) - 1e-9 * abs(current.value) and share > 1e-6:
            share *= 0.5
            nearby = expand(Point(current.at + share * step))
        current = nearby
    raise EngineError(f"the regression of {rows.child!r} has no mode that could be found; check its columns")


def flatness(quadratic: Quadratic) -> float:
    """Return the last expansion's factor: nearer to one where the posterior is all but normal."""
    return 1.0 - (1.0 - _FLATTER) * min(quadratic.spread / SURE, 1.0)


def row_blocks(rows: int, draws: int) -> Iterator[slice]:
    """Yield slices of rows that, times all draws, stay in the cache."""
    step = max(_BLOCK_VALUES // max(draws, 1), 8)
    return (slice(start, start + step) for start in range(0, rows, step))


def log_product(factors: FloatArray) -> FloatArray:
    """Return the sum of logarithms over rows, shape (rows, draws) to (draws,), of factors of at least one.

    A logarithm costs as much as five products: it is taken of eight factors at once.
    """
    whole = len(factors) - len(factors) % _GROUP
    grouped = factors[:whole].reshape(_GROUP, whole // _GROUP, factors.shape[1])
    with np.errstate(over="ignore"):
        product = grouped[0] * grouped[1]
        for factor in grouped[2:]:
            product *= factor
        found = np.log(product, out=product).sum(axis=0)
    if not np.isfinite(found).all():  # factors so large that products overflow
        found = np.log(factors[:whole]).sum(axis=0)
    return np.asarray(found + np.log(factors[whole:]).sum(axis=0))


def capped(eta: FloatArray) -> FloatArray:
    """Return predictors whose exponential is finite."""
    return np.minimum(eta, _LARGEST) if eta.size and eta.max() > _LARGEST else eta


def row_spread(batch: Batch, root: FloatArray) -> FloatArray:
    """Return the standard deviation of each row's predictor, shape (rows,)."""
    moved = batch.columns @ root[1:] + root[0]
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", moved, moved)))
