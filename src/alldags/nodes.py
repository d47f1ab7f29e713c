"""The border between data and engines: `NodeProblem` goes in, `NodePosterior` comes out, one per child variable.

A node's problem is a regression of the child on its candidate parents with a spike-and-slab prior, reduced to
cross-products: no engine ever sees rows. Everything here is in *working units* (see `Prior.units`); total effects are
turned into the user's units at the very end, where that is a single multiplication.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from alldags.data.moments import Moments
from alldags.errors import DataError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.priors.grid import Setting
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class NodeProblem:
    """The numbers one child needs: k candidate parents, cross-products and prior.

    Parameters
    ----------
    child, parents
        Names; k = ``len(parents)``.
    gram
        Cross-products of the candidate parents, shape (k, k); centred if there is an intercept.
    cross
        Cross-products of the parents with the child, shape (k,).
    total
        Sum of squares of the child.
    n
        Number of rows, less one if an intercept was taken out.
    probability
        Prior edge probabilities in (0, 1], shape (k,); 1 is a certain edge.
    settings
        Hyperparameter values to average over; usually one.
    log_size
        Log prior weight of the number of uncertain parents present, shape (free + 1,), on top of `probability`; None
        for independent edges.
    """

    child: str
    parents: tuple[str, ...]
    gram: FloatArray
    cross: FloatArray
    total: float
    n: float
    probability: FloatArray
    settings: tuple[Setting, ...]
    log_size: FloatArray | None = None

    @property
    def k(self) -> int:
        """Number of candidate parents."""
        return len(self.parents)

    @cached_property
    def certain(self) -> BoolArray:
        """Which parents are certain, shape (k,)."""
        return self.probability >= 1.0

    @property
    def free(self) -> int:
        """Number of parents whose presence is uncertain; ``2**free`` parent sets are averaged over."""
        return int(self.k - self.certain.sum())

    @cached_property
    def log_odds(self) -> FloatArray:
        """Log prior odds of each edge, shape (k,); 0 for certain edges."""
        p = np.where(self.certain, 0.5, self.probability)
        return np.asarray(np.log(p) - np.log1p(-p))

    @cached_property
    def prior_inclusion(self) -> FloatArray:
        """Prior probability that each edge is present, shape (k,); the size prior is taken into account."""
        if self.log_size is None or self.free == 0:
            return self.probability
        odds = np.where(self.certain, 1.0, self.probability / (1.0 - np.where(self.certain, 0.0, self.probability)))
        return np.where(self.certain, 1.0, _sized_inclusion(odds, ~self.certain, self.log_size))

    def with_setting(self, setting: Setting) -> NodeProblem:
        """Return the problem with this one hyperparameter value."""
        return replace(self, settings=(replace(setting, log_weight=0.0),))

    def with_certain(self, index: int) -> NodeProblem:
        """Return the problem in which the edge from parent `index` is certain."""
        probability = self.probability.copy()
        probability[index] = 1.0
        return replace(self, probability=probability, log_size=_drop_one(self.log_size, present=True))

    def without(self, indices: Sequence[int] | BoolArray) -> NodeProblem:
        """Return the problem without these candidate parents (indices, or a mask of shape (k,))."""
        keep = np.ones(self.k, dtype=bool)
        keep[indices] = False
        log_size = self.log_size
        for _ in range(int((~keep & ~self.certain).sum())):
            log_size = _drop_one(log_size, present=False)
        return replace(
            self,
            parents=tuple(name for name, kept in zip(self.parents, keep, strict=True) if kept),
            gram=self.gram[np.ix_(keep, keep)],
            cross=self.cross[keep],
            probability=self.probability[keep],
            log_size=log_size,
        )


def _sized_inclusion(odds: FloatArray, free: BoolArray, log_size: FloatArray) -> FloatArray:
    """Return inclusion probabilities when a set's weight is its odds times a function of its size, shape (k,).

    Elementary symmetric polynomials of the odds count the sets of each size, with and without one edge.
    """
    whole = _size_counts(odds[free]) @ np.exp(log_size)
    inclusion = np.zeros(len(odds))
    for place in np.flatnonzero(free):
        others = free.copy()
        others[place] = False
        inclusion[place] = odds[place] * (_size_counts(odds[others]) @ np.exp(log_size[1:])) / whole
    return inclusion


def _size_counts(odds: FloatArray) -> FloatArray:
    """Return the elementary symmetric polynomials of the odds, shape (free + 1,)."""
    counts = np.ones(1)
    for value in odds:
        counts = np.append(counts, 0.0) + value * np.append(0.0, counts)
    return counts


def _drop_one(log_size: FloatArray | None, *, present: bool) -> FloatArray | None:
    """Condition the size prior on one uncertain edge being present or absent."""
    if log_size is None:
        return None
    return log_size[1:] if present else log_size[:-1]


@dataclass(frozen=True, slots=True)
class ParentSet:
    """A set of parents of one child with its posterior probability."""

    parents: tuple[str, ...]
    probability: float


@dataclass(frozen=True)
class Diagnostics:
    """How a node's posterior was obtained; engines extend it.

    Parameters
    ----------
    engine
        Name of the engine that was used.
    warnings
        Sentences a user should read.
    """

    engine: str
    warnings: tuple[str, ...] = ()


class NodePosterior(ABC):
    """What every engine returns: the posterior of one child's parents, coefficients and noise variance.

    Arrays are ordered like ``problem.parents``. Expensive parts are computed on first use. An engine without a notion
    of a parent set returns None for `inclusion`, `second_moment_between`, `probability_disjoint` and
    `top_parent_sets`.
    """

    problem: NodeProblem
    diagnostics: Diagnostics

    @property
    @abstractmethod
    def mean(self) -> FloatArray:
        """Posterior mean of the coefficients, averaged over parent sets, shape (k,)."""

    @property
    @abstractmethod
    def second_moment(self) -> FloatArray:
        """Posterior mean of ``theta theta'``, shape (k, k); infinite where it does not exist."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """Posterior mean of the noise variance."""

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return coefficients of shape (size, k), zero where absent, and noise variances of shape (size,)."""

    @property
    def inclusion(self) -> FloatArray | None:
        """Posterior probability that each edge is present, shape (k,)."""
        return None

    @property
    def shrinkage(self) -> FloatArray | None:
        """For continuous priors, how much of each coefficient survives, 0 to 1, shape (k,); not a probability."""
        return None

    @property
    def second_moment_between(self) -> FloatArray | None:
        """Second moment, over parent sets, of the conditional mean ``E[theta | parents]``, shape (k, k)."""
        return None

    @property
    def log_evidence(self) -> float | None:
        """Log marginal likelihood of the child's column in working units, averaged over parent sets."""
        return None

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        """Return the posterior mean of the coefficients given that one edge is present or absent, shape (k,)."""
        del parent, present
        return None

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        """Return, for each row of `masks` (sets, k), the probability that none of its parents is present."""
        del masks
        return None

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...] | None:
        """Return the `size` most probable parent sets, most probable first."""
        del size
        return None

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo standard error of ``weights @ mean``; 0 for engines that do not sample."""
        del weights
        return 0.0

    @property
    def mean_bound(self) -> FloatArray:
        """Proven bound on the error of `mean` from parent sets left out, shape (k,); 0 for exact engines."""
        return np.zeros(self.problem.k)

    @property
    def inclusion_bound(self) -> FloatArray:
        """Proven bound on the error of `inclusion` from parent sets left out, shape (k,); 0 for exact engines."""
        return np.zeros(self.problem.k)

    @property
    def set_draws(self) -> float:
        """Number of draws behind probabilities of whole parent sets; infinite where those are computed."""
        return math.inf


class Engine(Protocol):
    """A way from a `NodeProblem` to a `NodePosterior`: a small frozen object that is called."""

    @property
    def name(self) -> str:
        """Short name, as accepted by ``fit(engine=...)``."""

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node."""


@runtime_checkable
class BatchEngine(Protocol):
    """An engine without randomness that fits many nodes faster together than one by one."""

    def fit_many(self, problems: Sequence[NodeProblem]) -> Sequence[NodePosterior]:
        """Return the posteriors of several nodes, equal to those of single calls."""


NodeFit: TypeAlias = Callable[[NodeProblem], NodePosterior]


# -- from moments to problems ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WorkingMoments:
    """Moments in working units, shared by all nodes of one fit.

    Parameters
    ----------
    names
        The variables, m of them.
    scatter
        Cross-products in working units, shape (m, m); centred if there is an intercept.
    scale
        User's units per working unit of each variable, shape (m,).
    mean
        Means in the user's units, shape (m,); zeros without intercept.
    n
        Number of rows, less one if there is an intercept.
    rows
        Number of rows.
    """

    names: tuple[str, ...]
    scatter: FloatArray
    scale: FloatArray
    mean: FloatArray
    n: float
    rows: float

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each name."""
        return {name: i for i, name in enumerate(self.names)}


def working_moments(moments: Moments, prior: Prior, variables: Sequence[str]) -> WorkingMoments:
    """Select the graph's variables and express their moments in working units."""
    for name in variables:
        if name not in moments.names:
            raise DataError(
                f"the graph's variable {name!r} is not a column of the data{did_you_mean(name, moments.names)}"
            )
    part = moments.select(variables)
    if prior.intercept or prior.units == "standardized":
        _check_not_constant(part)
    variance = np.diag(part.scatter) / max(part.n - 1, 1)
    scale = np.sqrt(variance) if prior.units == "standardized" else np.ones(len(variables))
    scatter = part.scatter if prior.intercept else part.scatter + part.n * np.outer(part.mean, part.mean)
    return WorkingMoments(
        names=tuple(variables),
        scatter=scatter / np.outer(scale, scale),
        scale=scale,
        mean=part.mean if prior.intercept else np.zeros(len(variables)),
        n=part.n - 1 if prior.intercept else part.n,
        rows=part.n,
    )


def _check_not_constant(moments: Moments) -> None:
    floor = 1e-29 * moments.n * moments.mean**2  # what rounding of the values leaves of a constant column
    for name, value in zip(moments.names, np.diag(moments.scatter) <= floor, strict=True):
        if value:
            raise DataError(
                f"column {name!r} is constant: it has no effect that data could show; remove it from the graph"
            )


def node_problem(working: WorkingMoments, graph: CandidateGraph, prior: Prior, child: str) -> NodeProblem:
    """Cut one child's problem out of the shared moments."""
    parents = graph.parents(child)
    rows = [working.index[name] for name in parents]
    column = working.index[child]
    gram = np.ascontiguousarray(working.scatter[np.ix_(rows, rows)])
    cross = np.ascontiguousarray(working.scatter[rows, column])
    total = float(working.scatter[column, column])
    probability, log_size = prior.edges_of(np.array([graph.edges[name, child] for name in parents]), child)
    numbers = _Numbers(gram, cross, total, working.n, working.rows, probability, log_size)
    settings = prior.settings_of(numbers)
    problem = NodeProblem(child, parents, gram, cross, total, working.n, probability, settings, log_size)
    for setting in settings:
        setting.noise.check_node(child, working.n, total)
    return problem


@dataclass(frozen=True, eq=False)
class _Numbers:
    """What the settings of a node may depend on, before there is a problem."""

    gram: FloatArray
    cross: FloatArray
    total: float
    n: float
    rows: float
    probability: FloatArray
    log_size: FloatArray | None
