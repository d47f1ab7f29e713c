"""What is believed before the data: slab, noise, units, intercept, and how edge probabilities are treated.

A `Prior` only holds and checks settings. How they become numbers for one node is in `alldags.nodes`.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from alldags.errors import PriorError

Units: TypeAlias = Literal["standardized", "raw"]


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _check_positive(name: str, value: float) -> None:
    if not (_is_number(value) and math.isfinite(value) and value > 0):
        raise PriorError(f"{name} must be a positive finite number, got {value!r}")


def _check_not_negative(name: str, value: float) -> None:
    if not (_is_number(value) and math.isfinite(value) and value >= 0):
        raise PriorError(f"{name} must be zero or a positive finite number, got {value!r}")


def _check_points(name: str, value: int) -> None:
    if not (isinstance(value, int) and value >= 3):
        raise PriorError(f"{name} points must be a whole number of at least 3, got {value!r}")


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
        _check_not_negative("UnknownNoise shape", self.shape)
        _check_not_negative("UnknownNoise rate", self.rate)

    @property
    def is_proper(self) -> bool:
        """Whether the prior integrates to one, so that it can be simulated from."""
        return self.shape > 0 and self.rate > 0


Noise: TypeAlias = KnownNoise | UnknownNoise


@dataclass(frozen=True, slots=True)
class GPrior:
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
            _check_positive("GPrior g", self.g)


@dataclass(frozen=True, slots=True)
class HyperG:
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
        if not (math.isfinite(self.a) and self.a > 2):
            raise PriorError(f"HyperG a must be above 2, otherwise the prior is not proper; got {self.a!r}")
        _check_points("HyperG", self.points)


@dataclass(frozen=True, slots=True)
class ZellnerSiow:
    """g-prior slab with g learned by each node: ``g ~ InverseGamma(1/2, n/2)``, a Cauchy prior of the coefficients.

    Parameters
    ----------
    points
        Size of the grid over ``log g``.
    """

    points: int = 41

    def __post_init__(self) -> None:
        _check_points("ZellnerSiow", self.points)


@dataclass(frozen=True, slots=True)
class LearnedSlab:
    """Independent slabs whose variance is learned: ``log tau ~ N(log median, spread^2)``.

    Parameters
    ----------
    median
        Prior median of the slab variance.
    spread
        Prior standard deviation of its natural logarithm.
    points
        Size of the grid over ``log tau``, which spans four spreads either way.
    shared
        False: each node learns its own. True: one slab variance for all nodes, averaged over by the total evidence.
    """

    median: float = 1.0
    spread: float = 1.5
    points: int = 21
    shared: bool = False

    def __post_init__(self) -> None:
        _check_positive("LearnedSlab median", self.median)
        _check_positive("LearnedSlab spread", self.spread)
        _check_points("LearnedSlab", self.points)


Slab: TypeAlias = GPrior | HyperG | ZellnerSiow | LearnedSlab


@dataclass(frozen=True, slots=True)
class BetaBinomial:
    """The edge probability is learned: ``Beta(a, b)``, which corrects for the number of candidates looked at.

    It stands in for the probabilities of the uncertain edges, which must therefore be the same for all of a node's
    edges (they then have no effect); certain edges stay certain.

    Parameters
    ----------
    a, b
        Of the beta distribution; 1, 1 makes every number of parents equally probable.
    shared
        False: each node has its own edge probability, and the average over it is exact. True: one for all nodes.
    points
        Only if shared: size of the quadrature, exact for up to ``2 * points - 1`` uncertain edges in the graph.
    """

    a: float = 1.0
    b: float = 1.0
    shared: bool = False
    points: int = 32

    def __post_init__(self) -> None:
        _check_positive("BetaBinomial a", self.a)
        _check_positive("BetaBinomial b", self.b)
        _check_points("BetaBinomial", self.points)


@dataclass(frozen=True, slots=True)
class EqualEdges:
    """Every uncertain edge has this probability, whatever the graph says.

    Parameters
    ----------
    probability
        Strictly between 0 and 1.
    """

    probability: float = 0.5

    def __post_init__(self) -> None:
        if not _is_number(self.probability) or not 0 < self.probability < 1:
            raise PriorError(f"EqualEdges probability must be strictly between 0 and 1, got {self.probability!r}")


EdgePrior: TypeAlias = BetaBinomial | EqualEdges


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
    slab
        None: `slab_variance` as it is. `LearnedSlab`, `GPrior`, `HyperG` or `ZellnerSiow` take its place.
    edges
        None: the graph's edge probabilities. `BetaBinomial` learns one edge probability for each node, or one for all;
        `EqualEdges` sets it.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Prior().units
    'standardized'
    >>> ad.Prior.paper().noise
    KnownNoise(precision=1.0)
    >>> ad.Prior(slab=ad.GPrior("n"), edges=ad.BetaBinomial(1, 1)).slab
    GPrior(g='n')
    """

    slab_variance: float = 1.0
    noise: Noise = field(default_factory=UnknownNoise)
    units: Units = "standardized"
    intercept: bool = True
    slab: Slab | None = None
    edges: EdgePrior | None = None

    def __post_init__(self) -> None:
        _check_positive("slab_variance", self.slab_variance)
        if not isinstance(self.noise, KnownNoise | UnknownNoise):
            raise PriorError(f"noise must be KnownNoise(...) or UnknownNoise(...), got {self.noise!r}")
        if self.units not in get_args(Units):
            raise PriorError(f"units must be one of {get_args(Units)}, got {self.units!r}")
        if not isinstance(self.intercept, bool):
            raise PriorError(f"intercept must be True or False, got {self.intercept!r}")
        _check_slab(self)
        if self.edges is not None and not isinstance(self.edges, EdgePrior):
            raise PriorError(f"edges must be BetaBinomial(...), EqualEdges(...) or None, got {self.edges!r}")

    @property
    def has_shared(self) -> bool:
        """Whether a hyperparameter is shared by the nodes, so that the posterior factorises only given its value."""
        return bool(getattr(self.slab, "shared", False) or getattr(self.edges, "shared", False))

    @classmethod
    def paper(cls, slab_variance: float = 1.0, noise_precision: float = 1.0) -> Prior:
        """Return the prior of Horii (2021): known noise precision, raw units, no intercept."""
        return cls(slab_variance=slab_variance, noise=KnownNoise(noise_precision), units="raw", intercept=False)


def _check_slab(prior: Prior) -> None:
    if prior.slab is None:
        return
    if not isinstance(prior.slab, Slab):
        raise PriorError(f"slab must be GPrior, HyperG, ZellnerSiow, LearnedSlab or None, got {prior.slab!r}")
    if prior.slab_variance != 1.0:
        raise PriorError(
            f"slab={prior.slab!r} takes the place of slab_variance={prior.slab_variance!r}; give only one of them"
        )
    if not (isinstance(prior.slab, LearnedSlab) or isinstance(prior.noise, KnownNoise) or prior.noise.scales_slab):
        raise PriorError(
            f"{type(prior.slab).__name__} is in units of the noise variance by definition; use "
            "UnknownNoise(scales_slab=True), or slab=None or LearnedSlab(...)"
        )
