"""The walk over variables: each given all others is a regression with a random intercept, averaged over its causes.

With ``r = w_t - (coefficients) . (causes) - (coefficients) . w_0`` the likelihood of a unit splits into deviations from
its means, a product over variables, and its mean residuals ``r_i ~ N(0, Omega + Sigma / T)``, which tie variables
together. As ``p(r) = p(r_others) p(r_j | r_others)``, and only the last factor depends on variable j, given the others
it is the regression of `alldags.nodes.intercepts` with two more kinds of columns, which are always in: first waves, and
mean residuals of the other variables. Both are constant in a unit, and linear in unit means: moments are enough.

Units that were seen at other waves are another group, with an Omega of its own: mean residuals of each group are
columns of their own, and each group has its own ratio of variances, drawn in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alldags.engines.traits.panel import Panel
from alldags.nodes.intercepts import RATIOS, log_prior
from alldags.typing import BoolArray, FloatArray, IntArray

CHAINS, WARM_UP, KEPT = 4, 50, 250
NUISANCE = 100.0  # slab variance of first waves and residuals, in units of the noise: a narrow one would bias effects


@dataclass(frozen=True, eq=False)
class Variable:
    """One variable of the walk.

    Parameters
    ----------
    place
        Of its column in the panel.
    causes
        Places of its candidate causes, k of them.
    sets
        The sets of causes that are averaged over, shape (s, k).
    log_sets
        Their log prior weights, shape (s,).
    slabs, log_slabs
        Variances of coefficients in units of the noise, and log prior weights of these, shape (t,).
    shape, rate
        Of the gamma prior of the noise's precision.
    """

    place: int
    causes: IntArray
    sets: BoolArray
    log_sets: FloatArray
    slabs: FloatArray
    log_slabs: FloatArray
    shape: float
    rate: float


@dataclass
class Kept:
    """What the walk keeps of one variable, by chain and sweep; k causes, s sets.

    `coefficients` and `variance` are draws; `mean`, `second`, `between` and `weights` are given all others, over all
    sets of causes.
    """

    coefficients: list[FloatArray] = field(default_factory=list)
    variance: list[FloatArray] = field(default_factory=list)
    mean: list[FloatArray] = field(default_factory=list)
    second: list[FloatArray] = field(default_factory=list)
    between: list[FloatArray] = field(default_factory=list)
    weights: list[FloatArray] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Walk:
    """The walk.

    Parameters
    ----------
    panel
        The moments.
    variables
        Those that are regressed, m of them.
    first
        Places of the first waves.
    """

    panel: Panel
    variables: Sequence[Variable]
    first: IntArray

    @cached_property
    def _share(self) -> FloatArray:
        """What unit means of each group count under each ratio of variances, shape (groups, ratios)."""
        waves = np.array([group.waves for group in self.panel.groups])[:, None]
        return np.asarray(waves / (1.0 + RATIOS * waves))

    @cached_property
    def _log_ratio(self) -> FloatArray:
        """The log weight of each ratio in each group, shape (groups, ratios)."""
        lost = [-0.5 * (group.units - 1) * np.log1p(RATIOS * group.waves) for group in self.panel.groups]
        return np.asarray(log_prior(RATIOS) + np.array(lost))

    def run(self, rng: np.random.Generator, kept: int = KEPT) -> list[Kept]:
        """Return what is kept of each variable."""
        p, m = len(self.panel.names), len(self.variables)
        state = np.zeros((CHAINS, m, p))
        chosen = [np.full(CHAINS, len(one.sets) - 1) for one in self.variables]
        ratios = [np.full((len(self.panel.groups), CHAINS), len(RATIOS) // 2) for _ in self.variables]
        found = [Kept() for _ in self.variables]
        for sweep in range(WARM_UP + kept):
            for j, one in enumerate(self.variables):
                record = found[j] if sweep >= WARM_UP else None
                others = [i for i in range(m) if i != j] if sweep else []
                chosen[j] = self._update(one, j, others, state, chosen[j], ratios[j], rng, record)
        return found

    def _update(
        self,
        one: Variable,
        j: int,
        others: Sequence[int],
        state: FloatArray,
        chosen: IntArray,
        ratios: IntArray,
        rng: np.random.Generator,
        record: Kept | None,
    ) -> IntArray:
        """Draw one variable given all others; write its coefficients and `ratios`, and return its sets."""
        regression = self._regression(one, others, state)
        wide = np.ones((len(one.sets), regression.base.cross.shape[-1]), dtype=bool)
        wide[:, : len(one.causes)] = one.sets
        slab = regression.hyper(wide[chosen], one, self._log_ratio, ratios, rng)
        scores, solved = regression.at(wide, one, ratios, slab)
        chosen = _pick(scores + one.log_sets, rng)
        coefficients, variance = solved.draw(chosen, one, self.panel.n, rng)
        k = len(one.causes)
        state[:, j] = 0.0
        state[:, j, one.causes] = coefficients[:, :k]
        state[:, j, self.first] = coefficients[:, k : k + len(self.first)]
        if record is not None:
            record.coefficients.append(coefficients[:, :k])
            record.variance.append(variance)
            _average(record, scores + one.log_sets, solved, one, self.panel.n, k)
        return chosen

    def _regression(self, one: Variable, others: Sequence[int], state: FloatArray) -> Regression:
        """Return the regression of one variable on causes, first waves, and mean residuals of the others by group."""
        p = len(self.panel.names)
        plain = np.eye(p)[:, [*one.causes, *self.first]]
        residual = np.array([np.eye(p)[self.variables[i].place] - state[:, i] for i in others]).reshape(-1, CHAINS, p)
        columns = np.zeros((CHAINS, p, plain.shape[1] + len(others) * len(self.panel.groups)))
        columns[:, :, : plain.shape[1]] = plain
        base = Products.of(columns, self.panel.within, one.place)  # mean residuals do not vary inside a unit
        groups = []
        for number, group in enumerate(self.panel.groups):
            start = plain.shape[1] + number * len(others)
            own = columns.copy()
            own[:, :, start : start + len(others)] = np.moveaxis(residual, 0, 2)
            groups.append(Products.of(own, group.between, one.place))
        return Regression(base, groups, self._share, self.panel.n)


class Products(NamedTuple):
    """Cross-products of k columns by chain: gram (c, k, k), cross with the child (c, k), and the child's own."""

    gram: FloatArray
    cross: FloatArray
    total: float

    @classmethod
    def of(cls, columns: FloatArray, moments: FloatArray, child: int) -> Products:
        """Return those of combinations of a panel's columns, shape (c, p, k)."""
        turned = np.swapaxes(columns, 1, 2)
        return cls(turned @ moments @ columns, turned @ moments[:, child], float(moments[child, child]))


@dataclass(frozen=True, eq=False)
class Solved:
    """Regressions of some sets: precision (.., k, k), mean (.., k) and rate of the noise (..,)."""

    precision: FloatArray
    mean: FloatArray
    rate: FloatArray
    keep: BoolArray

    def draw(
        self, chosen: IntArray, one: Variable, n: float, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw coefficients (chains, k) and noise variances (chains,) given the sets that were chosen."""
        chains = np.arange(len(chosen))
        variance = self.rate[chains, chosen] / rng.standard_gamma(one.shape + n / 2, len(chosen))
        lower = np.linalg.cholesky(self.precision[chains, chosen])
        noise = np.linalg.solve(np.swapaxes(lower, 1, 2), rng.standard_normal((*lower.shape[:2], 1)))[..., 0]
        found = self.mean[chains, chosen] + np.sqrt(variance)[:, None] * noise
        return np.where(self.keep[chosen], found, 0.0), variance


@dataclass(frozen=True, eq=False)
class Regression:
    """One variable's regression on k columns, by chain, whatever the ratios of variances.

    Parameters
    ----------
    base, groups
        Cross-products inside units, and of the unit means of each group.
    share
        What the latter count under each ratio, shape (groups, ratios).
    n
        Number of rows.
    """

    base: Products
    groups: Sequence[Products]
    share: FloatArray
    n: float

    def hyper(
        self, keep: BoolArray, one: Variable, log_ratio: FloatArray, ratios: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Draw the ratio of each group, written into `ratios`, and the slab of each chain, which is returned.

        Given the set of columns of each chain, shape (chains, k). The first group's ratio is drawn with the slab.
        """
        precision = _precision(one, keep.shape[-1])
        slab = np.zeros(len(keep), dtype=np.int64)
        for group, weights in enumerate(log_ratio):
            gram, cross, total = self._free(group, ratios)
            slabs = precision[None, None] if group == 0 else precision[slab][:, None, None]
            scores, _ = self._scores(
                gram[:, :, None], cross[:, :, None], total[:, :, None], one, slabs, keep[:, None, None]
            )
            joint = scores + weights[None, :, None] + (one.log_slabs if group == 0 else 0.0)
            ratios[group], drawn = np.unravel_index(_pick(joint.reshape(len(keep), -1), rng), joint.shape[1:])
            slab = drawn if group == 0 else slab
        return slab

    def at(self, keep: BoolArray, one: Variable, ratios: IntArray, slab: IntArray) -> tuple[FloatArray, Solved]:
        """Return the log weight of every set of columns, shape (chains, s), and its regression."""
        gram, cross, total = self._free(0, ratios)
        chains, first = np.arange(len(slab)), ratios[0]
        precision = _precision(one, keep.shape[-1])[slab][:, None]
        return self._scores(
            gram[chains, first][:, None], cross[chains, first][:, None], total[chains, first][:, None], one, precision,
            keep[None],
        )  # fmt: skip

    def _free(self, group: int, ratios: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the cross-products under each ratio of one group, given those of all others, shape (c, o, ...)."""
        gram, cross, total = self.base.gram, self.base.cross, np.full(ratios.shape[1], self.base.total)
        for number, one in enumerate(self.groups):
            if number != group:
                share = self.share[number, ratios[number]]
                gram, cross = gram + share[:, None, None] * one.gram, cross + share[:, None] * one.cross
                total = total + share * one.total
        own, share = self.groups[group], self.share[group]
        return (
            gram[:, None] + share[:, None, None] * own.gram[:, None],
            cross[:, None] + share[:, None] * own.cross[:, None],
            total[:, None] + share * own.total,
        )

    def _scores(
        self, gram: FloatArray, cross: FloatArray, total: FloatArray, one: Variable, precision: FloatArray,
        keep: BoolArray,
    ) -> tuple[FloatArray, Solved]:  # fmt: skip
        both = keep[..., :, None] & keep[..., None, :]
        matrix = np.where(both, gram, 0.0) + np.where(keep, precision, 1.0)[..., None] * np.eye(keep.shape[-1])
        right = np.where(keep, cross, 0.0)
        mean = np.linalg.solve(matrix, right[..., None])[..., 0]
        rate = one.rate + 0.5 * np.maximum(total - (right * mean).sum(axis=-1), 1e-15 * total)
        spread = 0.5 * (np.where(keep, np.log(precision), 0.0).sum(axis=-1) - np.linalg.slogdet(matrix)[1])
        score = spread - (one.shape + 0.5 * self.n) * np.log(rate)
        return score, Solved(matrix, np.asarray(mean, dtype=np.float64), rate, keep.reshape(-1, keep.shape[-1]))


def _precision(one: Variable, count: int) -> FloatArray:
    """Return the prior precision of each column under each slab, in units of the noise's, shape (t, k)."""
    found = np.full((len(one.slabs), count), 1.0 / NUISANCE)
    found[:, : len(one.causes)] = 1.0 / one.slabs[:, None]
    return found


def _pick(scores: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one column of each row with weights ``exp(scores)``, shape (chains,)."""
    noisy = scores + rng.gumbel(size=scores.shape)
    return np.asarray(noisy.argmax(axis=1))


def _average(record: Kept, scores: FloatArray, solved: Solved, one: Variable, n: float, k: int) -> None:
    """Keep moments of the causes' coefficients over all sets."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = np.where(one.sets, solved.mean[..., :k], 0.0)
    inverse = np.linalg.inv(solved.precision)[..., :k, :k]
    both = one.sets[:, :, None] & one.sets[:, None, :]
    noise = (solved.rate / (one.shape + n / 2 - 1.0))[..., None, None]
    between = np.einsum("cs,csi,csj->cij", weights, mean, mean)
    record.weights.append(weights)
    record.mean.append(np.einsum("cs,csi->ci", weights, mean))
    record.between.append(between)
    record.second.append(between + np.einsum("cs,csij->cij", weights, np.where(both, inverse * noise, 0.0)))
