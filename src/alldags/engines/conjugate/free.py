"""The uncertain parents' system after the certain ones were eliminated, and sums over all its subsets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
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
_WORTH_SPLITTING = 256  # prefixes; below, setting up a piece costs more than walking it
_PIECE = 128  # prefixes; the weights of their sets take up a megabyte
_OVERFLOW = 1e250
_LARGEST_STEP = 1e7  # nats


# -- certain parents are eliminated first ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FreeSystem:
    """The uncertain parents' system after the certain ones were eliminated, scaled to a unit diagonal.

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
    """

    a: FloatArray
    b: FloatArray
    scale: FloatArray
    coupling: FloatArray
    offset: FloatArray
    inverse: FloatArray
    weights: Weights
    log_base: float

    @property
    def width(self) -> int:
        """Variables in one block of the compiled walk."""
        from alldags.kernels.subsets.enumeration import WIDTH

        return min(len(self.b), WIDTH)


def free_system(problem: NodeProblem, system: ConjugateSystem) -> FreeSystem:
    """Eliminate the certain parents."""
    certain, free = np.flatnonzero(problem.certain), np.flatnonzero(~problem.certain)
    a, b = system.precision[free[:, None], free], system.shift[free]
    inverse: FloatArray = np.zeros((0, 0))
    coupling: FloatArray = np.zeros((0, len(b)))
    offset: FloatArray = np.zeros(0)
    log_base, explained = system.log_constant, 0.0
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
    return FreeSystem(
        a, b, scale, coupling, offset, inverse, _weights(problem, system, a, b, scale, explained), log_base
    )


def _weights(
    problem: NodeProblem, system: ConjugateSystem, a: FloatArray, b: FloatArray, scale: FloatArray, explained: float
) -> Weights:
    from alldags.kernels.subsets.enumeration import Weights

    log_factor = system.log_factor[~problem.certain] + (np.log(scale) if system.has_determinant else 0.0)
    noise = system.noise._replace(whole=float(residual_rate(system.noise, explained)))
    log_size = system.log_size if system.log_size.any() else np.zeros(1)
    weights = Weights(log_factor, log_size, system.has_determinant, noise, 0.0)
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

    return FreeMoments(
        log_weight=weights.reference + math.log(total),
        inclusion=average("inclusion"),
        mean=average("mean"),
        between=average("between"),
        within=average("within"),
        noise=float(average("noise")[0]),
    )


def _sum_parts(system: FreeSystem, weights: Weights, second: bool, threads: int) -> list[Sums]:
    from alldags.kernels.subsets.block import make_sums

    prefixes = 1 << (len(system.b) - system.width)
    parts = _PARTS if prefixes >= _WORTH_SPLITTING else 1
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

    width = system.width
    block = make_block(width, weights.log_factor)
    stack = make_stack(system.a, system.b, len(system.b) - width, sums.between.shape[0] > 0)
    walk_subsets(weights, width, first, count, block, stack, sums, lanes)


# -- set by set --------------------------------------------------------------------------------------------------------


def weights_of_sets(system: FreeSystem, log_total: float) -> Iterator[FloatArray]:
    """Yield the probabilities of all sets in pieces, shape (prefixes, lanes).

    Variable ``i`` is present in lane ``l`` iff bit ``width - 1 - i`` of l is set, and variable ``width + h`` iff bit h
    of the prefix is.
    """
    from alldags.kernels.subsets.block import make_sums

    weights, prefixes = system.weights._replace(reference=log_total), 1 << (len(system.b) - system.width)
    count = min(prefixes, _PIECE)
    for first in range(0, prefixes, count):
        lanes = np.empty((count, 1 << system.width))
        _walk(system, weights, first, count, make_sums(0, second=False), lanes)
        yield lanes


def masks_of_sets(system: FreeSystem, numbers: IntArray) -> BoolArray:
    """Return which uncertain parents are in the sets with these numbers, shape (size, f)."""
    width, masks = system.width, np.empty((len(numbers), len(system.b)), dtype=bool)
    for variable in range(len(system.b)):
        masks[:, variable] = numbers >> (width - 1 - variable if variable < width else variable) & 1
    return masks


def tabulate_sets(system: FreeSystem, log_total: float, listed: IntArray) -> FloatArray:
    """Return the probability by which of the `listed` uncertain parents are present, shape (2**len(listed),).

    Entry ``e`` sums the sets in which ``listed[i]`` is present iff bit i of e is set.
    """
    table, bits = np.zeros(1 << len(listed)), 1 << np.arange(len(listed))
    lanes = np.arange(1 << system.width)
    entry, first = masks_of_sets(system, lanes)[:, listed] @ bits, 0
    for weights in weights_of_sets(system, log_total):
        prefixes = first + np.arange(len(weights))
        own = masks_of_sets(system, prefixes << system.width)[:, listed] @ bits
        table += np.bincount((own[:, None] | entry).reshape(-1), weights.reshape(-1), minlength=len(table))
        first += len(weights)
    return table
