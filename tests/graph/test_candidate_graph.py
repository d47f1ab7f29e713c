from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alldags as ad
from alldags.errors import AlldagsError, GraphError

CandidateGraph = ad.CandidateGraph


def diamond() -> ad.CandidateGraph:
    return CandidateGraph.from_edges(
        {("a", "b"): 0.5, ("a", "c"): 1.0, ("b", "d"): 0.25, ("c", "d"): 0.75}, variables=["d", "c", "b", "a", "lone"]
    )


def test_tiers_join_every_variable_to_all_later_tiers() -> None:
    graph = CandidateGraph.from_tiers([["a", "b"], "c", ("d",)], probability=0.3)
    assert graph.variables == ("a", "b", "c", "d")
    assert dict(graph.edges) == dict.fromkeys([("a", "c"), ("b", "c"), ("a", "d"), ("b", "d"), ("c", "d")], 0.3)


def test_order_is_tiers_of_one() -> None:
    assert CandidateGraph.from_order(iter("abc"), 0.2) == CandidateGraph.from_tiers([["a"], ["b"], ["c"]], 0.2)


def test_edges_as_mapping_pairs_and_triples() -> None:
    expected = CandidateGraph(("a", "b", "c"), {("a", "b"): 0.4, ("b", "c"): 0.9})
    assert CandidateGraph.from_edges([("a", "b"), ["b", "c", 0.9]], probability=0.4) == expected
    assert CandidateGraph.from_edges({("a", "b"): 0.4, ("b", "c"): 0.9}) == expected


def test_probability_zero_is_leaving_out() -> None:
    graph = CandidateGraph(("a", "b"), {("a", "b"): 0})
    assert graph.edges == {}
    assert graph.probability("a", "b") == 0.0
    assert CandidateGraph(("a", "b"), {("a", "b"): 0.5, ("b", "a"): 0.0}).order == ("a", "b")


def test_numbers_of_every_kind_become_floats() -> None:
    graph = CandidateGraph(("a", "b", "c"), {("a", "b"): 1, ("b", "c"): np.float32(0.5)})
    assert {type(value) for value in graph.edges.values()} == {float}


def test_with_and_without_edge_return_new_graphs() -> None:
    graph = diamond()
    more = graph.with_edge("a", "d", 0.1)
    assert more.probability("a", "d") == 0.1
    assert graph.probability("a", "d") == 0.0
    assert more.without_edge("a", "d") == graph
    assert graph.with_edge("a", "b", 0.0) == graph.without_edge("a", "b")


def test_immutable() -> None:
    graph = diamond()
    given = {("x", "y"): 0.5}
    other = CandidateGraph(("x", "y"), given)
    given["x", "y"] = 0.9
    assert other.edges["x", "y"] == 0.5
    with pytest.raises(TypeError):
        graph.edges["a", "b"] = 0.9  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.variables = ()  # type: ignore[misc]


@pytest.mark.parametrize("clone", [lambda g: pickle.loads(pickle.dumps(g)), copy.copy, copy.deepcopy])
def test_copies_are_equal_and_work(clone: object) -> None:
    graph = diamond()
    assert graph.order  # a cached value must not get in the way
    twin = clone(graph)  # type: ignore[operator]
    assert twin == graph
    assert hash(twin) == hash(graph)
    assert twin.parents("d") == graph.parents("d")


def test_equality_ignores_the_order_of_edges_but_not_of_variables() -> None:
    edges = {("a", "b"): 0.5, ("a", "c"): 0.5}
    graph = CandidateGraph(("a", "b", "c"), edges)
    assert graph == CandidateGraph(("a", "b", "c"), dict(reversed(edges.items())))
    assert graph != CandidateGraph(("a", "c", "b"), edges)
    assert graph != "graph"


def test_questions() -> None:
    graph = diamond()
    assert graph.parents("d") == ("c", "b")
    assert graph.ancestors("d") == {"a", "b", "c"}
    assert graph.descendants("a") == {"b", "c", "d"}
    assert graph.ancestors("a") == graph.descendants("lone") == frozenset()
    assert graph.tiers() == (("a", "lone"), ("c", "b"), ("d",))
    assert graph.log10_graphs == pytest.approx(3 * np.log10(2), rel=1e-15)
    assert repr(graph) == "CandidateGraph(5 variables, 4 candidate edges of which 1 certain, 10^0.9 graphs)"


def test_log10_graphs_does_not_overflow() -> None:
    graph = CandidateGraph.from_order([f"v{i}" for i in range(100)])
    assert graph.log10_graphs == pytest.approx(4950 * np.log10(2), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 9))
def test_order_and_matrix_agree_with_brute_force(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    permutation = rng.permutation(m)
    matrix = np.triu(rng.random((m, m)) * (rng.random((m, m)) < 0.4), 1)[np.ix_(permutation, permutation)]
    names = [f"v{i}" for i in range(m)]
    graph = CandidateGraph.from_matrix(matrix, names)
    np.testing.assert_array_equal(graph.to_matrix(), matrix)
    position = {name: i for i, name in enumerate(graph.order)}
    assert sorted(position) == sorted(names)
    assert all(position[cause] < position[effect] for cause, effect in graph.edges)
    reach = np.linalg.matrix_power(np.eye(m) + (matrix > 0), m) > 0
    for j, name in enumerate(names):
        assert graph.ancestors(name) == {names[i] for i in range(m) if reach[i, j] and i != j}
        assert graph.descendants(name) == {names[i] for i in range(m) if reach[j, i] and i != j}


def test_cycle_of_certain_edges_is_shown_whole() -> None:
    edges = {("in", "a"): 0.5, ("a", "b"): 1.0, ("b", "c"): 1.0, ("c", "a"): 1.0, ("c", "out"): 0.5}
    with pytest.raises(GraphError, match="cycle") as caught:
        CandidateGraph(("in", "a", "b", "c", "out"), edges)
    shown = str(caught.value)
    assert any(f"{a!r} -> {b!r} -> {c!r} -> {a!r};" in shown for a, b, c in ("abc", "bca", "cab"))
    assert "make one of them uncertain" in shown


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CandidateGraph((), {}), "at least one variable"),
        (lambda: CandidateGraph("ab", {}), r"variables must be a list, got 'ab'; write \['ab'\]"),
        (lambda: CandidateGraph(("a", "a"), {}), "'a' is listed twice"),
        (lambda: CandidateGraph(("a", ""), {}), "non-empty strings, got ''"),
        (lambda: CandidateGraph(("a", 1), {}), "non-empty strings, got 1"),
        (lambda: CandidateGraph(("a\ud800",), {}), "surrogate"),
        (lambda: CandidateGraph(("a", "b"), [("a", "b")]), "got list; use from_edges"),
        (lambda: CandidateGraph(("a", "b"), {"ab": 0.5}), r"pair \(cause, effect\), got 'ab'"),
        (lambda: CandidateGraph(("a", "b"), {("a", "a"): 0.5}), "'a' -> 'a' is a self-loop"),
        (lambda: CandidateGraph(("smoking",), {("smokin", "smoking"): 0.5}), "'smokin'.*did you mean 'smoking'"),
        (lambda: CandidateGraph(("a", "b"), {("a", 3): 0.5}), "names 3, which is not among"),
        (lambda: CandidateGraph(("a", "b"), {("a", "b"): 1.1}), "'a' -> 'b' has probability 1.1; .* from 0 to 1"),
        (lambda: CandidateGraph(("a", "b"), {("a", "b"): -1e-9}), "has probability -1e-09"),
        (lambda: CandidateGraph(("a", "b"), {("a", "b"): float("nan")}), "has probability nan"),
        (lambda: CandidateGraph(("a", "b"), {("a", "b"): "0.5"}), "has probability '0.5'"),
        (lambda: CandidateGraph(("a", "b"), {("a", "b"): None}), "has probability None"),
        (lambda: CandidateGraph(("a", "b"), {("a", "b"): True}), "has probability True"),
        (lambda: CandidateGraph(("a", "b"), {("a", "b"): np.True_}), "has probability .*True"),
        (lambda: CandidateGraph.from_edges([("a", "b"), ("a", "b", 0.1)]), "'a' -> 'b' is given twice"),
        (lambda: CandidateGraph.from_edges(["ab"]), "got 'ab'"),
        (lambda: CandidateGraph.from_edges([5]), "got 5"),
        (lambda: CandidateGraph.from_edges([(["a"], "b")]), "must join two names"),
        (lambda: CandidateGraph.from_edges([("a", "b")], variables="ab"), "variables must be a list"),
        (lambda: CandidateGraph.from_order("abc"), "order must be a list, got 'abc'"),
        (lambda: CandidateGraph.from_tiers("abc"), "tiers must be a list"),
        (lambda: CandidateGraph.from_tiers([["a"], 3]), "a tier must be a list, got 3"),
        (lambda: CandidateGraph.from_tiers([["a"], ["a", "b"]]), "'a' is listed twice"),
        (lambda: CandidateGraph.from_tiers([["a"], [["b"]]]), r"non-empty strings, got \['b'\]"),
        (lambda: diamond().with_edge("a", "dd"), "'dd' is not a variable of the graph"),
        (lambda: diamond().with_edge("d", "b", 0.9).blocks, "has probability .* and 'd' -> 'b' 0.9, together 1"),
        (lambda: diamond().without_edge("a", "d"), "no candidate edge 'a' -> 'd' to remove"),
        (lambda: diamond().parents("lonely"), "'lonely'.*did you mean 'lone'"),
        (lambda: diamond().parents(3), "3 is not a variable"),
        (lambda: diamond().ancestors(["a"]), r"\['a'\] is not a variable"),
    ],
)  # fmt: skip
def test_mistakes(build: object, message: str) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        build()  # type: ignore[operator]
    assert isinstance(caught.value, AlldagsError)
    assert isinstance(caught.value, ValueError)
