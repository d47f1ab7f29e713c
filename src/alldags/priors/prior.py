"""`Prior`: what is believed before the data: slab, noise, units, intercept, and how edge probabilities are treated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from alldags import checks
from alldags.errors import PriorError
from alldags.priors.edges import EdgePrior
from alldags.priors.grid import NodeNumbers, Setting
from alldags.priors.noise import KnownNoise, Noise, UnknownNoise
from alldags.priors.slabs import Slab
from alldags.typing import FloatArray

Units: TypeAlias = Literal["standardized", "raw"]


@dataclass(frozen=True, slots=True)
class Prior:
    """Prior settings shared by all nodes.

    Parameters
    ----------
    slab_variance
        Variance ``tau`` of a coefficient whose edge is present, in working units. With `UnknownNoise` it is in units
        of the node's noise variance.
    noise
        `KnownNoise`, `UnknownNoise` or `EquivalentNoise`.
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
        checks.positive("slab_variance", self.slab_variance, PriorError)
        if not isinstance(self.noise, Noise):
            raise PriorError(
                f"noise must be KnownNoise(...), UnknownNoise(...) or EquivalentNoise(...), got {self.noise!r}"
            )
        checks.one_of("units", self.units, get_args(Units), PriorError)
        checks.flag("intercept", self.intercept, PriorError)
        self._check_slab()
        if self.edges is not None and not isinstance(self.edges, EdgePrior):
            raise PriorError(f"edges must be BetaBinomial(...), EqualEdges(...) or None, got {self.edges!r}")

    def _check_slab(self) -> None:
        if self.slab is not None and not isinstance(self.slab, Slab):
            raise PriorError(f"slab must be GPrior, HyperG, ZellnerSiow, LearnedSlab or None, got {self.slab!r}")
        if self.slab is not None and self.slab_variance != 1.0:
            raise PriorError(
                f"slab={self.slab!r} takes the place of slab_variance={self.slab_variance!r}; give only one of them"
            )
        self.noise.check_slab(self.slab)

    @property
    def has_shared(self) -> bool:
        """Whether a hyperparameter is shared by the nodes, so that the posterior factorises only given its value."""
        parts = (self.slab, self.edges)
        return any(part is not None and part.is_shared for part in parts)

    def edges_of(self, probability: FloatArray, child: str) -> tuple[FloatArray, FloatArray | None]:
        """Return a node's edge probabilities, shape (k,), and the log weight of the number of uncertain parents."""
        return (probability, None) if self.edges is None else self.edges.of(probability, child)

    def settings_of(self, node: NodeNumbers) -> tuple[Setting, ...]:
        """Return the hyperparameter values one node averages over, with their prior weights."""
        if self.has_shared:
            raise PriorError(
                "a hyperparameter shared by all nodes cannot be averaged over node by node; "
                "expand the prior with shared_grid(prior) first, as fit() does"
            )
        fixed = (Setting(self.slab_variance, self.noise),)
        slabs = fixed if self.slab is None else self.slab.settings(node.rows, self.noise)
        return tuple(part for slab in slabs for part in self.noise.expand(slab, node))

    @classmethod
    def paper(cls, slab_variance: float = 1.0, noise_precision: float = 1.0) -> Prior:
        """Return the prior of Horii (2021): known noise precision, raw units, no intercept."""
        return cls(slab_variance=slab_variance, noise=KnownNoise(noise_precision), units="raw", intercept=False)
