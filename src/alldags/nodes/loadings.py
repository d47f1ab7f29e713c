"""A node's posterior read onto its parents, where the terms of its regression are not the parents themselves."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from alldags.errors import AlldagsError
from alldags.nodes.posterior import NodePosterior, ParentSet
from alldags.nodes.problem import Loadings, Origin
from alldags.typing import BoolArray, FloatArray


def onto_parents(posterior: NodePosterior) -> NodePosterior:
    """Return the posterior in terms of parents: itself, unless its problem has loadings."""
    loadings = posterior.problem.loadings
    return posterior if loadings is None else LoadedPosterior(posterior, loadings)


class LoadedPosterior(NodePosterior):
    """Coefficients onto parents: ``slopes @ theta``, with the posterior of the terms' coefficients ``theta``.

    An edge is present iff one of the terms that contain the parent is.
    """

    def __init__(self, terms: NodePosterior, loadings: Loadings) -> None:
        self.problem = terms.problem
        self.diagnostics = terms.diagnostics
        self._terms = terms
        self._loadings = loadings

    @property
    def parents(self) -> tuple[str, ...]:
        return self._loadings.parents

    @property
    def certain(self) -> BoolArray:
        return np.asarray((self._loadings.members & self.problem.certain).any(axis=1))

    @cached_property
    def prior_inclusion(self) -> FloatArray:
        return np.array([1.0 - self.problem.prior_disjoint(row) for row in self._loadings.members])

    @cached_property
    def stated_inclusion(self) -> FloatArray:
        plain = self.problem.without_link()
        return np.array([1.0 - plain.prior_disjoint(row) for row in self._loadings.members])

    @property
    def raised(self) -> FloatArray:
        """What a link added to each edge: to at least one of its terms."""
        terms = super().raised
        return np.array([1.0 - np.prod(1.0 - terms[row]) for row in self._loadings.members])

    @property
    def has_independent_edges(self) -> bool:
        """Whether edges are independent a priori: not if two parents share a term."""
        return self.problem.log_size is None and bool((self._loadings.members.sum(axis=0) <= 1).all())

    @property
    def origin(self) -> Origin:
        """Refused: the mean of a product or a curve says nothing about where the child is at another value."""
        raise AlldagsError(
            f"do() needs straight lines, but the regression of {self.problem.child!r} has the terms "
            f"{', '.join(map(repr, self.problem.terms))}"
        )

    @cached_property
    def mean(self) -> FloatArray:
        return self._loadings.slopes @ self._terms.mean

    @cached_property
    def second_moment(self) -> FloatArray:
        return self._square(self._terms.second_moment)

    @cached_property
    def second_moment_between(self) -> FloatArray | None:
        between = self._terms.second_moment_between
        return None if between is None else self._square(between)

    def _square(self, moments: FloatArray) -> FloatArray:
        return np.asarray(self._loadings.slopes @ moments @ self._loadings.slopes.T)

    @property
    def noise_variance(self) -> float:
        return self._terms.noise_variance

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        coefficients, variance = self._terms.draw(size, rng)
        return coefficients @ self._loadings.slopes.T, variance

    @cached_property
    def inclusion(self) -> FloatArray | None:
        absent = self._terms.probability_disjoint(self._loadings.members)
        return None if absent is None else 1.0 - absent

    @property
    def log_evidence(self) -> float | None:
        return self._terms.log_evidence

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        return self._terms.probability_disjoint(np.asarray(masks @ self._loadings.members, dtype=bool))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...] | None:
        """Return the most probable sets of parents; sets of terms that stand for the same parents add up.

        They come from the 16 times more numerous best sets of terms.
        """
        found = self._terms.top_parent_sets(16 * size)
        if found is None:
            return None
        total: dict[tuple[str, ...], float] = {}
        for item in found:
            parents = self._present(item.parents)
            total[parents] = total.get(parents, 0.0) + item.probability
        ranked = sorted(total.items(), key=lambda pair: -pair[1])[:size]
        return tuple(ParentSet(parents, probability) for parents, probability in ranked)

    def _present(self, terms: tuple[str, ...]) -> tuple[str, ...]:
        inside = np.isin(self.problem.terms, terms)
        found: BoolArray = np.asarray((self._loadings.members & inside).any(axis=1))
        return tuple(name for name, present in zip(self.parents, found, strict=True) if present)

    def linear_error(self, weights: FloatArray) -> float:
        return self._terms.linear_error(self._loadings.slopes.T @ weights)

    @property
    def mean_bound(self) -> FloatArray:
        return np.abs(self._loadings.slopes) @ self._terms.mean_bound

    @property
    def set_draws(self) -> float:
        return self._terms.set_draws
