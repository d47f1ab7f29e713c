"""Averaging a node over several hyperparameter values, each of which is conjugate."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodeFit, NodePosterior, NodeProblem, ParentSet
from alldags.typing import BoolArray, FloatArray


def over_settings(problem: NodeProblem, fit: NodeFit) -> NodePosterior:
    """Fit each setting of a problem and average by evidence; a single setting is simply fitted."""
    if len(problem.settings) == 1:
        return fit(problem)
    parts = [fit(problem.with_setting(setting)) for setting in problem.settings]
    return SettingsPosterior(problem, parts)


class SettingsPosterior(NodePosterior):
    """A mixture of node posteriors, one per hyperparameter value, weighed by prior weight times evidence."""

    def __init__(self, problem: NodeProblem, parts: list[NodePosterior]) -> None:
        self.problem = problem
        self.parts = parts
        self.diagnostics = Diagnostics(parts[0].diagnostics.engine, parts[0].diagnostics.warnings)

    @cached_property
    def _log_weights(self) -> FloatArray:
        evidences = [part.log_evidence for part in self.parts]
        if any(value is None for value in evidences):
            raise EngineError(f"the engine {self.diagnostics.engine!r} gives no evidence to average hyperparameters by")
        priors = [setting.log_weight for setting in self.problem.settings]
        return np.asarray(np.array(priors) + np.array(evidences, dtype=float))

    @cached_property
    def weights(self) -> FloatArray:
        """Posterior probability of each hyperparameter value, shape (settings,)."""
        shifted = np.exp(self._log_weights - self._log_weights.max())
        return np.asarray(shifted / shifted.sum())

    def _average(self, name: str) -> FloatArray:
        return np.asarray(
            sum(
                weight * getattr(part, name)
                for weight, part in zip(self.weights, self.parts, strict=True)
                if weight > 0
            )
        )

    @cached_property
    def mean(self) -> FloatArray:
        return self._average("mean")

    @cached_property
    def inclusion(self) -> FloatArray:
        return self._average("inclusion")

    @cached_property
    def second_moment(self) -> FloatArray:
        return self._average("second_moment")

    @cached_property
    def second_moment_between(self) -> FloatArray:
        return self._average("second_moment_between")

    @cached_property
    def noise_variance(self) -> float:
        return float(self._average("noise_variance"))

    @property
    def log_evidence(self) -> float:
        return float(np.logaddexp.reduce(self._log_weights))

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        """Return the mean given one edge: each hyperparameter value counts by its probability given that edge."""
        share = self._share(parent, present)
        rows = [
            part.mean_given(parent, present) if w > 0 else np.zeros(self.problem.k)
            for w, part in zip(share, self.parts, strict=True)
        ]
        return None if any(row is None for row in rows) else np.asarray(share @ np.array(rows, dtype=float))

    def _share(self, parent: int, present: bool) -> FloatArray:
        inclusion = np.array([part.inclusion[parent] for part in self.parts])  # type: ignore[index]
        joint = self.weights * (inclusion if present else 1.0 - inclusion)
        total = joint.sum()
        return np.asarray(joint / total) if total > 0 else self.weights

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error given the evidences, whose own error is not included."""
        errors = np.array([part.linear_error(weights) for part in self.parts])
        return float(np.sqrt(((self.weights * errors) ** 2).sum()))

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        rows = [part.probability_disjoint(masks) for part in self.parts]
        return None if any(row is None for row in rows) else np.asarray(self.weights @ np.array(rows, dtype=float))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        """Return the most probable sets among the most probable ones of each hyperparameter value."""
        total: dict[tuple[str, ...], float] = {}
        for weight, part in zip(self.weights, self.parts, strict=True):
            for item in part.top_parent_sets(4 * size) or ():
                total[item.parents] = total.get(item.parents, 0.0) + weight * item.probability
        ranked = sorted(total.items(), key=lambda pair: -pair[1])
        return tuple(ParentSet(parents, probability) for parents, probability in ranked[:size])

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        counts = rng.multinomial(size, self.weights)
        pieces = [part.draw(int(count), rng) for part, count in zip(self.parts, counts, strict=True) if count]
        order = rng.permutation(size)
        coefficients = np.concatenate([piece[0] for piece in pieces])[order]
        return coefficients, np.concatenate([piece[1] for piece in pieces])[order]
