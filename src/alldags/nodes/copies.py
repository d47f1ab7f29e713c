r"""Columns that are exact copies of each other, where it was left open how many candidates are causes.

The data see the sum of the coefficients of m copies, and of presence its number j alone: under a slab of variance tau
that sum has variance j tau, so that the copies are one column with a mixture over j. No shorter list of columns with
independent edges and one slab has the same weights: these would factorise
:math:`(1 + o z)^m = \prod_i (1 + a_i z^{s_i})`, o the odds, and the left side has one root of multiplicity m, which a
factor shares only if :math:`s_i = 1`. Stated probabilities of copies are therefore kept, copy by copy.

Where nobody stated any, a column that stands m times in the table is no m candidates: it is one cause or none, and
which of the names it goes by cannot be known. Then the node is that of the distinct columns, exactly. Of a column that
is present each of its m names has its coefficient with probability 1/m, and the answer is the same however often a
column is repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.nodes.build import NodeTerms
from alldags.nodes.posterior import NodePosterior, ParentSet
from alldags.nodes.problem import LinkedPrior, NodeProblem, Origin
from alldags.typing import BoolArray, FloatArray, IntArray

_COPY = 1e-10  # correlations above one less this are those of copies
_SIZE = 1e-6  # by how much the sizes of copies may differ, relatively: slabs are in units of the column


@dataclass(frozen=True, eq=False)
class Kinds:
    """Which of p names stand for the same column, and K distinct columns.

    Parameters
    ----------
    kept
        The first name of each distinct column, shape (K,).
    owner
        The column of each name, shape (p,).
    sign
        1, or -1 where a name is the column turned around, shape (p,).
    """

    kept: IntArray
    owner: IntArray
    sign: FloatArray

    @cached_property
    def counts(self) -> IntArray:
        """The number of names of the column of each name, shape (p,)."""
        return np.bincount(self.owner)[self.owner]

    def merged(self, terms: NodeTerms) -> NodeTerms:
        """Return the terms with one name for each distinct column."""
        places = self.kept.tolist()
        return replace(
            terms,
            names=tuple(terms.names[place] for place in places),
            probability=tuple(terms.probability[place] for place in places),
            raised=None if terms.raised is None else tuple(terms.raised[place] for place in places),
        )


def kinds_of(gram: FloatArray, terms: NodeTerms) -> Kinds | None:
    """Return which columns are copies and count once; None if there are none.

    Parameters
    ----------
    gram
        Cross-products of the columns, shape (p, p).
    terms
        Of `once`, copies count once if they have one probability and are raised alike.
    """
    size = np.sqrt(np.diag(gram))
    known = [name in terms.once for name in terms.names]
    free = np.flatnonzero((size > 0.0) & np.array(known, dtype=bool))
    correlation = gram[np.ix_(free, free)] / np.outer(size[free], size[free])
    alike = np.abs(correlation) > 1.0 - _COPY
    alike &= np.abs(size[free][:, None] / size[free] - 1.0) < _SIZE
    stated = np.array([terms.probability, terms.raised or terms.probability])[:, free]
    alike &= (stated[:, :, None] == stated[:, None, :]).all(axis=0)
    first, sign = np.arange(len(gram)), np.ones(len(gram))
    same = alike.argmax(axis=1)
    first[free], sign[free] = free[same], np.sign(correlation[np.arange(len(free)), same])
    kept, owner = np.unique(first, return_inverse=True)
    return None if len(kept) == len(gram) else Kinds(kept, owner, sign)


class CopiedPosterior(NodePosterior):
    """The posterior of a node over the names of its causes, p of them, some of which stand for the same column.

    Parameters
    ----------
    distinct
        The posterior over the K distinct columns.
    names
        Of the causes.
    kinds
        Which of them are the same column.
    """

    def __init__(self, distinct: NodePosterior, names: Sequence[str], kinds: Kinds) -> None:
        self.distinct = distinct
        self.kinds = kinds
        self.problem = _with_copies(distinct.problem, names, kinds)
        self.diagnostics = distinct.diagnostics

    @cached_property
    def _share(self) -> FloatArray:
        """Of a distinct column's coefficient, how much a name has on average, sign and all, shape (p,)."""
        return self.kinds.sign / self.kinds.counts

    def _spread(self, values: FloatArray) -> FloatArray:
        """Return second moments of columns, shape (K, K), as those of names: two names are never there at once."""
        owner, share = self.kinds.owner, self._share
        out = values[np.ix_(owner, owner)] * np.outer(share, share)
        out[owner[:, None] == owner] = 0.0
        out[np.diag_indices(len(owner))] = np.diag(values)[owner] / self.kinds.counts
        return out

    @property
    def prior_inclusion(self) -> FloatArray:
        return np.asarray(self.distinct.prior_inclusion[self.kinds.owner] / self.kinds.counts)

    @property
    def stated_inclusion(self) -> FloatArray:
        return np.asarray(self.distinct.stated_inclusion[self.kinds.owner] / self.kinds.counts)

    @property
    def has_independent_edges(self) -> bool:
        return False

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self.distinct.mean[self.kinds.owner] * self._share)

    @cached_property
    def second_moment(self) -> FloatArray:
        return self._spread(self.distinct.second_moment)

    @cached_property
    def second_moment_between(self) -> FloatArray | None:
        between = self.distinct.second_moment_between
        return None if between is None else self._spread(between)

    @property
    def noise_variance(self) -> float:
        return self.distinct.noise_variance

    @property
    def log_evidence(self) -> float | None:
        return self.distinct.log_evidence

    @property
    def log_evidence_error(self) -> float:
        """Monte-Carlo standard error of `log_evidence`."""
        return float(getattr(self.distinct, "log_evidence_error", 0.0))

    @cached_property
    def inclusion(self) -> FloatArray | None:
        found = self.of_columns
        return None if found is None else found / self.kinds.counts

    @property
    def of_columns(self) -> FloatArray | None:
        """Posterior probability that the column of each name is present, under whatever name, shape (p,)."""
        found = self.distinct.inclusion
        return None if found is None else np.asarray(found[self.kinds.owner])

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        coefficients, variance = self.distinct.draw(size, rng)
        out = np.zeros((size, len(self.kinds.owner)))
        for column, first in enumerate(self.kinds.kept.tolist()):
            names = np.flatnonzero(self.kinds.owner == column)
            chosen = np.full(size, first) if len(names) == 1 else rng.choice(names, size)
            out[np.arange(size), chosen] = coefficients[:, column] * self.kinds.sign[chosen]
        return out, variance

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        """Return it by inclusion and exclusion of columns of which only some names are in a mask."""
        return np.array([self._absent(mask) for mask in masks])

    def _absent(self, mask: BoolArray) -> float:
        """Return the probability that no name in a mask is present.

        A column that is present goes by another name with the probability q that the mask leaves, so that the sum over
        which columns are present is that over subsets T of those partly in the mask, of ``prod_T q prod (1 - q)`` times
        the probability that none outside T is there.
        """
        inside = np.bincount(self.kinds.owner, mask)
        left = 1.0 - inside / np.bincount(self.kinds.owner)
        partly = np.flatnonzero((inside > 0) & (left > 0.0))
        if len(partly) > _MOST_PARTLY:  # which never happens to a question about few causes
            drawn, _ = self.draw(_DRAWS, np.random.default_rng(0))
            return float((drawn[:, mask] == 0.0).all(axis=1).mean())
        subsets = (np.arange(2 ** len(partly))[:, None] >> np.arange(len(partly)) & 1).astype(bool)
        masks = np.tile(inside > 0, (len(subsets), 1))
        masks[:, partly] = ~subsets
        weight = np.where(subsets, left[partly], 1.0 - left[partly]).prod(axis=1)
        found = self.distinct.probability_disjoint(masks)
        assert found is not None
        return float(weight @ np.where(masks.any(axis=1), found, 1.0))

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        """Return the mean given one name present, or absent: its column may then go by another, or be absent."""
        column = int(self.kinds.owner[parent])
        here = self.distinct.mean_given(column, True)
        if here is None or self.inclusion is None or self.of_columns is None:
            return None
        own = self.kinds.owner == column
        if present:
            given = here[self.kinds.owner] * self._share
            given[own] = 0.0
            given[parent] = here[column] * self.kinds.sign[parent]
            return np.asarray(given)
        chance = float(self.inclusion[parent])
        if chance >= 1.0:
            return None
        there = self.mean_given(parent, True)
        return np.asarray((self.mean - chance * there) / (1.0 - chance)) if there is not None else None

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...] | None:
        """Return the most probable sets of columns, each by the first of its names."""
        return self.distinct.top_parent_sets(size)

    def linear_error(self, weights: FloatArray) -> float:
        own = np.asarray(weights, dtype=float) * self._share
        return self.distinct.linear_error(np.asarray(np.bincount(self.kinds.owner, own), dtype=float))

    @property
    def mean_bound(self) -> FloatArray:
        return np.asarray(self.distinct.mean_bound[self.kinds.owner] / self.kinds.counts)

    @property
    def inclusion_bound(self) -> FloatArray:
        return np.asarray(self.distinct.inclusion_bound[self.kinds.owner] / self.kinds.counts)

    @property
    def set_draws(self) -> float:
        return self.distinct.set_draws


_MOST_PARTLY = 12
_DRAWS = 100_000


def of_columns(node: NodePosterior) -> FloatArray | None:
    """Return the probability that each cause is present, a copy by whatever name, shape (p,)."""
    return node.of_columns if isinstance(node, CopiedPosterior) else node.inclusion


def distinct_among(node: NodePosterior, names: Collection[str]) -> int:
    """Return how many distinct columns some causes of a node are."""
    if not isinstance(node, CopiedPosterior):
        return len(names)
    places = [place for place, name in enumerate(node.parents) if name in names]
    return len(np.unique(node.kinds.owner[places]))


def _with_copies(problem: NodeProblem, names: Sequence[str], kinds: Kinds) -> NodeProblem:
    """Return a problem over distinct columns as one over names; no engine is given it."""
    owner, sign, linked = kinds.owner, kinds.sign, problem.linked
    size, origin = problem.log_size, problem.origin
    return replace(
        problem,
        terms=tuple(names),
        gram=problem.gram[np.ix_(owner, owner)] * np.outer(sign, sign),
        cross=problem.cross[owner] * sign,
        probability=problem.probability[owner],
        log_size=None if size is None else np.append(size, np.full(len(owner) - len(kinds.kept), size[-1])),
        origin=None if origin is None else Origin(origin.child, origin.terms[owner] * sign),
        linked=None if linked is None else LinkedPrior(linked.stated[owner], linked.raised[owner]),
    )
