"""What is believed before the data: slab, noise, units, intercept, and how edge probabilities are treated.

A `Prior` only holds and checks settings. How they become numbers for one node is in `alldags.nodes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from alldags.errors import PriorError

Units: TypeAlias = Literal["standardized", "raw"]


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise PriorError(f"{name} must be a positive finite number, got {value!r}")


def _check_not_negative(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise PriorError(f"{name} must be zero or a positive finite number, got {value!r}")


@dataclass(frozen=True, slots=True)
class KnownNoise:
    """Every node has the same, known noise precision ``s`` (one over the noise variance).

    Parameters
    ----------
    precision
        In the units of `Prior.units`: per squared unit of the child if ``"raw"``.
    """

    precision: float = 1.0

    def __post_init__(self) -> None:
        _check_positive("KnownNoise precision", self.precision)


@dataclass(frozen=True, slots=True)
class UnknownNoise:
    """Each node has its own unknown noise precision, ``s ~ Gamma(shape, rate)``.

    The slab is conjugate, ``theta | s ~ N(0, slab_variance / s)``. ``shape = rate = 0`` is the scale-invariant
    improper prior; the constant it leaves undefined is common to all parent sets of a node.
    """

    shape: float = 0.0
    rate: float = 0.0

    def __post_init__(self) -> None:
        _check_not_negative("UnknownNoise shape", self.shape)
        _check_not_negative("UnknownNoise rate", self.rate)

    @property
    def is_proper(self) -> bool:
        """Whether the prior integrates to one, so that it can be simulated from."""
        return self.shape > 0 and self.rate > 0


Noise: TypeAlias = KnownNoise | UnknownNoise


@dataclass(frozen=True, slots=True)
class Prior:
    """Prior settings shared by all nodes.

    Parameters
    ----------
    slab_variance
        Variance ``tau`` of a coefficient whose edge is present, in working units. With `UnknownNoise` it is in units
        of the node's noise variance.
    noise
        `KnownNoise` or `UnknownNoise`.
    units
        ``"standardized"``: every variable is divided by its standard deviation before the prior applies, so that
        answers do not depend on the unit of any column; ``"raw"``: the prior applies to the numbers as they are.
        Results are always in the user's units.
    intercept
        Whether each node has an intercept with a flat prior. It uses up one row.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Prior().units
    'standardized'
    >>> ad.Prior.paper().noise
    KnownNoise(precision=1.0)
    """

    slab_variance: float = 1.0
    noise: Noise = field(default_factory=UnknownNoise)
    units: Units = "standardized"
    intercept: bool = True

    def __post_init__(self) -> None:
        _check_positive("slab_variance", self.slab_variance)
        if not isinstance(self.noise, KnownNoise | UnknownNoise):
            raise PriorError(f"noise must be KnownNoise(...) or UnknownNoise(...), got {self.noise!r}")
        if self.units not in get_args(Units):
            raise PriorError(f"units must be one of {get_args(Units)}, got {self.units!r}")

    @classmethod
    def paper(cls, slab_variance: float = 1.0, noise_precision: float = 1.0) -> Prior:
        """Return the prior of Horii (2021): known noise precision, raw units, no intercept."""
        return cls(slab_variance=slab_variance, noise=KnownNoise(noise_precision), units="raw", intercept=False)
