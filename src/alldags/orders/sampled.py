"""`PartitionBlock`: the posterior of a block from sampled partitions; given these, only draws are sampled."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.conjugate.noise import degrees_of_freedom
from alldags.engines.conjugate.one_set import draw_given_sets
from alldags.engines.sampling.diagnostics import mean_errors
from alldags.orders import agreement as agreeing
from alldags.orders.agreement import Agreement, PartitionDiagnostics
from alldags.orders.chains import BlockTables, Chains
from alldags.orders.draws import draw_sets, means_given_sets
from alldags.orders.problem import BlockDraws, BlockProblem, Start
from alldags.orders.tables import NodeTables, first_table
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.kernels.blocks.given import Given


def effect_sums(tables: BlockTables, layers: IntArray) -> FloatArray:
    """Return sums and sums of squares of all mean effects over batches, shape (chains, batches, 2, b + e, b)."""
    from alldags.kernels.blocks.given import all_effects

    chains, count, b = layers.shape
    length = agreeing.batch_length(count)
    used = np.ascontiguousarray(layers[:, : count // length * length]).reshape(-1, b)
    out = np.zeros((len(used) // length, 2, len(tables.problem.causes), b))
    all_effects(tables.first, tables.given(used), length, out)
    return out.reshape(chains, -1, *out.shape[1:])


class PartitionBlock:
    """Sampled posterior of one block.

    Parameters
    ----------
    tables
        Of the mates that were kept.
    chains
        What was sampled.
    diagnostics
        How far it can be trusted.
    """

    def __init__(self, tables: BlockTables, chains: Chains, diagnostics: PartitionDiagnostics) -> None:
        self.tables = tables
        self.chains = chains
        self.diagnostics = diagnostics

    @property
    def problem(self) -> BlockProblem:
        """What was asked."""
        return self.tables.problem

    @property
    def log_evidence(self) -> None:
        """None: a sampled block has no evidence."""
        return None

    @cached_property
    def _layers(self) -> IntArray:
        """All partitions that are used, shape (N, b)."""
        layers = self.chains.settled[0]
        return np.ascontiguousarray(layers).reshape(-1, layers.shape[2])

    @cached_property
    def _given(self) -> Given:
        """The same as seen from the tables."""
        return self.tables.given(self._layers)

    # -- edges ---------------------------------------------------------------------------------------------------------

    def _marginal(self, table: FloatArray) -> FloatArray:
        """Return the average of a table (b, rows, C) over all partitions, shape (b + e, b)."""
        given, tables = self._given, self.tables
        out = np.zeros((len(self.problem.causes), len(self.problem)))
        for j, where in enumerate(tables.where):
            columns = where[where >= 0]
            share = 1.0 / (1.0 - given.rest[:, j])
            weights = np.bincount(given.inside[:, j], share, tables.rows)
            weights -= np.bincount(given.without[:, j], share * given.rest[:, j], tables.rows)
            out[columns, j] = (weights @ table[j, :, where >= 0].T) / len(given.layers)
        return out

    @cached_property
    def inclusion(self) -> FloatArray:
        """Posterior probability of each edge, shape (b + e, b)."""
        return np.clip(self._marginal(self.tables.inclusion), 0.0, 1.0)

    @cached_property
    def mean(self) -> FloatArray:
        """Posterior mean of each coefficient, shape (b + e, b)."""
        return self._marginal(self.tables.mean)

    @cached_property
    def square(self) -> FloatArray:
        """Posterior mean of each coefficient squared, shape (b + e, b)."""
        if not self._has_second:
            return np.where(self.inclusion > 0, math.inf, 0.0)
        return self._marginal(self.tables.square)

    @cached_property
    def _has_second(self) -> bool:
        """Whether second moments exist."""
        return all(degrees_of_freedom(node.system.noise, 0) > 2 for node in self.tables.nodes)

    # -- effects -------------------------------------------------------------------------------------------------------

    @cached_property
    def _effect_sums(self) -> FloatArray:
        """See `effect_sums`."""
        return effect_sums(self.tables, self.chains.settled[0])

    @cached_property
    def effects(self) -> FloatArray:
        """Mean total effect of each cause on each variable along paths inside the block, shape (b + e, b)."""
        sums = self._effect_sums
        return np.asarray(sums[:, :, 0].sum(axis=(0, 1)) / self._counted)

    @property
    def _counted(self) -> int:
        """Partitions behind `effects`."""
        chains, batches = self._effect_sums.shape[:2]
        return int(chains * batches) * agreeing.batch_length(self.chains.settled[0].shape[1])

    @cached_property
    def noise_variance(self) -> FloatArray:
        """Posterior mean of each variable's noise variance, shape (b,); infinite where it does not exist."""
        if not self._has_second:
            return np.full(len(self.problem), math.inf)
        given = [self._averages(j, self.tables.noise[j, :, 0]).mean() for j in range(len(self.problem))]
        return np.asarray(np.array([node.setting_unit for node in self.tables.nodes]) * np.array(given))

    @property
    def outer(self) -> FloatArray:
        """Mean total effect of each earlier cause on each variable, shape (e, b)."""
        return self.effects[len(self.problem) :]

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo standard error of ``sum(weights * effects)``; `weights` has shape (b + e, b)."""
        sums = self._effect_sums[:, :, 0]
        length = agreeing.batch_length(self.chains.settled[0].shape[1])
        values = (sums * weights).sum(axis=(2, 3)) / length
        apart = math.sqrt(values.mean(axis=1).var(ddof=1) / len(values))
        return max(float(mean_errors(values[:, :, None])[0]), apart)

    def agreement(self, start: Start, ahead: FloatArray) -> Agreement:
        """Return how well the chains agree on ``E[sum(ahead * t)]``; `ahead` has shape (b,)."""
        values = self._first_given(start) @ ahead
        return agreeing.agreement(values.reshape(len(self.chains.layers), -1))

    @cached_property
    def set_draws(self) -> float:
        """How many independent graphs stand behind `draw`: the effective number of partitions."""
        return max(float(np.min(self.diagnostics.effective_draws, initial=len(self._layers))), 1.0)

    def first(self, start: Start) -> FloatArray:
        """Return E[t] of the block's variables, shape (b,)."""
        return np.asarray(self._first_given(start).mean(axis=0))

    def _first_given(self, start: Start) -> FloatArray:
        """Return E[t] given each partition, shape (N, b)."""
        if start.through is None:
            return self._run_first(start.mean, start.source, start.value)
        before = self._run_first(start.mean, start.source, start.value)[:, start.through]
        return before[:, None] * self._run_first(np.zeros_like(start.mean), start.through, 1.0)

    def _run_first(self, earlier: FloatArray, source: int | None, value: float) -> FloatArray:
        from alldags.kernels.blocks.given import first_moments

        out = np.zeros(self._layers.shape)
        first_moments(self.tables.first, self._given, earlier, -1 if source is None else source, value, out)
        return out

    def second(self, start: Start, *, between: bool = False) -> FloatArray:
        """Return E[t t'] of the block's variables, shape (b, b); of the mean given the graph if `between`."""
        b, count = len(self.problem), len(self._layers)
        if not self._has_second and not between:
            return np.full((b, b), math.inf)
        even = np.full(count, 1.0 / count)
        if start.through is None:
            return self._run_second(start, even, between)[0]
        squares = self._run_second(replace(start, through=None), even, between)[1]
        nothing = np.zeros_like(start.mean), np.zeros_like(start.square)
        onward = Start(*nothing, source=start.through)
        return self._run_second(onward, even * squares[:, start.through], between)[0]

    def _run_second(self, start: Start, weights: FloatArray, between: bool) -> tuple[FloatArray, FloatArray]:
        """Return the weighted sum of E[t t'] over partitions (b, b), and E[t^2] given each, (N, b)."""
        from alldags.kernels.blocks.given import Entry, second_moments

        tables, b = self.tables, len(self.problem)
        entry = Entry(start.mean, start.square, -1 if start.source is None else start.source, float(start.value))
        noise = tables.noise * self._noise_factors[:, None, None] if start.noise else np.zeros_like(tables.noise)
        out, squares = np.zeros((b, b)), np.zeros(self._layers.shape)
        second_moments(
            tables.first, tables.second[1 if between else 0], noise, self._given, entry, weights, out, squares
        )
        return out, squares

    @cached_property
    def _noise_factors(self) -> FloatArray:
        """Variance of a new unit's noise, with that of the intercept, over the noise variance, shape (b,)."""
        shares = [1.0 / node.rows if node.rows > node.n else 0.0 for node in self.problem.nodes]
        units = [node.setting_unit for node in self.tables.nodes]
        return np.array([unit * (1.0 + share) for unit, share in zip(units, shares, strict=True)])

    def path(self, places: Sequence[int]) -> FloatArray:
        """Return mean and second moment of a path's product of coefficients, and its probability, shape (3,)."""
        product = np.ones((3, len(self._layers)))
        for cause, effect in itertools.pairwise(places):
            column = np.flatnonzero(self.tables.where[effect] == cause)
            if len(column) == 0:  # no candidate, or one without a place
                return np.zeros(3)
            for k, table in enumerate((self.tables.mean, self.tables.square, self.tables.inclusion)):
                product[k] *= self._averages(effect, table[effect, :, column[0]])
        return np.asarray(product.mean(axis=1))

    def _averages(self, variable: int, column: FloatArray) -> FloatArray:
        """Return the average of one column (rows,) of a variable's table given each partition, shape (N,)."""
        given = self._given
        rest = given.rest[:, variable]
        low, high = column[given.without[:, variable]], column[given.inside[:, variable]]
        return np.asarray((high - rest * low) / (1.0 - rest))

    def given(self, cause: int, effect: int, start: Start, ahead: FloatArray) -> float:
        """Return E[sum(ahead * t)] given that an edge is present; nan if it cannot be."""
        column = np.flatnonzero(self.tables.where[effect] == cause)
        if len(column) == 0:
            return math.nan
        share = np.maximum(self._averages(effect, self.tables.inclusion[effect, :, column[0]]), 0.0)
        if share.sum() <= 0.0:
            return math.nan
        present = share > 0.0
        values = self._with_edge(effect, int(column[0]), self._layers[present])._first_given(start) @ ahead
        return float(values @ share[present] / share.sum())

    def _with_edge(self, effect: int, column: int, layers: IntArray) -> PartitionBlock:
        """Return the posterior on some partitions, in which one candidate of a variable is certain."""
        tables, node = self.tables, self.tables.nodes[effect]
        term = int(np.flatnonzero(node.place == column)[0])
        certain = NodeTables(node.problem.with_certain(term), node.place, node.block, node.causes)
        own, width = 1 << node.count, node.causes
        _, log_sum, mean, _, _ = first_table(certain)
        other = tables.with_first(effect, log_sum - log_sum.max(), mean, own, width)
        chains = Chains(self.chains.states, layers[None], np.zeros((1, len(layers))), warm_up=False)
        return PartitionBlock(other, chains, self.diagnostics)

    # -- paths and draws -----------------------------------------------------------------------------------------------

    def reached(self, source: int | None, earlier: BoolArray) -> None:
        """Return None: paths are looked for in draws."""
        del source, earlier

    def draw_graphs(self, size: int, rng: np.random.Generator) -> BoolArray:
        """Draw graphs, shape (size, b + e, b)."""
        present = np.zeros((size, len(self.problem.causes), len(self.problem)), dtype=bool)
        for j, masks in enumerate(self._draw_masks(size, rng)):
            present[:, self._rows(j), j] = masks
        return present

    def _draw_masks(self, size: int, rng: np.random.Generator) -> list[BoolArray]:
        """Draw the parents of every variable, each (size, k) in the order of its own terms."""
        from alldags.kernels.blocks.given import draw_mates

        tables, b = self.tables, len(self.problem)
        chosen, sets = spread(len(self._layers), size, rng), np.zeros((size, b), dtype=np.int64)
        draw_mates(tables.log_sum, tables.score, self._given, chosen, rng.random((size, b)), sets)
        streams = rng.spawn(b)
        return [draw_sets(node, sets[:, j], streams[j]) for j, node in enumerate(tables.nodes)]

    def _rows(self, variable: int) -> list[int]:
        """Return the rows of a variable's own terms among the causes."""
        return [self.problem.place[name] for name in self.tables.nodes[variable].problem.terms]

    def draw(self, size: int, rng: np.random.Generator, *, means: bool = False) -> BlockDraws:
        """Draw graphs, coefficients and noise variances; partitions repeat if there are fewer."""
        shape = (size, len(self.problem.causes), len(self.problem))
        coefficients, variance = np.zeros(shape), np.empty((size, len(self.problem)))
        centers = np.zeros(shape) if means else None
        masks = self._draw_masks(size, rng)
        for j, (node, stream) in enumerate(zip(self.tables.nodes, rng.spawn(len(masks)), strict=True)):
            order, rows = np.lexsort(masks[j].T), self._rows(j)
            own, variance[:, j] = draw_given_sets(node.system, masks[j][order], stream, order)
            coefficients[:, rows, j] = own
            variance[:, j] *= node.setting_unit
            if centers is not None:
                centers[:, rows, j] = means_given_sets(node, masks[j], order)
        return BlockDraws(coefficients, variance, centers)


def spread(count: int, size: int, rng: np.random.Generator) -> IntArray:
    """Return `size` of `count` numbers, each as often as any other or once more, in random order."""
    whole, left = divmod(size, count)
    extra = (np.arange(left) * count // max(left, 1) + int(rng.integers(count))) % count
    out: IntArray = rng.permutation(np.concatenate([np.repeat(np.arange(count), whole), extra]))
    return out
