"""Hidden common causes as candidate edges with two heads."""

from __future__ import annotations

import pickle

import pytest

import alldags as ad
from alldags.graph.io import format_graph

GRAPH = ad.CandidateGraph.from_order(["a b", "x", '"y"', "z"]).with_hidden("x", '"y"', 0.3)
TWO = GRAPH.with_hidden("z", "a b", 1.0)
TIERS = ad.CandidateGraph.from_tiers([["a b", "g", "h"], ["x"], ["m"], ["y"]])
CLAIMS = (
    TIERS.with_hidden("y", "x", 1.0, correlation=(-0.3, 0.6))
    .with_hidden("g", "h", 0.2, correlation=1.5)
    .instrument("a b", treatment="x")
    .instruments(["g"], treatment="x", valid=0.8)
    .instruments(["h"], treatment="x", valid="some")
)


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
@pytest.mark.parametrize("graph", [GRAPH, TWO, CLAIMS, CLAIMS.with_edge("g", "y", 0.7)])
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


def test_what_is_believed_of_a_correlation_belongs_to_its_pair():
    assert dict(CLAIMS.correlations) == {("x", "y"): (-0.3, 0.6), ("g", "h"): 1.5}
    assert CLAIMS.with_hidden("x", "y", 0.0).correlations == {("g", "h"): 1.5}
    assert CLAIMS.with_hidden("x", "y", 0.5).correlations == {("g", "h"): 1.5}
    assert dict(CLAIMS.with_order(reversed(CLAIMS.variables)).correlations)["y", "x"] == (-0.3, 0.6)
    assert len({CLAIMS, CLAIMS.with_hidden("x", "y", 1.0), CLAIMS.with_hidden("x", "y", 1.0, (-0.3, 0.6))}) == 2
    assert pickle.loads(pickle.dumps(CLAIMS)) == CLAIMS


def test_instruments_act_on_later_variables_with_what_is_left_of_their_probability():
    assert CLAIMS.parents("y") == ("g", "h", "x", "m")
    assert CLAIMS.probability("g", "y") == CLAIMS.probability("g", "m") == pytest.approx(0.2)
    assert CLAIMS.probability("h", "y") == 0.5
    assert dict(CLAIMS.declared) == {("a b", "x"): 1.0, ("g", "x"): 0.8, ("h", "x"): "some"}
    assert ("g", "x") not in CLAIMS.without_edge("g", "x").declared


def test_variables_that_hidden_causes_join_are_districts():
    assert CLAIMS.districts() == (("g", "h"), ("x", "y"))
    assert CLAIMS.with_hidden("y", "m").districts() == (("g", "h"), ("x", "m", "y"))
    assert TIERS.districts() == ()


@pytest.mark.parametrize("format", ["csv", "gml"])
def test_formats_without_a_place_for_instruments_refuse(format):
    with pytest.raises(ad.AlldagsError, match=f"{format.upper()} has no place for the instrument 'g' of 'x'"):
        format_graph(TIERS.instrument("g", "x", 0.8), format)


def test_instruments_in_a_file_by_hand():
    text = 'tiers = [["z"], ["x"], ["y"]]\nhidden = [["x", "y", 0.5]]\ninstruments = [["z", "x", 0.8]]'
    graph = ad.parse_graph(text, "toml")
    assert graph == ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]]).with_hidden("x", "y").instrument("z", "x", 0.8)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda: TIERS.instrument("m", "x"), "no candidate edge 'm' -> 'x'"),
        (lambda: TIERS.instrument("g", "x", 0.0), "valid must be a probability above 0, or 'some', got 0.0"),
        (lambda: TIERS.instruments(["g"], "x", "all"), "valid must be a probability"),
        (lambda: TIERS.with_hidden("x", "y", 1.0, 0.1), "has correlation 0.1; give the shape"),
        (lambda: TIERS.with_hidden("x", "y", 1.0, (0.5, 0.2)), r"has correlation \(0.5, 0.2\)"),
        (lambda: TIERS.with_hidden("x", "y", 1.0, (-2, 0.2)), "between -1 and 1"),
    ],
)
def test_bad_claims(change, match):
    with pytest.raises(ad.AlldagsError, match=match):
        change()
