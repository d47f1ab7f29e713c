"""`MCMC`: sample parent sets when there are too many to enumerate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags import checks
from alldags.engines.suits import check_suits
from alldags.errors import EngineError
from alldags.nodes import NodePosterior, NodeProblem
from alldags.priors.noise import Noise


@dataclass(frozen=True, slots=True)
class MCMC:
    """Sample parent sets in several chains, between all modes that many searches find, until the chains agree.

    Searches from many different sets find the modes and the groups of parents that are exchanged between them. Chains
    start in different modes. Each sweep draws the presence of every edge given all others; a swap move then exchanges a
    parent for another one that explains the same, and jumps exchange a whole group. Inclusion probabilities and means
    are averages of conditional expectations and come with a Monte-Carlo error. The run is extended until split R-hat is
    below 1.01 for every edge with an inclusion probability above 0.01 and the wanted accuracy is reached, or
    `max_sweeps` is. Whether the chains agree is ``diagnostics.converged``.

    Of more than 300 candidates, each a column by itself, those that chains meet are swept often and all others exactly
    but rarely, and chains stop when effects are known to a tenth of their standard deviation.

    Parameters
    ----------
    sweeps
        Sweeps of each chain before convergence is first judged.
    chains
        Chains, at least 2; up to 8 if more modes were found.
    target_mcse
        Largest Monte-Carlo standard error wanted for any coefficient's mean, in working units. Without it the error
        is wanted below a twentieth of the coefficient's posterior standard deviation (400 effective draws).
    max_sweeps
        Most sweeps of each chain.
    max_seconds
        Most wall time. A run that it ends is not reproducible, and its diagnostics say so.
    swaps
        Swap moves after each sweep.
    starts
        Searches for modes; where several modes are found, as many more until so many in a row find nothing new.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> from alldags.nodes import NodeProblem, Setting
    >>> problem = NodeProblem(
    ...     child="y", terms=("a", "b"), gram=np.eye(2) * 50, cross=np.array([40.0, 0.0]), total=60.0, n=50,
    ...     probability=np.array([0.5, 0.5]), settings=(Setting(1.0, ad.priors.KnownNoise(1.0)),),
    ... )
    >>> node = ad.engines.MCMC()(problem, np.random.default_rng(0))
    >>> node.mean.round(2).tolist()
    [0.78, 0.0]
    >>> node.diagnostics.converged
    True
    """

    takes: ClassVar[tuple[type, ...]] = (Noise,)
    scope: ClassVar[str | None] = None
    estimate: ClassVar[str] = "posterior mean"
    takes_groups: ClassVar[bool] = True

    sweeps: int = 250
    chains: int = 4
    target_mcse: float | None = None
    max_sweeps: int = 50_000
    max_seconds: float | None = None
    swaps: int = 1
    starts: int = 20

    def __post_init__(self) -> None:
        for name, least in (("sweeps", 20), ("chains", 2), ("swaps", 0), ("max_sweeps", 20), ("starts", 2)):
            checks.whole(f"MCMC {name}", getattr(self, name), least, error=EngineError)
        for name in ("target_mcse", "max_seconds"):
            if getattr(self, name) is not None:
                checks.positive(f"MCMC {name}", getattr(self, name), EngineError)

    @property
    def name(self) -> str:
        return "mcmc"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the sampled posterior of one node; without uncertain edges there is nothing to sample."""
        check_suits(self, problem.settings[0])
        from alldags.engines.exact import Exact
        from alldags.engines.sampling.posterior import SampledPosterior
        from alldags.engines.sampling.sample import draw_sample
        from alldags.engines.sampling.wide.suits import is_wide

        if problem.free == 0:
            return Exact()(problem, rng)

        child = rng.spawn(1)[0]  # for runs with an edge forced in or out, and for the evidence, later
        if is_wide(problem):
            from alldags.engines.sampling.wide.posterior import WidePosterior
            from alldags.engines.sampling.wide.sample import draw_wide

            return WidePosterior(problem, *draw_wide(self, problem, rng), self, child)
        sample, estimates, diagnostics = draw_sample(self, problem, rng)
        return SampledPosterior(problem, sample, estimates, diagnostics, self, child)
