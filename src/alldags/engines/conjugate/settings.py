"""Averaging a node over several hyperparameter values, each of which is conjugate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodeFit, NodePosterior, NodeProblem, ParentSet
from alldags.typing import BoolArray, FloatArray

LEAST = 1e-12  # posterior weight below which a hyperparameter value counts for first moments only


def over_settings(problem: NodeProblem, fit: NodeFit) -> NodePosterior:
    """Fit each setting of a problem and average by evidence; a single setting is simply fitted."""
    if len(problem.settings) == 1:
        return fit(problem)
    parts = [fit(problem.with_setting(setting)) for setting in problem.settings]
    return SettingsPosterior(problem, parts)


class SettingsPosterior(NodePosterior):
    """A mixture of posteriors that know parent sets, one per hyperparameter value, weighed by prior times evidence.

    Everything but first moments is asked only of the values that carry weight: the others would change no digit, and
    under a prior that leaves the slab's variance open they are most of them.
    """

    def __init__(self, problem: NodeProblem, parts: Sequence[NodePosterior]) -> None:
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

    @cached_property
    def _heavy(self) -> list[tuple[float, NodePosterior]]:
        """The values that carry weight, with weights that sum to one."""
        kept = np.flatnonzero(self.weights > LEAST)
        return [(float(self.weights[i] / self.weights[kept].sum()), self.parts[i]) for i in kept.tolist()]

    @cached_property
    def mean(self) -> FloatArray:
        return self._average("mean")

    @cached_property
    def inclusion(self) -> FloatArray:
        return np.minimum(self._average("inclusion"), 1.0)

    @cached_property
    def noise_variance(self) -> float:
        return float(self._average("noise_variance"))

    def _average(self, name: str) -> FloatArray:
        pairs = zip(self.weights, self.parts, strict=True)
        return np.asarray(sum(weight * getattr(part, name) for weight, part in pairs if weight > 0))

    @cached_property
    def second_moment(self) -> FloatArray:
        return np.asarray(sum(weight * part.second_moment for weight, part in self._heavy))

    @cached_property
    def second_moment_between(self) -> FloatArray:
        moments = [(weight, part.second_moment_between) for weight, part in self._heavy]
        return np.asarray(sum(weight * part for weight, part in moments if part is not None))

    @property
    def log_evidence(self) -> float:
        return float(np.logaddexp.reduce(self._log_weights))

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        rows = [(weight, part.probability_disjoint(masks)) for weight, part in self._heavy]
        return np.asarray(sum(weight * row for weight, row in rows if row is not None))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        """Return the most probable sets among the most probable ones of each hyperparameter value."""
        total: dict[tuple[str, ...], float] = {}
        for weight, part in self._heavy:
            for item in part.top_parent_sets(4 * size) or ():
                total[item.parents] = total.get(item.parents, 0.0) + weight * item.probability
        ranked = sorted(total.items(), key=lambda pair: -pair[1])
        return tuple(ParentSet(parents, probability) for parents, probability in ranked[:size])

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        counts = rng.multinomial(size, [weight for weight, _ in self._heavy])
        pairs = zip(counts, self._heavy, strict=True)
        pieces = [part.draw(int(count), rng) for count, (_, part) in pairs if count]
        order = rng.permutation(size)
        coefficients = np.concatenate([piece[0] for piece in pieces])[order]
        return coefficients, np.concatenate([piece[1] for piece in pieces])[order]


class PartsPosterior(SettingsPosterior):
    """The same of regressions that differ in something else than hyperparameters, each with a prior probability.

    Parameters
    ----------
    problem
        Names and priors.
    parts, log_shares
        Their posteriors, and the logarithms of their prior probabilities.
    what
        What they differ in, in words.
    """

    def __init__(
        self, problem: NodeProblem, parts: Sequence[NodePosterior], log_shares: Sequence[float], what: str
    ) -> None:
        super().__init__(problem, parts)
        self._log_shares, self._what = np.array(log_shares), what

    @cached_property
    def _log_weights(self) -> FloatArray:
        evidences = [part.log_evidence for part in self.parts]
        if any(value is None for value in evidences):
            raise EngineError(f"the engine {self.diagnostics.engine!r} gives no evidence to weigh {self._what} by")
        return np.asarray(self._log_shares + np.array(evidences, dtype=float))

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        """Return the mean given one edge; the parts are weighed anew."""
        means = [(weight, part, part.mean_given(parent, present)) for weight, part in self._heavy]
        if any(part.inclusion is None or mean is None for _, part, mean in means):
            return None
        chance = np.array([p * (part.inclusion[parent] if present else 1.0 - part.inclusion[parent])  # type: ignore[index]
                           for p, part, _ in means])  # fmt: skip
        return np.asarray(chance @ np.array([mean for _, _, mean in means]) / chance.sum())
