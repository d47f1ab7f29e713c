"""`MemberPosterior`: one variable of a pair with correlated errors, as the node that it is in a graph."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from alldags.nodes.posterior import NodePosterior, ParentSet
from alldags.nodes.problem import NodeProblem
from alldags.pairs.posterior import PairDraws, PairPosterior
from alldags.typing import BoolArray, FloatArray, IntArray


class MemberPosterior(NodePosterior):
    """The posterior of one of the two regressions; all else is averaged over.

    Draws from equal generators are those of the same draws of the pair, so that they go together with the other's.

    Parameters
    ----------
    pair
        The posterior of both.
    place
        0 for the first variable, 1 for the second.
    problem
        The regression: its terms are columns of the pair's problem, or flat ones.
    """

    def __init__(self, pair: PairPosterior, place: int, problem: NodeProblem) -> None:
        self.pair = pair
        self.place = place
        self.problem = problem
        self.diagnostics = pair.diagnostics

    # -- where its coefficients are ------------------------------------------------------------------------------------

    @cached_property
    def _own(self) -> IntArray:
        """Place of each coefficient among the terms of the stacked regression, -1 for a flat one, shape (k,)."""
        one = self.pair.problem
        start, columns = (0, one.first) if self.place == 0 else (len(one.first), one.second)
        place = {one.names[column]: start + i for i, column in enumerate(columns)}
        return np.array([place.get(name, -1) for name in self.problem.terms], dtype=np.int64)

    @cached_property
    def _flat(self) -> IntArray:
        """Place of each coefficient among the flat ones, -1 for others, shape (k,)."""
        place = {name: i for i, name in enumerate(self.pair.problem.flat)}
        return np.array([place.get(name, -1) for name in self.problem.terms], dtype=np.int64)

    @cached_property
    def _map(self) -> tuple[FloatArray, FloatArray]:
        """What coefficients in working units are of those of the stacked regression: offset (k,), matrix (k, K)."""
        return self._mapped(self.pair.problem.flat_slopes)

    def _mapped(self, flat_slopes: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        one = self.pair.problem
        start, columns = (0, one.first) if self.place == 0 else (len(one.first), one.second)
        offset, matrix = np.zeros(self.problem.k), np.zeros((self.problem.k, one.size))
        units = one.scale[self.place] / one.scale[columns]
        flat = self._flat >= 0
        own = np.flatnonzero(self._own >= 0)
        matrix[own, self._own[own]] = units[self._own[own] - start]
        if flat.any():
            assert flat_slopes is not None
            slopes = flat_slopes[self._flat[flat]]
            offset[flat] = slopes[:, self.place]
            matrix[np.ix_(flat, np.arange(start, start + len(columns)))] = -slopes[:, columns] * units
        return offset, matrix

    @cached_property
    def _means(self) -> FloatArray:
        """Mean of the coefficients in each leaf, shape (L, k)."""
        offset, matrix = self._map
        return np.asarray(offset + self.pair.leaves.mean @ matrix.T)

    @cached_property
    def _present(self) -> BoolArray:
        """Which edges are there in each leaf, shape (L, k)."""
        return np.where(self._own >= 0, self.pair.leaves.present[:, self._own], True)

    @property
    def _weight(self) -> FloatArray:
        return self.pair.leaves.weight

    # -- moments -------------------------------------------------------------------------------------------------------

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self._weight @ self._means)

    @cached_property
    def second_moment(self) -> FloatArray:
        leaves = self.pair.leaves
        found = (self._means * self._weight[:, None]).T @ self._means + self._covariance
        flat = np.flatnonzero(self._flat >= 0)
        root = self.pair.flat_root[self._flat[flat]]
        found[np.ix_(flat, flat)] += float(self._weight @ (self._units**2 * leaves.noise)) * root @ root.T
        return np.asarray(found)

    @cached_property
    def _covariance(self) -> FloatArray:
        """Mean covariance of the coefficients given the leaf, without that of flat ones, shape (k, k)."""
        leaves, matrix = self.pair.leaves, self._map[1]
        roots = leaves.root * np.sqrt(self._weight * leaves.noise)[:, None, None]
        side = matrix @ roots.transpose(1, 0, 2).reshape(matrix.shape[1], -1)
        return np.asarray(side @ side.T)

    @property
    def _units(self) -> FloatArray:
        """Standard deviation of its error per unit of the first one's in the pair's units, shape (L,)."""
        leaves, scale = self.pair.leaves, self.pair.problem.scale[self.place]
        own = leaves.lam * np.sqrt(1.0 + leaves.tangent**2) if self.place else np.ones(len(leaves))
        return np.asarray(scale * own)

    @property
    def noise_variance(self) -> float:
        return float(self._weight @ (self._units**2 * self.pair.leaves.noise))

    @cached_property
    def second_moment_between(self) -> FloatArray | None:
        """Of the mean given the set, at each correlation: what sets and correlation explain together is not in it."""
        which = np.unique(np.column_stack([self.pair.leaves.zeta, self._present]), axis=0, return_inverse=True)[1]
        return self._between(which) - self.second_by_correlation + np.outer(self.mean, self.mean)

    @cached_property
    def second_by_correlation(self) -> FloatArray:
        """Second moment of the mean coefficients given the correlation, shape (k, k)."""
        return self._between(np.unique(self.pair.leaves.zeta, return_inverse=True)[1])

    def _between(self, which: IntArray) -> FloatArray:
        """Return the second moment of the mean coefficients given a number that each leaf has."""
        shares, means = self._grouped(which.ravel())
        return np.asarray((means * shares[:, None]).T @ means)

    def _grouped(self, which: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the probability of each group of leaves, and its mean coefficients."""
        shares = np.bincount(which, self._weight).astype(np.float64)
        sums = np.zeros((len(shares), self.problem.k))
        np.add.at(sums, which, self._means * self._weight[:, None])
        return shares, sums / np.maximum(shares, 1e-300)[:, None]

    @cached_property
    def _by_set(self) -> tuple[BoolArray, FloatArray, FloatArray]:
        """The sets of edges that are there, the probability of each, and its mean coefficients."""
        sets, which = np.unique(self._present, axis=0, return_inverse=True)
        return sets, *self._grouped(which.ravel())

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        drawn = self.pair.draw(size, rng)
        return self.coefficients(drawn), self.variances(drawn)

    def coefficients_alone(self, drawn: PairDraws) -> FloatArray:
        """Return its coefficients in rows that explain it alone, flat ones at their means given the rest, (size, k)."""
        rows = self.pair.problem.alone[self.place]
        assert rows is not None
        offset, matrix = self._mapped(rows.slopes)
        return np.asarray(offset + drawn.terms @ matrix.T)

    def coefficients(self, drawn: PairDraws) -> FloatArray:
        """Return its coefficients in draws of the pair, in working units, shape (size, k)."""
        offset, matrix = self._map
        found = offset + drawn.terms @ matrix.T
        flat = self._flat >= 0
        found[:, flat] += drawn.flat[self.place][:, self._flat[flat]]
        return np.asarray(found)

    def variances(self, drawn: PairDraws) -> FloatArray:
        """Return those of its error in draws of the pair, in working units, shape (size,)."""
        return np.asarray((self.pair.problem.scale[self.place] * drawn.noise[:, self.place]) ** 2)

    # -- sets ----------------------------------------------------------------------------------------------------------

    @cached_property
    def inclusion(self) -> FloatArray | None:
        return np.asarray(self._weight @ self._present)

    @property
    def prior_inclusion(self) -> FloatArray:
        return self.problem.probability

    @property
    def stated_inclusion(self) -> FloatArray:
        return self.problem.probability

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        there = self._weight * (self._present[:, parent] == present)
        return np.asarray(there @ self._means / there.sum()) if there.sum() > 0 else np.full(self.problem.k, np.nan)

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        sets, shares, _ = self._by_set
        return np.asarray([shares[~(sets & mask).any(axis=1)].sum() for mask in masks])

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...] | None:
        sets, shares, _ = self._by_set
        best = np.argsort(-shares, kind="stable")[:size]
        names = np.array(self.problem.terms, dtype=object)
        return tuple(ParentSet(tuple(names[sets[i]]), float(shares[i])) for i in best)

    @property
    def log_evidence(self) -> float | None:
        """That of the pair, which its first variable has for both."""
        return self.pair.log_evidence if self.place == 0 else 0.0

    @property
    def set_draws(self) -> float:
        return self.pair.set_draws
