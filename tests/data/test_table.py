"""Tables to moments: the numbers."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_info, threadpool_limits

from alldags import Moments
from alldags.data import accumulate
from alldags.data.accumulate import PART_ROWS
from naive.moments import exact_moments

NAMES = ["a", "b", "c"]
EPS = np.finfo(float).eps


def relative_error(moments: Moments, mean, scatter) -> tuple[float, float]:
    """Errors of the means and of the scatter, in units of the columns' spread."""
    spread = np.sqrt(np.diag(scatter))
    return (
        float(np.max(np.abs(moments.mean - mean) / (np.abs(mean) + spread))),
        float(np.max(np.abs(moments.scatter - scatter) / np.outer(spread, spread))),
    )


def tables(max_rows: int = 30, min_rows: int = 2):
    values = st.floats(-1e6, 1e6).map(
        lambda value: value if abs(value) > 1e-100 else 0.0
    )  # what varies less is refused
    return st.integers(min_rows, max_rows).flatmap(lambda n: arrays(np.float64, (n, 3), elements=values))


@pytest.mark.parametrize("ratio", [0.0, 1.0, 1e8])
def test_means_far_above_the_spread_cost_no_digits(rng, ratio):
    values = rng.normal(size=(3000, 3)) @ rng.normal(size=(3, 3)) + ratio * np.array([1.0, -2.0, 0.5])
    mean, scatter = exact_moments(values.T.tolist())
    got = Moments.from_table(values, names=NAMES)
    error_mean, error_scatter = relative_error(got, mean, scatter)
    assert error_mean <= 4 * EPS
    assert error_scatter <= 3000 * EPS  # sums of 3000 products, each with one rounding; nothing multiplied by `ratio`


@pytest.mark.parametrize("layout", ["C", "F"])
def test_many_chunks_and_parts_keep_the_digits(rng, monkeypatch, layout):
    monkeypatch.setattr(accumulate, "PART_ROWS", 700)
    monkeypatch.setattr(accumulate, "CHUNK_VALUES", 300)
    values = np.array(rng.normal(size=(2500, 3)) + np.array([1e8, -3e8, 0.0]), order=layout)
    mean, scatter = exact_moments(values.T.tolist())
    error_mean, error_scatter = relative_error(Moments.from_table(values, names=NAMES), mean, scatter)
    assert error_mean <= 4 * EPS
    assert error_scatter <= 2500 * EPS


def test_an_extreme_first_row_spoils_only_its_own_part(rng, monkeypatch):
    monkeypatch.setattr(accumulate, "PART_ROWS", 100)
    values = rng.normal(size=(20_000, 2))
    values[0, 0] = 1e6
    values[:, 1] += np.arange(20_000) * 1e4
    mean, scatter = exact_moments(values.T.tolist())
    _, error_scatter = relative_error(Moments.from_table(values, names=["a", "b"]), mean, scatter)
    assert error_scatter <= 200 * EPS  # 100 rows of the first part, 200 merges


@settings(max_examples=60, deadline=None)
@given(tables())
def test_equals_exact_arithmetic(values):
    mean, scatter = exact_moments(values.T.tolist())
    got = Moments.from_table(values, names=NAMES)
    size = np.abs(values - values[0]).max(axis=0)  # the shift is the first row: rounding is relative to the rest
    bound = 10 * len(values) * EPS * np.outer(size, size) + 1e-300
    assert (np.abs(got.scatter - scatter) <= bound).all()
    assert (np.abs(got.mean - mean) <= 10 * len(values) * EPS * (np.abs(values).max(axis=0) + 1e-300)).all()


@settings(max_examples=60, deadline=None)
@given(tables(min_rows=8), st.data())
@pytest.mark.filterwarnings("ignore:the same part of the data")  # parts of zeros are all alike
def test_merging_in_any_grouping_equals_the_whole(values, data):
    pieces = [Moments.from_table(part, names=NAMES) for part in np.array_split(values, data.draw(st.integers(2, 4)))]
    while len(pieces) > 1:
        i = data.draw(st.integers(0, len(pieces) - 1))
        piece = pieces.pop(i)
        j = data.draw(st.integers(0, len(pieces) - 1))
        pieces[j] = piece + pieces[j]
    whole = Moments.from_table(values, names=NAMES)
    size = np.abs(values).max(axis=0) + 1e-300
    assert pieces[0].n == whole.n
    assert (np.abs(pieces[0].mean - whole.mean) <= 100 * EPS * size).all()
    assert (np.abs(pieces[0].scatter - whole.scatter) <= 100 * len(values) * EPS * np.outer(size, size) + 1e-300).all()


@settings(max_examples=30, deadline=None)
@given(tables(), st.permutations(NAMES))
def test_column_order_only_permutes(values, order):
    table = dict(zip(NAMES, values.T.copy(), strict=True))
    got = Moments.from_table(table, order)
    want = Moments.from_table(table).select(order)
    assert got.names == tuple(order)
    largest = np.abs(values).max(initial=1.0)
    assert (np.abs(got.mean - want.mean) <= 4 * len(values) * EPS * largest).all()
    np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-12, atol=1e-300 + 1e-12 * np.abs(want.scatter).max())


def test_scatter_is_exactly_symmetric(rng):
    values = rng.normal(size=(1001, 7)) + 5
    for layout in "CF":
        scatter = Moments.from_table(np.array(values, order=layout), names=list("abcdefg")).scatter
        assert (scatter == scatter.T).all()


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_number_of_threads_changes_no_bit(rng, layout, n_jobs):
    values = np.array(rng.normal(size=(3 * PART_ROWS + 17, 5)), order=layout)
    one = Moments.from_table(values, names=list("abcde"), n_jobs=1)
    many = Moments.from_table(values, names=list("abcde"), n_jobs=n_jobs)
    assert one.n == many.n == len(values)
    assert (one.mean == many.mean).all()
    assert (one.scatter == many.scatter).all()


def test_threads_of_blas_change_no_bit_and_are_restored(rng):
    values = rng.normal(size=(2 * PART_ROWS + 1, 40))
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(Moments.from_table(values, names=[f"v{j}" for j in range(40)], n_jobs=threads))
            assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {threads}
    assert (results[0].scatter == results[1].scatter).all()


def test_every_library_gives_identical_moments(rng, make):
    columns = {"a": rng.normal(size=999) + 3, "b": rng.integers(-5, 5, 999), "c": rng.random(999) < 0.3}
    want = Moments.from_table(columns)
    got = Moments.from_table(make(columns))
    assert got.names == want.names
    assert (got.mean == want.mean).all()
    assert (got.scatter == want.scatter).all()
    np.testing.assert_allclose(got.scatter / 998, np.cov([*columns.values()]), rtol=1e-12, atol=1e-14)


def test_rows_side_by_side_in_memory_are_read_as_such(rng):
    values = rng.normal(size=(400, 6)) + 100
    names = list("abcdef")
    want = Moments.from_table(dict(zip(names, values.T.copy(), strict=True)))
    for chosen in (names, names[1:4], names[::2], names[::-1]):
        got = Moments.from_table(values, chosen, names=names)
        np.testing.assert_allclose(got.mean, want.select(chosen).mean, rtol=1e-14)
        np.testing.assert_allclose(got.scatter, want.select(chosen).scatter, rtol=1e-12, atol=1e-11)
    for reordered in (values[::-1], values[::3]):
        got = Moments.from_table(reordered, names=names)
        np.testing.assert_allclose(got.scatter, (len(reordered) - 1) * np.cov(reordered.T), rtol=1e-12, atol=1e-11)


def test_constant_columns_have_exactly_no_scatter():
    table = {"a": np.full(100_001, 0.1), "b": np.arange(100_001.0)}
    moments = Moments.from_table(table)
    assert moments.mean[0] == 0.1
    assert (moments.scatter[0] == 0).all()


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float16", "bool"])
def test_numbers_of_every_width(dtype):
    column = np.array([0, 1, 1, 0, 1]).astype(dtype)
    moments = Moments.from_table({"a": column})
    assert moments.mean[0] == pytest.approx(0.6, rel=1e-15)
    assert moments.scatter[0, 0] == pytest.approx(1.2, rel=1e-15)


def test_small_floats_are_summed_in_double_precision(make):
    column = (np.arange(20_001) / 7).astype(np.float32)
    got = Moments.from_table(make({"a": column}))
    assert got.scatter[0, 0] == pytest.approx(20_000 * np.var(column.astype(float), ddof=1), rel=1e-12)


def test_numbers_in_object_columns():
    values = [True, None, 2, 0.5, Decimal("2.5")]
    for table in (pd.DataFrame({"a": values}), {"a": values}):
        moments = Moments.from_table(table, missing="drop")
        assert moments.n == 4
        assert moments.mean.tolist() == [1.5]


def test_decimals():
    values = [Decimal("1.5"), Decimal("2.5"), Decimal("5")]
    for table in (pl.DataFrame({"a": values}), pa.table({"a": values})):
        assert Moments.from_table(table).mean.tolist() == [3.0]


MISSING = {
    "pandas float": pd.DataFrame({"a": [1.0, np.nan, 3, 4], "b": [1.0, 0, 1, 0]}),
    "pandas nullable": pd.DataFrame(
        {"a": pd.array([1, None, 3, 4], dtype="Int64"), "b": pd.array([True, False, True, False], dtype="boolean")}
    ),
    "pandas on arrow": pd.DataFrame(
        {"a": pd.array([1, None, 3, 4], dtype="int64[pyarrow]"), "b": pd.array([1, 0, 1, 0], dtype="double[pyarrow]")}
    ),
    "polars": pl.DataFrame({"a": [1, None, 3, 4], "b": [True, False, True, False]}),
    "polars NaN": pl.DataFrame({"a": [1.0, np.nan, 3, 4], "b": [1, 0, 1, 0]}),
    "pyarrow": pa.table({"a": [1, None, 3, 4], "b": [True, False, True, False]}),
    "pyarrow in pieces": pa.table(
        {"a": pa.chunked_array([[1, None], [3, 4]]), "b": pa.chunked_array([[1], [0, 1, 0]])}
    ),
    "mapping": {"a": [1, np.nan, 3, 4], "b": [1, 0, 1, 0]},
    "masked array": {"a": np.ma.masked_equal([1, 2, 3, 4], 2), "b": [1, 0, 1, 0]},
}


@pytest.mark.parametrize("kind", MISSING)
def test_rows_with_missing_values_are_dropped_on_request(kind):
    moments = Moments.from_table(MISSING[kind], missing="drop")
    assert moments.n == 3
    np.testing.assert_allclose(moments.mean, [8 / 3, 2 / 3], rtol=1e-15)
    np.testing.assert_allclose(moments.scatter, 2 * np.cov([1, 3, 4], [1, 1, 0]), rtol=1e-14)


def test_only_used_columns_count_as_missing(make):
    table = make({"a": [1.0, 2.0, 4.0], "b": [None, 1.0, None], "text": ["x", "y", "z"]})
    assert Moments.from_table(table, ["a"], missing="drop").n == 3


def test_dropping_equals_deleting_in_every_chunk(rng, monkeypatch, make):
    monkeypatch.setattr(accumulate, "PART_ROWS", 70)
    monkeypatch.setattr(accumulate, "CHUNK_VALUES", 40)
    values = rng.normal(size=(500, 3)) + 1e6
    values[rng.random((500, 3)) < 0.1] = np.nan
    values[:50] = np.nan  # whole chunks without a complete row
    kept = values[~np.isnan(values).any(axis=1)]
    mean, scatter = exact_moments(kept.T.tolist())
    for table in (make(dict(zip(NAMES, values.T, strict=True))), pd.DataFrame(values, columns=NAMES)):
        moments = Moments.from_table(table, missing="drop")
        assert moments.n == len(kept)
        np.testing.assert_allclose(moments.mean, mean, rtol=1e-14)
        np.testing.assert_allclose(moments.scatter, scatter, rtol=1e-9, atol=1e-9)


def test_frames_in_pieces(rng):
    column = rng.normal(size=200_000)
    whole = Moments.from_table({"a": column})
    halves = [column[:90_001], column[90_001:]]
    pieces = pl.concat([pl.DataFrame({"a": half}) for half in halves], rechunk=False)
    assert pieces["a"].n_chunks() == 2
    for table in (pieces, pa.table({"a": pa.chunked_array(halves)})):
        assert (Moments.from_table(table, n_jobs=2).scatter == whole.scatter).all()


def test_the_table_is_left_alone(make):
    table = make({"a": [1.0, 2.0, 3.0]})
    before = table["a"].to_numpy().copy()
    Moments.from_table(table)
    assert (table["a"].to_numpy() == before).all()
