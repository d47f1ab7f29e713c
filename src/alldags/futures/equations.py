"""`Equations`: draws of everything that rows would be made by, were the model true."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from alldags.effects.total import variable_streams
from alldags.graph.candidate import CandidateGraph
from alldags.models.blocks import NodeBlock
from alldags.models.fitted import FittedGraph
from alldags.nodes.onto import ParentsPosterior
from alldags.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Equations:
    """Draws of coefficients and noise of all variables, in working units.

    Variables that nothing acts on are what they were in the table: their covariance is that of the rows at hand, not
    that of independent normal numbers. So are categories, and all that may act on one.

    Parameters
    ----------
    coefficients
        Shape (draws, m, m), row = cause, column = effect; zero where there is no edge, and into what is given.
    noise
        Standard deviations, shape (draws, m); zero for what is given.
    given
        What comes in from outside: a factor of its covariance, shape (r, m); zero elsewhere.
    rows
        Number of rows that means are known from.
    """

    coefficients: FloatArray
    noise: FloatArray
    given: FloatArray
    rows: float

    @property
    def size(self) -> int:
        """Number of draws."""
        return len(self.coefficients)

    def cut(self, places: IntArray, own: FloatArray) -> Equations:
        """Return the same with nothing acting on some columns, which come in apart, by a factor of shape (r, m)."""
        coefficients, noise, given = self.coefficients.copy(), self.noise.copy(), self.given.copy()
        coefficients[:, :, places], noise[:, places], given[:, places] = 0.0, 0.0, 0.0
        return replace(self, coefficients=coefficients, noise=noise, given=np.vstack([given, own]))

    def solved(self, draw: int, entering: FloatArray) -> FloatArray:
        """Return what follows from what enters in one draw, shape (..., m): ``x = x B + entering``."""
        whole = np.eye(self.coefficients.shape[1]) - self.coefficients[draw]
        return np.asarray(np.linalg.solve(whole.T, entering.T).T)


def outside(graph: CandidateGraph, categories: Iterable[str]) -> frozenset[str]:
    """Return the variables that come in from outside: roots, categories, and all that may act on these."""
    words = set(categories)
    roots = {name for name in graph.variables if not graph.parents(name)}
    return frozenset(roots | words | {cause for name in words for cause in graph.ancestors(name)})


def draw_equations(model: FittedGraph, size: int, rng: np.random.Generator) -> Equations:
    """Draw all regressions of a model whose nodes are straight and normal."""
    data = model.data
    index, m = data.pooled.index, len(data.pooled.names)
    fixed = outside(model.graph, data.categories) | {name for name in model.graph.variables if not data.knows(name)}
    coefficients, noise = np.zeros((size, m, m)), np.zeros((size, m))
    streams = variable_streams(model, rng)
    drawn = [name for name in model.graph.order if name not in fixed]
    model.prepare(drawn)
    for block in model.blocks(drawn):
        if isinstance(block, NodeBlock):
            node = block.node.columns if isinstance(block.node, ParentsPosterior) else block.node
            slopes, variance = node.draw(size, streams[block.child])
            coefficients[:, [index[name] for name in node.parents], index[block.child]] = slopes
            noise[:, index[block.child]] = np.sqrt(variance)
        else:
            draws = block.draw(size, streams[block.variables[0]])
            for (cause, effect), slope in draws.edges():
                coefficients[:, index[cause], index[effect]] = slope
            noise[:, [index[name] for name in block.variables]] = np.sqrt(draws.variance)
    columns = [index[name] for name in data.columns(name for name in model.graph.variables if name in fixed)]
    return Equations(coefficients, noise, factor_of(data.pooled.scatter / data.pooled.n, columns), data.pooled.rows)


def factor_of(covariance: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return a factor F of the covariance of some columns, ``F'F``, shape (r, m); zero in the others."""
    found = np.zeros((len(columns), len(covariance)))
    values, vectors = np.linalg.eigh(covariance[np.ix_(columns, columns)])
    found[:, columns] = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return found
