"""Priors of the edges that take the place of the graph's edge probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from alldags import checks
from alldags.errors import PriorError
from alldags.typing import BoolArray, FloatArray


class EdgePrior(ABC):
    """What every prior of the edges does."""

    __slots__ = ()

    @property
    def is_shared(self) -> bool:
        """Whether all nodes have the same, learned edge probability."""
        return False

    @abstractmethod
    def fixed_parts(self) -> list[tuple[float, EqualEdges]]:
        """Return log weights and given edge probabilities that together stand for this prior, shared by all nodes."""

    @abstractmethod
    def of(self, probability: FloatArray, child: str) -> tuple[FloatArray, FloatArray | None]:
        """Return the edge probabilities, shape (k,), and the log weight of the number of uncertain parents present.

        Parameters
        ----------
        probability
            The graph's edge probabilities, shape (k,); 1 for certain edges.
        child
            Whose edges these are.
        """


@dataclass(frozen=True, slots=True)
class BetaBinomial(EdgePrior):
    """The edge probability is learned: ``Beta(a, b)``, which corrects for the number of candidates looked at.

    It stands in for the probabilities of the uncertain edges, which must therefore be the same for all of a node's
    edges (they then have no effect); certain edges stay certain.

    Parameters
    ----------
    a, b
        Of the beta distribution; 1, 1 makes every number of parents equally probable.
    shared
        False: each node has its own edge probability, and the average over it is exact. True: one for all nodes.
    points
        Only if shared: size of the quadrature, exact for up to ``2 * points - 1`` uncertain edges in the graph.
    relative
        True: the graph's probabilities may differ between edges, and count as odds relative to each other.
    """

    a: float = 1.0
    b: float = 1.0
    shared: bool = False
    points: int = 32
    relative: bool = False

    def __post_init__(self) -> None:
        checks.positive("BetaBinomial a", self.a, PriorError)
        checks.positive("BetaBinomial b", self.b, PriorError)
        checks.flag("BetaBinomial shared", self.shared, PriorError)
        checks.whole("BetaBinomial points", self.points, 3, 10_001, error=PriorError)
        checks.flag("BetaBinomial shared", self.shared, PriorError)
        checks.flag("BetaBinomial relative", self.relative, PriorError)
        if self.shared and self.relative:
            raise PriorError("BetaBinomial cannot be shared and relative at once; choose one of them")

    @property
    def is_shared(self) -> bool:
        """Whether all nodes have one edge probability."""
        return self.shared

    def log_size(self, free: int) -> FloatArray:
        """Return the log prior probability of one parent set with 0, 1, ... of the `free` uncertain parents."""
        from scipy.special import betaln

        size = np.arange(free + 1)
        return np.asarray(betaln(self.a + size, self.b + free - size) - betaln(self.a, self.b))

    def of(self, probability: FloatArray, child: str) -> tuple[FloatArray, FloatArray | None]:
        """Return even odds for every uncertain edge, or relative ones, and the weight of their number."""
        if self.relative:
            return _relative(probability), self.log_size(int((probability < 1.0).sum()))
        free = _equal_edges(probability, child)
        return np.where(free, 0.5, probability), self.log_size(int(free.sum()))

    def fixed_parts(self) -> list[tuple[float, EqualEdges]]:
        """Return Gauss-Jacobi points of the beta distribution: exact for polynomials of degree ``2 points - 1``."""
        from scipy.special import roots_jacobi

        x, weight = roots_jacobi(self.points, self.b - 1.0, self.a - 1.0)
        log_weight = np.log(weight / weight.sum())
        return [(float(w), EqualEdges(float(p))) for w, p in zip(log_weight, (x + 1.0) / 2.0, strict=True)]


@dataclass(frozen=True, slots=True)
class EqualEdges(EdgePrior):
    """Every uncertain edge has this probability, whatever the graph says.

    Parameters
    ----------
    probability
        Strictly between 0 and 1.
    """

    probability: float = 0.5

    def __post_init__(self) -> None:
        checks.inside("EqualEdges probability", self.probability, 0, 1, PriorError)

    def of(self, probability: FloatArray, child: str) -> tuple[FloatArray, FloatArray | None]:
        """Return the one probability for every uncertain edge."""
        return np.where(_equal_edges(probability, child), self.probability, probability), None

    def fixed_parts(self) -> list[tuple[float, EqualEdges]]:
        """Return itself: nothing is learned."""
        return [(0.0, self)]


def _equal_edges(probability: FloatArray, child: str) -> BoolArray:
    """Return which edges are uncertain, shape (k,); they must have one probability."""
    free = probability < 1.0
    values = probability[free]
    if values.size and np.ptp(values) > 0:
        raise PriorError(
            f"the uncertain edges into {child!r} have different probabilities ({values.min():g} to "
            f"{values.max():g}), which Prior(edges=...) would discard; make them equal, or use edges=None"
        )
    return np.asarray(free)


def _relative(probability: FloatArray) -> FloatArray:
    """Return probabilities whose odds are those of the uncertain edges over their geometric mean, shape (k,)."""
    free = probability < 1.0
    log_odds = np.log(probability[free]) - np.log1p(-probability[free])
    out = probability.copy()
    out[free] = 1.0 / (1.0 + np.exp(-(log_odds - log_odds.mean()))) if free.any() else out[free]
    return out
