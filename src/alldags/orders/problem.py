"""`BlockProblem` goes in, `BlockPosterior` comes out: the border of the engines for blocks of unknown order.

A block is a group of variables each of which may, over candidate edges, act on each other. Its posterior is a sum over
all *acyclic* graphs inside it. What a graph weighs is a product over its nodes, so that a block's problem is a list of
node problems; that there is no cycle is all that ties them together.

Matrices of a block have a row for each *cause*: the variables of the block, then the earlier variables that are a
candidate parent of one of them; and a column for each variable of the block. Row = cause, column = effect, as always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from alldags.nodes import Diagnostics, NodeProblem
from alldags.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BlockProblem:
    """The numbers of one block: b variables whose order is open, and e earlier ones that may act on them.

    Parameters
    ----------
    nodes
        One problem per variable, each with a single setting. The terms of a node are its candidate parents, in the
        block and before it. The probability of a mate ``i`` of ``j`` is ``o / (1 + o)`` with the prior odds ``o`` of
        the edge ``i -> j`` against no edge between the two: a graph weighs what the nodes' parent sets weigh under
        independent edges, if it has no cycle, and nothing otherwise.
    log_acyclic
        Log prior probability, under independent edges, that there is no cycle; the evidence is divided by it. None:
        not known, so that the engine has to find it (or has no evidence).
    owners
        The variable that a term stands for, where it is one of several columns of an earlier category.
    """

    nodes: tuple[NodeProblem, ...]
    log_acyclic: float | None = None
    owners: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names inside the block, b of them."""
        return tuple(node.child for node in self.nodes)

    @cached_property
    def earlier(self) -> tuple[str, ...]:
        """Names of the earlier candidate parents, e of them."""
        inside = set(self.variables)
        return tuple(dict.fromkeys(name for node in self.nodes for name in node.terms if name not in inside))

    @cached_property
    def causes(self) -> tuple[str, ...]:
        """Names of the rows of a block's matrices: those inside, then the earlier ones."""
        return self.variables + self.earlier

    @cached_property
    def place(self) -> dict[str, int]:
        """Row of each cause; the first b are also the columns of the variables inside."""
        return {name: i for i, name in enumerate(self.causes)}

    def owner(self, cause: str) -> str:
        """Return the variable that a cause is, or is a column of."""
        return self.owners.get(cause, cause)

    def edges_into(self, variable: int) -> dict[str, int]:
        """Return the place of each candidate parent of a node among its terms; of a category, that of its first."""
        found: dict[str, int] = {}
        for place, name in enumerate(self.nodes[variable].terms):
            found.setdefault(self.owner(name), place)
        return found

    def __len__(self) -> int:
        return len(self.nodes)

    def rows(self, variable: int) -> IntArray:
        """Return the row of each term of a node, shape (k,)."""
        return np.array([self.place[name] for name in self.nodes[variable].terms], dtype=np.int64)

    def mates(self, variable: int) -> BoolArray:
        """Return which terms of a node are inside the block, shape (k,)."""
        return self.rows(variable) < len(self.nodes)


@dataclass(frozen=True, eq=False)
class BlockDraws:
    """Independent draws from the posterior of a block.

    Parameters
    ----------
    coefficients
        Shape (size, b + e, b), zero where an edge is absent; every draw is acyclic.
    variance
        Noise variances, shape (size, b).
    means
        Mean of the coefficients given the drawn graph alone, shape (size, b + e, b); None where not asked for.
    """

    coefficients: FloatArray
    variance: FloatArray
    means: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Start:
    """What comes into a block: moments of a number ``t`` carried along the edges, such as the effect of a source.

    Inside the block ``t_j = sum_i theta_ij t_i``, over parents i in the block and before it.

    Parameters
    ----------
    mean
        E[t] of the earlier variables, shape (e,).
    square
        E[t t'] of the earlier variables, shape (e, e).
    source
        Column of a variable of the block at which ``t`` is held fixed, whatever its parents; None for none.
    value
        Where it is held.
    through
        Column of a variable of the block; only what passes through it counts. None: everything does.
    noise
        Whether each variable adds its own noise, independent of all else.
    """

    mean: FloatArray
    square: FloatArray
    source: int | None = None
    value: float = 1.0
    through: int | None = None
    noise: bool = False


class BlockPosterior(Protocol):
    """What every engine for blocks returns; all in working units.

    Expensive parts are computed on first use. An engine that cannot give something exactly returns its best estimate
    and says how far off it may be (`linear_error`, `diagnostics`); `reached` may be None.
    """

    @property
    def problem(self) -> BlockProblem:
        """What was asked."""

    @property
    def diagnostics(self) -> Diagnostics:
        """How it was computed."""

    @property
    def log_evidence(self) -> float | None:
        """Log marginal likelihood of the block's columns, averaged over acyclic graphs; None if not to be had."""

    @property
    def inclusion(self) -> FloatArray:
        """Posterior probability of each edge, shape (b + e, b)."""

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of each coefficient, averaged over graphs, shape (b + e, b)."""

    @property
    def square(self) -> FloatArray:
        """Posterior mean of each coefficient squared, shape (b + e, b); infinite where it does not exist."""

    @property
    def noise_variance(self) -> FloatArray:
        """Posterior mean of each variable's noise variance, shape (b,)."""

    @property
    def effects(self) -> FloatArray:
        """Mean total effect, along paths inside the block, of each cause on each variable, shape (b + e, b).

        1 on the diagonal of the first b rows.
        """

    @property
    def outer(self) -> FloatArray:
        """The last e rows of `effects`: those of earlier causes, shape (e, b)."""

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo standard error of ``sum(weights * effects)``; 0 where nothing was sampled."""

    @property
    def set_draws(self) -> float:
        """How many independent draws of graphs `draw` repeats; infinite where every draw is a new one."""

    def first(self, start: Start) -> FloatArray:
        """Return E[t] of the block's variables, shape (b,)."""

    def second(self, start: Start, *, between: bool = False) -> FloatArray:
        """Return E[t t'] of the block's variables, shape (b, b); of the mean given the graph if `between`."""

    def path(self, places: Sequence[int]) -> FloatArray:
        """Return mean and second moment of the product of coefficients along a path, and P(path), shape (3,).

        `places` are rows of causes, the second and later ones inside the block.
        """

    def given(self, cause: int, effect: int, start: Start, ahead: FloatArray) -> float:
        """Return E[sum(ahead * t)] given that an edge is present; nan if it cannot be.

        `cause` is a row, `effect` a column, `ahead` has shape (b,).
        """

    def reached(self, source: int | None, earlier: BoolArray) -> FloatArray | None:
        """Return the probability of each set of variables that a path leads to, shape (states, 2**b).

        Paths start at `source` (a column), or, if that is None, at the earlier variables in each row of `earlier`,
        shape (states, e). Bit j of a set is variable j; a source is in its own set. None: not to be had exactly.
        """

    def draw(self, size: int, rng: np.random.Generator, *, means: bool = False) -> BlockDraws:
        """Draw graphs, coefficients and noise variances; with `means` also the coefficients' means given the graph."""
