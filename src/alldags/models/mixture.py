"""`Mixture`: a weighted list of models, or of whatever is computed from each of them.

All averaging over candidate graphs, shared hyperparameters and completed tables happens here: a posterior mean is the
average of the models' means, a second moment that of their second moments, and a draw is a draw from one of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from alldags.errors import AlldagsError
from alldags.nodes.posterior import NodePosterior
from alldags.orders.problem import BlockPosterior
from alldags.typing import FloatArray

Item = TypeVar("Item")
Other = TypeVar("Other")


class Slope(NamedTuple):
    """How a number answers to the means of one node or block: linearly, to first order.

    Parameters
    ----------
    child, node
        The node, or a block of unknown order and its first variable.
    slope
        Change of the number per unit of each mean coefficient, shape (k,); of a block, of each mean effect inside it,
        shape (b + e, b).
    """

    child: str
    node: NodePosterior | BlockPosterior
    slope: FloatArray


class HasEvidence(Protocol):
    """Something that can be weighed by its evidence."""

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of all data."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Prior and posterior weights of some models; evidences are asked for when the posterior ones first are.

    Parameters
    ----------
    prior
        Add up to one.
    models
        What has the evidences.
    tables
        Number of completed copies of the table: the models of the first, then those of the second, and so on. Copies
        have equal weights, since evidences of different data are not comparable; inside a copy evidence decides.
    """

    prior: tuple[float, ...]
    models: Sequence[HasEvidence]
    tables: int = 1

    @cached_property
    def _log_joint(self) -> FloatArray:
        return np.asarray(np.log(self.prior) + np.array([model.log_evidence for model in self.models]))

    @cached_property
    def posterior(self) -> tuple[float, ...]:
        """Posterior probability of each model."""
        if len(self.models) == self.tables:
            return (1.0 / self.tables,) * self.tables
        if self.tables > 1:
            joint = self._log_joint.reshape(self.tables, -1)
            within = np.exp(joint - joint.max(axis=1, keepdims=True))
            return tuple((within / within.sum(axis=1, keepdims=True) / self.tables).ravel().tolist())
        shifted = np.exp(self._log_joint - self._log_joint.max())
        return tuple((shifted / shifted.sum()).tolist())

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood, averaged over the models."""
        if self.tables > 1:
            raise AlldagsError("imputed tables have no evidence in common: it would be that of values nobody observed")
        return float(np.logaddexp.reduce(self._log_joint))


@dataclass(frozen=True, eq=False)
class Mixture(Generic[Item]):
    """A weighted list.

    Parameters
    ----------
    items
        One for each model.
    weights
        Of the models.

    Examples
    --------
    >>> from alldags.models.mixture import Mixture, Weights
    >>> class Model:
    ...     def __init__(self, log_evidence, mean):
    ...         self.log_evidence, self.mean = log_evidence, mean
    >>> models = Model(0.0, 1.0), Model(0.0, 2.0)
    >>> round(Mixture(models, Weights((0.25, 0.75), models)).average(lambda model: model.mean), 3)
    1.75
    """

    items: tuple[Item, ...]
    weights: Weights

    @classmethod
    def of(cls, models: Sequence[Item], prior: Sequence[float], tables: int = 1) -> Mixture[Item]:
        """Return the mixture of these models with these prior weights; for `tables` see `Weights`."""
        return cls(tuple(models), Weights(tuple(prior), models, tables))  # type: ignore[arg-type]

    def map(self, make: Callable[[Item], Other]) -> Mixture[Other]:
        """Return the mixture of what `make` makes of each item."""
        return Mixture(tuple(make(item) for item in self.items), self.weights)

    def paired(self, other: Mixture[Other]) -> Mixture[tuple[Item, Other]]:
        """Return the mixture of pairs with the items of another one of the same models; the weights are this one's."""
        return Mixture(tuple(zip(self.items, other.items, strict=True)), self.weights)

    # -- averages ----------------------------------------------------------------------------------------------------

    def average(self, value: Callable[[Item], float]) -> float:
        """Return the posterior average of a number."""
        return _average(self.weights.posterior, [value(item) for item in self.items])

    def averages(self, value: Callable[[Item], float]) -> FloatArray:
        """Return the posterior average of a number in each completed copy of the table, shape (tables,)."""
        weights = np.array(self.weights.posterior) * self.weights.tables
        values = np.array([value(item) for item in self.items])
        return np.asarray((weights * values).reshape(self.weights.tables, -1).sum(axis=1))

    def average_array(self, value: Callable[[Item], FloatArray]) -> FloatArray:
        """Return the posterior average of an array; an item of weight zero does not count, even where infinite."""
        parts = [
            weight * value(item) for weight, item in zip(self.weights.posterior, self.items, strict=True) if weight > 0
        ]
        return np.asarray(sum(parts[1:], start=parts[0]))

    def average_known(self, value: Callable[[Item], float | None]) -> float | None:
        """Return the posterior average of a number that some item may not know; None if one does not."""
        values = [value(item) for item in self.items]
        known = [number for number in values if number is not None]
        return _average(self.weights.posterior, known) if len(known) == len(values) else None

    def prior_average(self, value: Callable[[Item], float]) -> float:
        """Return the average of a number under the prior weights."""
        return _average(self.weights.prior, [value(item) for item in self.items])

    def all(self, is_true: Callable[[Item], bool]) -> bool:
        """Tell whether something holds of every item."""
        return all(is_true(item) for item in self.items)

    @property
    def heaviest(self) -> Item:
        """The item with the largest posterior weight."""
        return self.items[int(np.argmax(self.weights.posterior))]

    def error(self, slopes: Callable[[Item], Iterable[Slope]]) -> float:
        """Return the Monte-Carlo standard error of an average, given the weights, to first order.

        A node that several models share is one source of error. Different nodes of the same child are sampled with the
        same random numbers, so that their errors may add up; those of different children are independent.
        """
        sources: dict[tuple[str, NodePosterior | BlockPosterior], FloatArray] = {}
        for weight, item in zip(self.weights.posterior, self.items, strict=True):
            for child, node, slope in slopes(item):
                sources[child, node] = sources.get((child, node), 0.0) + weight * slope
        by_child: dict[str, float] = defaultdict(float)
        for (child, node), slope in sources.items():
            by_child[child] += node.linear_error(slope)
        return math.sqrt(sum(value**2 for value in by_child.values()))

    # -- draws -------------------------------------------------------------------------------------------------------

    def draw(
        self, size: int, rng: np.random.Generator, draw: Callable[[Item, int, np.random.Generator], FloatArray]
    ) -> FloatArray:
        """Return draws in random order, shape (..., size): from each item as many as fall to it."""
        return shuffled([piece for _, piece in self.pieces(size, rng, draw)], rng)

    def pieces(
        self, size: int, rng: np.random.Generator, draw: Callable[[Item, int, np.random.Generator], FloatArray]
    ) -> list[tuple[int, FloatArray]]:
        """Return the draws of each item that some fall to, shape (..., count), with the place of its table."""
        counts = rng.multinomial(size, self.weights.posterior)
        each = len(self.items) // self.weights.tables
        drawn = zip(self.items, counts, rng.spawn(len(counts)), strict=True)
        return [(place // each, draw(item, int(n), stream)) for place, (item, n, stream) in enumerate(drawn) if n]


def shuffled(pieces: Sequence[FloatArray], rng: np.random.Generator) -> FloatArray:
    """Return draws of several items in random order, shape (..., size)."""
    together = np.concatenate(pieces, axis=-1)
    return together if len(pieces) == 1 else rng.permutation(together, axis=-1)


def _average(weights: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights, values, strict=True) if weight > 0)
