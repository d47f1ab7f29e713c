"""The uncertain parents' system after the certain ones were eliminated, and sums over all its subsets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.engines.conjugate.noise import residual_rate
from alldags.engines.conjugate.system import ConjugateSystem
from alldags.errors import EngineError
from alldags.nodes import NodeProblem
from alldags.parallel import map_threads
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.engines.kernels.subsets.enumeration import Weights

_PARTS = 16  # the walk is split into this many pieces whatever the number of threads, so results do not depend on it
_WORTH_SPLITTING = 256  # prefixes; below, setting up a piece costs more than walking it
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
        For the compiled walks; its reference is the greedy set's log weight.
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
        from alldags.engines.kernels.subsets.enumeration import WIDTH

        return min(len(self.b), WIDTH)


def free_system(problem: NodeProblem, system: ConjugateSystem) -> FreeSystem:
    """Eliminate the certain parents."""
    certain, free = problem.certain, ~problem.certain
    inner = system.precision[np.ix_(certain, certain)]
    across = system.precision[np.ix_(certain, free)]
    inverse = np.asarray(np.linalg.inv(inner), dtype=np.float64)
    coupling = np.asarray(np.linalg.solve(inner, across), dtype=np.float64)
    offset = np.asarray(np.linalg.solve(inner, system.shift[certain]), dtype=np.float64)
    a = system.precision[np.ix_(free, free)] - across.T @ coupling
    b = system.shift[free] - across.T @ offset
    explained = float(system.shift[certain] @ offset)
    log_base = system.log_constant + float(system.log_factor[certain].sum())
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
    from alldags.engines.kernels.subsets.enumeration import Weights
    from alldags.engines.kernels.sweep import greedy_parents

    log_factor = system.log_factor[~problem.certain] + (np.log(scale) if system.has_determinant else 0.0)
    noise = system.noise._replace(whole=float(residual_rate(system.noise, explained)))
    none_certain = np.zeros(len(b), dtype=bool)
    _, reference = greedy_parents(a, b, log_factor, system.log_size, none_certain, system.has_determinant, noise)
    log_size = system.log_size if system.log_size.any() else np.zeros(1)
    return Weights(log_factor, log_size, system.has_determinant, noise, reference)


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
        # some set is hundreds of nats better than the greedy one, whose weight was taken as 1
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


def _sum_parts(system: FreeSystem, weights: Weights, second: bool, threads: int) -> list[Any]:
    from alldags.engines.kernels.subsets.enumeration import sum_subsets

    prefixes = 1 << (len(system.b) - system.width)
    parts = _PARTS if prefixes >= _WORTH_SPLITTING else 1
    count = prefixes // parts

    def job(part: int) -> Any:
        return sum_subsets(system.a, system.b, weights, system.width, part * count, count, second)

    return list(map_threads(job, range(parts), threads))
