"""The posterior of a pair with many doubtful terms, sampled: sets, correlation, ratio of scales and slabs together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.kernels.pairs import walk
from alldags.nodes.posterior import Diagnostics
from alldags.pairs.leaves import Leaves
from alldags.pairs.posterior import PairPosterior
from alldags.pairs.problem import WIDE_SLAB, PairProblem
from alldags.typing import BoolArray, FloatArray

_CHAINS, _STEPS, _FIRST, _MOVES = 4, 5000, 1000, 8
_EVERY = 4  # steps of which one is kept
_MOST_R_HAT = 1.1


@dataclass(frozen=True)
class PairDiagnostics(Diagnostics):
    """How a pair was sampled.

    Parameters
    ----------
    r_hat
        Of the correlation, between chains.
    """

    r_hat: float = 1.0

    @property
    def converged(self) -> bool:
        """Whether chains agree."""
        return self.r_hat < _MOST_R_HAT

    @property
    def troubles(self) -> tuple[str, ...]:
        return () if self.converged else self.warnings


def sample_pair(problem: PairProblem, rng: np.random.Generator) -> PairPosterior:
    """Return the posterior of a pair from several chains."""
    found = [_chain(problem, stream, place) for place, stream in enumerate(rng.spawn(_CHAINS))]
    points, sets = (np.concatenate(parts) for parts in zip(*found, strict=True))
    zeta = points[:, 6]
    there = np.isfinite(zeta)
    present = np.ones((len(points), problem.size), dtype=bool)
    present[:, problem.certain :] = sets
    weight = np.full(len(points), 1.0 / len(points))
    width = np.where(there, 1e-9, 0.0)  # a chain is at points, not in cells
    cells = np.where(there, zeta, 0.0), np.zeros(len(points)), width
    leaves = Leaves(problem, weight, *cells, points[:, :6], present)
    worst = _r_hat(np.array([np.tanh(np.nan_to_num(part[:, 6])) for part, _ in found]))
    said = () if worst < _MOST_R_HAT else (_words(problem, worst),)
    how = PairDiagnostics("pairs, sampled", said, worst)
    return PairPosterior(leaves, float(there.mean()), None, how, float(len(points)))


def _words(problem: PairProblem, worst: float) -> str:
    first, second = problem.variables
    return (
        f"chains for the correlated errors of {first!r} and {second!r} do not agree (R-hat {worst:.2f}): numbers may "
        "be wrong; leave out instruments that do little, or say that more of them are valid"
    )


def _chain(problem: PairProblem, rng: np.random.Generator, place: int) -> tuple[FloatArray, BoolArray]:
    one = problem
    slabs = one.first_slabs, np.array([WIDE_SLAB]), one.second_slabs, one.direct_slabs
    start = rng.random(one.m) < place / max(_CHAINS - 1, 1)  # from none to all
    random = rng.random((_STEPS, _MOVES, 4)), rng.standard_normal((_STEPS, _MOVES))
    norm = float(one.correlation.log_density(np.zeros(1))[0])
    points, sets = walk(
        one.scatter, one.single, one.first, one.second, one.kinds, one.log_odds, one.counted.astype(np.int64),
        one.log_size, one.counts, slabs, one.correlation.shape, norm, one.correlation.ends, one.hidden, one.log_ratio,
        *random, start,
    )  # fmt: skip
    return points[_FIRST::_EVERY], sets[_FIRST::_EVERY]


def _r_hat(chains: FloatArray) -> float:
    """Return the factor by which the spread of all chains is larger than that of each; `chains` (chains, steps)."""
    steps = chains.shape[1]
    within = float(chains.var(axis=1, ddof=1).mean())
    between = float(chains.mean(axis=1).var(ddof=1))
    return math.sqrt((steps - 1) / steps + between / within) if within > 0 else 1.0
