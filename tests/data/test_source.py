"""One door: whatever holds the same numbers gives the same moments and the same answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import alldags as ad
from alldags.data.source import ignored_columns_note, open_source
from alldags.errors import DataError
from lines import fit

NAMES = ("dose", "age", "score")
GRAPH = ad.CandidateGraph.from_order(["age", "dose", "score"])


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(11)
    return rng.normal(size=(50, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.7], [0, 0, 1]])


@pytest.fixture(params=["mapping", "pandas", "polars", "pyarrow", "csv", "csv as text", "parquet", "feather"])
def table(request, values, tmp_path):
    """The same table in every form that brings its own names."""
    columns = dict(zip(NAMES, values.T, strict=True))
    match request.param:
        case "mapping":
            return columns
        case "pandas":
            return pd.DataFrame(columns)
        case "polars":
            return pl.DataFrame(columns)
        case "pyarrow":
            return pa.table(columns)
        case "parquet":
            pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
            return tmp_path / "t.parquet"
        case "feather":
            pl.DataFrame(columns).write_ipc(tmp_path / "t.feather")
            return tmp_path / "t.feather"
        case _:
            pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
            return str(tmp_path / "t.csv") if request.param == "csv as text" else tmp_path / "t.csv"


def test_every_way_in_gives_the_same_columns_and_moments(table, values):
    want = ad.Moments.from_table(np.asfortranarray(values), ["score", "age"], names=NAMES)
    source = open_source(table)
    assert source.columns == NAMES
    got = source.moments(["score", "age"])
    assert got.names == ("score", "age")
    assert got.n == 50
    assert (got.mean == want.mean).all()
    assert (got.scatter == want.scatter).all()


def test_fit_takes_every_way_in(table, values):
    want = fit(np.asfortranarray(values), GRAPH, names=NAMES, rng=0).effect("dose", "score")
    assert fit(table, GRAPH, rng=0).effect("dose", "score").mean == want.mean


def test_moments_are_a_source_of_their_columns(values):
    whole = ad.Moments.from_table(values, names=NAMES)
    source = open_source(whole)
    assert source.columns == NAMES
    assert source.moments().scatter.tolist() == whole.scatter.tolist()
    assert source.moments(["age"], drop_missing=True, n_jobs=2).mean.tolist() == [whole.mean[1]]
    assert ad.Moments.from_table(whole, ["age"]).names == ("age",)


def test_names_are_for_arrays_only(table, values):
    with pytest.raises(DataError, match="names= is for arrays; this table brings its own column names"):
        open_source(table, names=NAMES)
    with pytest.raises(DataError, match="names= is for arrays"):
        open_source(ad.Moments.from_table(values, names=NAMES), names=NAMES)


def test_what_is_no_table_is_named_even_if_names_are_given():
    with pytest.raises(DataError, match=r"cannot read a table of type list; .* or the path of a file"):
        open_source([[1.0, 2.0], [3.0, 4.0]], names=["a", "b"])


def test_unknown_columns_are_named(table):
    with pytest.raises(DataError, match=r"column 'scores' is not in the data; did you mean 'score'\?"):
        open_source(table).moments(["scores"])


def test_fit_says_what_is_wrong_with_a_path(tmp_path):
    (tmp_path / "study.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"there is no file .*studi\.csv'; did you mean 'study\.csv'\?"):
        fit(tmp_path / "studi.csv", GRAPH)
    with pytest.raises(DataError, match=r"cannot tell the format of 'study\.doc'; the name must end in \.csv"):
        fit("study.doc", GRAPH)


def test_a_column_that_is_not_used_may_be_anything(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,site,b\n1,x,2\n2,y,3\n4,x,1\n")
    posterior = fit(file, ad.CandidateGraph.from_order(["a", "b"]), rng=0)
    assert list(map(str, posterior.notes)) == ["columns not in the graph were ignored: 'site'"]


def test_many_ignored_columns_are_summed_up():
    source = open_source({f"v{j}": [1.0, 2.0] for j in range(8)})
    assert ignored_columns_note(source, [f"v{j}" for j in range(8)]) == ()
    (note,) = ignored_columns_note(source, ["v0"])
    assert note.text.endswith("'v1', 'v2', 'v3', 'v4', 'v5' and 2 more")


def test_read_table_is_public():
    assert "read_table" in dir(ad)
    example = Path(__file__).parents[2] / "examples" / "data" / "smoking.csv"
    assert open_source(ad.read_table(example)).columns == ad.datasets.example().graph.variables
