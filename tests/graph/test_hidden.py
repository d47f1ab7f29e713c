"""Hidden common causes as candidate edges with two heads."""

from __future__ import annotations

import pickle

import pytest

import alldags as ad
from alldags.graph.io import format_graph

GRAPH = ad.CandidateGraph.from_order(["a b", "x", '"y"', "z"]).with_hidden("x", '"y"', 0.3)
TWO = GRAPH.with_hidden("z", "a b", 1.0)


def test_pairs_have_no_direction():
    assert dict(GRAPH.hidden) == {("x", '"y"'): 0.3}
    assert GRAPH.with_hidden('"y"', "x", 0.3) == GRAPH
    assert GRAPH.with_hidden('"y"', "x", 0.0) == ad.CandidateGraph.from_order(GRAPH.variables)
    assert dict(TWO.hidden)["a b", "z"] == 1.0


def test_changes_of_edges_keep_them():
    for changed in (GRAPH.with_edge("a b", "z", 0.1), GRAPH.without_edge("x", "z"), GRAPH.instrument("a b", "x")):
        assert changed.hidden == GRAPH.hidden
    assert GRAPH.with_order(reversed(GRAPH.variables)).with_order(GRAPH.variables) == GRAPH


def test_they_count_in_comparisons():
    assert ad.CandidateGraph.from_order(GRAPH.variables) != GRAPH
    assert len({GRAPH, TWO, GRAPH.with_hidden("x", '"y"', 0.3)}) == 2
    assert pickle.loads(pickle.dumps(TWO)) == TWO


@pytest.mark.parametrize("format", ["toml", "json", "dagitty", "dot"])
@pytest.mark.parametrize("graph", [GRAPH, TWO])
def test_round_trips(format, graph):
    assert ad.parse_graph(format_graph(graph, format), format) == graph


@pytest.mark.parametrize("format", ["csv", "gml"])
def test_formats_without_a_place_for_them_refuse(format):
    with pytest.raises(ad.AlldagsError, match=f"{format.upper()} has no place for the hidden common cause 'x'"):
        format_graph(GRAPH, format)


def test_texts():
    graph = ad.parse_graph('dag { x -> y; y <-> x [probability="0.2"]; x <-> z }', "dagitty", probability=0.4)
    assert dict(graph.hidden) == {("x", "y"): 0.2, ("x", "z"): 0.4}
    assert dict(graph.edges) == {("x", "y"): 0.4}
    assert dict(ad.parse_graph("digraph { x -> y [dir=both] }", "dot").hidden) == {("x", "y"): 0.5}
    toml = 'order = ["x", "y"]\nhidden = [["x", "y", 0.25]]\n'
    assert dict(ad.parse_graph(toml, "toml").hidden) == {("x", "y"): 0.25}


@pytest.mark.parametrize(
    ("text", "format", "match"),
    [
        ("dag { x <-> x }", "dagitty", "joins a variable with itself"),
        ("dag { x <-> y; y <-> x }", "dagitty", "given twice"),
        ("dag { x <-> y [probability=2] }", "dagitty", "must be a number from 0 to 1"),
        ('order = ["x"]\nhidden = [["x", "q"]]', "toml", "names 'q', which is not among the variables"),
        ('order = ["x"]\nhidden = [["x"]]', "toml", "expected .first, second."),
        ('order = ["x"]\nhidden = [{ first = "x", cause = "y" }]', "toml", "unknown key 'cause'"),
    ],
)
def test_bad_texts(text, format, match):
    with pytest.raises(ad.AlldagsError, match=match):
        ad.parse_graph(text, format)


def test_bad_pairs():
    with pytest.raises(ad.AlldagsError, match="'q' is not a variable of the graph"):
        GRAPH.with_hidden("x", "q")
    with pytest.raises(ad.AlldagsError, match="has probability True"):
        GRAPH.with_hidden("x", "z", True)
    with pytest.raises(ad.AlldagsError, match="is given twice"):
        ad.CandidateGraph(("x", "y"), {}, hidden={("x", "y"): 0.1, ("y", "x"): 0.2})
