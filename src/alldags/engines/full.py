"""`Full`: every candidate edge is present (the paper's "full model")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags.engines.conjugate.one_set import SingleSetPosterior
from alldags.engines.conjugate.settings import over_settings
from alldags.engines.suits import check_suits
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem
from alldags.priors.noise import Noise


@dataclass(frozen=True, slots=True)
class Full:
    """Take every candidate edge as present; no uncertainty about the graph remains.

    A baseline: edge probabilities are not used.
    """

    takes: ClassVar[tuple[type, ...]] = (Noise,)
    scope: ClassVar[str | None] = "if every candidate edge exists"
    estimate: ClassVar[str] = "posterior mean"
    takes_groups: ClassVar[bool] = True
    uses_edges: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "full"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior given all candidate parents."""
        check_suits(self, problem.settings[0])
        del rng
        return over_settings(problem, _fit)


def _fit(problem: NodeProblem) -> SingleSetPosterior:
    return SingleSetPosterior(problem, np.ones(problem.k, dtype=bool), Diagnostics("full"))
