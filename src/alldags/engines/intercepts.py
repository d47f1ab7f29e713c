"""Averaging a node over how much the intercepts of units vary: one conjugate regression for each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from alldags.engines.conjugate.settings import PartsPosterior
from alldags.nodes.build import build
from alldags.nodes.intercepts import Variant
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.nodes.spec import NodeSpec


class InterceptsPosterior(PartsPosterior):
    """A mixture of posteriors, one for each variance of the units' intercepts, weighed by evidence.

    Parameters
    ----------
    problem
        The regression without such intercepts: names and priors.
    parts
        The posterior under each variance.
    variants
        The variances, and their weights.
    """

    def __init__(self, problem: NodeProblem, parts: Sequence[NodePosterior], variants: Sequence[Variant]) -> None:
        super().__init__(problem, parts, [one.log_weight for one in variants], "intercepts")
        self.variants = tuple(variants)

    @property
    def share_between(self) -> float:
        """Posterior mean of the share of the unexplained variance that lies between units."""
        ratio = np.array([one.ratio for one in self.variants])
        return float(self.weights @ (ratio / (1.0 + ratio)))


def over_intercepts(spec: NodeSpec, engine: Engine, rng: np.random.Generator) -> NodePosterior:
    """Return the posterior of a node whose units have intercepts of their own."""
    rows = spec.data.of(spec.child)
    problems = [
        build(replace(rows, scatter=one.scatter, variants=()), spec.column_terms, spec.prior) for one in rows.variants
    ]
    return InterceptsPosterior(spec.problem(), [engine(problem, rng) for problem in problems], rows.variants)
