"""`NodeProblem`: the numbers one child's regression needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alldags.priors.grid import Setting
from alldags.typing import BoolArray, FloatArray


class Origin(NamedTuple):
    """Where a regression's variables have their means, in working units.

    Parameters
    ----------
    child
        Mean of the child over the node's own rows; 0 without intercept.
    terms
        Means of its terms over the same rows, shape (k,).
    """

    child: float
    terms: FloatArray


class LinkedPrior(NamedTuple):
    """Stated probabilities of the terms and what a link added, (k,) each: ``1 - (1 - stated) (1 - raised)`` results."""

    stated: FloatArray
    raised: FloatArray


@dataclass(frozen=True, eq=False)
class Loadings:
    """How the terms of a regression respond to its parents, p of them.

    Parameters
    ----------
    parents
        Names of the parents.
    slopes
        Change of each term per unit of each parent, where the effect is asked for; shape (p, k).
    members
        Which terms contain which parent, shape (p, k): an edge is present iff one of its terms is.
    """

    parents: tuple[str, ...]
    slopes: FloatArray
    members: BoolArray


@dataclass(frozen=True, eq=False)
class NodeProblem:
    """The numbers one child needs: k terms of its candidate parents, cross-products and prior.

    A *term* is a column of the regression. Usually the terms are the candidate parents themselves; `loadings` says what
    they have to do with them where they are not (a product of two parents, a curve, a level of a category). Engines
    never ask what a term is.

    Parameters
    ----------
    child, terms
        Names; k = ``len(terms)``.
    gram
        Cross-products of the terms, shape (k, k); centred if there is an intercept.
    cross
        Cross-products of the terms with the child, shape (k,).
    total
        Sum of squares of the child.
    n
        Number of rows, less one if an intercept was taken out.
    probability
        Prior probabilities that a term is present, in (0, 1], shape (k,); 1 is certain.
    settings
        Hyperparameter values to average over; usually one.
    log_size
        Log prior weight of the number of uncertain terms present, shape (free + 1,), on top of `probability`; None
        for independent terms.
    rows
        Number of rows of this child's regression; nan where it does not matter.
    origin
        Means of child and terms over these rows; None where they do not matter.
    loadings
        None: the terms are the parents.
    linked
        What `probability` was made from by a link to another node; None without link.
    """

    child: str
    terms: tuple[str, ...]
    gram: FloatArray
    cross: FloatArray
    total: float
    n: float
    probability: FloatArray
    settings: tuple[Setting, ...]
    log_size: FloatArray | None = None
    rows: float = math.nan
    origin: Origin | None = None
    loadings: Loadings | None = None
    linked: LinkedPrior | None = None

    @property
    def k(self) -> int:
        """Number of terms."""
        return len(self.terms)

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the candidate parents."""
        return self.terms if self.loadings is None else self.loadings.parents

    @cached_property
    def certain(self) -> BoolArray:
        """Which terms are certain, shape (k,)."""
        return self.probability >= 1.0

    @property
    def free(self) -> int:
        """Number of terms whose presence is uncertain; ``2**free`` sets are averaged over."""
        return int(self.k - self.certain.sum())

    @cached_property
    def log_odds(self) -> FloatArray:
        """Log prior odds of each term, shape (k,); 0 for certain ones."""
        p = np.where(self.certain, 0.5, self.probability)
        return np.asarray(np.log(p) - np.log1p(-p))

    @cached_property
    def prior_inclusion(self) -> FloatArray:
        """Prior probability that each term is present, shape (k,); the size prior is taken into account."""
        if self.log_size is None or self.free == 0:
            return self.probability
        odds = np.exp(self.log_odds)
        inclusion, free = np.ones(self.k), ~self.certain
        for value in np.unique(odds[free]):  # terms of equal odds have equal probabilities
            alike = free & (odds == value)
            others = free & (np.arange(self.k) != np.flatnonzero(alike)[0])
            inclusion[alike] = value * (_size_counts(odds[others]) @ np.exp(self.log_size[1:])) / self._size_total
        return inclusion

    @property
    def stated_inclusion(self) -> FloatArray:
        """Prior probability that each term is present before any link, shape (k,)."""
        return self.prior_inclusion if self.linked is None else self.without_link().prior_inclusion

    def without_link(self) -> NodeProblem:
        """Return the problem with the stated probabilities."""
        return self if self.linked is None else replace(self, probability=self.linked.stated, linked=None)

    def prior_disjoint(self, mask: BoolArray) -> float:
        """Return the prior probability that none of the terms in `mask`, shape (k,), is present."""
        if (mask & self.certain).any():
            return 0.0
        if self.log_size is None:
            return float(np.prod(1.0 - self.probability[mask]))
        others = _size_counts(np.exp(self.log_odds)[~self.certain & ~mask])
        return float(others @ np.exp(self.log_size[: len(others)]) / self._size_total)

    @cached_property
    def _size_total(self) -> float:
        """Total prior weight of all sets under the size prior."""
        log_size = np.zeros(self.free + 1) if self.log_size is None else self.log_size
        return float(_size_counts(np.exp(self.log_odds)[~self.certain]) @ np.exp(log_size))

    def with_setting(self, setting: Setting) -> NodeProblem:
        """Return the problem with this one hyperparameter value."""
        return replace(self, settings=(replace(setting, log_weight=0.0),))

    def with_certain(self, index: int) -> NodeProblem:
        """Return the problem in which the term `index` is certain."""
        probability = self.probability.copy()
        probability[index] = 1.0
        return replace(self, probability=probability, log_size=_drop_one(self.log_size, present=True))

    def without(self, indices: Sequence[int] | BoolArray) -> NodeProblem:
        """Return the problem without these terms (indices, or a mask of shape (k,)), read without loadings."""
        keep = np.ones(self.k, dtype=bool)
        keep[indices] = False
        log_size = self.log_size
        for _ in range(int((~keep & ~self.certain).sum())):
            log_size = _drop_one(log_size, present=False)
        return replace(
            self,
            terms=tuple(name for name, kept in zip(self.terms, keep, strict=True) if kept),
            gram=self.gram[np.ix_(keep, keep)],
            cross=self.cross[keep],
            probability=self.probability[keep],
            log_size=log_size,
            origin=None,
            loadings=None,
            linked=None,
        )


def _size_counts(odds: FloatArray) -> FloatArray:
    """Return the elementary symmetric polynomials of the odds: the weight of the sets of each size, (free + 1,)."""
    counts = np.ones(1)
    for value in odds:
        counts = np.append(counts, 0.0) + value * np.append(0.0, counts)
    return counts


def _drop_one(log_size: FloatArray | None, *, present: bool) -> FloatArray | None:
    """Condition the size prior on one uncertain term being present or absent."""
    if log_size is None:
        return None
    return log_size[1:] if present else log_size[:-1]
