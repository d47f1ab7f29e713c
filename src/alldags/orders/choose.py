"""Which engine sums over the orders of a block, given the engine that nodes have."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from alldags.errors import EngineError
from alldags.nodes import Engine
from alldags.orders.exact import ExactOrder
from alldags.orders.problem import BlockPosterior, BlockProblem


class OrderEngine(Protocol):
    """A way from a `BlockProblem` to a `BlockPosterior`: a small frozen object that is called."""

    @property
    def name(self) -> str:
        """Short name."""

    def __call__(self, problem: BlockProblem, rng: np.random.Generator) -> BlockPosterior:
        """Return the posterior of one block."""


def order_engine(engine: Engine) -> OrderEngine:
    """Return the engine for blocks that goes with an engine for nodes; refuse one that has no parent sets."""
    if engine.name in ("auto", "exact"):
        return ExactOrder()
    raise EngineError(
        f"the engine {engine.name!r} does not average over orders, but the order of some variables is open; use "
        "engine='auto' or engine='exact', or give every edge one direction"
    )
