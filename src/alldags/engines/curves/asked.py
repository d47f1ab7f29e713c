"""`AskedEngine`: all sets of columns where these are few, else chains that agree on what is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.exact import Exact
from alldags.engines.sampling.asked import FULL, GLANCE, AskedPosterior, Run, sample_asked
from alldags.engines.sampling.revisited import revisited
from alldags.engines.sampling.run import State
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.typing import FloatArray

_ENUMERATED = 15  # log2 of sets times settings up to which all are enumerated


@dataclass(frozen=True, eq=False)
class AskedEngine:
    """An engine for regressions on derived columns.

    Parameters
    ----------
    asked
        Weights of what chains have to agree on, shape (questions, k).
    run
        How long they run.
    starts
        Where they start; by default from sets of different sizes.
    like
        The posterior of a problem with the same columns, whose sets are weighed anew where enough of them count.
    """

    asked: FloatArray
    run: Run = FULL
    starts: tuple[State, ...] = ()
    like: NodePosterior | None = None

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
        if problem.free + math.log2(len(problem.settings)) <= _ENUMERATED:
            return Exact()(problem, rng)
        if isinstance(self.like, AskedPosterior):
            again = revisited(self.like, problem, rng.spawn(1)[0])
            if again is not None:
                return again
        return sample_asked(problem, self.asked, least_variance(self.asked, problem), rng, self.run, self.starts)


def least_variance(asked: FloatArray, problem: NodeProblem) -> float:
    """Return what one column alone makes of the variance of what is asked, over the noise variance; the least."""
    unit = np.maximum(np.diag(problem.gram), 1e-300)
    return float((asked**2 / unit).max(axis=1).min()) if problem.k else 0.0
