"""A posterior over the columns of a regression, read onto its parents, of which some are several columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from alldags.nodes.posterior import Diagnostics, NodePosterior, ParentSet
from alldags.nodes.problem import LinkedPrior, NodeProblem, Origin
from alldags.typing import BoolArray, FloatArray, IntArray


class ParentsPosterior(NodePosterior):
    """The posterior of a node in terms of its parents, p of them; arrays are ordered by parents.

    A parent that is one line has its coefficient's mean and moments. The coefficient of a category is not one number:
    `mean`, moments and draws are zero there, and no effect is made of them; `columns` has those of its levels.

    Parameters
    ----------
    columns
        The posterior over all k columns. Each group of its problem is one parent.
    parents
        Their names. One that is a line has the name of its column; any other is a category.
    """

    def __init__(self, columns: NodePosterior, parents: Sequence[str]) -> None:
        self.columns = columns
        self.problem = parents_problem(columns.problem, parents)
        self.diagnostics = columns.diagnostics
        self.views: dict[tuple[str | float, ...], NodePosterior] = {}  # with a category as a number, made on demand

    @cached_property
    def _owner(self) -> IntArray:
        """The parent of each column, shape (k,)."""
        return _owners(self.columns.problem)

    @cached_property
    def _first(self) -> IntArray:
        """The first column of each parent, shape (p,)."""
        return np.unique(self._owner, return_index=True)[1]

    @cached_property
    def lines(self) -> BoolArray:
        """Which parents are one line, shape (p,)."""
        return _lines(self.columns.problem, self.problem.terms)

    @cached_property
    def places(self) -> IntArray:
        """The columns of the parents that are lines, shape (lines,)."""
        return self._first[self.lines]

    def _spread(self, values: FloatArray) -> FloatArray:
        """Return an array over columns, shape (k,) or (k, k), as one over parents; zero at categories."""
        out = np.zeros((self.problem.k,) * values.ndim)
        out[np.ix_(*[self.lines] * values.ndim)] = values[np.ix_(*[self.places] * values.ndim)]
        return out

    # -- moments -------------------------------------------------------------------------------------------------------

    @cached_property
    def mean(self) -> FloatArray:
        return self._spread(self.columns.mean)

    @cached_property
    def second_moment(self) -> FloatArray:
        return self._spread(self.columns.second_moment)

    @property
    def squares(self) -> FloatArray:
        return self._spread(self.columns.squares)

    @cached_property
    def second_moment_between(self) -> FloatArray | None:
        between = self.columns.second_moment_between
        return None if between is None else self._spread(between)

    def second_moments(self, places: list[int]) -> FloatArray:
        if not self.lines[places].all():
            return super().second_moments(places)
        return self.columns.second_moments(self._first[places].tolist())

    def second_moments_between(self, places: list[int]) -> FloatArray | None:
        if not self.lines[places].all():
            return super().second_moments_between(places)
        return self.columns.second_moments_between(self._first[places].tolist())

    @property
    def noise_variance(self) -> float:
        return self.columns.noise_variance

    @property
    def log_evidence(self) -> float | None:
        return self.columns.log_evidence

    @property
    def log_evidence_error(self) -> float:
        """Monte-Carlo standard error of `log_evidence`."""
        return float(getattr(self.columns, "log_evidence_error", 0.0))

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        coefficients, variance = self.columns.draw(size, rng)
        out = np.zeros((size, self.problem.k))
        out[:, self.lines] = coefficients[:, self.places]
        return out, variance

    # -- sets ----------------------------------------------------------------------------------------------------------

    @cached_property
    def inclusion(self) -> FloatArray | None:
        found = self.columns.inclusion
        return None if found is None else found[self._first]

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        """Return the mean given one edge, a line's or a category's."""
        found = self.columns.mean_given(int(self._first[parent]), present)
        return None if found is None else self._spread(found)

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        return self.columns.probability_disjoint(masks[:, self._owner])

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...] | None:
        found = self.columns.top_parent_sets(size)
        return None if found is None else tuple(ParentSet(self._named(one.parents), one.probability) for one in found)

    def _named(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        there, terms = set(columns), self.columns.problem.terms
        return tuple(name for name, i in zip(self.problem.terms, self._first, strict=True) if terms[i] in there)

    # -- errors --------------------------------------------------------------------------------------------------------

    def linear_error(self, weights: FloatArray) -> float:
        own = np.zeros(self.columns.problem.k)
        own[self.places] = np.asarray(weights, dtype=float)[self.lines]
        return self.columns.linear_error(own)

    @property
    def mean_bound(self) -> FloatArray:
        return self._spread(self.columns.mean_bound)

    @property
    def inclusion_bound(self) -> FloatArray:
        return self.columns.inclusion_bound[self._first]

    @property
    def set_draws(self) -> float:
        return self.columns.set_draws


def over_columns(node: NodePosterior) -> NodePosterior:
    """Return a node's posterior over its columns, as the engine found it."""
    return node.columns if isinstance(node, ParentsPosterior) else node


def parents_problem(problem: NodeProblem, parents: Sequence[str]) -> NodeProblem:
    """Return a problem over columns as one over parents, as far as there is one.

    It holds names, probabilities and rows; cross-products of categories are zero, and no engine is given them.
    """
    first = np.unique(_owners(problem), return_index=True)[1]
    lines = _lines(problem, parents)
    gram, linked, origin = problem.gram[np.ix_(first, first)] * np.outer(lines, lines), problem.linked, problem.origin
    return replace(
        problem,
        terms=tuple(parents),
        gram=gram,
        cross=problem.cross[first] * lines,
        probability=problem.probability[first],
        origin=None if origin is None else Origin(origin.child, origin.terms[first] * lines),
        linked=None if linked is None else LinkedPrior(linked.stated[first], linked.raised[first]),
        groups=None,
    )


def _owners(problem: NodeProblem) -> IntArray:
    return np.arange(problem.k) if problem.groups is None else problem.groups


def _lines(problem: NodeProblem, parents: Sequence[str]) -> BoolArray:
    """Return which parents are one column of their own name, shape (p,)."""
    first, counts = np.unique(_owners(problem), return_index=True, return_counts=True)[1:]
    pairs = zip(parents, first.tolist(), counts.tolist(), strict=True)
    return np.array([count == 1 and problem.terms[place] == name for name, place, count in pairs], dtype=bool)


class RootCategory(NodePosterior):
    """A category without candidate causes: nothing is regressed, and its evidence is the same in every graph."""

    def __init__(self, problem: NodeProblem) -> None:
        self.problem = problem
        self.diagnostics = Diagnostics("exact")

    mean = np.zeros(0)
    second_moment = np.zeros((0, 0))
    second_moment_between = np.zeros((0, 0))
    inclusion = np.zeros(0)
    noise_variance = math.nan
    log_evidence = 0.0

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        del rng
        return np.zeros((size, 0)), np.full(size, math.nan)

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        return np.ones(len(masks))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        del size
        return (ParentSet((), 1.0),)
