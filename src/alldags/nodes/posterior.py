"""`NodePosterior`: what every engine returns, and the contract of an engine."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from alldags.nodes.problem import NodeProblem, Origin
from alldags.typing import BoolArray, FloatArray


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

    @property
    def is_reliable(self) -> bool:
        """False if an iteration did not end or chains did not agree: the numbers may be wrong."""
        return bool(getattr(self, "converged", True))

    @property
    def troubles(self) -> tuple[str, ...]:
        """Those of the warnings that are issued as Python warnings; the others are standing remarks."""
        return ()


class NodePosterior(ABC):
    """What every engine returns: the posterior of one child's parents, coefficients and noise variance.

    Arrays are ordered like `parents`. Engines know columns only, and call them parents; where a parent is several
    columns, `alldags.nodes.onto.ParentsPosterior` translates. Expensive parts are computed on first use. An engine
    without a notion of a parent set returns None for `inclusion`, `second_moment_between`,
    `probability_disjoint` and `top_parent_sets`.
    """

    problem: NodeProblem
    diagnostics: Diagnostics

    @property
    def parents(self) -> tuple[str, ...]:
        """Names that the arrays are ordered by."""
        return self.problem.terms

    @property
    def certain(self) -> BoolArray:
        """Which edges are certain a priori, shape (k,)."""
        return self.problem.certain

    @property
    def prior_inclusion(self) -> FloatArray:
        """Prior probability that each edge is present, shape (k,)."""
        return self.problem.prior_inclusion

    @property
    def stated_inclusion(self) -> FloatArray:
        """The same before any link to another node, shape (k,)."""
        return self.problem.stated_inclusion

    @property
    def raised(self) -> FloatArray:
        """What a link to another node added to the prior, shape (k,): ``1 - (1 - stated) (1 - raised)``."""
        return np.zeros(len(self.parents)) if self.problem.linked is None else self.problem.linked.raised

    @property
    def has_independent_edges(self) -> bool:
        """Whether edges are independent a priori, so that the odds of one can be changed alone."""
        return self.problem.log_size is None

    @property
    def origin(self) -> Origin:
        """Means of child and parents over this node's own rows, in working units; zeros without intercept."""
        return self.problem.origin or Origin(0.0, np.zeros(len(self.parents)))

    @property
    def intercept_share(self) -> float:
        """Variance of the intercept (at the origin) over the noise variance: one over the rows, 0 without intercept."""
        return 1.0 / self.problem.rows if self.problem.rows > self.problem.n else 0.0

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
    def settled_inclusion(self) -> FloatArray | None:
        """The same as exact as a table of all edges shows it, for which an engine that samples may go on sampling."""
        return self.inclusion

    @property
    def shrinkage(self) -> FloatArray | None:
        """For continuous priors, how much of each coefficient survives, 0 to 1, shape (k,); not a probability."""
        return None

    @property
    def second_moment_between(self) -> FloatArray | None:
        """Second moment, over parent sets, of the conditional mean ``E[theta | parents]``, shape (k, k)."""
        return None

    @property
    def squares(self) -> FloatArray:
        """Posterior mean of each coefficient's square, shape (k,)."""
        return np.asarray(np.diag(self.second_moment))

    def second_moments(self, places: list[int]) -> FloatArray:
        """Return `second_moment` of the coefficients in these m places alone, shape (m, m)."""
        return np.asarray(self.second_moment[np.ix_(places, places)])

    def second_moments_between(self, places: list[int]) -> FloatArray | None:
        """Return `second_moment_between` of the coefficients in these m places alone, shape (m, m)."""
        between = self.second_moment_between
        return None if between is None else between[np.ix_(places, places)]

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
    """A way from a `NodeProblem` to a `NodePosterior`: a small frozen object that is called.

    One that also says ``takes_groups = True`` is given problems whose columns enter and leave in groups.
    """

    @property
    def name(self) -> str:
        """Short name, as accepted by ``fit(engine=...)``."""

    @property
    def takes(self) -> tuple[type, ...]:
        """Classes of noise priors and scale mixtures that it takes; all others are refused by name."""

    @property
    def scope(self) -> str | None:
        """In which graphs, or under what, its answer holds; None if it averages over all candidate graphs."""

    @property
    def estimate(self) -> str:
        """What its `NodePosterior.mean` is, ``"posterior mean"`` if nothing else."""

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node."""


@runtime_checkable
class BatchEngine(Protocol):
    """An engine without randomness that fits many nodes faster together than one by one."""

    def fit_many(self, problems: Sequence[NodeProblem]) -> Sequence[NodePosterior]:
        """Return the posteriors of several nodes, equal to those of single calls."""


@runtime_checkable
class GraphEngine(Protocol):
    """An engine that spends its time with a view to the whole graph."""

    def for_graph(self, sizes: Sequence[int]) -> Engine:
        """Return the engine for a graph whose nodes have so many uncertain candidate parents."""


NodeFit: TypeAlias = Callable[[NodeProblem], NodePosterior]
