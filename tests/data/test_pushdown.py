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
    got = ad.read_moments(lazy, push_down=True, drop_missing=True)
    want = ad.Moments.from_table(data, drop_missing=True)
    assert got.n == 1997
    np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-12)


def test_truth_values_decimals_and_whole_numbers():
    lazy = duckdb.sql("select * from (values (true, 1.25::decimal(9,2), 7), (null, 2, 8), (false, 3.5, 9)) t(a, b, c)")
    got = ad.read_moments(lazy, push_down=True, drop_missing=True)
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
