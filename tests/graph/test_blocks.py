"""Candidate graphs with cycles: which variables form blocks, and what may not be stated."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alldags as ad
from alldags.errors import GraphError


def ring() -> ad.CandidateGraph:
    edges = {("in", "a"): 0.5, ("a", "b"): 0.5, ("b", "c"): 0.5, ("c", "a"): 0.5, ("c", "out"): 0.5}
    return ad.CandidateGraph(("out", "c", "b", "a", "in"), edges)


def test_a_cycle_of_candidates_is_a_block_and_is_said() -> None:
    graph = ring()
    assert graph.blocks == (("c", "b", "a"),)
    assert graph.order == ("in", "c", "b", "a", "out")
    assert not graph.is_ordered
    assert graph.component("b") == ("c", "b", "a")
    assert graph.component("in") == ("in",)
    assert graph.tiers() == (("in",), ("c", "b", "a"), ("out",))
    assert repr(graph).endswith("10^1.4 graphs, order open among 'c', 'b', 'a')")


def test_neighbours_and_reach_go_round_the_cycle_without_the_start() -> None:
    graph = ring()
    assert graph.parents("a") == ("c", "in")
    assert graph.children("c") == ("out", "a")
    assert graph.descendants("a") == {"b", "c", "out"}
    assert graph.ancestors("a") == {"b", "c", "in"}


def test_an_ordered_graph_has_no_blocks() -> None:
    graph = ad.CandidateGraph.from_order(["a", "b", "c"])
    assert graph.is_ordered
    assert graph.blocks == ()
    assert graph.component("b") == ("b",)
    assert "open" not in repr(graph)
    assert graph.realized_probabilities() == dict(graph.edges)
    assert graph.notes() == ()


@pytest.mark.parametrize("seed", range(20))
def test_components_against_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = 12
    matrix = 0.3 * (rng.random((m, m)) < 0.13) * (1 - np.eye(m))
    names = [f"v{i}" for i in rng.permutation(m)]
    graph = ad.CandidateGraph.from_matrix(matrix, names)
    expected = {frozenset(group) for group in nx.strongly_connected_components(graph.to_networkx())}
    assert {frozenset(graph.component(name)) for name in names} == expected
    assert {frozenset(block) for block in graph.blocks} == {group for group in expected if len(group) > 1}
    place = {name: i for i, name in enumerate(graph.order)}
    assert sorted(place) == sorted(names)
    for cause, effect in graph.edges:
        same = graph.component(cause) == graph.component(effect)
        assert same or place[cause] < place[effect]
    for block in graph.blocks:
        assert list(block) == [name for name in names if name in block]
        start = place[block[0]]
        assert graph.order[start : start + len(block)] == block


# -- how open directions are stated ----------------------------------------------------------------------------------


def test_tiers_with_open_order_inside() -> None:
    tiers = [["age", "sex"], ["bmi", "bp", "chol"], ["risk"]]
    graph = ad.CandidateGraph.from_tiers(tiers, 0.4, within=0.5)
    assert graph.blocks == (("age", "sex"), ("bmi", "bp", "chol"))
    assert graph.probability("sex", "age") == graph.probability("bp", "bmi") == graph.probability("bmi", "bp") == 0.25
    assert graph.probability("age", "risk") == 0.4
    single = ad.CandidateGraph.from_tiers(tiers, 0.4, within=[None, 0.6, 0.9])
    assert single.blocks == (("bmi", "bp", "chol"),)
    assert single.probability("chol", "bp") == 0.3
    assert ad.CandidateGraph.from_tiers(tiers, 0.4, within=(0, None, 0.0)) == ad.CandidateGraph.from_tiers(tiers, 0.4)


def test_unordered_is_one_tier() -> None:
    graph = ad.CandidateGraph.unordered(["a", "b", "c"], 0.6)
    assert graph == ad.CandidateGraph.from_tiers([["a", "b", "c"]], within=0.6)
    assert set(graph.edges.values()) == {0.3}
    assert graph.blocks == (("a", "b", "c"),)


def test_pairs_may_be_wrong_while_a_graph_is_built() -> None:
    built = ad.CandidateGraph.from_order(["a", "b"], 0.9).with_edge("b", "a", 0.1)
    assert "cannot be used yet: 'a' -> 'b' has probability 0.9 and 'b' -> 'a' 0.1, together 1" in repr(built)
    assert built.with_edge("a", "b", 0.4).probability("b", "a") == 0.1
    assert built.with_edge("a", "b", 0.4).blocks == (("a", "b"),)
    assert built.without_edge("a", "b").is_ordered


def test_a_certain_edge_removes_the_opposite_one() -> None:
    graph = ad.CandidateGraph.unordered(["a", "b"], 0.5).with_edge("b", "a", 1.0)
    assert dict(graph.edges) == {("b", "a"): 1.0}
    assert dict(graph.with_edge("a", "b", 1.0).edges) == {("a", "b"): 1.0}


def test_opposite_edges_without_a_probability_share_the_default() -> None:
    both = {("a", "b"): 0.2, ("b", "a"): 0.2, ("b", "c"): 0.4}
    assert dict(ad.CandidateGraph.from_edges([("a", "b"), ("b", "a"), ("b", "c")], probability=0.4).edges) == both
    one = ad.CandidateGraph.from_edges([("a", "b"), ("b", "a", 0.1)], probability=0.4)
    assert dict(one.edges) == {("a", "b"): 0.4, ("b", "a"): 0.1}


def test_changes_keep_calibrate_and_equality_sees_it() -> None:
    graph = ad.CandidateGraph.unordered(["a", "b", "c"]).uncalibrated()
    assert not graph.calibrate
    assert graph != ad.CandidateGraph.unordered(["a", "b", "c"])
    assert hash(graph) != hash(ad.CandidateGraph.unordered(["a", "b", "c"]))
    changed = [
        graph.with_edge("a", "b", 0.3),
        graph.with_pair("a", "b", 0.3),
        graph.without_edge("a", "b"),
        graph.with_order(["c", "b", "a"]),
        pickle.loads(pickle.dumps(graph)),
    ]
    assert not any(one.calibrate for one in changed)
    assert changed[-1] == graph


def test_matrix_and_networkx_round_trips() -> None:
    graph = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["d"]], 0.5, 0.5).with_pair("a", "b", 0.4, 0.1)
    assert ad.CandidateGraph.from_matrix(graph.to_matrix(), graph.variables) == graph
    assert ad.CandidateGraph.from_networkx(graph.to_networkx()) == graph
    loose = graph.uncalibrated()
    assert ad.CandidateGraph.from_networkx(loose.to_networkx()) == loose


def test_edges_of_an_undirected_networkx_graph_are_open() -> None:
    drawn = nx.Graph([("a", "b"), ("b", "c", {"probability": 0.6})])
    expected = {("a", "b"): 0.2, ("b", "a"): 0.2, ("b", "c"): 0.3, ("c", "b"): 0.3}
    assert dict(ad.CandidateGraph.from_networkx(drawn, probability=0.4).edges) == expected
    assert ad.CandidateGraph.from_networkx(nx.DiGraph([("a", "b"), ("b", "a")])).blocks == (("a", "b"),)


def test_an_instrument_must_come_before_its_treatment() -> None:
    graph = ad.CandidateGraph.from_tiers([["z"], ["x", "w"], ["y"]], within=0.5)
    assert graph.instrument("z", treatment="x").children("z") == ("x",)
    with pytest.raises(GraphError, match="'w' cannot be an instrument: 'x' may cause it"):
        graph.instrument("w", treatment="x")


# -- mistakes --------------------------------------------------------------------------------------------------------

ABC = ad.CandidateGraph(("a", "b", "c"), {})
TOO_MUCH = ABC.with_edge("a", "b", 0.6).with_edge("b", "a", 0.5)
CHAIN = ABC.with_edge("a", "b", 1).with_edge("b", "c", 1)
PAIR = ad.CandidateGraph.unordered(["a", "b"])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TOO_MUCH.blocks, "'a' -> 'b' has probability 0.6 and 'b' -> 'a' 0.5, together 1.1: both directions"),
        (lambda: TOO_MUCH.with_edge("b", "a", 0.4).blocks, r"together 1: .*with_pair\('a', 'b', 0.48, 0.32\)"),
        (lambda: TOO_MUCH.order, "together 1.1"),
        (lambda: TOO_MUCH.log10_graphs, "together 1.1"),
        (TOO_MUCH.tiers, "together 1.1"),
        (TOO_MUCH.realized_probabilities, "together 1.1"),
        (lambda: CHAIN.with_edge("b", "a", 0.1).check(), r"one is certain, .* left out; with_edge\('a', 'b', 1.0\)"),
        (lambda: ABC.with_pair("a", "b", 0.7, 0.4), "together 1.1"),
        (lambda: ABC.with_pair("a", "b", 0.5), "together 1"),
        (lambda: ABC.with_pair("a", "d"), "'d' is not a variable"),
        (lambda: ABC.with_pair("a", "b", 1.5, 0.0), "has probability 1.5"),
        (lambda: CHAIN.with_edge("c", "a", 1), "certain edges contain the cycle '.' -> '.' -> '.' -> '.'; leave out"),
        (lambda: CHAIN.with_edge("c", "a", 0.1).blocks, "never be present: .*cycle 'c' -> 'a' -> 'b' -> 'c' with"),
        (lambda: ad.CandidateGraph.from_tiers([["a", "b"]], within=1), "within is 1; .*from 0 to below 1"),
        (lambda: ad.CandidateGraph.from_tiers([["a", "b"]], within="0.5"), "within is '0.5'"),
        (lambda: ad.CandidateGraph.from_tiers([["a", "b"]], within=[0.5, 0.5]), "2 probabilities for 1 tiers"),
        (lambda: ad.CandidateGraph.unordered("abc"), "variables must be a list"),
        (lambda: ad.CandidateGraph(("a",), {}, calibrate=1), "calibrate must be True or False, got 1"),
        (lambda: PAIR.block_odds(["a"]), r"\['a'\] is not a block of the graph; its blocks are \[\('a', 'b'\)\]"),
    ],
)  # fmt: skip
def test_mistakes(build: object, message: str) -> None:
    with pytest.raises(GraphError, match=f"(?s){message}"):
        build()  # type: ignore[operator]


def test_a_table_of_posterior_probabilities_may_leave_no_room(tmp_path) -> None:
    """After seeing data an edge may be certain and only its direction open; drawing that is allowed."""
    graph = ad.CandidateGraph.unordered(["a", "b"])
    ax = graph.plot(probabilities={("a", "b"): 0.62, ("b", "a"): 0.38})
    assert [text.get_text() for text in ax.texts] == ["a", "b"]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_relabelling_changes_nothing(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = 0.45 * rng.random((m, m)) * (rng.random((m, m)) < 0.3) * (1 - np.eye(m))
    names = [f"v{i}" for i in range(m)]
    graph = ad.CandidateGraph.from_matrix(matrix, names)
    other = graph.with_order([names[i] for i in rng.permutation(m)])
    assert {frozenset(block) for block in graph.blocks} == {frozenset(block) for block in other.blocks}
    assert other.log10_graphs == pytest.approx(graph.log10_graphs, abs=1e-12)
