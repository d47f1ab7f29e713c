"""What a hidden cause would do to an effect of any kind: the bias by way of the effect's Riesz representer.

An average effect is linear in the regression ``g`` of the outcome on treatment and covariates, ``E m(W; g)``, and so
has a representer: ``E m(W; h) = E alpha h`` for every ``h``. Without the hidden cause these are ``g_s`` and
``alpha_s``, and the bias is ``E (g - g_s)(alpha_s - alpha)``, at most ``C_Y C_D S`` with ``S^2 = E (y - g_s)^2
E alpha_s^2`` (Chernozhukov, Cinelli, Newey, Sharma and Syrgkanis). ``C_Y^2`` is the share of what is left of the
outcome, and ``C_D^2 = r / (1 - r)`` where ``r`` is the share of ``alpha`` that only the hidden cause explains. Within
columns ``z`` with second moments ``G`` and mean change ``a``, ``E alpha_s^2 = a' G^-1 a``; of a straight line that is
one over what is left of the treatment's variance, and ``S`` the noise of the outcome over that of the treatment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alldags.effects.hidden.strengths import Number
from alldags.effects.hidden.weighted import WeightedDraws
from alldags.typing import BoolArray, FloatArray, IntArray

_RIDGE = 1e-12  # columns may say the same twice
_LEAST = 2  # draws that are an effect, of which fewer have no spread
_SOLVED = 2**22  # numbers in the matrices that are solved together


@dataclass(frozen=True, eq=False)
class ShortMoments:
    """Moments of what an outcome is regressed on without the hidden cause: a one, and k columns that rows determine.

    Parameters
    ----------
    gram
        Mean products of the one and the columns, the outcome last, shape (k + 2, k + 2).
    change
        Mean change of the one and the columns under the comparison, shape (k + 1,).
    rows
        Number of rows that they count as.
    """

    gram: FloatArray
    change: FloatArray
    rows: float

    def norms(self, present: BoolArray) -> FloatArray:
        """Return ``E alpha_s^2`` within the columns present, shape (draws, k) to (draws,).

        As if one row more said of each column, in working units, that it does nothing: what a comparison asks of
        columns that hardly any row shows would have no bound otherwise.
        """
        return self._solved(present, self.change, 1.0 / self.rows)

    def left(self, present: BoolArray) -> FloatArray:
        """Return the variance of the outcome that least squares on the columns present leave, shape (draws,)."""
        freedom = np.maximum(self.rows - 1.0 - present.sum(axis=1), 1.0) / self.rows
        explained = self._solved(present, self.gram[:-1, -1], _RIDGE)
        return np.asarray(np.maximum(self.gram[-1, -1] - explained, 0.0) / freedom)

    def _solved(self, present: BoolArray, vector: FloatArray, ridge: float) -> FloatArray:
        """Return ``v' G^-1 v`` within each set of columns, shape (draws,); each set is solved once."""
        _, first, places = np.unique(_keys(present), return_index=True, return_inverse=True)
        inside = np.column_stack([np.ones(len(first), dtype=bool), present[first]])
        gram = self.gram[:-1, :-1] + ridge * np.diag(np.append(0.0, np.ones(len(self.gram) - 2)))
        sizes, found = inside.sum(axis=1), np.empty(len(first))
        for size in np.unique(sizes).tolist():  # sets of one size are solved together
            alike = np.flatnonzero(sizes == size)
            for some in np.array_split(alike, 1 + alike.size * size**2 // _SOLVED):
                columns = np.nonzero(inside[some])[1].reshape(some.size, size)
                given = vector[columns]
                solved = np.linalg.solve(gram[columns[:, :, None], columns[:, None, :]], given[:, :, None])[:, :, 0]
                found[some] = np.einsum("si,si->s", solved, given)
        return np.asarray(found[places.ravel()])


@dataclass(frozen=True, eq=False)
class RepresentedModel:
    """Draws of an effect in one fitted graph, and of how far a hidden cause could move it; in the user's units.

    Parameters
    ----------
    outcome
        Its name.
    nodes
        What lies on the way, the outcome last; none if there is no way.
    effect
        Without hidden cause, exact zeros where there is no path, shape (size,).
    left
        Variance of the outcome that treatment and covariates leave, shape (size,).
    norm
        Mean square of the representer, shape (size,).
    absent
        Probability that there is no path.
    moments, present
        Of the columns, and which of them each draw has, shape (size, k).
    owners
        Places of the columns of each covariate.
    """

    outcome: str
    nodes: tuple[str, ...]
    effect: FloatArray
    left: FloatArray
    norm: FloatArray
    absent: float
    moments: ShortMoments
    present: BoolArray
    owners: Mapping[str, IntArray]

    @property
    def size(self) -> int:
        """Number of draws."""
        return len(self.effect)

    @cached_property
    def scale(self) -> FloatArray:
        """``S``: the bias for a bias factor of one, shape (size,)."""
        return np.sqrt(self.left * self.norm)

    def take(self, rows: slice) -> RepresentedModel:
        """Return some of the draws."""
        parts = {name: getattr(self, name)[rows] for name in ("effect", "left", "norm", "present")}
        return replace(self, **parts)

    def parts(self) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return ``A`` and ``B``: the effect is ``A - f B`` under a bias factor f."""
        return self.effect, {self.outcome: self.scale}

    def effect_of_factor(self, factor: Number) -> WeightedDraws:
        """Return the effect under a bias factor, one number or one for each draw.

        That there is no effect at all is as probable as the data say *given the bias*: the odds change by the density
        of the effect at zero (Savage and Dickey), which is taken for normal.
        """
        there = self.effect != 0.0
        before = self.effect[there]
        if before.size < _LEAST:
            return WeightedDraws(np.zeros(1), np.ones(1), self._no_direct(1.0))
        moved = before - np.broadcast_to(factor, there.shape)[there] * self.scale[there]
        none = _probability(self.absent, _log_density_at_zero(moved) - _log_density_at_zero(before))
        weights = np.full(moved.size + 1, (1.0 - none) / moved.size)
        weights[-1] = none
        return WeightedDraws(np.append(moved, 0.0), weights, self._no_direct(none))

    def _no_direct(self, none: float) -> float | None:
        """Return the probability of no direct effect, where that is no effect at all."""
        return none if len(self.nodes) <= 1 else None

    @cached_property
    def _all(self) -> tuple[FloatArray, FloatArray]:
        """With all columns that are present: the mean square of the representer, and what least squares leave."""
        return self.moments.norms(self.present), self.moments.left(self.present)

    def partial_shares(self, covariate: str, selected: bool) -> tuple[FloatArray, FloatArray]:
        """Return which share of the representer, and of the outcome, the columns of a covariate explain, (size,) each.

        `selected`: whether columns may be absent, as they are in the draws; if not, all are taken as present. A draw
        without the treatment has no representer: it has the mean share of those that have one.
        """
        present = self.present if selected else np.ones_like(self.present)
        without = present.copy()
        without[:, self.owners.get(covariate, [])] = False
        norms, left = self._all if selected else (self.moments.norms(present), self.moments.left(present))
        treatment = np.clip(1.0 - _over(self.moments.norms(without), norms), 0.0, 1.0)
        outcome = np.clip(1.0 - _over(left, self.moments.left(without)), 0.0, 1.0)
        there = self.effect != 0.0
        if selected and there.any():
            treatment = np.where(there, treatment, treatment[there].mean())
        return treatment, outcome


def _keys(present: BoolArray) -> NDArray[np.void]:
    """Return one value for each row of an array of truth values, equal where the rows are, shape (rows,)."""
    packed = np.ascontiguousarray(np.packbits(np.column_stack([np.ones(len(present), dtype=bool), present]), axis=1))
    return packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]


def _over(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.divide(a, b, out=np.ones_like(a), where=b > 0)


def _log_density_at_zero(draws: FloatArray) -> float:
    """Return the log density at zero of a normal distribution with these draws' mean and spread."""
    sd = max(float(draws.std()), 1e-300)
    return -0.5 * (float(draws.mean()) / sd) ** 2 - math.log(sd)


def _probability(prior: float, log_ratio: float) -> float:
    """Return a probability after its log-odds have changed by so much."""
    if not 0.0 < prior < 1.0:
        return prior
    log_odds = math.log(prior) - math.log1p(-prior) + log_ratio
    return 1.0 / (1.0 + math.exp(-min(max(log_odds, -700.0), 700.0)))
