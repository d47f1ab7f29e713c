"""`K2`: greedy parent selection by posterior score (Cooper and Herskovits 1992), as in the paper's comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags.engines.conjugate.greedy import greedy_set
from alldags.engines.conjugate.one_set import SingleSetPosterior
from alldags.engines.conjugate.settings import over_settings
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.suits import check_suits
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem
from alldags.priors.noise import Noise


@dataclass(frozen=True, slots=True)
class K2:
    """Add, one at a time, the parent that raises the posterior probability of the parent set most, until none does.

    The columns of a group are added together.

    A baseline: the selected graph is then taken as known.
    """

    takes: ClassVar[tuple[type, ...]] = (Noise,)
    scope: ClassVar[str | None] = "in the one graph that greedy selection picked"
    estimate: ClassVar[str] = "posterior mean"
    takes_groups: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "k2"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior given the greedily selected parents."""
        check_suits(self, problem.settings[0])
        del rng
        return over_settings(problem, _fit)


def _fit(problem: NodeProblem) -> SingleSetPosterior:
    mask, _ = greedy_set(conjugate_system(problem))
    return SingleSetPosterior(problem, mask, Diagnostics("k2"))
