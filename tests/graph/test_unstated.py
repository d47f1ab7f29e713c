"""A graph says how many of its edges took the default probability, because nobody stated one."""

import pickle

import networkx as nx
import pytest

import alldags as ad


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (lambda: ad.CandidateGraph.from_edges([("a", "b"), ("b", "c", 0.3)]), "1 took the default probability 0.5"),
        (lambda: ad.CandidateGraph.from_tiers([["a"], ["b"]]), "1 took the default probability 0.5"),
        (lambda: ad.parse_graph("y ~ x + m\nm ~ x", format="lavaan"), "3 took the default probability 0.5"),
        (lambda: ad.parse_graph("digraph {a -> b; b -> c [probability=0.2]}"), "1 took the default probability 0.5"),
        (lambda: ad.CandidateGraph.from_networkx(nx.DiGraph([("a", "b")])), "1 took the default probability 0.5"),
        (lambda: ad.CandidateGraph.from_edges([("a", "b"), ("b", "a")]), "2 took the default probability 0.25"),
    ],
)
def test_edges_without_a_stated_probability_are_counted(graph, words):
    assert f", {words}, " in repr(graph())


@pytest.mark.parametrize(
    "graph",
    [
        lambda: ad.CandidateGraph.from_edges({("a", "b"): 0.5}),
        lambda: ad.CandidateGraph.from_tiers([["a"], ["b"]], 0.5),
        lambda: ad.CandidateGraph.from_tiers([["a", "b"]], within=0.5),
        lambda: ad.parse_graph("digraph {a -> b}", probability=0.1),
        lambda: ad.CandidateGraph.from_order(["a", "b"]).with_edge("a", "b", 0.5),
    ],
)
def test_stated_probabilities_are_not_counted(graph):
    assert "default" not in repr(graph())


def test_what_was_not_said_is_part_of_a_graph():
    stated, unstated = ad.CandidateGraph.from_edges({("a", "b"): 0.5}), ad.CandidateGraph.from_edges([("a", "b")])
    assert stated != unstated
    assert dict(stated.edges) == dict(unstated.edges)
    assert pickle.loads(pickle.dumps(unstated)) == unstated
    assert repr(pickle.loads(pickle.dumps(unstated))) == repr(unstated)
    assert unstated.with_edge("a", "b", 0.5) == stated
    assert unstated.with_order(["b", "a"]).unstated == unstated.unstated
