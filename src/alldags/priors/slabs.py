"""Slabs: priors of the coefficients whose edge is present, with hyperparameters of their own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from alldags import checks
from alldags.errors import PriorError
from alldags.priors.grid import Setting, SlabKind, log_grid
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.priors.noise import Noise

# Below g = 1e-3 a slab is no slab and above 1e4 n only the empty set keeps any weight: the ends stand for the tails.
_G_LOW, _G_HIGH = 1e-3, 1e4

_MOST_POINTS = 10_001  # every point is a fit of every node


class Slab(ABC):
    """What every slab does."""

    __slots__ = ()
    kind: ClassVar[SlabKind] = "g"

    @property
    def is_shared(self) -> bool:
        """Whether all nodes have the same value of the hyperparameter."""
        return False

    @abstractmethod
    def values(self, rows: float) -> tuple[FloatArray, FloatArray]:
        """Return values of the hyperparameter and their log weights, shape (points,), for a table of so many rows."""

    def settings(self, rows: float, noise: Noise) -> tuple[Setting, ...]:
        """Return one setting per value of the hyperparameter."""
        values, weights = self.values(rows)
        return tuple(Setting(float(v), noise, self.kind, float(w)) for v, w in zip(values, weights, strict=True))


@dataclass(frozen=True, slots=True)
class GPrior(Slab):
    """Zellner's g-prior slab: given the parents, ``theta ~ N(0, g / s * (X'X)^-1)``.

    Answers do not change when parents are rescaled or replaced by other linear combinations of each other.

    Parameters
    ----------
    g
        A positive number, or ``"n"`` for the number of rows (unit information).
    """

    g: float | Literal["n"] = "n"

    def __post_init__(self) -> None:
        if isinstance(self.g, str):
            if self.g != "n":
                raise PriorError(f"GPrior g must be a positive number or 'n', got {self.g!r}")
        else:
            checks.positive("GPrior g", self.g, PriorError)

    def values(self, rows: float) -> tuple[FloatArray, FloatArray]:
        """Return the one value of g, with log weight 0."""
        return np.array([rows if isinstance(self.g, str) else self.g], dtype=float), np.zeros(1)


@dataclass(frozen=True, slots=True)
class HyperG(Slab):
    """g-prior slab with g learned by each node: ``p(g) = (a - 2)/2 (1 + g)^(-a/2)`` (Liang et al. 2008).

    Parameters
    ----------
    a
        Above 2 (proper); 3 and 4 are usual.
    points
        Size of the grid over ``log g``.
    """

    a: float = 3.0
    points: int = 41

    def __post_init__(self) -> None:
        checks.above("HyperG a", self.a, 2, PriorError)  # below, the prior is not proper
        checks.whole("HyperG points", self.points, 3, _MOST_POINTS, error=PriorError)

    def values(self, rows: float) -> tuple[FloatArray, FloatArray]:
        """Return values of g and their log weights."""
        half = self.a / 2.0
        low, high = math.log(_G_LOW), math.log(_G_HIGH * rows)

        def density(t: FloatArray) -> FloatArray:
            return np.asarray((half - 1.0) * np.exp(t - half * np.logaddexp(0.0, t)))

        def above(t: float) -> float:
            return float(np.exp((1.0 - half) * np.logaddexp(0.0, t)))

        return log_grid(low, high, self.points, density, (1.0 - above(low), above(high)))


@dataclass(frozen=True, slots=True)
class ZellnerSiow(Slab):
    """g-prior slab with g learned by each node: ``g ~ InverseGamma(1/2, n/2)``, a Cauchy prior of the coefficients.

    Parameters
    ----------
    points
        Size of the grid over ``log g``.
    """

    points: int = 41

    def __post_init__(self) -> None:
        checks.whole("ZellnerSiow points", self.points, 3, _MOST_POINTS, error=PriorError)

    def values(self, rows: float) -> tuple[FloatArray, FloatArray]:
        """Return values of g and their log weights; ``n / g`` is a squared standard normal."""
        low, high = math.log(rows / 64.0), math.log(_G_HIGH * rows)  # 64 = 8 standard deviations

        def density(t: FloatArray) -> FloatArray:
            ratio = rows * np.exp(-t)
            return np.asarray(np.sqrt(ratio / (2 * math.pi)) * np.exp(-0.5 * ratio))

        below = math.erfc(8.0 / math.sqrt(2.0))
        return log_grid(low, high, self.points, density, (below, math.erf(math.sqrt(0.5 / _G_HIGH))))


@dataclass(frozen=True, slots=True)
class LearnedSlab(Slab):
    """Independent slabs whose variance is learned: ``log tau ~ N(log median, spread^2)`` on an even grid. The default.

    The grid is itself the prior: nothing lies beyond its ends. Down to ``exp(-2)`` a slab can still be told from no
    edge at all; up to ``exp(12)`` it allows for coefficients that explain all but a millionth of a child's variance.

    Parameters
    ----------
    median
        Prior median of the slab variance, before the grid's ends cut it off.
    spread
        Prior standard deviation of its natural logarithm.
    low, high
        Ends of the grid, of slab variances.
    points
        Size of the grid over ``log tau``.
    shared
        False: each node learns its own. True: one slab variance for all nodes, averaged over by the total evidence.

    Examples
    --------
    >>> import alldags as ad
    >>> values, log_weights = ad.priors.LearnedSlab().values(rows=100)
    >>> values.round(2).tolist()[:4]
    [0.14, 0.78, 4.48, 25.79]
    """

    kind: ClassVar[SlabKind] = "independent"

    median: float = 1.0
    spread: float = 2.5
    low: float = math.exp(-2.0)
    high: float = math.exp(12.0)
    points: int = 9
    shared: bool = False

    def __post_init__(self) -> None:
        for name in ("median", "spread", "low", "high"):
            checks.positive(f"LearnedSlab {name}", getattr(self, name), PriorError)
        checks.above("LearnedSlab high", self.high, self.low, PriorError)
        checks.whole("LearnedSlab points", self.points, 3, _MOST_POINTS, error=PriorError)
        checks.flag("LearnedSlab shared", self.shared, PriorError)

    @property
    def is_shared(self) -> bool:
        """Whether all nodes have one slab variance."""
        return self.shared

    def values(self, rows: float) -> tuple[FloatArray, FloatArray]:
        """Return slab variances and their log weights; they do not depend on the number of rows."""
        del rows
        t = np.linspace(math.log(self.low), math.log(self.high), self.points)
        log_weight = -0.5 * ((t - math.log(self.median)) / self.spread) ** 2
        return np.exp(t), np.asarray(log_weight - np.logaddexp.reduce(log_weight))
