"""Priors of a node's noise precision ``s``, one over its noise variance."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from alldags import checks
from alldags.errors import PriorError
from alldags.priors.grid import NodeNumbers, Setting, precision_grid
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.priors.slabs import Slab

_LARGEST_PRECISION = 1e13  # times the child's sum of squares: log weights keep about two decimals
_LARGEST_SHAPE = 1e9  # multiplies the logarithms of residual sums of squares: log weights keep about five decimals


def _check_shape(name: str, value: float) -> None:
    """Refuse a prior so sure of the precision that rounding would decide between graphs."""
    checks.not_negative(name, value, PriorError)
    if value > _LARGEST_SHAPE:
        raise PriorError(
            f"{name} must be at most {_LARGEST_SHAPE:g}, got {value!r}: above, rounding would decide between graphs; "
            "for a noise that is all but known use KnownNoise(precision)"
        )


@dataclass(frozen=True, slots=True)
class NoiseNumbers:
    """The noise prior of one node as numbers: of p parents with explained sum of squares q, the log evidence is

    ``log_constant + log_by_parents[p] + f(q, p)``, up to determinants and prior odds, with ``f = q/2`` for known noise
    and ``f = -(shape + shape_per_parent p) log(rate + (total - q)/2)`` for unknown noise.

    Parameters
    ----------
    known
        Which of the two forms of f applies.
    precision
        The known precision; 1 if unknown.
    shape, shape_per_parent, rate
        ``a0 + n/2`` without parents, what each parent adds, and ``b0`` of the unknown precision; 0 if known.
    log_constant
        What all parent sets have in common.
    log_by_parents
        Shape (k + 1,), 0 without parents; None if it is 0 for any number of parents.
    """

    known: bool
    precision: float
    shape: float
    shape_per_parent: float
    rate: float
    log_constant: float
    log_by_parents: FloatArray | None = None


class Noise(ABC):
    """What every prior of the noise does."""

    __slots__ = ()
    shape_per_parent: ClassVar[float] = 0.0  # what each parent adds to the shape of the precision's distribution
    engines: ClassVar[tuple[str, ...]] = ("auto", "exact", "mcmc")  # those that take it, for messages

    @property
    def ties_directions(self) -> bool:
        """Whether graphs with the same conditional independences have the same evidence."""
        return self.shape_per_parent != 0.0

    @property
    def unit(self) -> float:
        """The noise variance if it is known, otherwise 1: engines work in units of the noise."""
        return 1.0

    @property
    def default_slab(self) -> Slab | None:
        """The slab that goes with this noise if none was asked for; None is the fixed one."""
        return None

    @abstractmethod
    def numbers(self, n: float, total: float, k: int, slab_variance: float) -> NoiseNumbers:
        """Return the numbers of a node with `n` usable rows, child's sum of squares `total` and `k` candidates."""

    @abstractmethod
    def check_node(self, child: str, n: float, total: float) -> None:
        """Refuse a node for which this prior has no answer."""

    def check_slab(self, slab: Slab | None) -> None:
        """Refuse a slab that does not go with this prior of the noise."""
        del slab

    def expand(self, setting: Setting, node: NodeNumbers) -> tuple[Setting, ...]:
        """Return the settings that stand for one value of the slab: itself, unless the noise is on a grid."""
        del node
        return (setting,)


@dataclass(frozen=True, slots=True)
class KnownNoise(Noise):
    """Every node has the same, known noise precision ``s`` (one over the noise variance).

    Parameters
    ----------
    precision
        In the units of `Prior.units`: per squared unit of the child if ``"raw"``.
    """

    precision: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("KnownNoise precision", self.precision, PriorError)

    @property
    def unit(self) -> float:
        """The noise variance."""
        return 1.0 / self.precision

    def numbers(self, n: float, total: float, k: int, slab_variance: float) -> NoiseNumbers:
        """Return the numbers of one node."""
        del k, slab_variance
        constant = n / 2 * math.log(self.precision / (2 * math.pi)) - self.precision / 2 * total
        return NoiseNumbers(True, self.precision, 0.0, 0.0, 0.0, constant)

    def check_node(self, child: str, n: float, total: float) -> None:
        """Refuse a precision so large that rounding would decide."""
        del n
        if self.precision * total > _LARGEST_PRECISION:
            raise PriorError(
                f"the known noise precision {self.precision:g} is too large for {child!r}: rounding "
                "would decide between graphs; check its unit (one over the noise variance), or use UnknownNoise()"
            )


@dataclass(frozen=True, slots=True)
class UnknownNoise(Noise):
    """Each node has its own unknown noise precision, ``s ~ Gamma(shape, rate)``.

    The slab is conjugate, ``theta | s ~ N(0, slab_variance / s)``. ``shape = rate = 0`` is the scale-invariant
    improper prior; the constant it leaves undefined is common to all parent sets of a node.

    Parameters
    ----------
    shape, rate
        Of the gamma prior of the precision, in working units.
    scales_slab
        True: the conjugate slab above, whose width follows the noise. False: ``theta ~ N(0, slab_variance)`` whatever
        the noise; the precision is then integrated on a grid that is placed from the data.
    """

    shape: float = 0.0
    rate: float = 0.0
    scales_slab: bool = True

    def __post_init__(self) -> None:
        _check_shape("UnknownNoise shape", self.shape)
        checks.not_negative("UnknownNoise rate", self.rate, PriorError)
        checks.flag("UnknownNoise scales_slab", self.scales_slab, PriorError)

    @property
    def default_slab(self) -> Slab | None:
        """The learned slab, unless the slab is to have a width of its own whatever the noise."""
        from alldags.priors.slabs import LearnedSlab

        return LearnedSlab() if self.scales_slab else None

    @property
    def is_proper(self) -> bool:
        """Whether the prior integrates to one, so that it can be simulated from."""
        return self.shape > 0 and self.rate > 0

    @property
    def log_constant(self) -> float:
        """Log of the gamma density's constant; 0 for an improper prior, by convention."""
        return self.shape * math.log(self.rate) - math.lgamma(self.shape) if self.is_proper else 0.0

    def numbers(self, n: float, total: float, k: int, slab_variance: float) -> NoiseNumbers:
        """Return the numbers of one node."""
        del total, k, slab_variance
        constant = math.lgamma(self.shape + n / 2) - n / 2 * math.log(2 * math.pi)
        return NoiseNumbers(False, 1.0, self.shape + n / 2, 0.0, self.rate, constant + self.log_constant)

    def check_node(self, child: str, n: float, total: float) -> None:
        """Refuse a node with too few rows for a posterior mean."""
        del total
        if 2 * self.shape + n <= 1:
            raise PriorError(
                f"with {n:g} usable rows the coefficients of {child!r} have no posterior mean; "
                f"add rows or use UnknownNoise(shape=...) with a shape above {(1 - n) / 2:g}"
            )

    def check_slab(self, slab: Slab | None) -> None:
        """Refuse a g-prior slab unless the slab's width follows the noise."""
        if slab is not None and slab.kind == "g" and not self.scales_slab:
            raise PriorError(
                f"{type(slab).__name__} is in units of the noise variance by definition; use "
                "UnknownNoise(scales_slab=True), or slab=None or LearnedSlab(...)"
            )

    def expand(self, setting: Setting, node: NodeNumbers) -> tuple[Setting, ...]:
        """Return the setting itself, or known-noise settings that integrate the precision out of a slab of its own."""
        if self.scales_slab:
            return (setting,)
        values, log_weights = precision_grid(self, setting, node)
        return tuple(
            replace(setting, noise=KnownNoise(float(s)), log_weight=float(w))
            for s, w in zip(values, log_weights, strict=True)
        )


@dataclass(frozen=True, slots=True)
class EquivalentNoise(Noise):
    """Unknown noise precision with the score-equivalent prior (BGe): directions that data cannot tell apart tie.

    A node with ``p`` parents has ``s ~ Gamma((dof + p)/2, t/2)`` and the conjugate slab ``theta | s ~ N(0, 1/(t s))``,
    with ``t = 1 / slab_variance``. That is what one inverse-Wishart prior of all variables' covariance matrix says of
    every node in every graph, so that graphs with the same conditional independences have the same evidence (Geiger
    and Heckerman 2002). It needs the fixed slab of `Prior.slab_variance`; `Prior.slab` must be None.

    Parameters
    ----------
    dof
        Degrees of freedom of a node without parents, above 0. With 2 every correlation is uniform on (-1, 1) a priori.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Prior(noise=ad.priors.EquivalentNoise()).noise
    EquivalentNoise(dof=2.0)
    """

    shape_per_parent: ClassVar[float] = 0.5

    dof: float = 2.0

    def __post_init__(self) -> None:
        checks.positive("EquivalentNoise dof", self.dof, PriorError)
        _check_shape("EquivalentNoise dof", self.dof)

    def numbers(self, n: float, total: float, k: int, slab_variance: float) -> NoiseNumbers:
        """Return the numbers of one node."""
        from scipy.special import gammaln

        del total
        shape, rate = 0.5 * (self.dof + np.arange(k + 1)), 0.5 / slab_variance
        logs = gammaln(shape + n / 2) - gammaln(shape) + shape * math.log(rate)
        constant = float(logs[0]) - n / 2 * math.log(2 * math.pi)
        return NoiseNumbers(False, 1.0, float(shape[0]) + n / 2, 0.5, rate, constant, np.asarray(logs - logs[0]))

    def check_node(self, child: str, n: float, total: float) -> None:
        """Refuse a node with too few rows for a posterior mean."""
        del total
        if self.dof + n <= 1:
            raise PriorError(
                f"with {n:g} usable rows the coefficients of {child!r} may have no posterior mean; add rows or use "
                f"EquivalentNoise(dof=...) with dof above {1 - n:g}"
            )

    def check_slab(self, slab: Slab | None) -> None:
        """Refuse every slab but the fixed one, for which alone directions tie."""
        if slab is not None:
            raise PriorError(
                f"EquivalentNoise means a fixed slab: with {type(slab).__name__} graphs that data cannot tell apart "
                "would have different evidence; use slab=None and slab_variance=..., or UnknownNoise()"
            )


@dataclass(frozen=True, slots=True)
class StudentNoise(Noise):
    """Noise with heavy tails in every regression that is not yes/no or a count: Student's t distribution.

    The precision ``s ~ Gamma(shape, rate)`` is that of a row of weight one; all else is as for `UnknownNoise`, which
    this becomes as `df` grows. Weights belong to rows, so `fit` needs the table itself. For single variables say
    ``families={"cost": Student()}``.

    Parameters
    ----------
    df
        Degrees of freedom, above 2. Few make tails heavy; above about 30 the noise is all but normal. None: those of
        each regression are learned.
    shape, rate
        Of the gamma prior of the precision, in working units.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Prior(noise=ad.priors.StudentNoise()).noise
    StudentNoise(df=None, shape=0.0, rate=0.0)
    """

    df: float | None = None
    shape: float = 0.0
    rate: float = 0.0

    def __post_init__(self) -> None:
        if self.df is not None:
            checks.above("StudentNoise df", self.df, 2, PriorError)
        _check_shape("StudentNoise shape", self.shape)
        checks.not_negative("StudentNoise rate", self.rate, PriorError)

    @property
    def default_slab(self) -> Slab | None:
        """The learned slab."""
        from alldags.priors.slabs import LearnedSlab

        return LearnedSlab()

    def numbers(self, n: float, total: float, k: int, slab_variance: float) -> NoiseNumbers:
        """Refuse: cross-products do not determine a regression with heavy tails."""
        del n, total, k, slab_variance
        raise PriorError("StudentNoise needs the rows of the table: use fit(), or UnknownNoise() for single nodes")

    def check_node(self, child: str, n: float, total: float) -> None:
        """Refuse: cross-products do not determine a regression with heavy tails."""
        del child
        self.numbers(n, total, 0, 1.0)
