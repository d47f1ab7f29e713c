"""`Auto`: the most exact engine a node's size allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from alldags.engines.certified import Certified, CertifiedDiagnostics
from alldags.engines.exact import LARGEST, Exact
from alldags.engines.mcmc import MCMC
from alldags.errors import EngineError
from alldags.nodes import NodePosterior, NodeProblem


def _certified() -> Certified:
    return Certified(max_subsets=2**22, tolerance=1e-4)


@dataclass(frozen=True, slots=True)
class Auto:
    """Choose per node: enumerate while that is quick, else prove what can be left out, else sample. The default.

    What was used for each node is in `Posterior.engines_used`, and the combined error in `Effect.mean_error` and
    `Effect.mean_bound`. The choice depends on counts, never on the clock, so that results are reproducible.

    Parameters
    ----------
    max_exact
        Enumerate nodes with at most ``2**max_exact`` parent sets (times the number of hyperparameter values averaged
        over); at most 30.
    max_certified
        Try `certified` on nodes with at most this many uncertain parents.
    certified
        Its budget and tolerance; a node that does not reach the tolerance within the budget is sampled instead.
    mcmc
        The sampler for all other nodes.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.engines.Auto(max_exact=24).name
    'auto'
    """

    max_exact: int = 20
    max_certified: int = 40
    certified: Certified = field(default_factory=_certified)
    mcmc: MCMC = field(default_factory=MCMC)

    def __post_init__(self) -> None:
        if not 0 <= self.max_exact <= LARGEST:
            raise EngineError(f"max_exact must lie between 0 and {LARGEST}, got {self.max_exact!r}")

    @property
    def name(self) -> str:
        return "auto"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node from the engine chosen for it."""
        if problem.free + math.log2(len(problem.settings)) <= self.max_exact:
            return Exact(max_parents=LARGEST)(problem, rng)
        few = problem.free <= self.max_certified and len(problem.settings) == 1
        if few and self.certified.suits(problem):
            posterior = self.certified(problem, rng)
            if isinstance(posterior.diagnostics, CertifiedDiagnostics) and posterior.diagnostics.reached:
                return posterior
        return self.mcmc(problem, rng)
