"""What goes wrong on the way: one clear error, or the right answer; nothing half-done."""

from __future__ import annotations

import gzip
import os

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import alldags as ad
from alldags.data.source import open_source
from alldags.errors import DataError
from lines import fit


@pytest.fixture
def parquet(tmp_path):
    values = np.random.default_rng(0).normal(size=(4000, 3))
    pq.write_table(pa.table(dict(zip("abc", values.T.copy(), strict=True))), tmp_path / "t.parquet", row_group_size=500)
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("share", [0.0005, 0.3, 0.9, 0.999])
def test_a_parquet_file_that_is_cut_off(parquet, share):
    data = parquet.read_bytes()
    parquet.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(DataError, match=r"t\.parquet' is not a readable Parquet file"):
        ad.read_moments(parquet)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_parquet_file_damaged_in_the_middle(parquet, n_jobs):
    data = bytearray(parquet.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = b"\xff" * 3000
    parquet.write_bytes(bytes(data))
    with pytest.raises(DataError, match=r"reading the file .*t\.parquet' failed"):
        ad.read_moments(parquet, n_jobs=n_jobs)


def test_a_feather_file_that_is_cut_off(tmp_path):
    feather.write_feather(pa.table({"a": np.arange(5000.0)}), tmp_path / "t.feather", chunksize=100)
    data = (tmp_path / "t.feather").read_bytes()
    (tmp_path / "t.feather").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"t\.feather' is not a readable Feather file"):
        ad.read_moments(tmp_path / "t.feather")


def test_a_compressed_file_that_is_cut_off(tmp_path):
    text = "a,b\n" + "".join(f"{i},{i * i % 97}\n" for i in range(200_000))
    data = gzip.compress(text.encode())
    (tmp_path / "t.csv.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"cannot read .*t\.csv\.gz'|reading the file .*t\.csv\.gz' failed"):
        ad.read_moments(tmp_path / "t.csv.gz")


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.xlsx", "t.dta", "t.sqlite", "t.json", "t.npz"]
)
def test_a_file_of_no_bytes(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(DataError, match=rf"the file .*{name}' is empty"):
        ad.read_moments(tmp_path / name)
    with pytest.raises(DataError, match="is empty"):
        ad.read_moments(tmp_path)


def test_an_empty_part_among_full_ones_is_named(parquet):
    (parquet.parent / "u.parquet").touch()
    with pytest.raises(DataError, match=r"u\.parquet' is empty"):
        ad.read_moments(parquet.parent / "*.parquet")


def test_names_that_are_no_text(tmp_path):
    feather.write_feather(pa.table({"name": [1.0, 2.0]}), tmp_path / "t.feather", compression="uncompressed")
    data = (tmp_path / "t.feather").read_bytes()
    (tmp_path / "t.feather").write_bytes(data.replace(b"name", b"nam\xe4"))
    with pytest.raises(DataError, match=r"t\.feather' is not a readable Feather file.*can't decode"):
        ad.read_moments(tmp_path / "t.feather")


def test_files_without_rows(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "t.parquet")
    feather.write_feather(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "t.feather")
    for name in ("t.parquet", "t.feather"):
        with pytest.raises(DataError, match="the table has 0 rows"):
            ad.read_moments(tmp_path / name)


def test_a_duckdb_query_that_fails_half_way():
    query = (
        "select case when range = 300000 then error('the disk is gone') else range end::double as a from range(400000)"
    )
    with pytest.raises(DataError, match=r"reading the DuckDB relation failed.*the disk is gone"):
        ad.read_moments(duckdb.sql(query))


def breaks(value: float) -> float:
    if value == 300_000:
        raise RuntimeError("the disk is gone")
    return value


def test_a_polars_query_that_fails_half_way():
    lazy = pl.LazyFrame({"a": np.arange(400_000.0)}).select(pl.col("a").map_elements(breaks, return_dtype=pl.Float64))
    with pytest.raises(DataError, match=r"(?s)reading the polars query failed.*the disk is gone"):
        ad.read_moments(lazy)


def test_a_polars_query_that_cannot_be():
    with pytest.raises(DataError, match="the polars query cannot be run"):
        ad.read_moments(pl.LazyFrame({"a": [1.0]}).select("b"))


def failing_batches(schema):
    yield pa.record_batch({"a": [1.0, 2.0]}, schema=schema)
    raise RuntimeError("the connection is gone")


def test_an_arrow_stream_that_fails_half_way():
    schema = pa.schema([("a", pa.float64())])
    reader = pa.RecordBatchReader.from_batches(schema, failing_batches(schema))
    with pytest.raises(DataError, match=r"reading the Arrow stream .* failed after 2 rows .*: the connection is gone"):
        ad.read_moments(reader)


def test_nothing_is_left_behind_by_a_failed_reading(parquet):
    before = sorted(os.listdir(parquet.parent))
    data = bytearray(parquet.read_bytes())
    data[5000:9000] = b"\xff" * 4000
    parquet.write_bytes(bytes(data))
    with pytest.raises(DataError):
        fit(parquet, ad.CandidateGraph.from_order(["a", "b"]))
    assert sorted(os.listdir(parquet.parent)) == before


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather"])
def test_ten_thousand_columns(tmp_path, ending):
    """What is not used is not read."""
    rng = np.random.default_rng(0)
    wide = pl.DataFrame({f"v{j}": rng.normal(size=30) for j in range(10_000)})
    file = tmp_path / f"t.{ending}"
    {"parquet": wide.write_parquet, "csv": wide.write_csv, "feather": wide.write_ipc}[ending](file)
    graph = ad.CandidateGraph.from_order(["v3", "v9999", "v500"])
    want = fit(wide, graph, rng=0).effect("v3", "v500")
    got = fit(file, graph, rng=0)
    assert got.effect("v3", "v500").mean == want.mean
    assert "and 9992 more" in got.notes[0]


def test_more_columns_than_memory(monkeypatch, tmp_path):
    from alldags import memory

    monkeypatch.setattr(memory, "free_memory", lambda: 1e9)
    wide = pl.LazyFrame({f"v{j}": [1.0, 2.0] for j in range(10_000)})
    with pytest.raises(DataError, match=r"the covariances of 10,000 variables need about 4\.8 GB of memory, more than"):
        ad.read_moments(wide)


def test_rows_that_do_not_fit_into_memory(monkeypatch):
    from alldags.data import stream

    monkeypatch.setattr(stream, "free_memory", lambda: 1e5)
    lazy = pl.LazyFrame({"a": np.arange(50_000.0)})
    assert open_source(lazy).moments().n == 50_000  # one pass needs no more
    with pytest.raises(DataError, match=r"the rows of the polars query do not fit into memory; .* Parquet file"):
        open_source(lazy).numbers()
