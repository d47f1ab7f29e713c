"""Which engine sums over the orders of a block, given the engine that nodes have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from alldags import meetings
from alldags.engines.mcmc import MCMC
from alldags.nodes import Engine
from alldags.orders.exact import ExactOrder
from alldags.orders.partition import Partition
from alldags.orders.problem import BlockPosterior, BlockProblem


class OrderEngine(Protocol):
    """A way from a `BlockProblem` to a `BlockPosterior`: a small frozen object that is called."""

    @property
    def name(self) -> str:
        """Short name."""

    def __call__(self, problem: BlockProblem, rng: np.random.Generator) -> BlockPosterior:
        """Return the posterior of one block."""


@dataclass(frozen=True, slots=True)
class AutoOrder:
    """Sum over all graphs of a block where that is quick, else sample orders.

    Parameters
    ----------
    exact
        Sums.
    partition
        Samples.
    max_exact
        Largest block that is summed over: standard deviations and probabilities of a path still take seconds.
    """

    exact: ExactOrder = field(default_factory=ExactOrder)
    partition: Partition = field(default_factory=Partition)
    max_exact: int = 14

    @property
    def name(self) -> str:
        return "auto"

    def __call__(self, problem: BlockProblem, rng: np.random.Generator) -> BlockPosterior:
        """Return the posterior of one block from the engine chosen for it."""
        if len(problem) <= self.max_exact and self.exact.refuses(problem) is None:
            return self.exact(problem, rng)
        if self.partition.refuses(problem) is None:
            return self.partition(problem, rng)
        return self.exact(problem, rng)


def order_engine(engine: Engine, progress: bool = False) -> OrderEngine:
    """Return the engine for blocks that goes with an engine for nodes; refuse one that has no parent sets."""
    if engine.name == "auto":
        return AutoOrder(ExactOrder(progress=progress))
    if engine.name == "exact":
        return ExactOrder(progress=progress)
    if isinstance(engine, MCMC):
        return _like(engine)
    raise meetings.refusal("open directions", "no orders", {"no orders": (engine.name,)})


def _like(engine: MCMC) -> Partition:
    """Return the sampler of orders with what was asked of the sampler of parent sets."""
    partition = Partition(chains=max(engine.chains, Partition().chains), max_seconds=engine.max_seconds)
    if engine.max_sweeps == MCMC().max_sweeps:  # not asked for: sweeps over orders cost more
        return partition
    return replace(partition, max_sweeps=engine.max_sweeps, sweeps=min(engine.max_sweeps, partition.sweeps))
