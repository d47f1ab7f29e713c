"""Tables of one block: what the parent sets of each node weigh, and averages over those inside every set.

Rows of a node's tables are sets of its *mates*, its candidate parents inside the block: bit q is the q-th of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.conjugate.free import Layout, layout_of, plain_layout
from alldags.engines.conjugate.system import ConjugateSystem, conjugate_system
from alldags.nodes import NodeProblem
from alldags.orders.problem import BlockProblem
from alldags.progress import Progress
from alldags.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.kernels.blocks.scores import Node, Results, Space


@dataclass(frozen=True, eq=False)
class NodeTables:
    """The parent sets of one node of a block.

    Parameters
    ----------
    problem
        The node's problem.
    place
        Row of each of its terms among the block's causes, shape (k,).
    block
        Number of variables inside the block.
    causes
        Number of causes.
    """

    problem: NodeProblem
    place: IntArray
    block: int
    causes: int

    @cached_property
    def system(self) -> ConjugateSystem:
        """The conjugate system of its terms, in their own order."""
        return conjugate_system(self.problem)

    @property
    def setting_unit(self) -> float:
        """The noise variance if it is known, otherwise 1."""
        return self.problem.settings[0].noise.unit

    @cached_property
    def order(self) -> IntArray:
        """Terms in the order of the tables, mates first, shape (k,)."""
        return np.argsort(self.place >= self.block, kind="stable")

    @property
    def mates(self) -> IntArray:
        """Columns of the mates, in the order of bits."""
        return self.place[self.order[: self.count]]

    @property
    def count(self) -> int:
        """Number of mates."""
        return int((self.place < self.block).sum())

    @cached_property
    def _uncertain(self) -> IntArray:
        """The uncertain earlier candidates, in the order of the tables."""
        certain = self.problem.certain[self.order]
        return np.flatnonzero(~certain & (np.arange(len(certain)) >= self.count))

    @cached_property
    def layout(self) -> Layout:
        """In which order the walk over earlier candidates takes them: those alone first, then group by group."""
        if not self.problem.has_groups:
            return plain_layout(len(self._uncertain))
        return layout_of(self.problem.heads[self.order][self._uncertain])

    @cached_property
    def free(self) -> IntArray:
        """The uncertain earlier candidates in the order of the walk."""
        return self._uncertain if self.layout.order is None else self._uncertain[self.layout.order]

    @cached_property
    def node(self) -> Node:
        """The system as the compiled loops take it."""
        from alldags.kernels.blocks.scores import Node

        order, system = self.order, self.system
        return Node(
            np.ascontiguousarray(system.precision[np.ix_(order, order)]), system.shift[order],
            system.log_factor[order], np.asarray(system.log_size, dtype=float),
            np.asarray(system.log_columns, dtype=float), float(system.log_constant),
            system.noise, system.certain[order], self.place[order], self.count, self.free, self.layout.first,
        )  # fmt: skip

    def space(self, second: bool) -> Space:
        """Return working space."""
        from alldags.kernels.blocks.scores import make_space

        return make_space(self.node, second)

    def sets(self, *, first: bool = False, square: bool = False, second: bool = False) -> Results:
        """Return scores of all sets of mates, and what else is wanted given each."""
        from alldags.kernels.blocks.scores import Results, tabulate

        rows, c = 1 << self.count, self.causes
        pairs = (rows, c * (c + 1) // 2) if second else (0, 0)
        means = (rows, c) if first else (0, 0)
        squares = (rows, c) if square else (0, 0)
        results = Results(
            np.empty(rows), np.zeros(means), np.zeros(means), np.zeros(rows if first else 0), np.zeros(squares),
            np.zeros(pairs), np.zeros(pairs),
        )  # fmt: skip
        tabulate(self.node, self.space(square or second), results)
        return results


def node_tables(problem: BlockProblem, variable: int, node: NodeProblem | None = None) -> NodeTables:
    """Return the tables of one variable of a block, or of another problem in its place with the same terms."""
    own = problem.nodes[variable] if node is None else node
    return NodeTables(own, problem.rows(variable), len(problem), len(problem.causes))


@dataclass(frozen=True, eq=False)
class FirstTables:
    """Averages over the parent sets inside every set of mates; rows beyond a node's own are not used.

    Parameters
    ----------
    score
        Log weight of each parent set, shape (b, rows).
    log_alpha
        Log weight of all parent sets inside a set, shape (b, rows).
    mean, inclusion
        Average coefficients, and shares of the sets that hold each cause, shape (b, rows, c).
    noise
        Average noise variance, shape (b, rows).
    """

    score: FloatArray
    log_alpha: FloatArray
    mean: FloatArray
    inclusion: FloatArray
    noise: FloatArray


def first_tables(nodes: list[NodeTables], progress: bool = False) -> FirstTables:
    """Tabulate all nodes of a block; with `progress`, a bar appears on a terminal when that takes long."""
    rows, causes = 1 << max(node.count for node in nodes), nodes[0].causes
    score, log_alpha, noise = (np.empty((len(nodes), rows)) for _ in range(3))
    mean, inclusion = (np.zeros((len(nodes), rows, causes)) for _ in range(2))
    for j, node in enumerate(_shown("tables of a block", nodes, progress)):
        own = 1 << node.count
        score[j, :own], log_alpha[j, :own], mean[j, :own], inclusion[j, :own], noise[j, :own] = first_table(node)
    return FirstTables(score, log_alpha, mean, inclusion, noise)


def _shown(what: str, nodes: list[NodeTables], progress: bool) -> Iterator[NodeTables]:
    """Yield nodes, and count those that are done."""
    with Progress(what, len(nodes), show=None if progress else False, patience=1.0) as bar:
        for node in nodes:
            yield node
            bar.advance()


def first_table(node: NodeTables) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return scores and log alpha, mean, inclusion and noise of one node."""
    found = node.sets(first=True)
    columns = np.concatenate([found.mean, found.inclusion, found.noise[:, None]], axis=1)
    log_alpha = averaged(found.score, columns)
    c = node.causes
    return found.score, log_alpha, columns[:, :c], columns[:, c : 2 * c], columns[:, 2 * c]


def averaged(score: FloatArray, columns: FloatArray) -> FloatArray:
    """Average columns over subsets, in place; return the log weights of all subsets together."""
    from alldags.kernels.blocks.scores import average_subsets

    log_alpha = score.copy()
    average_subsets(log_alpha, columns)
    return log_alpha


def log_sums(node: NodeTables) -> FloatArray:
    """Return the log weights of all subsets together."""
    return averaged(node.sets().score, np.empty((1 << node.count, 0)))


def square_tables(nodes: list[NodeTables]) -> FloatArray:
    """Return average squared coefficients, shape (b, rows, c)."""
    rows, causes = 1 << max(node.count for node in nodes), nodes[0].causes
    out = np.zeros((len(nodes), rows, causes))
    for j, node in enumerate(nodes):
        found = node.sets(square=True)
        averaged(found.score, found.square)
        out[j, : 1 << node.count] = found.square
    return out


def second_tables(nodes: list[NodeTables], progress: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return average second moments, all and of conditional means, shape (b, rows, packed c) each."""
    rows, causes = 1 << max(node.count for node in nodes), nodes[0].causes
    out = tuple(np.zeros((len(nodes), rows, causes * (causes + 1) // 2)) for _ in range(2))
    for j, node in enumerate(_shown("second moments of a block", nodes, progress)):
        found = node.sets(second=True)
        averaged(found.score, found.second)
        averaged(found.score, found.between)
        out[0][j, : 1 << node.count] = found.second
        out[1][j, : 1 << node.count] = found.between
    return out[0], out[1]
