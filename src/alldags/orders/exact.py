"""`ExactOrder`: the posterior of a block by a sum over all its acyclic graphs; nothing is sampled but the draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags import checks
from alldags.engines.conjugate.noise import degrees_of_freedom
from alldags.engines.conjugate.one_set import summarize_set
from alldags.errors import EngineError
from alldags.nodes import Diagnostics, NodeProblem
from alldags.orders.draws import draw_block
from alldags.orders.problem import BlockDraws, BlockProblem, Start
from alldags.orders.sums import Sums
from alldags.orders.tables import (
    FirstTables,
    NodeTables,
    first_table,
    first_tables,
    log_sums,
    node_tables,
    second_tables,
    square_tables,
)
from alldags.typing import BoolArray, FloatArray, IntArray
from alldags.wording import option

LARGEST = 18  # variables of a block
LARGEST_SECOND = 15  # with second moments and probabilities of a path
_LARGEST_REACHED = 2**29  # terms of probabilities of a path
_SECONDS_PER_SET = 4e-10  # times the squared number of causes
_SECONDS_PER_PAIR = 2e-7  # with both second moments
_SECONDS_PER_REACHED = 1.3e-8
_CHECK = 1e-8  # of the self-check, above which numbers are not to be relied on


@dataclass(frozen=True)
class OrderDiagnostics(Diagnostics):
    """How a block was computed.

    Parameters
    ----------
    self_check
        How far sums that must be one are from it: the size of rounding errors.
    left_out
        Bound of the share of the graphs that was left out, to first order.
    """

    self_check: float = 0.0
    left_out: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether rounding is harmless."""
        return self.self_check < _CHECK


@dataclass(frozen=True, slots=True)
class ExactOrder:
    """Sum over every acyclic graph of a block.

    Parameters
    ----------
    max_entries
        Refuse blocks whose tables would need more parent sets than ``2**max_entries`` for one node: one for every
        set of candidate parents, inside the block and before it.
    progress
        Show a bar on a terminal when the tables take long.

    Examples
    --------
    >>> from alldags.orders.exact import ExactOrder
    >>> ExactOrder().name
    'exact'
    """

    max_entries: int = 22
    progress: bool = False

    def __post_init__(self) -> None:
        checks.whole("ExactOrder max_entries", self.max_entries, 1, 30, EngineError)
        checks.flag("ExactOrder progress", self.progress, EngineError)

    @property
    def name(self) -> str:
        return "exact"

    def refuses(self, problem: BlockProblem) -> str | None:
        """Return why a block is too large, None if it is not."""
        largest = max(node.free for node in problem.nodes)
        if len(problem) <= LARGEST and largest <= self.max_entries:
            return None
        return _too_large(problem, largest)

    def __call__(self, problem: BlockProblem, rng: np.random.Generator) -> ExactBlock:
        """Return the exact posterior of a block; nothing random is involved."""
        del rng
        reason = self.refuses(problem)
        if reason is not None:
            raise EngineError(reason)
        return ExactBlock(problem, self.progress)


def cost(problem: BlockProblem) -> tuple[float, float]:
    """Return about how many seconds and gigabytes everything about one treatment takes."""
    b, causes = len(problem), len(problem.causes)
    mates = max(int(problem.mates(j).sum()) for j in range(b))
    sets = sum(2.0**node.free for node in problem.nodes)
    seconds = _SECONDS_PER_SET * sets * causes**2 + _SECONDS_PER_PAIR * 3.0**b + _SECONDS_PER_REACHED * 4.0 ** (b - 1)
    return seconds, 8e-9 * b * 2.0**mates * causes * (causes + 3)


def _too_large(problem: BlockProblem, largest: int) -> str:
    seconds, gigabytes = cost(problem)
    names = ", ".join(problem.variables[:4]) + (", ..." if len(problem) > 4 else "")
    what = f"{len(problem)} variables whose order is open ({names})"
    why = f"at most {LARGEST} can be summed over exactly"
    if len(problem) <= LARGEST:
        why = f"one of them has {largest} uncertain candidate parents, too many for tables of 2^{largest} parent sets"
    return (
        f"{what} form one block: {why}; leave fewer directions open (a single edge back merges all variables between "
        "its ends into one block: a list of two candidate graphs keeps them apart), leave out earlier causes that you "
        f"can rule out, or use {option('engine', 'mcmc')}, which samples orders. To sum them all would take about "
        f"{seconds:,.0f} seconds and {gigabytes:,.1f} GB"
    )


class ExactBlock:
    """Exact posterior of one block."""

    def __init__(self, problem: BlockProblem, progress: bool = False) -> None:
        self.problem = problem
        self.progress = progress
        self._log_weights: dict[tuple[int, bytes], float] = {}

    # -- tables and sums -----------------------------------------------------------------------------------------------

    @cached_property
    def _nodes(self) -> list[NodeTables]:
        return [node_tables(self.problem, j) for j in range(len(self.problem))]

    @cached_property
    def _tables(self) -> FirstTables:
        return first_tables(self._nodes, self.progress)

    @cached_property
    def _squares(self) -> FloatArray:
        return square_tables(self._nodes)

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        if len(self.problem) > LARGEST_SECOND:
            raise EngineError(
                f"standard deviations in a block of {len(self.problem)} variables whose order is open need too large "
                f"tables (at most {LARGEST_SECOND} variables); means, edges and draws can be had, or use "
                f"{option('engine', 'mcmc')}"
            )
        return second_tables(self._nodes, self.progress)

    @cached_property
    def _row(self) -> IntArray:
        from alldags.kernels.blocks.sums import fill_rows

        b = len(self.problem)
        candidates, count = np.zeros((b, b), dtype=np.int64), np.array([node.count for node in self._nodes])
        for j, node in enumerate(self._nodes):
            candidates[j, : node.count] = node.mates
        row = np.empty((b, 1 << b), dtype=np.int64)
        fill_rows(candidates, count, row)
        return row

    @cached_property
    def _sums(self) -> Sums:
        return Sums(self._tables.log_alpha, self._row)

    @cached_property
    def diagnostics(self) -> OrderDiagnostics:
        """How it was computed."""
        check = self._sums.check
        trouble = f"sums over the orders of {', '.join(self.problem.variables)} lost digits: rounding error {check:.1g}"
        return OrderDiagnostics("exact", (trouble,) if check > _CHECK else (), check, self._sums.lost)

    # -- edges ---------------------------------------------------------------------------------------------------------

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the block's columns, averaged over acyclic graphs."""
        return self._sums.log_total - self.log_acyclic

    @cached_property
    def log_acyclic(self) -> float:
        """Log prior probability that independent edges have no cycle."""
        if self.problem.log_acyclic is not None:
            return self.problem.log_acyclic
        return self.prior._sums.log_total

    @cached_property
    def prior(self) -> ExactBlock:
        """The same block without data."""
        nodes = tuple(_without_data(node) for node in self.problem.nodes)
        return ExactBlock(replace(self.problem, nodes=nodes))

    def _marginal(self, table: FloatArray) -> FloatArray:
        """Return the average of a table over all graphs, shape (c, b)."""
        shares = self._sums.shares
        columns = [shares[j, : 1 << node.count] @ table[j, : 1 << node.count] for j, node in enumerate(self._nodes)]
        return np.array(columns).T

    @cached_property
    def inclusion(self) -> FloatArray:
        """Posterior probability of each edge, shape (b + e, b)."""
        return np.clip(self._marginal(self._tables.inclusion), 0.0, 1.0)

    @cached_property
    def mean(self) -> FloatArray:
        """Posterior mean of each coefficient, shape (b + e, b)."""
        return self._marginal(self._tables.mean)

    @cached_property
    def square(self) -> FloatArray:
        """Posterior mean of each coefficient squared, shape (b + e, b)."""
        if not self._has_second:
            return np.where(self.inclusion > 0, math.inf, 0.0)
        return self._marginal(self._squares)

    @cached_property
    def noise_variance(self) -> FloatArray:
        """Posterior mean of each variable's noise variance, shape (b,); infinite where it does not exist."""
        if not self._has_second:
            return np.full(len(self.problem), math.inf)
        units = [node.setting_unit for node in self._nodes]
        return np.asarray(np.array(units) * self._marginal(self._tables.noise[:, :, None])[0])

    @cached_property
    def _has_second(self) -> bool:
        """Whether second moments exist."""
        return all(degrees_of_freedom(node.system.noise, 0) > 2 for node in self._nodes)

    def graph_probability(self, present: BoolArray) -> float:
        """Return the posterior probability of one graph, shape (b + e, b); 0 if one of its edges is no candidate."""
        total = -self._sums.log_total
        for j, node in enumerate(self._nodes):
            mask = present[node.place, j]
            if mask.sum() != present[:, j].sum() or (node.problem.certain & ~mask).any():
                return 0.0
            total += self._log_weight(j, mask)
        return math.exp(total)

    def _log_weight(self, variable: int, mask: BoolArray) -> float:
        """Return the log weight of one parent set; kept, because graphs share most of theirs."""
        key = variable, mask.tobytes()
        if key not in self._log_weights:
            node = self._nodes[variable]
            self._log_weights[key] = summarize_set(node.system, mask, node.problem.certain).log_weight
        return self._log_weights[key]

    # -- effects -------------------------------------------------------------------------------------------------------

    @cached_property
    def effects(self) -> FloatArray:
        """Mean total effect of each cause on each variable along paths inside the block, shape (b + e, b)."""
        b, e = len(self.problem), len(self.problem.earlier)
        inner = self._sums.first(self._tables.mean, np.arange(b), np.ones(b), np.zeros((b, e)))
        return np.concatenate([inner, self.outer])

    @cached_property
    def outer(self) -> FloatArray:
        """Mean total effect of each earlier cause on each variable, shape (e, b)."""
        b, e = len(self.problem), len(self.problem.earlier)
        if e == 0:
            return np.zeros((0, b))
        return self._sums.first(self._tables.mean, np.full(e, -1), np.ones(e), np.eye(e))

    def linear_error(self, weights: FloatArray) -> float:
        """Return 0: nothing was sampled."""
        del weights
        return 0.0

    @property
    def set_draws(self) -> float:
        """Infinite: every draw is a new one."""
        return math.inf

    def first(self, start: Start) -> FloatArray:
        """Return E[t] of the block's variables, shape (b,)."""
        return self._first(self._sums, self._tables.mean, start)

    @staticmethod
    def _first(sums: Sums, mean: FloatArray, start: Start) -> FloatArray:
        source = np.array([-1 if start.source is None else start.source])
        through = -1 if start.through is None else start.through
        return np.asarray(sums.first(mean, source, np.array([start.value]), start.mean[None, :], through)[0])

    def second(self, start: Start, *, between: bool = False) -> FloatArray:
        """Return E[t t'] of the block's variables, shape (b, b); of the mean given the graph if `between`."""
        b = len(self.problem)
        if not self._has_second and not between:
            return np.full((b, b), math.inf)
        moments = self._moments[1 if between else 0]  # first: it refuses blocks that are too large
        return self._sums.second(
            self._tables.mean, moments, self._tables.noise,
            -1 if start.source is None else start.source, start.value, (start.mean, start.square),
            -1 if start.through is None else start.through, self._noise_factors if start.noise else np.zeros(b),
        )  # fmt: skip

    @cached_property
    def _noise_factors(self) -> FloatArray:
        """Variance of a new unit's noise, with that of the intercept, over the noise variance, shape (b,)."""
        return np.array([node.setting_unit * (1.0 + intercept_share(node.problem)) for node in self._nodes])

    def path(self, places: Sequence[int]) -> FloatArray:
        """Return mean and second moment of a path's product of coefficients, and its probability, shape (3,)."""
        tables = (self._tables.mean, self._squares, self._tables.inclusion)
        return np.array([self._along(table, places) for table in tables])

    def _along(self, table: FloatArray, places: Sequence[int]) -> float:
        """Return the mean product along a path: nothing but its edges is left in the table."""
        b, e = len(self.problem), len(self.problem.earlier)
        only = np.zeros_like(table)
        for cause, effect in itertools.pairwise(places):
            only[effect, :, cause] = table[effect, :, cause]
        earlier = np.zeros((1, e))
        if places[0] >= b:
            earlier[0, places[0] - b] = 1.0
        source = np.array([places[0] if places[0] < b else -1])
        return float(self._sums.first(only, source, np.ones(1), earlier)[0, places[-1]])

    def given(self, cause: int, effect: int, start: Start, ahead: FloatArray) -> float:
        """Return E[sum(ahead * t)] given that an edge is present; nan if it cannot be."""
        terms = self.problem.rows(effect).tolist()
        if cause not in terms:
            return math.nan
        node = self.problem.nodes[effect].with_certain(terms.index(cause))
        _, log_alpha, own, _, _ = first_table(node_tables(self.problem, effect, node))
        all_alpha, mean = self._tables.log_alpha.copy(), self._tables.mean.copy()
        all_alpha[effect, : len(log_alpha)], mean[effect, : len(own)] = log_alpha, own
        return float(self._first(Sums(all_alpha, self._row), mean, start) @ ahead)

    # -- paths ---------------------------------------------------------------------------------------------------------

    def reached(self, source: int | None, earlier: BoolArray) -> FloatArray | None:
        """Return the probability of each set of variables that a path leads to, shape (states, 2**b)."""
        b = len(self.problem)
        if source is not None:
            return None if 4.0 ** (b - 1) > _LARGEST_REACHED else self._sums.reached(self._sums, source)[None, :]
        sets = 2.0 ** max(node.problem.free for node in self._nodes)
        if len(earlier) * (4.0**b + 30.0 * b * sets) > _LARGEST_REACHED:
            return None
        nowhere = np.arange(1 << b) == 0
        return np.array([self._sums.reached(self._without(row), -1) if row.any() else nowhere for row in earlier])

    def _without(self, earlier: BoolArray) -> Sums:
        """Return the sums over graphs in which these earlier variables act on nothing in the block."""
        names = {name for name, out in zip(self.problem.earlier, earlier, strict=True) if out}
        rows = self._tables.log_alpha.copy()
        for j, node in enumerate(self.problem.nodes):
            out = np.isin(node.terms, list(names))
            if out.any():
                rows[j, : 1 << self._nodes[j].count] = self._log_sums_without(j, node, out)
        return Sums(rows, self._row, prune=False)

    def _log_sums_without(self, variable: int, node: NodeProblem, out: BoolArray) -> FloatArray:
        """Return a node's log sums over parent sets that hold none of some earlier terms."""
        from alldags.kernels.blocks.scores import IMPOSSIBLE

        if (out & node.certain).any():
            return np.full(1 << self._nodes[variable].count, IMPOSSIBLE)
        rows = self.problem.rows(variable)[~out]
        tables = NodeTables(node.without(out), rows, len(self.problem), len(self.problem.causes))
        prior = 0.0 if node.log_size is not None else float(np.log1p(-node.probability[out & node.heads]).sum())
        return np.asarray(log_sums(tables) + prior)

    # -- draws ---------------------------------------------------------------------------------------------------------

    def draw(self, size: int, rng: np.random.Generator, *, means: bool = False) -> BlockDraws:
        """Draw graphs, coefficients and noise variances, independently."""
        return draw_block(self._nodes, self._tables.score, self._sums, size, rng, means)


def intercept_share(problem: NodeProblem) -> float:
    """Return the variance of a node's intercept over its noise variance."""
    return 1.0 / problem.rows if problem.rows > problem.n else 0.0


def _without_data(node: NodeProblem) -> NodeProblem:
    return replace(node, gram=np.zeros_like(node.gram), cross=np.zeros_like(node.cross), total=0.0, n=0.0)
