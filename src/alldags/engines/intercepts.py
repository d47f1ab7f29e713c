"""Averaging a node over how much the intercepts of units vary: one conjugate regression for each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.settings import SettingsPosterior
from alldags.errors import EngineError
from alldags.nodes.build import build
from alldags.nodes.intercepts import Variant
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.nodes.spec import NodeSpec
from alldags.typing import FloatArray


class InterceptsPosterior(SettingsPosterior):
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
        super().__init__(problem, parts)
        self.variants = tuple(variants)

    @cached_property
    def _log_weights(self) -> FloatArray:
        evidences = [part.log_evidence for part in self.parts]
        if any(value is None for value in evidences):
            raise EngineError(f"the engine {self.diagnostics.engine!r} gives no evidence to weigh intercepts by")
        return np.asarray(np.array([one.log_weight for one in self.variants]) + np.array(evidences, dtype=float))

    @property
    def share_between(self) -> float:
        """Posterior mean of the share of the unexplained variance that lies between units."""
        ratio = np.array([one.ratio for one in self.variants])
        return float(self.weights @ (ratio / (1.0 + ratio)))

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        """Return the mean given one edge; the variances are weighed anew."""
        means = [(weight, part, part.mean_given(parent, present)) for weight, part in self._heavy]
        if any(part.inclusion is None or mean is None for _, part, mean in means):
            return None
        chance = np.array([p * (part.inclusion[parent] if present else 1.0 - part.inclusion[parent])  # type: ignore[index]
                           for p, part, _ in means])  # fmt: skip
        return np.asarray(chance @ np.array([mean for _, _, mean in means]) / chance.sum())


def over_intercepts(spec: NodeSpec, engine: Engine, rng: np.random.Generator) -> NodePosterior:
    """Return the posterior of a node whose units have intercepts of their own."""
    rows = spec.data.of(spec.child)
    problems = [
        build(replace(rows, scatter=one.scatter, variants=()), spec.column_terms, spec.prior) for one in rows.variants
    ]
    return InterceptsPosterior(spec.problem(), [engine(problem, rng) for problem in problems], rows.variants)
