"""Tables to moments: every mistake is named, with its place and its remedy."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from alldags import Moments
from alldags.data import accumulate, bad_values
from alldags.errors import DataError


def fails(match: str):
    return pytest.raises(DataError, match=match)


def test_missing_values_are_counted_by_column(make):
    frame = make({"a": [1.0, None, None, 4.0], "b": [1, None, 3, 4], "c": [1, 2, 3, 4]})
    with fails(r"missing values in columns 'a' \(2\), 'b' \(1\); of 4 rows, 2 have one: .*missing='drop'"):
        Moments.from_table(frame)


def test_missing_booleans(make):
    with fails(r"missing values in column 'a' \(1\)"):
        Moments.from_table(make({"a": [True, None, False]}))


def test_a_column_without_any_value(make):
    with fails(r"missing values in column 'a' \(3\)"):
        Moments.from_table(make({"a": [None, None, None], "b": [1, 2, 3]}))


def test_many_columns_with_missing_values_are_summed_up():
    frame = {f"v{j}": np.where(np.arange(40) <= j, np.nan, 1.0) for j in range(20)}
    with fails(r"columns 'v19' \(20\), 'v18' \(19\), .*'v8' \(9\) and 8 more columns; of 40 rows, 20 have one"):
        Moments.from_table(frame)


def test_missing_values_are_counted_across_parts(monkeypatch):
    monkeypatch.setattr(accumulate, "PART_ROWS", 10)
    monkeypatch.setattr(bad_values, "PART_ROWS", 10)
    column = np.arange(95.0)
    column[[3, 50, 94]] = np.nan
    with fails(r"'a' \(3\); of 95 rows, 3 have one"):
        Moments.from_table({"a": column, "b": np.arange(95.0)}, n_jobs=2)


@pytest.mark.parametrize("missing", ["raise", "drop"])
def test_infinities(make, missing):
    frame = make({"a": [1.0, 2.0, 3.0, 4.0], "b": [np.inf, 1.0, -np.inf, 2.0]})
    with fails(r"infinite values in column 'b' \(2\); replace them"):
        Moments.from_table(frame, missing=missing)


def test_infinities_beside_missing_values():
    with fails(r"infinite values in column 'b' \(1\)"):
        Moments.from_table({"a": [1.0, np.nan, 2.0], "b": [np.inf, 1.0, 1.0]}, missing="drop")


def test_values_too_large_to_square():
    with fails(r"squares overflow; largest absolute value: 2e\+200 in column 'b'; divide"):
        Moments.from_table({"a": [1.0, 2.0], "b": [1.0, -2e200]})


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (["x", "y"], "has dtype String, which is not a number"),
        ([date(2020, 1, 1), date(2020, 1, 2)], "has (dates|dtype object)"),
    ],
)
def test_columns_that_are_not_numbers(make, column, dtype):
    with fails(rf"column 't' {dtype}"):
        Moments.from_table(make({"a": [1, 2], "t": column}))
    assert Moments.from_table(make({"a": [1, 2], "t": column}), ["a"]).names == ("a",)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"t": pd.Categorical(["x", "y"])}),
        pl.DataFrame({"t": pl.Series(["x", "y"], dtype=pl.Categorical)}),
        pa.table({"t": pa.array(["x", "y"]).dictionary_encode()}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_categories(frame):
    with fails("column 't' has dtype Categorical, which is not a number"):
        Moments.from_table(frame)


@pytest.mark.parametrize("values", [["x", "y"], [1j, 2j]])
def test_arrays_that_are_not_numbers(values):
    with fails("column 't' has dtype .*, which is not a number"):
        Moments.from_table({"t": values})


def test_repeated_names():
    message = r"column names must be distinct; rename or drop: 'a' \(2 times\)"
    with fails(message):
        Moments.from_table(pd.DataFrame([[1, 2, 3], [3, 4, 5]], columns=["a", "b", "a"]))
    with fails(message):
        Moments.from_table(pa.Table.from_arrays([pa.array([1, 2])] * 3, names=["a", "a", "b"]))
    with fails(message):
        Moments.from_table(np.zeros((2, 2)), names=["a", "a"])
    with fails(message):
        Moments.from_table({"a": [1, 2]}, ["a", "a"])


def test_names_that_are_not_strings():
    with fails(r"column names must be strings, got 0; .*columns.map\(str\)"):
        Moments.from_table(pd.DataFrame([[1, 2], [3, 4]]))


def test_unknown_column(make):
    with fails("column 'smoke' is not in the data; did you mean 'smoking'?"):
        Moments.from_table(make({"smoking": [1, 2]}), ["smoke"])


def test_columns_given_as_one_string():
    with fails(r"columns must be a list of names, got the string 'a'; write columns=\['a'\]"):
        Moments.from_table({"a": [1, 2]}, "a")


def test_no_columns(make):
    with fails("columns is empty; name at least one column"):
        Moments.from_table(make({"a": [1, 2]}), [])
    with fails("the table has no columns"):
        Moments.from_table(make({}))


def test_too_few_rows(make):
    with fails("the table has 1 row; means and covariances need at least 2"):
        Moments.from_table(make({"a": [1.0]}))
    with fails("the table has 0 rows; means"):
        Moments.from_table(make({"a": np.array([], dtype=float)}))


def test_too_few_complete_rows(make):
    frame = make({"a": [1.0, None, 3.0], "b": [None, 1.0, 2.0]})
    with fails(r"the table has 1 row \(of 3\) without missing values; means"):
        Moments.from_table(frame, missing="drop")
    with fails(r"the table has 0 rows \(of 2\) without missing values; means"):
        Moments.from_table({"a": [np.nan, np.nan]}, missing="drop")


@pytest.mark.parametrize("thing", [[1, 2], pd.Series([1, 2]), None], ids=str)
def test_things_that_are_not_tables(thing):
    with fails("cannot read a table of type .*; give a pandas, polars or pyarrow frame"):
        Moments.from_table(thing)


def test_arrays():
    with fails(r"an array must have two dimensions.*got shape \(3,\); use array.reshape\(-1, 1\)"):
        Moments.from_table(np.zeros(3), names=["a"])
    with fails(r"two dimensions, rows and columns, got shape \(2, 2, 2\)$"):
        Moments.from_table(np.zeros((2, 2, 2)), names=["a", "b"])
    with fails(r"an array has no column names: give 2 of them with names="):
        Moments.from_table(np.zeros((3, 2)))
    with fails("1 names were given for an array with 2 columns"):
        Moments.from_table(np.zeros((3, 2)), names=["a"])


def test_names_of_a_frame(make):
    with fails("names= is for arrays; this table brings its own"):
        Moments.from_table(make({"a": [1, 2]}), names=["b"])


def test_mappings():
    with fails(r"columns must have the same number of rows, got {'a': 2, 'b': 3}"):
        Moments.from_table({"a": [1, 2], "b": [1, 2, 3]})
    with fails(r"column 'a' must have one dimension, got shape \(2, 1\)"):
        Moments.from_table({"a": [[1], [2]]})


def test_threads():
    with fails("n_jobs must be a positive number of threads, or -1 .*; got 0"):
        Moments.from_table({"a": [1, 2]}, n_jobs=0)
