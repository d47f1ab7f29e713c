"""The simulator of Horii (2021), section 5.1: confounders ``W``, treatment ``X``, mediators ``Z``, outcome ``Y``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from alldags.errors import DataError, GraphError, PriorError
from alldags.graph.candidate import CandidateGraph
from alldags.typing import FloatArray, RandomSource


def paper_graph(n1: int = 2, n2: int = 2, *, direct: bool = False, probability: float = 0.5) -> CandidateGraph:
    """Return the candidate graph of the paper's Figure 2.

    The edges are ``W -> X``, ``W -> Y``, ``W -> Z``, ``X -> Z`` and ``Z -> Y``; the paper's list omits the last kind,
    its figure and its text have it.

    Parameters
    ----------
    n1
        Number of confounders ``W1, W2, ...``.
    n2
        Number of mediators ``Z1, Z2, ...``.
    direct
        Whether ``X -> Y`` is a candidate too. It is not in the paper.
    probability
        Prior probability of every candidate edge.

    Examples
    --------
    >>> import alldags as ad
    >>> graph = ad.datasets.paper_graph(2, 2)
    >>> graph.parents("Y")
    ('W1', 'W2', 'Z1', 'Z2')
    >>> len(ad.datasets.paper_graph(30, 30).edges)
    1020
    """
    for name, value in (("n1", n1), ("n2", n2)):
        if value < 0:
            raise GraphError(f"{name} must be zero or a positive number of variables, got {value}")
    confounders = [f"W{i + 1}" for i in range(n1)]
    mediators = [f"Z{i + 1}" for i in range(n2)]
    edges = [
        *product(confounders, ["X", *mediators, "Y"]),
        *product(["X"], mediators),
        *product(mediators, ["Y"]),
        *([("X", "Y")] if direct else []),
    ]
    return CandidateGraph.from_edges(edges, [*confounders, "X", *mediators, "Y"], probability=probability)


@dataclass(frozen=True, eq=False)
class PaperSample:
    """One model drawn from the prior, and data drawn from the model.

    Parameters
    ----------
    table
        Shape (n, m), columns ordered like ``graph.variables``.
    coefficients
        The true coefficients, shape (m, m), row = cause, column = effect; zero where the edge is absent.
    graph
        The candidate graph it was drawn from.
    """

    table: FloatArray
    coefficients: FloatArray
    graph: CandidateGraph

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, m of them."""
        return self.graph.variables

    def effect(self, treatment: str = "X", outcome: str = "Y") -> float:
        """Return the true total effect of one unit of `treatment` on `outcome`."""
        cause, effect = self.names.index(treatment), self.names.index(outcome)
        return float(np.linalg.inv(np.eye(len(self.names)) - self.coefficients)[cause, effect])

    def columns(self) -> dict[str, FloatArray]:
        """Return the table as ``{name: column of shape (n,)}``."""
        return {name: self.table[:, i] for i, name in enumerate(self.names)}


def paper_sample(
    graph: CandidateGraph,
    n: int,
    rng: RandomSource = None,
    *,
    slab_variance: float = 1.0,
    noise_precision: float = 1.0,
) -> PaperSample:
    """Draw a model from the paper's prior and `n` rows from the model.

    Each candidate edge is present with its own probability, its coefficient is ``N(0, slab_variance)``, the noise of
    every variable has variance ``1 / noise_precision``, and nothing has an intercept. The paper does not give its
    values of the two; 1 and 1 are this package's choice.

    Parameters
    ----------
    graph
        Any candidate graph, for example `paper_graph`.
    n
        Number of rows.
    rng
        Seed or generator. The first rows do not depend on `n`, so that samples of growing size can be nested.
    slab_variance, noise_precision
        ``tau`` and ``s`` of the paper.

    Examples
    --------
    >>> import alldags as ad
    >>> sample = ad.datasets.paper_sample(ad.datasets.paper_graph(2, 2), n=100, rng=0)
    >>> sample.table.shape
    (100, 6)
    >>> isinstance(sample.effect("X", "Y"), float)
    True
    """
    if n < 0:
        raise DataError(f"n must be zero or a positive number of rows, got {n}")
    for name, value in (("slab_variance", slab_variance), ("noise_precision", noise_precision)):
        if not (math.isfinite(value) and value > 0):
            raise PriorError(f"{name} must be a positive finite number, got {value!r}")
    generator = np.random.default_rng(rng)
    probability = graph.to_matrix()
    present = generator.random(probability.shape) < probability
    coefficients = np.where(present, math.sqrt(slab_variance) * generator.standard_normal(probability.shape), 0.0)
    noise = generator.standard_normal((n, len(graph.variables))) / math.sqrt(noise_precision)
    table = noise @ np.linalg.inv(np.eye(len(graph.variables)) - coefficients)
    return PaperSample(table, coefficients, graph)
