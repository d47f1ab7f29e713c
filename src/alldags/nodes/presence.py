"""Which of some causes act on a child: the probability of each set of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

import numpy as np

from alldags.nodes.posterior import NodePosterior
from alldags.nodes.spec import Present

_MOST = 8  # sets that are told apart
_NEGLIGIBLE = 1e-3  # probability of a set that is not


def presences(node: NodePosterior, causes: Sequence[str]) -> tuple[Present, ...]:
    """Return the sets of causes that are probable in a regression, the most probable first; shares add up to one.

    Inclusion and exclusion: ``P(just R) = sum over T in R of (-1)^|T| P(none of T and of all that are not in R)``.

    Parameters
    ----------
    node
        The regression, of an engine that averages over sets.
    causes
        Some of its parents.
    """
    sets = [frozenset(names) for names in _subsets(causes)]
    absent = _absent(node, sets)
    every = frozenset(causes)
    share = {
        one: sum((-1) ** len(extra) * absent[(every - one) | frozenset(extra)] for extra in _subsets(sorted(one)))
        for one in sets
    }
    first, *others = sorted(sets, key=lambda one: (-share[one], sorted(one)))[:_MOST]
    kept = [first, *(one for one in others if share[one] > _NEGLIGIBLE)]
    total = sum(share[one] for one in kept)
    return tuple(Present(one, share[one] / total) for one in kept)


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def _absent(node: NodePosterior, sets: Sequence[frozenset[str]]) -> dict[frozenset[str], float]:
    """Return the probability that none of the causes in a set is present, for each."""
    masks = np.array([[name in one for name in node.parents] for one in sets], dtype=bool)
    found = node.probability_disjoint(masks)
    assert found is not None
    return dict(zip(sets, np.where(masks.any(axis=1), found, 1.0).tolist(), strict=True))
