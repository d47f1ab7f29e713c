"""`NodeProblem`: the numbers one child's regression needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alldags.priors.grid import Setting
from alldags.typing import BoolArray, FloatArray, IntArray


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
class NodeProblem:
    """The numbers one child needs: k terms of its candidate parents, cross-products and prior.

    A *term* is a column of the regression. Usually the terms are the candidate parents themselves; the columns of a
    *group* (the levels of a category) enter and leave as one. Engines never ask what a term is;
    `alldags.nodes.onto.ParentsPosterior` reads what they find onto parents.

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
        Prior probabilities that a term is present, in (0, 1], shape (k,); 1 is certain. That of a group stands at each
        of its columns.
    settings
        Hyperparameter values to average over; usually one.
    log_size
        Log prior weight of the number of uncertain groups present, shape (free + 1,), on top of `probability`; None
        for independent groups.
    rows
        Number of rows of this child's regression; nan where it does not matter.
    origin
        Means of child and terms over these rows; None where they do not matter.
    linked
        What `probability` was made from by a link to another node; None without link.
    groups
        Number of the group of each column, 0, 1, 2, ... from left to right, shape (k,); None: every column alone.
    further
        Columns beside those of the causes themselves, of which few are expected, shape (k,): their prior odds are those
        of `Setting.share` times those of `probability`. None for none.
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
    linked: LinkedPrior | None = None
    groups: IntArray | None = None
    further: BoolArray | None = None

    @property
    def k(self) -> int:
        """Number of terms."""
        return len(self.terms)

    @property
    def parents(self) -> tuple[str, ...]:
        """Names that engines call parents: those of the terms."""
        return self.terms

    @cached_property
    def certain(self) -> BoolArray:
        """Which terms are certain, shape (k,)."""
        return self.probability >= 1.0

    @cached_property
    def heads(self) -> BoolArray:
        """Which columns count, shape (k,): the first of each uncertain group, and all that are alone or certain."""
        if self.groups is None:
            return np.ones(self.k, dtype=bool)
        return (np.diff(self.groups, prepend=-1) > 0) | self.certain

    @cached_property
    def uncertain(self) -> BoolArray:
        """The heads of the groups whose presence is uncertain, shape (k,)."""
        return ~self.certain if self.groups is None else self.heads & ~self.certain

    @cached_property
    def starts(self) -> IntArray:
        """Where that begins which engines flip as one, shape (flipped + 1,): at each head; the last is k."""
        return np.append(np.flatnonzero(self.heads), self.k)

    @cached_property
    def leaders(self) -> IntArray:
        """The head of each column's group, shape (k,); of a certain column, itself."""
        return np.asarray(self.starts[np.cumsum(self.heads) - 1])

    @property
    def has_groups(self) -> bool:
        """Whether an uncertain group has several columns; all else is single columns to an engine."""
        return self.groups is not None and not self.heads.all()

    @property
    def free(self) -> int:
        """Number of groups whose presence is uncertain; ``2**free`` sets are averaged over."""
        return int(self.uncertain.sum())

    def touched(self, mask: BoolArray) -> BoolArray:
        """Return all columns of the groups that `mask`, shape (..., k), has a column of; the shape stays."""
        if self.groups is None or self.k == 0:
            return mask
        firsts = np.flatnonzero(np.diff(self.groups, prepend=-1))
        return np.logical_or.reduceat(mask, firsts, axis=-1)[..., self.groups]

    def group_of(self, index: int) -> BoolArray:
        """Return the columns of the group that the column `index` belongs to, shape (k,)."""
        return self.touched(np.arange(self.k) == index)

    @cached_property
    def log_odds(self) -> FloatArray:
        """Log prior odds of each term, shape (k,); 0 for certain ones. A group has them at each of its columns."""
        p = np.where(self.certain, 0.5, self.probability)
        return np.asarray(np.log(p) - np.log1p(-p))

    @cached_property
    def prior_inclusion(self) -> FloatArray:
        """Prior probability that each term is present, shape (k,); the size prior is taken into account."""
        if self.log_size is None or self.free == 0:
            return self.probability
        odds = np.exp(self.log_odds)
        inclusion, free = np.ones(self.k), self.uncertain
        for value in np.unique(odds[free]):  # terms of equal odds have equal probabilities
            alike = free & (odds == value)
            others = free & (np.arange(self.k) != np.flatnonzero(alike)[0])
            inclusion[alike] = value * (_size_counts(odds[others]) @ np.exp(self.log_size[1:])) / self._size_total
        return inclusion[self.leaders]

    @property
    def stated_inclusion(self) -> FloatArray:
        """Prior probability that each term is present before any link, shape (k,)."""
        return self.prior_inclusion if self.linked is None else self.without_link().prior_inclusion

    def without_link(self) -> NodeProblem:
        """Return the problem with the stated probabilities."""
        return self if self.linked is None else replace(self, probability=self.linked.stated, linked=None)

    def prior_disjoint(self, mask: BoolArray) -> float:
        """Return the prior probability that none of the groups of the terms in `mask`, shape (k,), is present."""
        if (mask & self.certain).any():
            return 0.0
        mask = self.touched(mask)
        if self.log_size is None:
            return float(np.prod(1.0 - self.probability[mask & self.heads]))
        others = _size_counts(np.exp(self.log_odds)[self.uncertain & ~mask])
        return float(others @ np.exp(self.log_size[: len(others)]) / self._size_total)

    @cached_property
    def _size_total(self) -> float:
        """Total prior weight of all sets under the size prior."""
        log_size = np.zeros(self.free + 1) if self.log_size is None else self.log_size
        return float(_size_counts(np.exp(self.log_odds)[self.uncertain]) @ np.exp(log_size))

    def with_setting(self, setting: Setting) -> NodeProblem:
        """Return the problem with this one hyperparameter value."""
        return replace(self, settings=(replace(setting, log_weight=0.0),)).settled()

    def settled(self) -> NodeProblem:
        """Return the problem, of one setting, in which further columns have the probabilities that it gives them."""
        if self.further is None:
            return self
        (setting,) = self.settings
        odds = setting.share / (1.0 - setting.share) * np.exp(self.log_odds)
        given = np.where(self.further & ~self.certain, odds / (1.0 + odds), self.probability)
        return replace(self, probability=given, further=None)

    def with_certain(self, index: int) -> NodeProblem:
        """Return the problem in which the group of the term `index` is certain."""
        probability = np.where(self.group_of(index), 1.0, self.probability)
        return replace(self, probability=probability, log_size=_drop_one(self.log_size, present=True))

    def without(self, indices: Sequence[int] | BoolArray) -> NodeProblem:
        """Return the problem without the groups of these terms (indices, or a mask of shape (k,))."""
        out = np.zeros(self.k, dtype=bool)
        out[indices] = True
        keep = ~self.touched(out)
        log_size = self.log_size
        for _ in range(int((~keep & self.uncertain).sum())):
            log_size = _drop_one(log_size, present=False)
        return replace(
            self,
            terms=tuple(name for name, kept in zip(self.terms, keep, strict=True) if kept),
            gram=self.gram[np.ix_(keep, keep)],
            cross=self.cross[keep],
            probability=self.probability[keep],
            log_size=log_size,
            origin=None,
            linked=None,
            groups=None if self.groups is None else np.unique(self.groups[keep], return_inverse=True)[1],
            further=None if self.further is None else self.further[keep],
        )


def _size_counts(odds: FloatArray) -> FloatArray:
    """Return the elementary symmetric polynomials of the odds: the weight of the sets of each size, (free + 1,)."""
    counts = np.ones(1)
    for value in odds:
        counts = np.append(counts, 0.0) + value * np.append(0.0, counts)
    return counts


def _drop_one(log_size: FloatArray | None, *, present: bool) -> FloatArray | None:
    """Condition the size prior on one uncertain group being present or absent."""
    if log_size is None:
        return None
    return log_size[1:] if present else log_size[:-1]
