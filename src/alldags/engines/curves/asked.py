"""`AskedEngine`: all sets of columns where these are few, else chains that agree on what is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.curves.structures import is_enumerated
from alldags.engines.exact import Exact
from alldags.engines.sampling.asked import FULL, GLANCE, Run, sample_asked
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class AskedEngine:
    """An engine for regressions on derived columns.

    Parameters
    ----------
    asked
        Weights of what chains have to agree on, shape (questions, k).
    run
        How long they run.
    """

    asked: FloatArray
    run: Run = FULL

    name = "auto"
    takes: tuple[type, ...] = ()
    scope: str | None = None
    estimate = "posterior mean"
    takes_groups = True

    @property
    def short(self) -> AskedEngine:
        """The same for a glance."""
        return replace(self, run=GLANCE)

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node."""
        if is_enumerated(problem):
            return Exact()(problem, rng)
        return sample_asked(problem, self.asked, 0.0, rng, self.run)
