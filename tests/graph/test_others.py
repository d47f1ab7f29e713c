"""Graphs as other programs and people write them: regressions, model strings, parents, tiers, matrices, objects."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import alldags as ad
from alldags.errors import GraphError
from alldags.graph.guess import guess_format
from alldags.graph.others import as_graph, as_graphs, from_causal_learn, from_lingam, from_lingam_knowledge

# -- regressions -------------------------------------------------------------------------------------------------------


def test_regressions_as_lavaan_and_semopy_write_them() -> None:
    text = """
    # a comment
    m ~ a*x              ! another one
    y ~ b*m + c*x +
        start(0.5)*z ; y2 + y3 ~ x
    ab := a*b
    y ~ 1
    x ~~ x
    """
    graph = ad.parse_graph(text, "lavaan", 0.3)
    assert set(graph.edges) == {("x", "m"), ("m", "y"), ("x", "y"), ("z", "y"), ("x", "y2"), ("x", "y3")}
    assert set(graph.edges.values()) == {0.3}


def test_a_residual_covariance_is_a_hidden_common_cause() -> None:
    graph = ad.parse_graph("y ~ x\nx ~~ y", "lavaan", 0.4)
    assert {frozenset(pair): p for pair, p in graph.hidden.items()} == {frozenset({"x", "y"}): 0.4}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("f =~ y1 + y2", "line 1: 'f =~ y1 \\+ y2' defines a latent variable"),
        ("y ~ x:z", "'x:z' is a product or a function of variables; make it a column"),
        ("y ~ lag(x)", r"'lag\(x\)' is a product or a function"),
        ("y ~ x\ny x", "line 2: 'y x' is no regression"),
        ("y ~ x +", "line 1: 'y ~ x \\+' ends before its last cause"),
        ("y ~ x + + z", "a variable name is missing"),
        ("y ~ 3x", "'3x' is not a variable name"),
        ("y ~ x\ny ~ x", "line 2: the edge 'x' -> 'y' is given twice"),
    ],
)
def test_what_is_no_regression_is_explained(text: str, match: str) -> None:
    with pytest.raises(GraphError, match=match):
        ad.parse_graph(text, "lavaan")


def test_quoted_names_and_intercepts() -> None:
    graph = ad.parse_graph("`body mass` ~ 0 + age", "lavaan")
    assert dict(graph.edges) == {("age", "body mass"): 0.5}


# -- model strings -----------------------------------------------------------------------------------------------------


def test_model_strings_of_bnlearn() -> None:
    graph = ad.parse_graph("[A][C][F][B|A][D|A:C][E|B:F]", "bnlearn", 0.7)
    assert graph.variables == ("A", "C", "F", "B", "D", "E")
    assert dict(graph.edges) == dict.fromkeys([("A", "B"), ("A", "D"), ("C", "D"), ("B", "E"), ("F", "E")], 0.7)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[A][B|Z]", "'Z' is a cause of 'B' but has no group"),
        ("[A][A|B][B]", "'A' has two groups"),
        ("[A]x", "'x' is not part of one"),
        ("", "is not part of one"),
        ("[A|A]", "self-loop"),
    ],
)
def test_broken_model_strings(text: str, match: str) -> None:
    with pytest.raises(GraphError, match=match):
        ad.parse_graph(text, "bnlearn")


@pytest.mark.parametrize("format", ["lavaan", "bnlearn"])
def test_formats_without_probabilities_are_not_written(format: str) -> None:
    from alldags.graph.io import format_graph

    with pytest.raises(GraphError, match="no place for edge probabilities"):
        format_graph(ad.CandidateGraph.from_order(["x", "y"]), format)  # type: ignore[arg-type]


# -- guessing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("y ~ x + m", "lavaan"),
        ("# lavaan\ny ~ x", "lavaan"),
        ("[A][B|A]", "bnlearn"),
        ('dag {\nbb="-3,-2,3,2"\nA -> B\n}', "dagitty"),
        ("pdag { A -- B }", "dagitty"),
        ("strict digraph { a -> b }", "dot"),
        ('graph[directed 1 node[id "Z" label "Z"]]', "gml"),
        ('{"variables": []}', "json"),
        ("from,to\na,b\n", "csv"),
        ("cause,effect,probability\na,b,0.5\n", "csv"),
        ('variables = ["x"]\n', "toml"),
    ],
)
def test_the_format_is_seen(text: str, format: str) -> None:
    assert guess_format(text) == format


def test_what_is_no_graph_is_not_guessed() -> None:
    with pytest.raises(GraphError, match="cannot tell in which format the graph 'hello' is"):
        ad.parse_graph("hello")


def test_all_writers_are_recognised() -> None:
    from alldags.graph.io import format_graph

    graph = ad.CandidateGraph.from_tiers([["a", "b"], ["c"]], 0.25)
    for format in ("toml", "csv", "dot", "gml", "json", "dagitty"):
        assert ad.parse_graph(format_graph(graph, format)) == graph  # type: ignore[arg-type]


# -- objects -----------------------------------------------------------------------------------------------------------


def test_parents_tiers_paths_and_texts(tmp_path: Path) -> None:
    parents = {"age": [], "smoking": ["age"], "risk": {"smoking": 0.9, "age": 0.2}}
    assert dict(as_graph(parents).edges) == {("age", "smoking"): 0.5, ("smoking", "risk"): 0.9, ("age", "risk"): 0.2}
    tiers = [["age", "sex"], ["risk"]]
    assert as_graph(tiers) == ad.CandidateGraph.from_tiers(tiers)
    ad.write_graph(as_graph(tiers), tmp_path / "g.toml")
    for path in (tmp_path / "g.toml", str(tmp_path / "g.toml")):
        assert as_graph(path) == as_graph(tiers)
    assert as_graph("m ~ x\ny ~ m").parents("y") == ("m",)
    with pytest.raises(GraphError, match="possible causes of 'risk' must be a list of names, got 'age'"):
        as_graph({"risk": "age"})
    with pytest.raises(GraphError, match=r"graph must be a CandidateGraph, a path, .* got int"):
        as_graph(3)


def test_lists_of_graphs() -> None:
    one, two = "y ~ x", {"y": ["x"]}
    assert [graph.parents("y") for graph in as_graphs([one, two])] == [("x",), ("x",)]
    assert len(as_graphs([["x"], ["y"]])) == 1
    with pytest.raises(GraphError, match=r"must have the same variables; these are not in all of them: \['z'\]"):
        as_graphs(["y ~ x", "y ~ x + z"])
    with pytest.raises(GraphError, match="the list of candidate graphs is empty"):
        as_graphs([])


def test_matrices_of_lingam_are_effect_by_cause() -> None:
    matrix = np.array([[0.0, 0.0, 3.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])  # x2 -> x0 -> x1
    assert set(from_lingam(matrix, None).edges) == {("x2", "x0"), ("x0", "x1")}
    fitted = SimpleNamespace(adjacency_matrix_=matrix, feature_names_=["a", "b", "c"])
    assert set(as_graph(fitted).edges) == {("c", "a"), ("a", "b")}
    with pytest.raises(GraphError, match="3 rows of the matrix need 3 names, got 2"):
        from_lingam(matrix, ["a", "b"])


def test_prior_knowledge_of_lingam() -> None:
    # as lingam.utils.make_prior_knowledge stores it: row = effect, column = cause; x0 is exogenous, x0 leads to x1
    knowledge = np.array([[-1, 0, 0], [1, -1, -1], [-1, -1, -1]])
    graph = from_lingam_knowledge(knowledge, ["a", "b", "c"], 0.6)
    assert dict(graph.edges) == {("a", "b"): 0.6, ("a", "c"): 0.6, ("c", "b"): 0.3, ("b", "c"): 0.3}


def test_graphs_of_causal_learn_by_their_ends() -> None:
    def node(name: str) -> SimpleNamespace:
        return SimpleNamespace(get_name=lambda: name)

    def edge(first: str, second: str, end1: str, end2: str) -> SimpleNamespace:
        ends = SimpleNamespace(name=end1), SimpleNamespace(name=end2)
        return SimpleNamespace(
            get_node1=lambda: node(first),
            get_node2=lambda: node(second),
            get_endpoint1=lambda: ends[0],
            get_endpoint2=lambda: ends[1],
        )

    edges = [edge("a", "b", "TAIL", "ARROW"), edge("b", "c", "TAIL", "TAIL"), edge("a", "d", "ARROW", "ARROW")]
    general = SimpleNamespace(get_nodes=lambda: [node(name) for name in "abcd"], get_graph_edges=lambda: edges)
    graph = from_causal_learn(general, 0.6)
    assert dict(graph.edges) == {("a", "b"): 0.6, ("b", "c"): 0.3, ("c", "b"): 0.3}
    assert dict(graph.hidden) == {("a", "d"): 0.6}
    assert as_graph(general) == from_causal_learn(general)


@pytest.mark.parametrize("name", ["weight", "prob", "p", "label"])
def test_probabilities_under_another_name_are_not_dropped(name: str) -> None:
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_edge("x", "y", **{name: 0.9})
    with pytest.raises(GraphError, match=rf"has the attribute {name} = 0.9, .* rename it to"):
        ad.CandidateGraph.from_networkx(graph)
    graph.edges["x", "y"]["probability"] = 0.8
    assert ad.CandidateGraph.from_networkx(graph).probability("x", "y") == 0.8


def test_csv_with_other_headers() -> None:
    for header in ("from,to,prob", "source,target,p", "cause,effect,probability"):
        assert dict(ad.parse_graph(f"{header}\nx,y,0.9\n", "csv").edges) == {("x", "y"): 0.9}


# -- pooling -----------------------------------------------------------------------------------------------------------


def test_pooled_probabilities() -> None:
    names = ["x", "y", "z"]
    one = ad.CandidateGraph.from_edges({("x", "y"): 0.2, ("y", "z"): 0.5}, names)
    two = ad.CandidateGraph.from_edges({("x", "y"): 0.8}, names)
    assert dict(ad.CandidateGraph.pool([one, two], [3, 1]).edges) == pytest.approx(
        {("x", "y"): 0.35, ("y", "z"): 0.375}
    )
    log = ad.CandidateGraph.pool([one, two], how="log")
    assert dict(log.edges) == pytest.approx({("x", "y"): 0.5})  # odds 1/4 and 4; excluded once is excluded
    with pytest.raises(GraphError, match="2 graphs need 2 weights, got 1"):
        ad.CandidateGraph.pool([one, two], [1.0])
    sure = ad.CandidateGraph.from_edges({("y", "z"): 1.0}, names)
    with pytest.raises(GraphError, match="for certain that another one excludes"):
        ad.CandidateGraph.pool([two, sure], how="log")
    with pytest.raises(GraphError, match=r"must have the same variables.*\['z'\]"):
        ad.CandidateGraph.pool([one, ad.CandidateGraph.from_order(["x", "y"])])
    with pytest.raises(GraphError, match="there is no graph to pool"):
        ad.CandidateGraph.pool([])


def test_probabilities_too_small_to_compute_with_are_refused():
    graph = ad.CandidateGraph.from_order(["x", "y"], 1e-320)
    with pytest.raises(GraphError, match=r"'x' -> 'y' has the probability .* too small to compute with; leave"):
        as_graphs(graph)
