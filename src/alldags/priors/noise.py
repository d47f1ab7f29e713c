"""Priors of a node's noise precision ``s``, one over its noise variance."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alldags import checks
from alldags.errors import PriorError
from alldags.priors.grid import NodeNumbers, Setting, precision_grid

if TYPE_CHECKING:
    from alldags.priors.slabs import Slab

_LARGEST_PRECISION = 1e13  # times the child's sum of squares: log weights keep about two decimals


@dataclass(frozen=True, slots=True)
class NoiseNumbers:
    """The noise prior of one node as numbers, for which a parent set's log evidence is

    ``log_constant + f(q)``, where ``q`` is the explained sum of squares, up to determinants and prior odds, with
    ``f(q) = q/2`` for known noise and ``f(q) = -shape * log(rate + (total - q)/2)`` for unknown noise.

    Parameters
    ----------
    known
        Which of the two forms of f applies.
    precision
        The known precision; 1 if unknown.
    shape, rate
        ``a0 + n/2`` and ``b0`` of the unknown precision; 0 if known.
    log_constant
        What all parent sets have in common.
    """

    known: bool
    precision: float
    shape: float
    rate: float
    log_constant: float


class Noise(ABC):
    """What every prior of the noise does."""

    __slots__ = ()

    @property
    def unit(self) -> float:
        """The noise variance if it is known, otherwise 1: engines work in units of the noise."""
        return 1.0

    @abstractmethod
    def numbers(self, n: float, total: float) -> NoiseNumbers:
        """Return the numbers of a node with `n` usable rows whose child has the sum of squares `total`."""

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

    def numbers(self, n: float, total: float) -> NoiseNumbers:
        """Return the numbers of one node."""
        constant = n / 2 * math.log(self.precision / (2 * math.pi)) - self.precision / 2 * total
        return NoiseNumbers(True, self.precision, 0.0, 0.0, constant)

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
        checks.not_negative("UnknownNoise shape", self.shape, PriorError)
        checks.not_negative("UnknownNoise rate", self.rate, PriorError)

    @property
    def is_proper(self) -> bool:
        """Whether the prior integrates to one, so that it can be simulated from."""
        return self.shape > 0 and self.rate > 0

    @property
    def log_constant(self) -> float:
        """Log of the gamma density's constant; 0 for an improper prior, by convention."""
        return self.shape * math.log(self.rate) - math.lgamma(self.shape) if self.is_proper else 0.0

    def numbers(self, n: float, total: float) -> NoiseNumbers:
        """Return the numbers of one node."""
        del total
        constant = math.lgamma(self.shape + n / 2) - n / 2 * math.log(2 * math.pi)
        return NoiseNumbers(False, 1.0, self.shape + n / 2, self.rate, constant + self.log_constant)

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
