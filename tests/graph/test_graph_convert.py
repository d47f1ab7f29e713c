from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import alldags as ad
from alldags.errors import GraphError

NAMES = ["x", "y", "z"]
VALUES = np.array([[0.0, 0.5, 0.25], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
GRAPH = ad.CandidateGraph(tuple(NAMES), {("x", "y"): 0.5, ("x", "z"): 0.25, ("y", "z"): 1.0})


def shuffled() -> pd.DataFrame:
    return pd.DataFrame(VALUES, index=NAMES, columns=NAMES).loc[["z", "x", "y"]]


@pytest.mark.parametrize(
    "matrix",
    [
        shuffled(),
        pd.DataFrame(VALUES, columns=NAMES),
        pl.DataFrame(VALUES, schema=NAMES),
        pa.table(dict(zip(NAMES, VALUES.T, strict=True))),
    ],
    ids=["pandas", "pandas without index", "polars", "pyarrow"],
)
def test_frames_bring_their_names(matrix: Any) -> None:
    assert ad.CandidateGraph.from_matrix(matrix) == GRAPH
    turned = ad.CandidateGraph.from_matrix(matrix, variables=["z", "y", "x"])
    assert turned.variables == ("z", "y", "x")
    assert turned.edges == GRAPH.edges


@pytest.mark.parametrize("matrix", [VALUES, VALUES.tolist(), sparse.csr_array(VALUES)], ids=["array", "list", "sparse"])
def test_arrays_need_names(matrix: Any) -> None:
    assert ad.CandidateGraph.from_matrix(matrix, NAMES) == GRAPH
    with pytest.raises(GraphError, match="plain matrix needs the names"):
        ad.CandidateGraph.from_matrix(matrix)


def test_matrix_round_trip() -> None:
    np.testing.assert_array_equal(GRAPH.to_matrix(), VALUES)


@pytest.mark.parametrize(
    ("matrix", "variables", "message"),
    [
        (VALUES[:2], NAMES, r"3 variables need a matrix of shape \(3, 3\), got \(2, 3\)"),
        (VALUES, NAMES[:2], r"2 variables need a matrix of shape \(2, 2\)"),
        (VALUES[0], NAMES, r"got \(3,\)"),
        (VALUES > 0, NAMES, "does not say how probable"),
        ([["0", "much"], ["0", "0"]], ["a", "b"], "numbers only"),
        (np.where(VALUES == 1, np.nan, VALUES), NAMES, "'y' -> 'z' has probability nan"),
        (np.eye(3), NAMES, "'x' -> 'x' is a self-loop"),
        (VALUES, ["x", "x", "z"], "'x' is listed twice"),
        (np.sign(VALUES + VALUES.T), NAMES, "certain edges contain the cycle"),
        (shuffled().rename(index={"z": "w"}), None, "'w', 'z' is only in one"),
        (shuffled().rename(columns={"z": "x"}), None, "names a variable twice"),
        (shuffled(), ["x", "y", "w"], "are not the names of the matrix"),
        (pd.DataFrame(VALUES), None, "non-empty strings, got 0"),
        (pl.DataFrame(VALUES, schema=NAMES).with_row_index(), None, r"shape \(4, 4\), got \(3, 4\)"),
        (pl.DataFrame({"x": [0.0, 0.0], "y": [None, 0.0]}), None, "probability nan"),
        (pl.DataFrame({"x": ["a", "b"], "y": [0.5, 0.0]}), None, "numbers only"),
    ],
)
def test_matrix_mistakes(matrix: Any, variables: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        ad.CandidateGraph.from_matrix(matrix, variables)


def test_networkx_round_trip_keeps_order_and_lone_variables() -> None:
    graph = ad.CandidateGraph(("c", "lone", "a", "b"), {("a", "b"): 0.5, ("b", "c"): 1.0})
    converted = graph.to_networkx()
    assert list(converted) == ["c", "lone", "a", "b"]
    assert converted.edges["a", "b"] == {"probability": 0.5}
    assert ad.CandidateGraph.from_networkx(converted) == graph


def test_networkx_default_probability() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    graph.edges["a", "b"]["probability"] = 0
    assert ad.CandidateGraph.from_networkx(graph, probability=0.2).edges == {("b", "c"): 0.2}
    single = nx.MultiDiGraph([("a", "b")])
    assert ad.CandidateGraph.from_networkx(single).edges == {("a", "b"): 0.5}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.Graph([("a", "b", {"probability": "high"})]), "probability 'high'"),
        ({"a": ["b"]}, "expected a networkx DiGraph, got dict"),
        (nx.DiGraph([(1, 2)]), r"node 1 is not a string; use nx.relabel_nodes\(graph, str\)"),
        (nx.MultiDiGraph([("a", "b"), ("a", "b")]), "'a' -> 'b' is given twice"),
        (nx.DiGraph([("a", "a")]), "self-loop"),
        (
            nx.DiGraph([("a", "b", {"probability": 1}), ("b", "a", {"probability": 1})]),
            "certain edges contain the cycle",
        ),
        (nx.DiGraph([("a", "b", {"probability": "high"})]), "probability 'high'"),
        (nx.DiGraph(), "at least one variable"),
    ],
)
def test_networkx_mistakes(graph: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        ad.CandidateGraph.from_networkx(graph)
