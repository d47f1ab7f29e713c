"""Moments of Spark frames: the function travels, one small row per partition comes back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alldags as ad
from alldags.data.source import open_source
from alldags.errors import DataError
from lines import fit

NAMES = ("dose", "age", "score")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # pyspark's own, on every call with Arrow
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def frame(offset: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(3000, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.7], [0, 0, 1]]) + offset * np.arange(1, 4)
    return pd.DataFrame(values, columns=list(NAMES))


@pytest.fixture(scope="module")
def written(tmp_path_factory, spark):
    """Parquet files that Spark wrote itself, and what is in them."""
    folder = tmp_path_factory.mktemp("spark")
    tables = {}
    for offset in (0.0, 1e8):
        table = frame(offset)
        table.to_parquet(folder / f"in-{offset:g}.parquet", row_group_size=500)
        spark.read.parquet(str(folder / f"in-{offset:g}.parquet")).repartition(5).write.parquet(
            str(folder / f"{offset:g}")
        )
        tables[offset] = table
    return folder, tables


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_against_long_double(spark, written, offset):
    folder, tables = written
    got = ad.read_moments(spark.read.parquet(str(folder / f"{offset:g}")))
    exact = tables[offset].to_numpy().astype(np.longdouble)
    centred = exact - exact.mean(axis=0)
    want = centred.T @ centred
    assert (got.n, got.names) == (3000, NAMES)
    assert (np.abs(got.scatter - want) / np.sqrt(np.outer(np.diag(want), np.diag(want)))).max() < 1e-12
    again = ad.read_moments(folder / f"{offset:g}")  # the folder itself, without Spark
    np.testing.assert_allclose(again.scatter, got.scatter, rtol=1e-11)


def test_fit_takes_a_spark_frame(spark, written):
    folder, tables = written
    graph = ad.CandidateGraph.from_order(["age", "dose", "score"])
    lazy = spark.read.parquet(str(folder / "0"))
    want = fit(tables[0.0], graph, rng=0).effect("dose", "score")
    assert fit(lazy, graph, rng=0).effect("dose", "score").mean == pytest.approx(want.mean, rel=1e-12)


def test_missing_values_are_counted_and_dropped(spark):
    rows = [(float(i), None if i % 10 == 0 else float(i * i)) for i in range(100)]
    lazy = spark.createDataFrame(rows, "a double, `b ``c``.d` double")
    assert open_source(lazy).columns == ("a", "b `c`.d")
    with pytest.raises(DataError, match=r"missing values in column 'b `c`\.d' \(10\); of 100 rows, 10 have one"):
        ad.read_moments(lazy)
    assert ad.read_moments(lazy, missing="drop").n == 90


def test_a_column_that_is_not_a_number(spark):
    with pytest.raises(DataError, match="column 'site' has dtype string, which is not a number"):
        ad.read_moments(spark.createDataFrame([("x", 1.0), ("y", 2.0)], "site string, a double"))


def test_rows_are_brought_here_when_they_are_needed(spark):
    lazy = spark.createDataFrame([(float(i), i % 3) for i in range(50)], "a double, w int")
    assert open_source(lazy).numbers(["w"]).read(0, 5)[0].tolist() == [0, 1, 2, 0, 1]


def test_a_query_that_fails_half_way(spark):
    from pyspark.sql.functions import expr

    lazy = spark.range(1000).select(expr("if(id = 777, raise_error('the disk is gone'), id)").cast("double").alias("a"))
    with pytest.raises(DataError, match=r"reading the Spark frame failed: .*the disk is gone"):
        ad.read_moments(lazy)


def shops() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    x, y = np.zeros((2, 120))
    for t in range(1, 120):
        x[t] = 0.5 * x[t - 1] + rng.normal()
        y[t] = 0.4 * y[t - 1] + 0.6 * x[t - 1] + rng.normal()
    return pd.DataFrame({"week": np.arange(120), "shop": np.repeat([1, 2], 60), "x": x, "y": y})


def test_a_spark_frame_looks_its_past_up_itself(spark):
    table = shops()
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, order=["x", "y"])
    told = {"time": "week", "unit": "shop", "rng": 0}
    found = ad.fit(spark.createDataFrame(table.sample(frac=1.0, random_state=0)).repartition(3), graph, **told)
    want = ad.fit(table, graph, **told)
    assert found.rows == want.rows == 118
    assert found.effect("x", "y", after=3).mean[2:] == pytest.approx(want.effect("x", "y", after=3).mean[2:], abs=2e-2)
    assert found.effect("x", "y").mean == pytest.approx(want.effect("x", "y").mean, rel=1e-10)
    twice = pd.concat([table, table.iloc[[70]]])
    with pytest.raises(ad.AlldagsError, match="two rows of shop 2, week 70 have the same time"):
        ad.fit(spark.createDataFrame(twice), graph, **told)
