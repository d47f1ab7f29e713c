"""Rows that come in batches: the same moments as from memory, wherever they come from."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import alldags as ad
from alldags.data import accumulate, stream, sums
from alldags.data.lazy import LazySource
from alldags.data.source import open_source
from alldags.data.stream import RowWindow
from alldags.data.sums import Sums, in_parts, sum_blocks
from alldags.errors import DataError, MissingExtraError
from lines import fit

NAMES = ("dose", "age", "score")
ROWS = 1003


def columns(offset: float = 0.0, missing: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(ROWS, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.7], [0, 0, 1]])
    values += offset * np.array([1.0, 2.0, 3.0])
    if missing:
        values[rng.random(values.shape) < 0.02] = np.nan
        values[:80, 1] = np.nan  # no complete row in the first parts
    return dict(zip(NAMES, values.T.copy(), strict=True))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Many parts from few rows."""
    for module in (accumulate, sums, stream):
        monkeypatch.setattr(module, "PART_ROWS", 64)


def make_source(kind: str, data: dict[str, np.ndarray], folder):
    """The same table from everywhere."""
    table = pa.table(data)
    nulls = pa.table({name: pa.array(column, from_pandas=True) for name, column in data.items()})
    match kind:
        case "DuckDB relation":
            return duckdb.connect().from_arrow(table)
        case "polars lazy":
            return pl.LazyFrame(data)
        case "polars scan":
            pl.DataFrame(data).write_parquet(folder / "t.parquet", row_group_size=100)
            return pl.scan_parquet(folder / "t.parquet")
        case "Arrow reader":
            return nulls.to_reader(max_chunksize=37)
        case "Parquet":
            pq.write_table(nulls, folder / "t.parquet", row_group_size=100)
            return folder / "t.parquet"
        case "Feather":
            feather.write_feather(table, folder / "t.feather", chunksize=70)
            return folder / "t.feather"
        case "Arrow stream file":
            with pa.ipc.new_stream(folder / "t.arrow", table.schema) as writer:
                writer.write_table(table, max_chunksize=50)
            return folder / "t.arrow"
        case "CSV":
            pl.DataFrame(data).fill_nan(None).write_csv(folder / "t.csv")
            return str(folder / "t.csv")
        case "pattern":
            for place in range(11):
                pq.write_table(nulls.slice(100 * place, 100), folder / f"part-{place}.parquet")
            return folder / "part-*.parquet"
        case "folder":
            for place in range(2):
                (folder / "t" / f"wave={place}").mkdir(parents=True, exist_ok=True)
                part = nulls.slice(500 * place, 500 if place == 0 else None)
                pq.write_table(part, folder / "t" / f"wave={place}" / "part.parquet", row_group_size=90)
            return folder / "t"
    raise AssertionError(kind)


KINDS = [
    "DuckDB relation", "polars lazy", "polars scan", "Arrow reader", "Parquet", "Feather", "Arrow stream file", "CSV",
    "pattern", "folder",
]  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_moments_are_those_of_the_table_in_memory(kind, tmp_path, n_jobs):
    data = columns()
    want = ad.Moments.from_table(data, ["score", "dose"])
    got = open_source(make_source(kind, data, tmp_path)).moments(["score", "dose"], n_jobs=n_jobs)
    assert (got.n, got.names) == (ROWS, ("score", "dose"))
    np.testing.assert_allclose(got.mean, want.mean, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-13)


@pytest.mark.parametrize("offset", [1e3, 1e8])
@pytest.mark.parametrize("missing", [False, True])
def test_accuracy_against_long_double(kind, tmp_path, offset, missing):
    """One pass loses nothing, however far the means are from zero."""
    data = columns(offset, missing)
    exact = np.array(list(data.values())).astype(np.longdouble)
    exact = exact[:, ~np.isnan(exact).any(axis=0)]
    centred = exact - exact.mean(axis=1, keepdims=True)
    want = np.array([[np.sum(a * b) for b in centred] for a in centred])
    got = open_source(make_source(kind, data, tmp_path)).moments(NAMES, drop_missing=missing)
    assert got.n == exact.shape[1]
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    assert (np.abs(got.scatter - want) / scale).max() < 1e-12
    assert np.abs((got.mean - exact.mean(axis=1)) / exact.mean(axis=1)).max() < 4e-16


def test_fit_takes_it(kind, tmp_path):
    data = columns()
    graph = ad.CandidateGraph.from_order(["age", "dose", "score"])
    want = fit(data, graph, rng=0).effect("dose", "score")
    posterior = fit(make_source(kind, data, tmp_path), graph, rng=0)
    assert posterior.effect("dose", "score").mean == pytest.approx(want.mean, rel=1e-12)


def test_missing_values_are_counted_as_in_memory(kind, tmp_path):
    data = columns(missing=True)
    with pytest.raises(DataError) as want:
        ad.Moments.from_table(data)
    with pytest.raises(DataError) as got:
        open_source(make_source(kind, data, tmp_path)).moments(NAMES)
    assert str(got.value) == str(want.value)
    graph = ad.CandidateGraph.from_order(["age", "dose", "score"])
    notes = fit(data, graph, rng=0, missing="drop").notes
    assert "rows were dropped" in notes[0]
    found = fit(make_source(kind, data, tmp_path), graph, rng=0, missing="drop").notes
    assert [note for note in found if "wave" not in note] == list(notes)


def test_infinite_and_overflowing_values_are_named(kind, tmp_path):
    data = columns()
    data["age"][700] = np.inf
    with pytest.raises(DataError, match=r"infinite values in column 'age' \(1\)"):
        open_source(make_source(kind, data, tmp_path)).moments(NAMES, drop_missing=True)
    data["age"][700] = 1e200
    with pytest.raises(DataError, match=r"largest absolute value: 1e\+200 in column 'age'"):
        open_source(make_source(kind, data, tmp_path)).moments(NAMES)


def test_rows_are_those_of_the_table_in_memory(kind, tmp_path):
    """What looks at rows (weights, interventions, yes/no outcomes) finds them in their order."""
    data = columns()
    source = open_source(make_source(kind, data, tmp_path))
    found = source.numbers(["score", "age"])
    assert found.rows == ROWS
    for start, stop in [(0, 10), (60, 130), (500, 1003), (0, 1003), (20, 21)]:
        score, age = found.read(start, stop)
        assert (score == data["score"][start:stop]).all()
        assert (age == data["age"][start:stop]).all()
    assert (source.labels("dose")(99, 104) == data["dose"][99:104]).all()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_weights_and_yes_no_outcomes_from_a_file(tmp_path, n_jobs):
    data = columns()
    data["treated"] = (data["score"] > 0).astype(float)
    data["count"] = np.arange(ROWS) % 4
    graph = ad.CandidateGraph.from_order(["age", "dose", "treated"])
    pq.write_table(pa.table(data), tmp_path / "t.parquet", row_group_size=100)
    for options in ({"weights": "count"}, {}):
        want = fit(data, graph, rng=0, **options).effect("dose", "treated")
        got = fit(tmp_path / "t.parquet", graph, rng=0, n_jobs=n_jobs, **options).effect("dose", "treated")
        assert got.mean == pytest.approx(want.mean, rel=1e-9)
        assert got.sd == pytest.approx(want.sd, rel=1e-9)


def test_a_folder_has_columns_from_its_names(tmp_path):
    source = open_source(make_source("folder", columns(), tmp_path))
    assert source.columns == (*NAMES, "wave")
    assert source.moments(["wave"]).mean[0] == pytest.approx(503 / ROWS)
    assert ad.read_table(tmp_path / "t").column_names == [*NAMES, "wave"]


def test_text_partitions_are_text(tmp_path):
    for site in ("a", "b"):
        (tmp_path / f"site={site}").mkdir()
        pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / f"site={site}" / "t.parquet")
    source = open_source(tmp_path)
    assert source.labels("site")(0, 4).tolist() == ["a", "a", "b", "b"]
    with pytest.raises(DataError, match="column 'site' has dtype string, which is not a number"):
        source.moments()


def test_parts_come_in_natural_order(tmp_path):
    data = {"x": np.arange(1100.0)}
    for place in range(11):
        pq.write_table(pa.table({"x": data["x"][100 * place : 100 * (place + 1)]}), tmp_path / f"part-{place}.parquet")
    assert open_source(tmp_path).numbers(["x"]).read(0, 1100)[0].tolist() == data["x"].tolist()


@pytest.mark.parametrize(
    ("write", "match"),
    [
        (lambda folder: None, "no file is named like"),
        (lambda folder: (folder / "part-0.csv").write_text("a,b\n1,2\n"), "of several formats, text .* Parquet"),
        (lambda folder: pq.write_table(pa.table({"x": [1.0]}), folder / "part-0.parquet"), "other columns than .*'a'"),
    ],
)
def test_parts_that_do_not_belong_together(tmp_path, write, match):
    if write(tmp_path) is not None or match.startswith("other"):
        pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "part-1.parquet")
    with pytest.raises(DataError, match=match):
        open_source(tmp_path / "part-*")


def test_parts_may_differ_in_the_kind_of_number(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a-1.parquet")
    pq.write_table(pa.table({"x": [0.5, 2.5]}), tmp_path / "a-2.parquet")
    pq.write_table(pa.table({"x": pa.array([None, None], pa.null())}), tmp_path / "a-3.parquet")
    assert ad.Moments.from_table(tmp_path / "a-*.parquet", missing="drop").mean.tolist() == [1.5]


def test_hidden_files_of_engines_are_left_out(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "part.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "_metadata.parquet").write_text("")
    assert ad.Moments.from_table(tmp_path).n == 2


def test_a_reader_is_read_once():
    reader = pa.table(columns()).to_reader()
    source = open_source(reader)
    source.moments(["age"])
    assert source.moments(["age"]).n == ROWS  # remembered
    with pytest.raises(
        DataError, match=r"the Arrow stream \(RecordBatchReader\) can be read once only, and has been; .*read_all"
    ):
        source.moments(["dose"])
    with pytest.raises(DataError, match="can be read once only"):
        open_source(reader)


def test_nullable_and_decimal_types_of_engines():
    relation = duckdb.sql(
        "select * from (values (1::decimal(9,2), true, 2::hugeint), (2.5, null, 3), (4, false, 7)) t(a,b,c)"
    )
    got = ad.Moments.from_table(relation, missing="drop")
    assert (got.n, got.mean.tolist()) == (2, [2.5, 0.5, 4.5])


def test_hostile_names_reach_the_engine_quoted():
    names = ['x"; drop table t; --', "select", "a b", "é.ü"]
    relation = duckdb.connect().from_arrow(pa.table({name: [1.0, 2.0, 4.0] for name in names}))
    assert ad.Moments.from_table(relation, names[::-1]).names == tuple(names[::-1])
    lazy = pl.LazyFrame({name: [1.0, 2.0, 4.0] for name in ["^a.*$", "*", "a1"]})
    assert ad.Moments.from_table(lazy).n == 3


def test_frames_in_memory_are_not_streams():
    import pandas as pd

    for frame in (pd.DataFrame(columns()), pl.DataFrame(columns()), pa.table(columns())):
        assert not LazySource.takes(frame)


# -- the accumulator ---------------------------------------------------------------------------------------------------


def test_in_parts_keeps_every_row_in_its_place():
    blocks = [[np.arange(start, stop)] for start, stop in [(0, 5), (5, 6), (6, 40), (40, 40), (40, 47)]]
    found = [part[0] for part in in_parts(iter(blocks), 8)]
    assert [len(part) for part in found] == [8, 8, 8, 8, 8, 7]
    assert np.concatenate(found).tolist() == list(range(47))


def test_sums_join_in_any_grouping():
    values = np.random.default_rng(1).normal(size=(2, 30)) + 1e8
    a, b, c = (sum_blocks([list(values[:, i : i + 10])], ("x", "y"), False) for i in (0, 10, 20))
    whole = sum_blocks([list(values)], ("x", "y"), False)
    for joined in ((a + b) + c, a + (b + c)):
        assert joined.moments.n == 30
        np.testing.assert_allclose(joined.moments.scatter, whole.moments.scatter, rtol=1e-13)
    nothing = sum_blocks([], ("x", "y"), False)
    assert isinstance(nothing + a, Sums)
    np.testing.assert_array_equal((nothing + a).moments.scatter, (a + nothing).moments.scatter)


def test_a_window_says_if_rows_went_away():
    window = RowWindow(lambda: iter([[np.arange(3)]]), 1)
    with pytest.raises(DataError, match="the data changed while they were read: row 4 is gone"):
        window.read(0, 5)


# -- what else ---------------------------------------------------------------------------------------------------------


def test_pyarrow_datasets_and_batches(tmp_path):
    import pyarrow.dataset as ds

    data = columns()
    make_source("folder", data, tmp_path)
    want = ad.Moments.from_table(data)
    dataset = ds.dataset(tmp_path / "t", partitioning="hive")
    np.testing.assert_allclose(ad.read_moments(dataset, NAMES, n_jobs=2).scatter, want.scatter, rtol=1e-13)
    assert open_source(dataset).numbers(["wave"]).read(498, 502)[0].tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(ad.read_moments(pa.record_batch(data)).scatter, want.scatter, rtol=1e-13)


def test_rows_that_were_added_up_are_not_counted_again(tmp_path, monkeypatch):
    source = open_source(make_source("CSV", columns(), tmp_path))
    source.moments(["dose"])
    opened = source.stream.pieces
    asked = []
    object.__setattr__(source.stream, "pieces", lambda names: asked.append(tuple(names)) or opened(names))
    assert source.numbers(["age"]).rows == ROWS
    assert asked == [("age",)]


def test_paths_of_table_and_graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = columns()
    graph = ad.CandidateGraph.from_order(["age", "dose", "score"])
    pq.write_table(pa.table(data), "study.parquet")
    ad.write_graph(graph, "graph.toml")
    want = fit(data, graph, rng=0).effect("dose", "score")
    assert fit("study.parquet", "graph.toml", rng=0).effect("dose", "score").mean == pytest.approx(want.mean, rel=1e-12)


@pytest.mark.parametrize("given", [duckdb.sql("select 1.0 as a"), pl.LazyFrame({"a": [1.0]})], ids=["DuckDB", "polars"])
def test_the_extra_that_is_missing_is_named(monkeypatch, given):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"this needs the package 'pyarrow', .* pip install 'alldags\[files\]'"):
        open_source(given)


@pytest.mark.parametrize("kind", ["Parquet", "CSV"])
def test_a_bar_shows_how_far_it_is(monkeypatch, tmp_path, kind):
    """It counts rows: all of them at the end, as many as the file has or seems to have."""
    steps, told = [], []

    class Bar:
        def __init__(self, what, count, **options):
            steps.append((what, count, options["show"]))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def advance(self, count):
            told.append(count)

    monkeypatch.setattr(sums, "Progress", Bar)
    monkeypatch.setattr(sums, "_STEP_ROWS", 1)
    ad.read_moments(make_source(kind, columns(), tmp_path), progress=True)
    assert steps == [("reading rows, in thousands", ROWS, None)]
    assert sum(told) == ROWS
    ad.read_moments(make_source(kind, columns(), tmp_path), progress=False)
    assert steps[1][2] is False
