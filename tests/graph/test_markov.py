"""Markov classes against a list of all graphs."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

from alldags.graph.markov import class_key, class_members, covered_edges, edges_of, open_edges, parents_of, turned
from naive.orders import all_graphs


def words(graph):
    return tuple(sum(1 << i for i in own) for own in graph)


def naive_key(graph):
    """Neighbours and unshielded colliders, straight from the definition."""
    joined = {frozenset((i, j)) for j, own in enumerate(graph) for i in own}
    colliders = {
        (a, b, j)
        for j, own in enumerate(graph)
        for a, b in itertools.combinations(sorted(own), 2)
        if frozenset((a, b)) not in joined
    }
    return frozenset(joined), frozenset(colliders)


@pytest.fixture(scope="module", params=[3, 4])
def classes(request):
    b = request.param
    found = defaultdict(set)
    for graph in all_graphs([[i for i in range(b) if i != j] for j in range(b)]):
        found[naive_key(graph)].add(words(graph))
    return b, list(found.values())


def test_the_key_is_that_of_the_class(classes):
    b, groups = classes
    keys = [{class_key(graph) for graph in group} for group in groups]
    assert all(len(own) == 1 for own in keys)
    assert len(set.union(*keys)) == len(groups) == {3: 11, 4: 185}[b]


def test_covered_edges_lead_to_all_members_and_nowhere_else(classes):
    for group in classes[1]:
        first = min(group)
        assert set(class_members(first)) == group
        assert class_members(first)[0] == first
        assert class_members(first, limit=len(group)) is not None
        assert class_members(first, limit=len(group) - 1) is None
        for i, j in covered_edges(first):
            assert turned(first, i, j) in group


def test_open_edges_are_those_that_members_disagree_about(classes):
    b, groups = classes
    for group in groups:
        want = {
            (i, j)
            for i, j in itertools.combinations(range(b), 2)
            if len({(g[j] >> i & 1, g[i] >> j & 1) for g in group}) > 1
        }
        assert all(set(open_edges(graph)) == want for graph in group)


def test_causes_from_outside_keep_their_edges():
    # z -> a - b: turning a -> b around would make a the child of both z and b, which are not joined
    chain = (0b100, 0b001)
    assert class_members(chain) == (chain,)
    assert open_edges(chain) == ()
    both = (0b100, 0b101)  # z acts on both: the edge between them can be turned
    assert len(class_members(both)) == 2
    assert open_edges(both) == ((0, 1),)


def test_words_and_matrices_are_the_same_graph(rng):
    present = np.triu(rng.random((5, 3)) < 0.5, 1)
    assert np.array_equal(edges_of(parents_of(present), 5), present)
