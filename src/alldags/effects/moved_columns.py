"""Regressions on derived columns while the treatment, and what it acts on, are moved: all draws and rows at once.

A regression may have a hundred base columns, of which a draw has a few. Columns that hold nothing that is moved are
computed once for the rows, those of the treatment alone once for every value it is set to; both enter by one matrix
product for all draws. What is left holds a variable in between, with values of its own in every draw: such a column is
computed only for the draws that it is present in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.models.terms.columns import RowValues
from alldags.models.terms.node import TermNode
from alldags.models.terms.structures import Draws, StructureFit
from alldags.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TermDraws:
    """Draws of a node with A arms, in its K base columns and standardised units.

    Parameters
    ----------
    coefficients
        In each arm, shape (draws, A, K); 0 where a column is absent.
    intercepts, sds
        Of each arm, and standard deviations of the noise, shape (draws, A).
    absent
        Whether the treatment is no cause, so that rows stay in their own arm, shape (draws,).
    """

    coefficients: FloatArray
    intercepts: FloatArray
    sds: FloatArray
    absent: BoolArray

    @property
    def size(self) -> int:
        """Number of draws."""
        return len(self.absent)

    def taken(self, places: slice | IntArray) -> TermDraws:
        """Return some of the draws."""
        return TermDraws(self.coefficients[places], self.intercepts[places], self.sds[places], self.absent[places])


def joined(parts: list[TermDraws]) -> TermDraws:
    """Return several lots of draws as one."""
    names = ("coefficients", "intercepts", "sds", "absent")
    return TermDraws(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def drawn_terms(node: TermNode, size: int, rng: np.random.Generator) -> TermDraws:
    """Draw structures, coefficients, intercepts and noise of a node."""
    arms, found = len(node.moments.rows), []
    for count, fit in zip(rng.multinomial(size, node.weights), node.fits, strict=True):
        draws = fit.draw(count, rng)
        noise = rng.standard_normal((arms, count))
        intercepts = np.array([node.intercept(fit, draws, arm, noise[arm]) for arm in range(arms)])
        sds = np.sqrt(np.array([draws.variance, draws.variance * draws.ratio]))[:arms]
        absent = rng.random(count) < node.no_effect
        found.append(TermDraws(_in_base(node, fit, draws.coefficients), intercepts.T, sds.T, absent))
    return joined(found).taken(rng.permutation(size))


def mean_terms(node: TermNode) -> tuple[TermDraws, FloatArray]:
    """Return the posterior means of a node's structures as draws without noise, and the share of each, shape (draws,).

    A structure stands there twice where the treatment may be no cause: with it and without.
    """
    found, shares = [], []
    for weight, fit in zip(node.weights, node.fits, strict=True):
        mean = Draws(fit.mean[None], np.zeros(1), np.ones(1))
        intercepts = np.array([node.intercept(fit, mean, arm) for arm in range(len(node.moments.rows))]).T
        coefficients = _in_base(node, fit, mean.coefficients)
        for share, absent in ((1.0 - node.no_effect, False), (node.no_effect, True)):
            if share > 0.0:
                found.append(TermDraws(coefficients, intercepts, np.zeros_like(intercepts), np.array([absent])))
                shares.append(weight * share)
    return joined(found), np.array(shares)


def _in_base(node: TermNode, fit: StructureFit, coefficients: FloatArray) -> FloatArray:
    """Return coefficients of design columns, shape (draws, k), as those of base columns, shape (draws, A, K)."""
    structure = fit.structure
    onto = np.zeros((len(node.moments.rows), len(structure.places), len(node.columns)))
    onto[:, np.arange(len(structure.places)), structure.places] = structure.active
    return np.stack([coefficients @ matrix for matrix in onto], axis=1)


@dataclass(frozen=True, eq=False)
class MovedColumns:
    """The regression of one node for some rows, of which the treatment and all that it acts on are moved.

    Parameters
    ----------
    node
        The regression.
    rows
        n of them, with their own values.
    treatment
        Its name.
    between
        Variables that it acts on.
    """

    node: TermNode
    rows: RowValues
    treatment: str
    between: frozenset[str]

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray, IntArray]:
        """Base columns that are not moved, that hold the treatment alone of what is moved, and all others."""
        inside = [set(column.variables) & {self.treatment, *self.between} for column in self.node.columns]
        kind = np.array([0 if not names else 1 if names == {self.treatment} else 2 for names in inside], dtype=int)
        first, second, third = (np.flatnonzero(kind == number) for number in range(3))
        return first, second, third

    @cached_property
    def _fixed(self) -> FloatArray:
        """Standardised columns that are not moved, shape (columns, n)."""
        return self.node.some(self._places[0], self.rows)

    @cached_property
    def _own_arm(self) -> IntArray:
        return self.node.arm_of(self.rows)

    def at(self, starts: FloatArray) -> MovedPass:
        """Return the regression with the treatment at each of S values, shape (S, n)."""
        moved = [self.rows.put({self.treatment: start}) for start in starts]
        treated = np.array([self.node.some(self._places[1], rows) for rows in moved])
        arms = np.array([self.node.arm_of(rows) for rows in moved])
        return MovedPass(self.node, self._places, self._fixed, treated, arms, self._own_arm)


@dataclass(frozen=True, eq=False)
class MovedPass:
    """The regression of one node for n rows, with the treatment at each of S values.

    Parameters
    ----------
    node
        The regression.
    places
        Base columns that are not moved, that hold the treatment alone of what is moved, and all others.
    fixed
        The first of these, standardised, shape (columns, n).
    treated
        The second, shape (S, columns, n).
    arms
        Arm of each row at each value, shape (S, n).
    own_arm
        Arm of each row, shape (n,).
    """

    node: TermNode
    places: tuple[IntArray, IntArray, IntArray]
    fixed: FloatArray
    treated: FloatArray
    arms: IntArray
    own_arm: IntArray

    def values(self, draws: TermDraws, now: Mapping[str, FloatArray], noise: FloatArray | None = None) -> FloatArray:
        """Return the child's values, shape (S, draws, n).

        Parameters
        ----------
        draws
            Of the node.
        now
            Values of all causes: shape (n,) of what is not moved, (S, 1, n) or (S, draws, n) of the others.
        noise
            Standard normal numbers, shape (draws, n); None for the mean.
        """
        parts = [self._in_arm(draws, arm, now) for arm in range(draws.intercepts.shape[1])]
        if noise is not None:
            parts = [part + draws.sds[:, arm, None] * noise for arm, part in enumerate(parts)]
        if len(parts) == 1:
            found = parts[0]
        else:
            arm = np.where(draws.absent[:, None], self.own_arm, self.arms[:, None, :])
            found = np.where(arm == 1, parts[1], parts[0])
        return np.asarray(self.node.center + self.node.unit * found)

    def _in_arm(self, draws: TermDraws, arm: int, now: Mapping[str, FloatArray]) -> FloatArray:
        """Return the standardised mean in one arm, shape (S, draws, n)."""
        fixed, treated, _ = self.places
        weights = draws.coefficients[:, arm]
        common = draws.intercepts[:, arm, None] + weights[:, fixed] @ self.fixed
        found = common + weights[:, treated] @ self.treated
        for present, column, weight in self._others(weights, now):
            if len(present) == draws.size:
                found += weight * column
            else:
                found[:, present] += weight * column
        return np.asarray(found)

    def _others(
        self, weights: FloatArray, now: Mapping[str, FloatArray]
    ) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Yield for each moved column its draws, its values there less their mean, and what they are multiplied by."""
        mean, scale = self.node.raw.pooled[0], self.node.raw.scale
        for place in self.places[2]:
            present = np.flatnonzero(weights[:, place])
            if present.size:
                column = self.node.columns[place]
                values = column.values(RowValues({name: _of(now[name], present) for name in column.variables}))
                yield present, values - mean[place], weights[present, place, None] / scale[place]


def _of(values: FloatArray, places: IntArray) -> FloatArray:
    """Return the values of some draws; those that are the same in all draws as they are."""
    several = values.ndim == 3 and values.shape[1] > max(len(places), 1)
    return values[:, places] if several else values


def term_error(node: TermNode, rows: RowValues, causes: Sequence[RowValues], shares: FloatArray) -> float:
    """Return the Monte-Carlo error of a weighted sum of a node's values, from that of its coefficients and structures.

    Parameters
    ----------
    node
        The regression.
    rows
        With their own values: they say in which arm a row is if the treatment is no cause.
    causes
        The rows with their causes at each of S values of the treatment.
    shares
        What each value of the child is multiplied by in the sum, shape (S, n).
    """
    arms = len(node.moments.rows)
    weights = np.zeros((arms, len(node.columns)))
    for moved, share in zip(causes, shares, strict=True):
        base = node.base(moved)
        for chance, places in ((1.0 - node.no_effect, node.arm_of(moved)), (node.no_effect, node.arm_of(rows))):
            for arm in range(arms):
                own = chance * share * (places == arm)
                weights[arm] += own @ (base - node.moments.mean[arm, :-1])
    asked = [np.einsum("ak,ak->k", weights[:, fit.structure.places], fit.structure.active) for fit in node.fits]
    own_errors = [w * fit.node.linear_error(one) for w, fit, one in zip(node.weights, node.fits, asked, strict=True)]
    values = np.array([float(fit.mean @ one) for fit, one in zip(node.fits, asked, strict=True)])
    apart = node.weights * (values - node.weights @ values)
    return node.unit * math.hypot(*own_errors, node.evidence_error * float(np.linalg.norm(apart)))
