"""`Auto`: the most exact engine a node's size allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from alldags import checks
from alldags.engines.certified import Certified
from alldags.engines.exact import LARGEST, Exact, log2_sets
from alldags.engines.mcmc import MCMC
from alldags.engines.suits import check_suits, unsuited
from alldags.errors import EngineError
from alldags.nodes import NodePosterior, NodeProblem
from alldags.priors.noise import Noise

_LEAST_SHARE = 2**21  # parent sets: with less, few nodes of 25 to 30 parents are certified
_SETTINGS = 3.2  # log2 of the number of hyperparameter values under the default prior


def _certified() -> Certified:
    return Certified(max_subsets=2**25, tolerance=1e-4)


@dataclass(frozen=True, slots=True)
class Auto:
    """Choose per node: enumerate while that is quick, else prove what can be left out, else sample. The default.

    What was used for each node is in `Posterior.engines_used`, and the combined error in `Uncertainty.mean_error` and
    `Uncertainty.mean_bound`. The choice depends on counts, never on the clock, so that results are reproducible.

    Parameters
    ----------
    max_exact
        Enumerate nodes with at most ``2**max_exact`` parent sets (times the number of hyperparameter values averaged
        over; a set counts more where few columns are alone); at most 40.
    max_certified
        Try `certified` on nodes with at most this many uncertain parents.
    certified
        Its tolerance, and its budget for all nodes of a graph together; a node that does not reach the tolerance
        within its share is sampled instead.
    mcmc
        The sampler for all other nodes.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.engines.Auto(max_exact=24).name
    'auto'
    """

    takes: ClassVar[tuple[type, ...]] = (Noise,)
    scope: ClassVar[str | None] = None
    estimate: ClassVar[str] = "posterior mean"
    takes_groups: ClassVar[bool] = True

    max_exact: int = 23
    max_certified: int = 40
    certified: Certified = field(default_factory=_certified)
    mcmc: MCMC = field(default_factory=MCMC)

    def __post_init__(self) -> None:
        checks.whole("Auto max_exact", self.max_exact, 0, LARGEST, EngineError)
        checks.whole("Auto max_certified", self.max_certified, 0, error=EngineError)
        checks.kind("Auto certified", self.certified, (Certified,), EngineError)
        checks.kind("Auto mcmc", self.mcmc, (MCMC,), EngineError)

    @property
    def name(self) -> str:
        return "auto"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node from the engine chosen for it."""
        check_suits(self, problem.settings[0])
        if log2_sets(problem) <= self.max_exact:
            return Exact(max_parents=LARGEST)(problem, rng)
        few = problem.free <= self.max_certified and unsuited(self.certified, problem.settings[0]) is None
        proven = self.certified.attempt(problem) if few else None
        return self.mcmc(problem, rng) if proven is None else proven

    def for_graph(self, sizes: Sequence[int]) -> Auto:
        """Return the engine for a graph whose nodes have so many uncertain parents.

        The budget of `certified` is one for the whole graph, so that an answer takes about a second whatever the graph:
        the nodes too large for enumeration share it. Where a share would prove little they are all sampled.
        """
        needing = sum(self.max_exact - _SETTINGS < size <= self.max_certified for size in sizes)
        share = self.certified.max_subsets // max(needing, 1)
        if share < min(_LEAST_SHARE, self.certified.max_subsets):
            return replace(self, max_certified=0)
        return replace(self, certified=replace(self.certified, max_subsets=share))
