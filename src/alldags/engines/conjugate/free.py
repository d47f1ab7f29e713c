"""The uncertain parents' system after the certain ones were eliminated, and sums over all its subsets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.conjugate.noise import log_term, residual_rate
from alldags.engines.conjugate.system import ConjugateSystem
from alldags.errors import EngineError
from alldags.nodes import NodeProblem
from alldags.parallel import map_threads
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.kernels.subsets.enumeration import Sums, Weights

_PARTS = 16  # the walk is split into this many pieces whatever the number of threads, so results do not depend on it
_WORTH_SPLITTING = 1 << 18  # sets; below, setting up a piece costs more than walking it
_PIECE = 1 << 17  # sets; their weights take up a megabyte
_OVERFLOW = 1e250
_LARGEST_STEP = 1e7  # nats


# -- the order of the walk -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Layout:
    """In which order the compiled walk takes the uncertain columns.

    Columns that are alone come first and fill the block; groups of several live in the prefix, large ones at its end,
    where they are seldom eliminated.

    Parameters
    ----------
    width
        Columns in the block.
    first
        Where each group of the prefix begins in the walk, shape (t + 1,); the last is f.
    order
        Place of each column of the walk among the uncertain columns, shape (f,); None if it is the same.
    """

    width: int
    first: IntArray
    order: IntArray | None = None

    @property
    def prefixes(self) -> int:
        """Number of sets of groups of the prefix."""
        return 1 << (len(self.first) - 1)

    @cached_property
    def groups(self) -> list[IntArray]:
        """The uncertain columns of each group, in the order of columns."""
        return sorted((columns for _, columns in self.bits), key=lambda columns: int(columns[0]))

    @cached_property
    def bit_of_column(self) -> IntArray:
        """Which bit of the number of a set each column of the walk is, shape (f,)."""
        block, sizes = self.width - 1 - np.arange(self.width), np.diff(self.first)
        return np.concatenate([block, self.width + np.repeat(np.arange(len(sizes)), sizes)])

    @cached_property
    def bits(self) -> list[tuple[int, IntArray]]:
        """For each group of the walk, which bit of the number of a set it is, and its uncertain columns."""
        order = np.arange(self.first[-1]) if self.order is None else self.order
        block = [(self.width - 1 - i, order[i : i + 1]) for i in range(self.width)]
        ends = zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True)
        return block + [(self.width + h, order[start:stop]) for h, (start, stop) in enumerate(ends)]


@lru_cache(maxsize=64)
def plain_layout(f: int) -> Layout:
    """Return the order of so many uncertain columns that are all alone: their own."""
    from alldags.kernels.subsets.enumeration import WIDTH

    width = min(f, WIDTH)
    return Layout(width, np.arange(width, f + 1))


def layout_of(heads: BoolArray) -> Layout:
    """Return the order for uncertain columns of which these, shape (f,), are the first of their group."""
    from alldags.kernels.subsets.enumeration import WIDTH

    starts = np.append(np.flatnonzero(heads), len(heads))
    sizes = np.diff(starts)
    by_size = np.argsort(sizes, kind="stable")
    width = min(int((sizes == 1).sum()), WIDTH)
    order = np.concatenate([np.arange(starts[g], starts[g + 1]) for g in by_size])
    return Layout(width, np.append(width, width + np.cumsum(sizes[by_size[width:]])), order)


# -- certain parents are eliminated first ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FreeSystem:
    """The uncertain columns' system after the certain ones were eliminated, scaled to a unit diagonal.

    Parameters
    ----------
    a, b
        Shapes (f, f) and (f,).
    scale
        Coefficients are `scale` times the scaled ones, shape (f,).
    coupling, offset, inverse
        Certain coefficients given the free ones have mean ``offset - coupling @ theta_free`` and covariance
        ``noise variance * inverse``; shapes (c, f), (c,), (c, c).
    weights
        For the compiled walks; its reference is the log weight of the empty or the full set.
    log_base
        Log weight common to all sets.
    layout
        The order of the compiled walk.
    """

    a: FloatArray
    b: FloatArray
    scale: FloatArray
    coupling: FloatArray
    offset: FloatArray
    inverse: FloatArray
    weights: Weights
    log_base: float
    layout: Layout


def free_system(problem: NodeProblem, system: ConjugateSystem) -> FreeSystem:
    """Eliminate the certain parents."""
    certain, free = np.flatnonzero(problem.certain), np.flatnonzero(~problem.certain)
    a, b = system.precision[free[:, None], free], system.shift[free]
    inverse: FloatArray = np.zeros((0, 0))
    coupling: FloatArray = np.zeros((0, len(b)))
    offset: FloatArray = np.zeros(0)
    log_base, explained = system.log_constant, 0.0
    if len(system.log_size) == 1:  # nothing is uncertain: the one number of groups has its prior all the same
        log_base += float(system.log_size[0])
    if certain.size:
        inner = system.precision[certain[:, None], certain]
        across = system.precision[certain[:, None], free]
        inverse = np.asarray(np.linalg.inv(inner), dtype=np.float64)
        coupling = np.asarray(np.linalg.solve(inner, across), dtype=np.float64)
        offset = np.asarray(np.linalg.solve(inner, system.shift[certain]), dtype=np.float64)
        a, b = a - across.T @ coupling, b - across.T @ offset
        explained = float(system.shift[certain] @ offset)
        log_base += float(system.log_factor[certain].sum())
        if system.has_determinant:
            log_base -= 0.5 * float(np.linalg.slogdet(inner)[1])
    if system.noise.known:
        log_base += 0.5 * explained
    scale = 1.0 / np.sqrt(np.diag(a))
    a, b = a * np.outer(scale, scale), b * scale
    np.fill_diagonal(a, 1.0)
    weights = _weights(problem, system, a, b, scale, explained)
    layout = layout_of(problem.heads[free]) if problem.has_groups else plain_layout(len(free))
    return FreeSystem(a, b, scale, coupling, offset, inverse, weights, log_base, layout)


def _weights(
    problem: NodeProblem, system: ConjugateSystem, a: FloatArray, b: FloatArray, scale: FloatArray, explained: float
) -> Weights:
    from alldags.kernels.subsets.enumeration import Weights

    log_factor = system.log_factor[~problem.certain] + (np.log(scale) if system.has_determinant else 0.0)
    noise = system.noise._replace(whole=float(residual_rate(system.noise, explained)))
    log_size = system.log_size if system.log_size.any() and len(system.log_size) > 1 else np.zeros(1)
    weights = Weights(log_factor, log_size, system.log_columns, system.has_determinant, noise, 0.0)
    return weights._replace(reference=_none_or_all(a, b, weights))


def _none_or_all(a: FloatArray, b: FloatArray, weights: Weights) -> float:
    """Return the larger of the log weights of the set without uncertain parents and of the full one.

    The full set fits best, and what it pays for parents that do not help is seldom more than the weights can hold.
    """
    none = float(weights.log_size[0]) + log_term(weights.noise, 0.0, 0)
    try:
        factor = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:  # numerically singular
        return none
    q = float((np.linalg.solve(factor, b) ** 2).sum())
    value = float(weights.log_factor.sum() + weights.log_size[-1]) + log_term(weights.noise, q, len(b))
    value += float(weights.log_columns[-1])
    if weights.has_determinant:
        value -= float(np.log(factor.diagonal()).sum())
    return max(none, value)


# -- sums over all sets ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FreeMoments:
    """Posterior of the uncertain parents' scaled coefficients.

    Parameters
    ----------
    log_weight
        Log of the total weight.
    inclusion, mean
        Shape (f,).
    between, within
        Second moments of the conditional means, and mean conditional covariance; shape (f, f), or (0, 0) if not
        asked for.
    noise
        Mean of the noise variance (1 if known; not meaningful if it does not exist).
    """

    log_weight: float
    inclusion: FloatArray
    mean: FloatArray
    between: FloatArray
    within: FloatArray
    noise: float


def free_moments(system: FreeSystem, second: bool, threads: int) -> FreeMoments:
    """Sum over all subsets of the uncertain parents, rescaling if the weights overflow."""
    weights = system.weights
    step = 500.0
    while True:
        parts = _sum_parts(system, weights, second, threads)
        total = float(sum(part.w[0] for part in parts))
        if total < _OVERFLOW:
            break
        if step > _LARGEST_STEP:
            raise EngineError("the weights of the parent sets are beyond what floating-point numbers can hold")
        # some set is hundreds of nats better than the one whose weight was taken as 1
        weights = weights._replace(reference=weights.reference + step)
        step *= 1.5

    def average(name: str) -> FloatArray:
        return np.asarray(sum(getattr(part, name) for part in parts) / total)

    def in_place(name: str) -> FloatArray:
        return _in_place(average(name), system.layout.order)

    return FreeMoments(
        log_weight=weights.reference + math.log(total),
        inclusion=in_place("inclusion"),
        mean=in_place("mean"),
        between=in_place("between"),
        within=in_place("within"),
        noise=float(average("noise")[0]),
    )


def _in_place(values: FloatArray, order: IntArray | None) -> FloatArray:
    """Bring what was summed, shape (f,), (f, f) or (0, 0), from the order of the walk into that of the columns."""
    if order is None or values.size == 0:
        return values
    out = np.empty_like(values)
    out[order if values.ndim == 1 else np.ix_(order, order)] = values
    return out


def _sum_parts(system: FreeSystem, weights: Weights, second: bool, threads: int) -> list[Sums]:
    from alldags.kernels.subsets.block import make_sums

    prefixes = system.layout.prefixes
    parts = _PARTS if prefixes << system.layout.width >= _WORTH_SPLITTING else 1
    count = prefixes // parts

    def job(part: int) -> Sums:
        sums = make_sums(len(system.b), second)
        _walk(system, weights, part * count, count, sums, np.zeros((0, 0)))
        return sums

    return list(map_threads(job, range(parts), threads))


def _walk(system: FreeSystem, weights: Weights, first: int, count: int, sums: Sums, lanes: FloatArray) -> None:
    """Allocate the compiled walk's memory and call it."""
    from alldags.kernels.subsets.block import make_block
    from alldags.kernels.subsets.enumeration import make_stack, walk_subsets

    layout, a, b = system.layout, system.a, system.b
    if layout.order is not None:
        a, b = a[np.ix_(layout.order, layout.order)], b[layout.order]
        weights = weights._replace(log_factor=weights.log_factor[layout.order])
    block = make_block(layout.width, weights.log_factor)
    stack = make_stack(a, b, layout.first, sums.between.shape[0] > 0)
    walk_subsets(weights, layout.width, first, count, block, stack, sums, lanes)


# -- set by set --------------------------------------------------------------------------------------------------------


def weights_of_sets(system: FreeSystem, log_total: float) -> Iterator[FloatArray]:
    """Yield the probabilities of all sets in pieces, shape (prefixes, lanes).

    Column ``i`` of the walk is present in lane ``l`` iff bit ``width - 1 - i`` of l is set, and group ``h`` of the
    prefix iff bit h of the prefix is.
    """
    from alldags.kernels.subsets.block import make_sums

    weights, prefixes = system.weights._replace(reference=log_total), system.layout.prefixes
    count = min(prefixes, _PIECE >> system.layout.width)
    for first in range(0, prefixes, count):
        lanes = np.empty((count, 1 << system.layout.width))
        _walk(system, weights, first, count, make_sums(0, second=False), lanes)
        yield lanes


def masks_of_sets(system: FreeSystem, numbers: IntArray) -> BoolArray:
    """Return which uncertain columns are in the sets with these numbers, shape (size, f)."""
    masks = np.empty((len(numbers), len(system.b)), dtype=bool)
    for bit, columns in system.layout.bits:
        masks[:, columns] = (numbers >> bit & 1)[:, None]
    return masks


def tabulate_sets(system: FreeSystem, log_total: float, listed: IntArray) -> FloatArray:
    """Return the probability by which of the `listed` uncertain columns are present, shape (2**len(listed),).

    Entry ``e`` sums the sets in which ``listed[i]`` is present iff bit i of e is set.
    """
    table, bits = np.zeros(1 << len(listed)), 1 << np.arange(len(listed))
    width = system.layout.width
    entry, first = masks_of_sets(system, np.arange(1 << width))[:, listed] @ bits, 0
    for weights in weights_of_sets(system, log_total):
        prefixes = first + np.arange(len(weights))
        own = masks_of_sets(system, prefixes << width)[:, listed] @ bits
        table += np.bincount((own[:, None] | entry).reshape(-1), weights.reshape(-1), minlength=len(table))
        first += len(weights)
    return table
