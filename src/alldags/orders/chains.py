"""Chains over ordered partitions: a state goes in; a state, and the partitions met on the way, come out."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.orders.candidates import Candidates
from alldags.orders.problem import BlockProblem
from alldags.orders.tables import NodeTables, averaged
from alldags.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.kernels.blocks.given import Given, Tables
    from alldags.kernels.blocks.partition import Target

MOST_KEPT = 4096  # partitions per chain; beyond, every second one is dropped
LOWEST_POWER = 0.5
STEP = 1.0  # by which powers differ, in the log, times the root of the number of variables


class BlockTables:
    """The tables of a block whose variables keep at most K mates and have at most C candidates, earlier ones included.

    Parameters
    ----------
    problem
        The block.
    candidates
        Which mates are kept.
    """

    def __init__(self, problem: BlockProblem, candidates: Candidates) -> None:
        self.problem = problem
        self.candidates = candidates
        self.nodes = [_own_tables(candidates, problem, j) for j in range(len(problem))]
        self._fill()

    def _fill(self) -> None:
        b, rows, width = len(self.nodes), self.rows, max(1, *(node.causes for node in self.nodes))
        self.score, self.log_sum = np.full((b, rows), -1e300), np.full((b, rows), -1e300)
        self.mean, self.inclusion, self.square = (np.zeros((b, rows, width)) for _ in range(3))
        self.noise = np.zeros((b, rows, 1))
        for j, node in enumerate(self.nodes):
            found, own, c = node.sets(first=True, square=True), 1 << node.count, node.causes
            score = found.score - found.score.max()  # near zero, so that sums of logs keep their digits
            columns = np.concatenate([found.mean, found.inclusion, found.square, found.noise[:, None]], axis=1)
            self.score[j, :own], self.log_sum[j, :own] = score, averaged(score, columns)
            self.mean[j, :own, :c], self.inclusion[j, :own, :c] = columns[:, :c], columns[:, c : 2 * c]
            self.square[j, :own, :c], self.noise[j, :own] = columns[:, 2 * c : 3 * c], columns[:, 3 * c :]

    @property
    def rows(self) -> int:
        """Sets of mates in the largest table."""
        return 1 << max(node.count for node in self.nodes)

    @cached_property
    def where(self) -> IntArray:
        """Row among the block's causes of each column of a node's table, -1 for none; shape (b, C)."""
        out = np.full((len(self.nodes), self.mean.shape[2]), -1, dtype=np.int64)
        for j, node in enumerate(self.nodes):
            out[j, node.place] = [self.problem.place[name] for name in node.problem.terms]
        return out

    @cached_property
    def target(self) -> Target:
        """What the chains sample."""
        from alldags.kernels.blocks.partition import Target

        b = len(self.nodes)
        place = np.zeros((b, b), dtype=np.int64)
        for j, node in enumerate(self.nodes):
            place[j, self.where[j, : node.count]] = 1 << np.arange(node.count)
        return Target(self.log_sum, place)

    @property
    def first(self) -> Tables:
        """Average coefficients."""
        from alldags.kernels.blocks.given import Tables

        return Tables(self.mean, self.where)

    @cached_property
    def second(self) -> tuple[FloatArray, FloatArray]:
        """Average second moments, all and of conditional means, shape (b, rows, C (C + 1) / 2) each."""
        width = self.mean.shape[2]
        out = tuple(np.zeros((len(self.nodes), self.rows, width * (width + 1) // 2)) for _ in range(2))
        for j, node in enumerate(self.nodes):
            found, own, pairs = node.sets(second=True), 1 << node.count, node.causes * (node.causes + 1) // 2
            for table, columns in zip(out, (found.second, found.between), strict=True):
                averaged(self.score[j, :own], columns)
                table[j, :own, :pairs] = columns
        return out[0], out[1]

    def with_first(self, variable: int, log_sum: FloatArray, mean: FloatArray, rows: int, width: int) -> BlockTables:
        """Return the tables with other sums and average coefficients of one variable."""
        other = copy(self)
        other.__dict__.pop("target", None)
        other.log_sum, other.mean = self.log_sum.copy(), self.mean.copy()
        other.log_sum[variable, :rows] = log_sum
        other.mean[variable, :rows, :width] = mean
        return other

    def given(self, layers: IntArray, target: Target | None = None) -> Given:
        """Return partitions (N, b) as seen from the tables, or from others."""
        from alldags.kernels.blocks.given import Given, read_partitions

        order, inside, without = (np.zeros(layers.shape, dtype=np.int64) for _ in range(3))
        given = Given(layers, order, inside, without, np.zeros(layers.shape))
        read_partitions(self.target if target is None else target, given)
        return given


def _own_tables(candidates: Candidates, problem: BlockProblem, variable: int) -> NodeTables:
    """Return the tables of one variable, with columns of its own candidates only: mates, then earlier ones."""
    node = candidates.reduced(problem, variable)
    mates = np.array([problem.place[name] < len(problem) for name in node.terms], dtype=bool)
    place = np.empty(node.k, dtype=np.int64)
    place[np.argsort(~mates, kind="stable")] = np.arange(node.k)
    return NodeTables(node, place, int(mates.sum()), node.k)


# -- running -----------------------------------------------------------------------------------------------------------


def powers(b: int) -> FloatArray:
    """Return the powers of a chain's walkers, 1 first: neighbours exchange about every second time."""
    steps = max(round(-math.log(LOWEST_POWER) * math.sqrt(b) / STEP), 1)
    return np.asarray(LOWEST_POWER ** (np.arange(steps + 1) / steps))


@dataclass(frozen=True, eq=False)
class Chains:
    """Where the chains are, and where they were.

    Parameters
    ----------
    states
        Layers of every walker, shape (chains, walkers, b).
    layers, log_weight
        Partitions kept (chains, N, b) and their log weights (chains, N).
    every, sweeps
        Sweeps between kept ones, and made in all, per chain.
    swaps
        Exchanges between neighbouring walkers, shape (walkers - 1,).
    warm_up
        Whether the first quarter is not to be used.
    """

    states: IntArray
    layers: IntArray
    log_weight: FloatArray
    every: int = 1
    sweeps: int = 0
    swaps: IntArray | None = None
    warm_up: bool = True

    @property
    def settled(self) -> tuple[IntArray, FloatArray]:
        """Partitions and log weights without those of the warm-up."""
        first = self.layers.shape[1] // 4 if self.warm_up else 0
        return self.layers[:, first:], self.log_weight[:, first:]

    @property
    def swap_rate(self) -> FloatArray:
        """Share of the exchanges tried that were made, shape (walkers - 1,)."""
        tried = max(len(self.states) * self.sweeps / 2, 1)
        return np.zeros(0) if self.swaps is None else self.swaps / tried


def start(tables: BlockTables, generators: list[np.random.Generator]) -> Chains:
    """Return chains whose walkers all start from different random graphs."""
    from alldags.kernels.blocks.given import draw_start

    b = len(tables.nodes)
    states = np.zeros((len(generators), len(powers(b)), b), dtype=np.int64)
    for chain, generator in zip(states, generators, strict=True):
        for layer in chain:
            draw_start(tables.target, tables.score, generator, layer)
    return restart(states)


def restart(states: IntArray) -> Chains:
    """Return chains that have seen nothing yet."""
    chains, walkers, b = states.shape
    nothing = np.zeros((chains, 0, b), dtype=np.int64)
    return Chains(states, nothing, np.zeros((chains, 0)), swaps=np.zeros(walkers - 1, dtype=np.int64))


def extend(tables: BlockTables, before: Chains, sweeps: int, generators: list[np.random.Generator]) -> Chains:
    """Run every chain for about so many sweeps more."""
    from alldags.kernels.blocks.partition import new_space, new_walkers, one_of, settle, walk

    chains, walkers, b = before.states.shape
    now = halved(before) if before.layers.shape[1] >= MOST_KEPT else before
    every = max(now.every, sweeps // MOST_KEPT, 1) if now.layers.shape[1] == 0 else now.every
    count = max(sweeps // every, 1)
    layers, log_weight = np.zeros((chains, count, b), dtype=np.int64), np.zeros((chains, count))
    states, swaps, space = before.states.copy(), np.zeros(walkers - 1, dtype=np.int64), new_space(b)
    for c, generator in enumerate(generators):
        stack = new_walkers(walkers, b)
        for w in range(walkers):
            settle(tables.target, one_of(stack, w), states[c, w])
        walk(tables.target, stack, powers(b), count * every, every, layers[c], log_weight[c], space, swaps, generator)
        states[c] = stack.layer
    return Chains(
        states,
        np.concatenate([now.layers, layers], axis=1),
        np.concatenate([now.log_weight, log_weight], axis=1),
        every,
        before.sweeps + count * every,
        swaps if before.swaps is None else before.swaps + swaps,
    )


def halved(chains: Chains) -> Chains:
    """Keep every second partition."""
    return Chains(
        chains.states,
        np.ascontiguousarray(chains.layers[:, 1::2]),
        np.ascontiguousarray(chains.log_weight[:, 1::2]),
        2 * chains.every,
        chains.sweeps,
        chains.swaps,
    )
