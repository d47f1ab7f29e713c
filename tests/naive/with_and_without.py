"""A regression with groups of columns as a mixture of regressions without: what engines did before they knew groups.

With g uncertain groups of several columns there are 2^g ordinary problems, in which the columns of some groups are
certain and those of the others are left out. They are weighed by prior times evidence. Whoever fits the ordinary
problems never sees a group.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from alldags.nodes import NodePosterior, NodeProblem

Fit = Callable[[NodeProblem], NodePosterior]


@dataclass
class Choice:
    """One regression: which of all columns it has, shape (k,), its log prior, and its problem."""

    columns: np.ndarray
    log_prior: float
    problem: NodeProblem


class WithAndWithout:
    """Averages over the regressions with and without each group; arrays are those of all k columns."""

    def __init__(self, problem: NodeProblem, fit: Fit) -> None:
        self.problem, self.fit = problem, fit
        self.choices = list(choices(problem))
        self.parts = [fit(choice.problem) for choice in self.choices]
        self.logs = np.array([c.log_prior + p.log_evidence for c, p in zip(self.choices, self.parts, strict=True)])
        self.log_evidence = float(np.logaddexp.reduce(self.logs))
        self.weights = np.exp(self.logs - self.log_evidence)

    def _average(self, name: str) -> np.ndarray:
        pairs = zip(self.weights, self.choices, self.parts, strict=True)
        return sum(weight * self._all(choice, getattr(part, name)) for weight, choice, part in pairs)

    def _all(self, choice: Choice, values: np.ndarray) -> np.ndarray:
        out = np.zeros((self.problem.k,) * values.ndim)
        out[np.ix_(*[choice.columns] * values.ndim)] = values
        return out

    @property
    def mean(self) -> np.ndarray:
        return self._average("mean")

    @property
    def inclusion(self) -> np.ndarray:
        return self._average("inclusion")

    @property
    def second_moment(self) -> np.ndarray:
        return self._average("second_moment")

    @property
    def second_moment_between(self) -> np.ndarray:
        return self._average("second_moment_between")

    @property
    def noise_variance(self) -> float:
        return float(self.weights @ [part.noise_variance for part in self.parts])

    def probability_disjoint(self, masks: np.ndarray) -> np.ndarray:
        """Return the probability that no column of each mask is present; masks are of shape (masks, k)."""
        out = np.zeros(len(masks))
        several = several_columns(self.problem)
        for weight, choice, part in zip(self.weights, self.choices, self.parts, strict=True):
            hit = (masks & several & choice.columns).any(axis=1)
            single = (masks & ~several)[:, choice.columns]
            out += weight * np.where(hit, 0.0, part.probability_disjoint(single))
        return out

    def mean_given(self, column: int, present: bool) -> np.ndarray:
        """Return the mean given that a column is there, or not: a single one is forced into each regression anew."""
        if several_columns(self.problem)[column]:
            kept = [i for i, choice in enumerate(self.choices) if choice.columns[column] == present]
            found = [(self.logs[i], self._all(self.choices[i], self.parts[i].mean)) for i in kept]
        else:
            found = [self._forced(choice, column, present) for choice in self.choices]
        logs = np.array([log for log, _ in found])
        weights = np.exp(logs - logs.max())
        return sum(w * mean for w, (_, mean) in zip(weights, found, strict=True)) / weights.sum()

    def _forced(self, choice: Choice, column: int, present: bool) -> tuple[float, np.ndarray]:
        place = int(choice.columns[:column].sum())
        if present:
            node = self.fit(choice.problem.with_certain(place))
            return choice.log_prior + node.log_evidence, self._all(choice, node.mean)
        node = self.fit(choice.problem.without([place]))
        return choice.log_prior + node.log_evidence, self._all(choice, np.insert(node.mean, place, 0.0))


def several_columns(problem: NodeProblem) -> np.ndarray:
    """Return which columns share a group with another, shape (k,)."""
    assert problem.groups is not None
    return np.bincount(problem.groups)[problem.groups] > 1


def choices(problem: NodeProblem) -> Iterator[Choice]:
    """Yield the regressions, one for each set of uncertain groups of several columns that may be present."""
    several, certain = several_columns(problem), problem.probability >= 1.0
    open_ = sorted(set(problem.groups[several & ~certain].tolist()))
    for chosen in itertools.product([False, True], repeat=len(open_)):
        there = dict(zip(open_, chosen, strict=True))
        columns = np.array([there.get(number, True) for number in problem.groups.tolist()], dtype=bool)
        forced = np.array([number in there for number in problem.groups.tolist()], dtype=bool)
        p = np.array([problem.probability[problem.groups == number][0] for number in open_])
        yield Choice(columns, _log_prior(problem, p, np.array(chosen)), _ordinary(problem, columns, forced, chosen))


def _log_prior(problem: NodeProblem, p: np.ndarray, chosen: np.ndarray) -> float:
    """Return the log probability that just these are present; odds alone, where the size prior has the rest."""
    if problem.log_size is None:
        return float(np.log(np.where(chosen, p, 1.0 - p)).sum())
    return float(np.log(p / (1.0 - p))[chosen].sum()) if len(p) else 0.0


def _ordinary(problem: NodeProblem, columns: np.ndarray, forced: np.ndarray, chosen: tuple[bool, ...]) -> NodeProblem:
    """Return the problem with these columns, of which the forced ones are certain."""
    log_size = problem.log_size
    if log_size is not None:
        log_size = log_size[sum(chosen) : len(log_size) - (len(chosen) - sum(chosen))]
    return replace(
        problem,
        terms=tuple(name for name, kept in zip(problem.terms, columns, strict=True) if kept),
        gram=problem.gram[np.ix_(columns, columns)],
        cross=problem.cross[columns],
        probability=np.where(forced, 1.0, problem.probability)[columns],
        log_size=log_size,
        origin=None,
        linked=None,
        groups=None,
    )
