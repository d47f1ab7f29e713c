"""Structures of effect modification: which design columns there are, and the posterior of each structure.

With a yes/no treatment T and other base columns F::

    common   T, F               the effect of T is the same for all
    shared   T, F, T F          some columns act differently under treatment
    arms     T, (1 - T) F, T F  both arms have their own columns

Arms have noise of different size, ``rho = var_1 / var_0``: given rho, rows of the second arm count as ``1 / rho``. All
that is needed are moments within the arms and the difference of their means, which has the precision
``h = n_0 n_1 / (rho n_0 + n_1)`` over the first arm's noise variance; a flat intercept is taken out. A run at one value
of rho gives draws; weights ``p(y | draw) / p(y | draw, rho)`` with rho integrated out make them draws from the average
over it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alldags.engines.curves.asked import AskedEngine
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.spec import Candidates
from alldags.engines.sampling.asked import FULL, GLANCE, AskedPosterior, Run
from alldags.engines.sampling.run import State
from alldags.nodes.build import ALMOST_CERTAIN, MOST_SHARE, NodeTerms, Sums, assembled
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray, IntArray

_RATIO_SD = 1.5  # of the log ratio of the arms' noise variances, a priori
_GRID = 121
POOL = 2000  # draws behind weights and means
_GLANCED = 160  # draws behind the first guess of the ratio
_ENOUGH = 0.3  # share of the draws that must count when the ratio is averaged over; else the run is repeated
_ATTEMPTS = 2
_FLAT = 1e-6  # standard deviation within arms below which a standardised column is left out


@dataclass(frozen=True, eq=False)
class Structure:
    """The design columns of one structure, k of them.

    Parameters
    ----------
    name
        ``"common"``, ``"shared"`` or ``"arms"``.
    places
        Base column of each, shape (k,).
    active
        In which arms it is that column, else zero, shape (A, k).
    probability, raised, further, groups
        As in `Candidates`, shape (k,) each.
    weight
        Prior probability of the structure, relative to others.
    """

    name: str
    places: IntArray
    active: BoolArray
    probability: FloatArray
    raised: FloatArray
    further: BoolArray
    groups: IntArray
    weight: float = 1.0

    def at(self, arm: int, base: FloatArray) -> FloatArray:
        """Return the design columns in an arm, shape (..., k), from base columns (..., K)."""
        return np.asarray(base[..., self.places] * self.active[arm])

    def taken(self, kept: BoolArray) -> Structure:
        """Return the structure with some of its columns, shape (k,)."""
        return replace(
            self,
            places=self.places[kept],
            active=self.active[:, kept],
            probability=self.probability[kept],
            raised=self.raised[kept],
            further=self.further[kept],
            groups=np.unique(self.groups[kept], return_inverse=True)[1],
        )

    def varying(self, moments: ArmMoments) -> Structure:
        """Return the structure without columns, the arm excepted, that do not vary within any arm."""
        within = np.einsum("ai,ai->i", np.diagonal(moments.scatter, axis1=1, axis2=2)[:, self.places], self.active)
        armed = len(self.active) == 2
        return self.taken((within / moments.rows.sum() > _FLAT**2) | (armed & (self.places == 0)))

    def spread(self, columns: int) -> FloatArray:
        """Return the matrix from its coefficients to those of all columns, shape (columns, k).

        All columns are the K base columns; with two arms those but the first are there again, under treatment.
        """
        out, own = np.zeros((columns, len(self.places))), np.arange(len(self.places))
        if len(self.active) == 1:
            out[self.places, own] = 1.0
            return out
        first, second = self.active.astype(float)
        out[self.places, own] = first
        again = self.places > 0
        out[columns // 2 + self.places[again], own[again]] = (second - first)[again]
        return out

    def terms(self, child: str) -> NodeTerms:
        """Return the columns as terms of a regression; what the link adds to a further one is in its odds."""
        alone = len(set(self.groups.tolist())) == len(self.groups)
        return NodeTerms(
            child,
            tuple(map(str, range(len(self.places)))),
            tuple(np.where(self.further, self._relative, self.probability).tolist()),
            tuple(np.where(self.further, 0.0, self.raised).tolist()) if self.raised[~self.further].any() else None,
            groups=None if alone else tuple(self.groups.tolist()),
            further=tuple(self.further.tolist()) if self.further.any() else None,
        )

    @property
    def _relative(self) -> FloatArray:
        """Relative probability of further columns: the link is to raise them as it would where one is expected."""
        count = len(np.unique(self.groups[self.further])) if self.further.any() else 1
        low = min(1.0 / count, MOST_SHARE)
        high = np.minimum(1.0 - (1.0 - low) * (1.0 - self.raised), ALMOST_CERTAIN)
        odds = high / (1.0 - high) * (1.0 - low) / low
        return np.asarray(odds / (1.0 + odds))


def structure(name: str, found: Candidates, arms: int) -> Structure:
    """Return a structure over all base columns; with two arms, the first of them is the treatment's."""
    k = len(found.columns)
    places, ones = np.arange(k), np.ones((arms, k), dtype=bool)
    whole = Structure(name, places, ones, found.probability, found.raised, found.further, found.groups)
    there = found.mediating if name == "common" else found.modifies | found.mediating
    others, alike = places[1:][there[1:]], name == "arms"
    if arms == 1 or not others.size:
        return whole
    first, again, sure = ones.copy(), len(others), alike | found.mediating[others]
    first[1, others] = not alike
    own = np.repeat([[False], [True]], again, axis=1)
    return replace(
        whole,
        places=np.r_[places, others],
        active=np.concatenate([first, own], axis=1),
        probability=np.r_[found.probability, np.where(sure, found.probability[others], 0.5)],
        raised=np.r_[found.raised, np.where(sure, found.raised[others], 0.0)],
        further=np.r_[found.further, np.where(sure, found.further[others], found.is_counted)],
        groups=np.r_[found.groups, found.groups[others] + found.groups.max()],
    )


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of a structure: coefficients (size, k), noise variance of the first arm and ratio to it, (size,) each."""

    coefficients: FloatArray
    variance: FloatArray
    ratio: FloatArray

    def taken(self, places: IntArray) -> Draws:
        """Return some of the draws."""
        return Draws(self.coefficients[places], self.variance[places], self.ratio[places])


@dataclass(frozen=True, eq=False)
class StructureFit:
    """The posterior of one structure.

    Parameters
    ----------
    structure
        Its columns.
    moments
        Standardised.
    node
        The posterior at `ratio`.
    ratio
        Of the arms' noise variances; 1 with one arm.
    seed
        Of the draws.
    pool
        Number of draws behind weights and means.
    """

    structure: Structure
    moments: ArmMoments
    node: NodePosterior
    ratio: float
    seed: np.random.SeedSequence
    pool: int = POOL

    @cached_property
    def _weighted(self) -> tuple[Draws, FloatArray, float]:
        """Draws at the ratio with a ratio each, their weights (sum 1), and the log mean weight."""
        rng = np.random.default_rng(self.seed)
        theta, variance = self.node.draw(self.pool, rng)
        if len(self.moments.rows) == 1:
            return Draws(theta, variance, np.ones(self.pool)), np.full(self.pool, 1.0 / self.pool), 0.0
        squares = _squares(self.structure, self.moments, theta)
        log_weight, ratio, variance = _over_ratios(squares, self.moments.rows, self.ratio, rng)
        top = float(log_weight.max())
        weight = np.exp(log_weight - top)
        return Draws(theta, variance, ratio), weight / weight.sum(), top + math.log(float(weight.mean()))

    def draw(self, size: int, rng: np.random.Generator) -> Draws:
        """Return draws of coefficients, noise variance and ratio, in standardised units."""
        draws, weight, _ = self._weighted
        return draws.taken(rng.choice(len(weight), size, p=weight))

    @cached_property
    def mean(self) -> FloatArray:
        """Posterior mean of the coefficients, averaged over the ratio, shape (k,)."""
        draws, weight, _ = self._weighted
        return np.asarray(self.node.mean + (weight - 1.0 / len(weight)) @ draws.coefficients)

    @property
    def effective_share(self) -> float:
        """Share of the draws that count when the ratio is averaged over."""
        weight = self._weighted[1]
        return float(1.0 / (len(weight) * (weight**2).sum()))

    @property
    def mean_log_ratio(self) -> float:
        """Posterior mean of the log ratio."""
        draws, weight, _ = self._weighted
        return float(weight @ np.log(draws.ratio))

    @cached_property
    def _correction(self) -> float:
        """What the ratio adds to the log evidence."""
        if len(self.moments.rows) == 1:
            return 0.0
        rows = self.moments.rows
        between = 0.5 * math.log(_between(rows, self.ratio) / _between(rows, 1.0))
        return between - 0.5 * float(rows[1] - 1.0) * math.log(self.ratio) + self._weighted[2]

    @property
    def log_evidence(self) -> float:
        """Log evidence, up to a constant that all structures share."""
        return float(self.node.log_evidence or 0.0) + self._correction

    @property
    def evidence_limits(self) -> tuple[float, float]:
        """Limits between which the log evidence lies, cheap to have."""
        if isinstance(self.node, AskedPosterior):
            low, high = self.node.evidence_limits
            return low + self._correction, high + self._correction
        return self.log_evidence, self.log_evidence


def glance_structure(
    chosen: Structure, moments: ArmMoments, prior: Prior, asked: FloatArray, rng: np.random.Generator
) -> StructureFit:
    """Fit one structure in short runs, in which a ratio of noise variances is found; arguments as for `fit_structure`.

    Two runs with two arms: the second at the ratio that the first found. It starts where the first ended.
    """
    first, second, drawn = rng.spawn(3)
    ratio = 1.0
    node = _fitted(_problem(chosen, moments, prior, ratio), asked, first, GLANCE)
    if len(moments.rows) == 2:
        ratio = _next_ratio(chosen, moments, node, first)
        node = _fitted(_problem(chosen, moments, prior, ratio), asked, second, GLANCE, _ends(node))
    return StructureFit(chosen, moments, node, ratio, _seed_of(drawn))


def fit_structure(
    chosen: Structure,
    moments: ArmMoments,
    prior: Prior,
    asked: FloatArray,
    rng: np.random.Generator,
    like: StructureFit,
) -> StructureFit:
    """Fit one structure.

    Parameters
    ----------
    chosen
        Its columns.
    moments
        Standardised.
    prior
        Of slab and noise.
    asked
        Weights of what is asked, shape (questions, k).
    rng
        Source of randomness.
    like
        A fit of the same columns, to start from: its ratio of noise variances, and where its chains ended.
    """
    whole, drawn = rng.spawn(2)
    seed = _seed_of(drawn)
    node, ratio = like.node, math.exp(like.mean_log_ratio)
    for _ in range(_ATTEMPTS):
        node = _fitted(_problem(chosen, moments, prior, ratio), asked, whole, FULL, _ends(node))
        found = StructureFit(chosen, moments, node, ratio, seed)
        if found.effective_share >= _ENOUGH:
            break
        ratio = math.exp(found.mean_log_ratio)
    return found


def revisit_structure(
    chosen: Structure,
    moments: ArmMoments,
    prior: Prior,
    asked: FloatArray,
    rng: np.random.Generator,
    like: StructureFit,
) -> StructureFit:
    """Fit one structure in a table much like another, in which it was fitted; other arguments as for `fit_structure`.

    There are several such tables, so that each needs fewer draws.
    """
    whole, drawn = rng.spawn(2)
    problem = _problem(chosen, moments, prior, like.ratio)
    node = AskedEngine(asked, FULL, _ends(like.node), like.node)(problem, whole)
    return StructureFit(chosen, moments, node, like.ratio, _seed_of(drawn), POOL // 4)


def _seed_of(rng: np.random.Generator) -> np.random.SeedSequence:
    seed = rng.bit_generator.seed_seq
    assert isinstance(seed, np.random.SeedSequence)
    return seed


def _fitted(
    problem: NodeProblem,
    asked: FloatArray,
    rng: np.random.Generator,
    run: Run,
    starts: tuple[State, ...] = (),
) -> NodePosterior:
    return AskedEngine(asked, run, starts)(problem, rng)


def _ends(node: NodePosterior) -> tuple[State, ...]:
    """Return where chains ended; nothing if all sets were enumerated."""
    return node.ends if isinstance(node, AskedPosterior) else ()


def _next_ratio(chosen: Structure, moments: ArmMoments, node: NodePosterior, rng: np.random.Generator) -> float:
    """Return the ratio of the arms' residual variances in a short run, drawn towards 1 where rows are few."""
    theta, _ = node.draw(_GLANCED, rng)
    left = [
        float(_residual(_cross_products(chosen, moments, arm), theta).mean()) / max(moments.rows[arm] - 1.0, 1.0)
        for arm in range(2)
    ]
    harmonic = float(moments.rows.prod() / moments.rows.sum())
    return math.exp(harmonic / (harmonic + 10.0) * math.log(max(left[1], 1e-12) / max(left[0], 1e-12)))


def _cross_products(chosen: Structure, moments: ArmMoments, arm: int) -> tuple[FloatArray, FloatArray, float]:
    """Return gram, cross and total of an arm, in design columns."""
    active, places = chosen.active[arm], chosen.places
    gram = moments.scatter[arm][np.ix_(places, places)] * np.outer(active, active)
    return gram, moments.scatter[arm][places, -1] * active, float(moments.scatter[arm][-1, -1])


def _residual(part: tuple[FloatArray, FloatArray, float], theta: FloatArray) -> FloatArray:
    gram, cross, total = part
    squares = np.einsum("di,di->d", theta @ gram, theta)
    return np.asarray(np.maximum(total - 2.0 * theta @ cross + squares, 1e-300))


def _gaps(chosen: Structure, moments: ArmMoments) -> tuple[FloatArray, float]:
    """Return the differences between the arms' means of the design columns, shape (k,), and of the child."""
    first, second = moments.mean
    return chosen.at(1, second[:-1]) - chosen.at(0, first[:-1]), float(second[-1] - first[-1])


def _between(rows: FloatArray, ratio: float | FloatArray) -> FloatArray:
    """Return the precision of the difference of the arms' means over that of a row of the first arm."""
    return np.asarray(rows[0] * rows[1] / (ratio * rows[0] + rows[1]))


def _problem(chosen: Structure, moments: ArmMoments, prior: Prior, ratio: float) -> NodeProblem:
    gram, cross, total = _cross_products(chosen, moments, 0)
    if len(moments.rows) == 2:
        columns, child = _gaps(chosen, moments)
        more, h = _cross_products(chosen, moments, 1), float(_between(moments.rows, ratio))
        gram = gram + more[0] / ratio + h * np.outer(columns, columns)
        cross = cross + more[1] / ratio + h * child * columns
        total = total + more[2] / ratio + h * child**2
    rows = float(moments.rows.sum())
    sums = Sums(np.ascontiguousarray(gram), np.ascontiguousarray(cross), float(total), rows - 1.0, rows)
    return assembled(chosen.terms(""), sums, prior)


class Squares(NamedTuple):
    """What draws leave: sums of squares within both arms, the squared difference of their means, columns present."""

    first: FloatArray
    second: FloatArray
    between: FloatArray
    present: FloatArray


def _squares(chosen: Structure, moments: ArmMoments, theta: FloatArray) -> Squares:
    first, second = (_residual(_cross_products(chosen, moments, arm), theta) for arm in range(2))
    columns, child = _gaps(chosen, moments)
    return Squares(first, second, (child - theta @ columns) ** 2, (theta != 0.0).sum(axis=1).astype(float))


def _over_ratios(
    squares: Squares, rows: FloatArray, ratio: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log weight of each draw of coefficients with ratio and noise integrated out, and draws of both.

    The prior of coefficients is in units of the noise: those present add about one square each to what is left.

    Parameters
    ----------
    squares
        What the draws leave, shape (draws,) each.
    rows
        Of both arms, shape (2,).
    ratio
        At which the draws were made.
    rng
        Source of randomness.
    """
    reach = max(6.0 * math.sqrt(float((2.0 / np.maximum(rows - 1.0, 1.0)).sum())), 0.3)
    grid = math.log(ratio) + np.linspace(-reach, reach, _GRID)
    log_prior = -0.5 * (grid / _RATIO_SD) ** 2 - math.log(_RATIO_SD * math.sqrt(2.0 * math.pi))
    log_prior += math.log(float(grid[1] - grid[0]))
    half = 0.5 * (rows.sum() - 1.0 + squares.present)
    slab = squares.present * _left(squares, rows, np.array([ratio]))[:, 0] / (rows.sum() - 1.0)

    def log_likelihood(log_ratio: FloatArray) -> FloatArray:
        own = 0.5 * (np.log(_between(rows, np.exp(log_ratio))) - (rows[1] - 1.0) * log_ratio)
        return np.asarray(own - half[:, None] * np.log(_left(squares, rows, np.exp(log_ratio)) + slab[:, None]))

    joint = log_likelihood(grid) + log_prior
    whole = np.logaddexp.reduce(joint, axis=1)
    share = np.exp(joint - whole[:, None]).cumsum(axis=1)
    picked = np.exp(grid[np.minimum((share < rng.random(len(share))[:, None]).sum(axis=1), _GRID - 1)])
    left = squares.first + squares.second / picked + squares.between * _between(rows, picked) + slab
    weight = whole - log_likelihood(np.array([math.log(ratio)]))[:, 0]
    return weight, picked, 0.5 * left / rng.gamma(half)


def _left(squares: Squares, rows: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return the sum of squares in units of the first arm's noise, shape (draws, ratios)."""
    one, two, between = (values[:, None] for values in squares[:3])
    return np.asarray(one + two / ratio + between * _between(rows, ratio))
