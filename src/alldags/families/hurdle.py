"""`Hurdle`: an amount that is often nothing, as two regressions: is there any, and how much where there is some.

The likelihood of a row is ``1 - p`` where the child is 0 and ``p f(y)`` elsewhere: it is a product of that of a yes/no
child in all rows and that of an amount in the rows with some. With a prior that does not tie the two together the
posterior is such a product, too, and each part is fitted as any other child is (`alldags.engines.parts`).

A cause may act on either part or on both, independently: with the prior probability p of the edge each part has
``1 - sqrt(1 - p)``, so that it acts on at least one with probability p.

Where both parts are needed at once, as in its mean, the predictor is a complex number: real is that of the amount,
imaginary the log-odds of there being any. All that is done to predictors on the way is linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np

from alldags.errors import AlldagsError, DataError
from alldags.families.base import Batch, Draws, FamilyPart, Plain, Point, RowSums
from alldags.families.gamma import Gamma
from alldags.families.log_normal import LogNormal
from alldags.families.quadratic import Quadratic
from alldags.families.yes_no import Bernoulli
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray
from alldags.wording import option

_AMOUNTS: dict[str, type[Gamma | LogNormal]] = {"gamma": Gamma, "lognormal": LogNormal}
_LEAST_LEVEL = 1e-12  # of a distribution: the others belong to zero


@dataclass(frozen=True, slots=True)
class Hurdle(Plain):
    """An amount with zeros, such as a cost: whether there is any is logistic, how much, where there is some, an amount.

    Effects are on the mean of all rows, zeros among them: the probability of some times the mean amount, draw by draw,
    in the user's units. A cause may act on either part or on both; an edge is there if it acts on one of them.

    Parameters
    ----------
    amount
        ``"gamma"`` or ``"lognormal"``, or `Gamma` or `LogNormal`: the family of the amounts above 0.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Hurdle(ad.LogNormal())
    Hurdle(amount='lognormal')
    """

    name: ClassVar[str] = "hurdle"
    measure: ClassVar[str] = "amount"
    link_words: ClassVar[str] = "two predictors"
    is_line: ClassVar[bool] = False
    has_levels: ClassVar[bool] = False
    most_k_hat: ClassVar[float] = 0.7

    amount: str | Gamma | LogNormal = "gamma"

    def __post_init__(self) -> None:
        said = self.amount.name if isinstance(self.amount, Gamma | LogNormal) else self.amount
        if said not in _AMOUNTS:
            raise DataError(f"the amounts of a Hurdle are 'gamma' or 'lognormal', got {self.amount!r}")
        object.__setattr__(self, "amount", said)

    @property
    def positive(self) -> Gamma | LogNormal:
        """The family of amounts above zero."""
        return _AMOUNTS[str(self.amount)]()

    @property
    def parts(self) -> tuple[FamilyPart, ...]:
        """Its two regressions, that of the amount first."""
        return FamilyPart(self.positive, _amounts), FamilyPart(Bernoulli(), _any)

    def check(self, child: str, batches: Iterable[FloatArray]) -> Hurdle:
        """Refuse values below zero, and those that are one regression."""
        values = np.concatenate(list(batches))
        if values.min() < 0.0:
            raise DataError(
                f"{child!r} is to be zero or an amount (hurdle), but has the value {values.min():g}; leave it out of "
                f"{option('families')}, straight lines are about its mean, too"
            )
        if values.min() > 0.0:
            raise DataError(
                f"{child!r} is never 0, so that there is no hurdle; say {option('families', {child: self.amount})}"
            )
        if len(np.unique(values[values > 0.0])) < 2:
            raise DataError(
                f"{child!r} has one value above 0 or none, so that only whether there is any can be asked: make a 0/1 "
                "column of it"
            )
        return self

    # -- both parts at once --------------------------------------------------------------------------------------------

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the probability of some times the mean amount."""
        return np.asarray(_chance(eta) * self.positive.mean(eta.real, apart))

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the value at a level of the distribution: levels up to the probability of none are zero."""
        some = _chance(eta)
        level = np.clip((uniform - (1.0 - some)) / some, _LEAST_LEVEL, 1.0 - _LEAST_LEVEL)
        drawn = self.positive.draw(np.broadcast_to(eta.real, level.shape), level, apart)
        return np.where(uniform < 1.0 - some, 0.0, drawn)

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the level of an amount, twice; zero has all levels up to the probability of none."""
        some, there = _chance(eta), value > 0.0
        level = self.positive.bracket(eta.real, np.where(there, value, 1.0), apart)[0]
        high = np.where(there, 1.0 - some + some * level, 1.0 - some)
        return np.where(there, high, 0.0), high

    def log_likelihood_by_row(self, batch: Batch, draws: Draws) -> FloatArray:
        """Return the log-likelihood of each row, weights and all, shape (rows, draws); predictors are complex."""
        total = np.zeros((len(batch.child), len(draws.intercept)))
        for part, take in zip(self.parts, (np.real, np.imag), strict=True):
            child, kept = part.reading(batch.child)
            own = Batch(batch.columns, child, None, batch.weight)
            of = Draws(take(draws.intercept), take(draws.coefficients), draws.precision)
            total += np.where(kept[:, None], part.family.log_likelihood_by_row(own, of), 0.0)
        return total

    def log_likelihoods(self, batches: Iterable[Batch], draws: Draws) -> FloatArray:
        """Return the log-likelihood of each draw, shape (draws,)."""
        return np.asarray(sum(self.log_likelihood_by_row(batch, draws).sum(axis=0) for batch in batches))

    # -- one predictor for the mean, where rows are looked at without knowing the parts --------------------------------

    def link(self, mean: float) -> float:
        """Return the logarithm."""
        return math.log(mean)

    def score(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return residual and mean of rows whose mean is ``exp(eta)``, shape (rows,) each."""
        mean = self.positive.mean(eta, np.zeros(1))
        return child - mean, mean

    def height(self, child: FloatArray, eta: FloatArray) -> FloatArray:
        """Return what has that derivative."""
        return np.asarray(child * eta - self.positive.mean(eta, np.zeros(1)))

    # -- what each part has for itself ---------------------------------------------------------------------------------

    def prior(self, prior: Prior) -> Prior:
        """Refuse: each part has its own."""
        del prior
        return self._divided()

    def mode(self, rows: RowSums, slab_variance: float) -> Point:
        """Refuse: each part has its own."""
        del rows, slab_variance
        return self._divided()

    def quadratic(
        self, names: tuple[str, ...], batches: Sequence[Batch], point: Point, root: FloatArray | None = None
    ) -> Quadratic:
        """Refuse: each part has its own."""
        del names, batches, point, root
        return self._divided()

    def flatness(self, quadratic: Quadratic) -> float:
        """Refuse: each part has its own."""
        del quadratic
        return self._divided()

    def _divided(self) -> NoReturn:
        raise AlldagsError("a hurdle is two regressions, each of which is fitted by itself")


def _chance(eta: FloatArray) -> FloatArray:
    """Return the probability of some at complex predictors."""
    return np.asarray(Bernoulli().mean(eta.imag))


def _any(values: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return whether there is any, and which rows tell: all."""
    return np.where(np.isnan(values), values, values > 0.0), np.ones(len(values), dtype=bool)


def _amounts(values: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the amounts, and which rows have one; the others have 1, which is not looked at."""
    kept = ~(values <= 0.0)
    return np.where(kept, values, 1.0), kept
