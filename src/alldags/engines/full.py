"""`Full`: every candidate edge is present (the paper's "full model")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags.engines.conjugate.one_set import SingleSetPosterior
from alldags.engines.conjugate.settings import over_settings
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem


@dataclass(frozen=True, slots=True)
class Full:
    """Take every candidate edge as present; no uncertainty about the graph remains.

    A baseline: edge probabilities are not used.
    """

    uses_edges: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "full"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior given all candidate parents."""
        del rng
        return over_settings(problem, _fit)


def _fit(problem: NodeProblem) -> SingleSetPosterior:
    return SingleSetPosterior(problem, np.ones(problem.k, dtype=bool), Diagnostics("full"))
