"""`Prior`: what is believed before the data: slab, noise, units, intercept, and how edge probabilities are treated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from alldags import checks
from alldags.errors import PriorError
from alldags.priors.edges import EdgePrior
from alldags.priors.grid import NodeNumbers, Setting
from alldags.priors.mixtures import ScaleMixture
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
        Variance ``tau`` of a coefficient whose edge is present, in working units; with `UnknownNoise` it is in units
        of the node's noise variance. None: learned, see `slab`; where the slab cannot be learned, 1.
    noise
        `KnownNoise`, `UnknownNoise`, `StudentNoise` (heavy tails) or `EquivalentNoise`.
    units
        ``"standardized"``: every variable is divided by its standard deviation before the prior applies, so that
        answers do not depend on the unit of any column; ``"raw"``: the prior applies to the numbers as they are.
        Results are always in the user's units.
    intercept
        Whether each node has an intercept with a flat prior. It uses up one row.
    slab
        `LearnedSlab`, `GPrior`, `HyperG` or `ZellnerSiow`. None: `slab_variance` if that is given, otherwise
        ``LearnedSlab()``; `KnownNoise`, `EquivalentNoise` and ``UnknownNoise(scales_slab=False)`` go with a fixed one.
    edges
        None: the graph's edge probabilities. `BetaBinomial` learns one edge probability for each node, or one for all;
        `EqualEdges` sets it.
    link
        From 0 to 1: how much more probable an edge from a covariate to a later node becomes if the covariate acts on
        the treatment, when an effect is asked for. 0 is no link, 1 the strongest: what drives the treatment is taken
        for a possible confounder, however weakly it acts on the outcome. See "Many weak confounders" in the docs.
    coefficients
        None: an edge is there or not, with a slab if it is. `NEG`, `Laplace`, `StudentT` or `Horseshoe`: every
        candidate edge is there, with this prior of its coefficient; only certain edges have the slab. For the
        engines ``"vb"``, ``"em"`` and ``"gibbs"``, for which None means the paper's ``NEG()``.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Prior().slab
    LearnedSlab(median=1.0, spread=2.5, ...)
    >>> ad.Prior.paper().noise
    KnownNoise(precision=1.0)
    >>> ad.Prior(slab=ad.priors.GPrior("n"), edges=ad.priors.BetaBinomial(1, 1)).slab
    GPrior(g='n')
    """

    slab_variance: float | None = None
    noise: Noise = field(default_factory=UnknownNoise)
    units: Units = "standardized"
    intercept: bool = True
    slab: Slab | None = None
    edges: EdgePrior | None = None
    link: float = 1.0
    coefficients: ScaleMixture | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise):
            raise PriorError(
                "noise must be KnownNoise(...), UnknownNoise(...), StudentNoise(...) or EquivalentNoise(...), got "
                f"{self.noise!r}"
            )
        checks.one_of("units", self.units, get_args(Units), PriorError)
        checks.flag("intercept", self.intercept, PriorError)
        self._settle_slab()
        if not checks.is_number(self.link) or not 0 <= self.link <= 1:
            raise PriorError(f"link must be a number from 0 (none) to 1, got {self.link!r}")
        if self.edges is not None and not isinstance(self.edges, EdgePrior):
            raise PriorError(f"edges must be BetaBinomial(...), EqualEdges(...) or None, got {self.edges!r}")
        if self.coefficients is not None:
            self._check_coefficients()

    def _settle_slab(self) -> None:
        """Check what was said of the slab, and fill in what was not."""
        if self.slab is not None and not isinstance(self.slab, Slab):
            raise PriorError(f"slab must be GPrior, HyperG, ZellnerSiow, LearnedSlab or None, got {self.slab!r}")
        if self.slab is not None and self.slab_variance is not None:
            raise PriorError(
                f"slab={self.slab!r} takes the place of slab_variance={self.slab_variance!r}; give only one of them"
            )
        if self.slab is None and self.slab_variance is None:
            object.__setattr__(self, "slab", self.noise.default_slab)
        if self.slab is None:
            fixed = 1.0 if self.slab_variance is None else self.slab_variance
            object.__setattr__(self, "slab_variance", checks.positive("slab_variance", fixed, PriorError))
        self.noise.check_slab(self.slab)

    def _check_coefficients(self) -> None:
        mixture = self.coefficients
        if not isinstance(mixture, ScaleMixture):
            raise PriorError(f"coefficients must be NEG, Laplace, StudentT, Horseshoe or None, got {mixture!r}")
        if self.edges is not None:
            raise PriorError(
                f"edges={self.edges!r} has no meaning with coefficients={mixture!r}, under which every candidate edge "
                "exists; give only one of them"
            )
        if self.noise.ties_directions:
            raise PriorError(
                f"{self.noise!r} counts parents, of which coefficients={mixture!r} knows no number; use UnknownNoise() "
                "or KnownNoise(...)"
            )

    @property
    def fixed_slab(self) -> float:
        """The slab variance where one number is needed, which is 1 for a learned slab."""
        return 1.0 if self.slab_variance is None else self.slab_variance

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
        fixed = (Setting(self.fixed_slab, self.noise),)
        slabs = fixed if self.slab is None else self.slab.settings(node.rows, self.noise)
        parts = tuple(part for slab in slabs for part in self.noise.expand(slab, node))
        return parts if self.coefficients is None else tuple(replace(p, coefficients=self.coefficients) for p in parts)

    @classmethod
    def paper(cls, slab_variance: float = 1.0, noise_precision: float = 1.0) -> Prior:
        """Return the prior of Horii (2021): known noise precision, fixed slab, raw units, no intercept, no link."""
        noise = KnownNoise(noise_precision)
        return cls(slab_variance=slab_variance, noise=noise, units="raw", intercept=False, link=0.0)

    @classmethod
    def v01(cls) -> Prior:
        """Return the default of version 0.1: a fixed slab of variance 1 in units of the noise, and no link.

        Examples
        --------
        >>> import alldags as ad
        >>> ad.Prior.v01() == ad.Prior(slab_variance=1.0, link=0.0)
        True
        """
        return cls(slab_variance=1.0, link=0.0)
