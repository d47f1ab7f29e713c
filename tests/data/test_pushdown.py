"""Sums that the engine adds up itself: the same numbers, and no rows leave it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import alldags as ad
from alldags.errors import DataError
from lines import fit

NAMES = ('x"; drop table t; --', "select", "a b")


def table(offset: float = 0.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(2000, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.7], [0, 0, 1]]) + offset * np.arange(1, 4)
    return dict(zip(NAMES, values.T.copy(), strict=True))


def relation(columns) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(pa.table(columns))


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
@pytest.mark.parametrize("engine", [relation, pl.LazyFrame])
def test_moments_against_long_double(engine, offset):
    data = table(offset)
    got = ad.read_moments(engine(data), push_down=True)
    exact = np.array(list(data.values())).astype(np.longdouble)
    centred = exact - exact.mean(axis=1, keepdims=True)
    want = centred @ centred.T
    assert (got.n, got.names) == (2000, NAMES)
    assert (np.abs(got.scatter - want) / np.sqrt(np.outer(np.diag(want), np.diag(want)))).max() < 1e-12
    np.testing.assert_allclose(got.mean, exact.mean(axis=1).astype(float), rtol=1e-15, atol=1e-15)


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # inside Ibis
def test_ibis_quotes_names_for_its_backend(tmp_path):
    import ibis

    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        pl.DataFrame(table()).to_pandas().to_sql("t", connection, index=False)
    backend = ibis.sqlite.connect(tmp_path / "t.db")
    got = ad.read_moments(backend.table("t"), push_down=True)
    backend.disconnect()
    np.testing.assert_allclose(got.scatter, ad.Moments.from_table(table()).scatter, rtol=1e-12)


@pytest.mark.parametrize("null", [True, False])
def test_missing_values(null):
    data = table()
    data["select"][[3, 5, 8]] = np.nan
    lazy = relation({name: pa.array(column, from_pandas=null) for name, column in data.items()})
    with pytest.raises(DataError, match=r"missing values in column 'select' \(3\); of 2000 rows, 3 have one"):
        ad.read_moments(lazy, push_down=True)
    got = ad.read_moments(lazy, push_down=True, missing="drop")
    want = ad.Moments.from_table(data, missing="drop")
    assert got.n == 1997
    np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-12)


def test_truth_values_decimals_and_whole_numbers():
    lazy = duckdb.sql("select * from (values (true, 1.25::decimal(9,2), 7), (null, 2, 8), (false, 3.5, 9)) t(a, b, c)")
    got = ad.read_moments(lazy, push_down=True, missing="drop")
    assert (got.n, got.mean.tolist()) == (2, [0.5, 2.375, 8.0])


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (pl.DataFrame({"a": [1.0, 2.0]}), "push_down=True is for tables behind a query engine .*, not for DataFrame"),
        (pl.LazyFrame({"a": ["x", "y"]}), "column 'a' has dtype String, which is not a number"),
        (pl.LazyFrame({"a": [1.0]}), "the table has 1 row"),
        (pl.LazyFrame({"a": [None, None]}, schema={"a": pl.Float64}), r"missing values in column 'a' \(2\)"),
        (pl.LazyFrame({"a": [1.0, float("inf")]}), r"infinite values in column 'a' \(1\)"),
        (pl.LazyFrame({"a": [1.0, 1e200]}), "squares overflow"),
        (
            duckdb.sql("select error('no more')::double as a, 1.0 as b"),
            "could not be computed where the table is: .*no more",
        ),
    ],
)
def test_mistakes_are_named(given, match):
    with pytest.raises(DataError, match=match):
        ad.read_moments(given, push_down=True)


# -- names that differ in case only ------------------------------------------------------------------------------------

BOTH = {"a": np.arange(50.0), "u": np.arange(50.0) ** 2, "b": np.sqrt(np.arange(50.0))}
EXPECTED = {"a": BOTH["a"].mean(), "A": BOTH["u"].mean(), "b": BOTH["b"].mean()}
ONE = "the columns 'a' and 'A' differ in case only, and the engine that has the table takes the two for one"


def duckdb_both() -> duckdb.DuckDBPyRelation:
    return relation(BOTH).project('a, u as "A", b')


def ibis_both(backend):
    """Return a table in which the query itself is nested: Ibis writes names twice."""
    import ibis

    return backend.table("t").mutate(A=ibis._.u).drop("u").filter(ibis._.b >= 0)


def sqlite_backend(folder):
    import ibis

    with closing(sqlite3.connect(folder / "case.db")) as connection:
        pl.DataFrame(BOTH).to_pandas().to_sql("t", connection, index=False)
    return ibis.sqlite.connect(folder / "case.db")


def duckdb_backend(folder):
    import ibis

    with duckdb.connect(folder / "case.duckdb") as connection:
        connection.register("given", pa.table(BOTH))
        connection.execute("create table t as select * from given")
    return ibis.duckdb.connect(folder / "case.duckdb")


@pytest.mark.parametrize("asked", [["A"], ["a"], ["A", "a"], ["a", "b", "A"]])
def test_engines_that_fold_case_refuse_names_that_differ_in_nothing_else(asked):
    with pytest.raises(DataError, match=ONE):
        ad.read_moments(duckdb_both(), columns=asked, push_down=True)
    assert ad.read_moments(duckdb_both(), columns=["b"], push_down=True).mean[0] == pytest.approx(EXPECTED["b"])


@pytest.mark.parametrize("asked", [["A"], ["a"], ["A", "a"], ["a", "b", "A"]])
def test_where_names_are_kept_apart_the_numbers_are_right(asked):
    want = [EXPECTED[name] for name in asked]
    both = {"a": BOTH["a"], "A": BOTH["u"], "b": BOTH["b"]}
    np.testing.assert_allclose(ad.read_moments(pl.LazyFrame(both), columns=asked, push_down=True).mean, want)
    np.testing.assert_allclose(ad.read_moments(duckdb_both(), columns=asked).mean, want)  # rows, by the engine


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option", "ignore:fetch_arrow_table")  # inside Ibis
@pytest.mark.parametrize("backend", [sqlite_backend, duckdb_backend])
@pytest.mark.parametrize("push_down", [True, False])
def test_ibis_tables_refuse_names_that_their_backend_takes_for_one(backend, push_down, tmp_path):
    opened = backend(tmp_path)
    table = ibis_both(opened)
    for asked in (["A"], ["a"], ["A", "a"]):
        with pytest.raises(DataError, match="differ in case only"):
            ad.read_moments(table, columns=asked, push_down=push_down)
    found = ad.read_moments(table, columns=["b"], push_down=push_down)
    opened.disconnect()
    assert found.mean[0] == pytest.approx(EXPECTED["b"])


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # inside Ibis
@pytest.mark.parametrize("push_down", [True, False])
def test_ibis_over_an_engine_that_keeps_case_has_the_right_numbers(push_down):
    import ibis

    table = ibis_both(ibis.polars.connect({"t": pl.DataFrame(BOTH)}))
    found = ad.read_moments(table, columns=["A", "b", "a"], push_down=push_down)
    np.testing.assert_allclose(found.mean, [EXPECTED[name] for name in "Aba"])


def test_a_fit_on_a_relation_with_such_names_is_that_on_the_table():
    graph = ad.CandidateGraph.from_order(["a", "b", "A"])
    here = fit({"a": BOTH["a"], "A": BOTH["u"], "b": BOTH["b"]}, graph, rng=0).effect("b", "A")
    there = fit(duckdb_both(), graph, rng=0).effect("b", "A")
    assert there.mean == pytest.approx(here.mean, rel=1e-9)
