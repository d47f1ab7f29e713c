"""Tables of other programs: spreadsheets, Stata, SPSS, SQLite, ADBC and Ibis."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest

import alldags as ad
from alldags.data import sheets, sqlite
from alldags.data.source import open_source
from alldags.errors import DataError, MissingExtraError

NAMES = ("dose", "age", "score")


def values(offset: float = 0.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    table = rng.normal(size=(300, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.7], [0, 0, 1]]) + offset * np.arange(1, 4)
    table = np.round(table * 16) / 16  # so few digits that spreadsheets keep all of them
    return dict(zip(NAMES, table.T.copy(), strict=True))


def write_sqlite(file, data, table="visits"):
    with closing(sqlite3.connect(file)) as connection:
        pd.DataFrame(data).to_sql(table, connection, index=False)


WRITERS = {
    "xlsx": lambda file, data: pd.DataFrame(data).to_excel(file, index=False),
    "dta": lambda file, data: pd.DataFrame(data).to_stata(file, write_index=False),
    "sav": lambda file, data: pyreadstat.write_sav(pd.DataFrame(data), str(file)),
    "sqlite": write_sqlite,
    "db": write_sqlite,
}


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_against_long_double(tmp_path, monkeypatch, ending, offset):
    monkeypatch.setattr(sheets, "_CHUNK_ROWS", 70)
    monkeypatch.setattr(sqlite, "PART_ROWS", 70)
    data = values(offset)
    file = tmp_path / f"study.{ending}"
    WRITERS[ending](file, data)
    exact = np.array(list(data.values())).astype(np.longdouble)
    centred = exact - exact.mean(axis=1, keepdims=True)
    want = centred @ centred.T
    got = ad.read_moments(file)
    assert (got.n, got.names) == (300, NAMES)
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    assert (np.abs(got.scatter - want) / scale).max() < 1e-12
    source = open_source(file)
    assert (source.numbers(["age"]).read(65, 150)[0] == data["age"][65:150]).all()
    assert source.labels("age")(0, 3).tolist() == data["age"][:3].tolist()


@pytest.mark.parametrize("ending", WRITERS)
def test_a_damaged_file_is_named(tmp_path, ending):
    (tmp_path / f"t.{ending}").write_bytes(b"not at all what it says" * 50)
    with pytest.raises(DataError, match=rf"t\.{ending}' is not a readable"):
        open_source(tmp_path / f"t.{ending}")


@pytest.mark.parametrize(("module", "extra", "ending"), [("openpyxl", "excel", "xlsx"), ("pyreadstat", "stata", "dta")])
def test_missing_extras_are_named(tmp_path, monkeypatch, module, extra, ending):
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / f"t.{ending}").write_bytes(b"x")
    with pytest.raises(MissingExtraError, match=rf"package '{module}', .* pip install 'alldags\[{extra}\]'"):
        open_source(tmp_path / f"t.{ending}")


# -- spreadsheets ------------------------------------------------------------------------------------------------------


def workbook(file, **sheets_):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets_.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(file)


def test_one_of_several_sheets(tmp_path):
    file = tmp_path / "t.xlsx"
    workbook(file, first=[["a", "b"], [1, 2], [3, 4]], second=[["a", "b"], [5, 6], [7, 9]], empty=[])
    with pytest.raises(DataError, match=r"has the sheets 'first', 'second'; say which, as 't\.xlsx::sheet'"):
        open_source(file)
    assert ad.read_moments(f"{file}::second").mean.tolist() == [6, 7.5]
    with pytest.raises(DataError, match="has no sheet 'secnd'; did you mean 'second'"):
        ad.read_moments(f"{file}::secnd")


def test_cells_of_sheets(tmp_path):
    file = tmp_path / "t.xlsx"
    rows = [
        ["a", "b", "when", "site"],
        [1, True, date(2020, 1, 1), "x"],
        [None, False, None, "y"],
        [2.5, "NA", None, None],
    ]
    workbook(file, only=[*rows, [None] * 4])
    source = open_source(file)
    assert source.columns == ("a", "b", "when", "site")
    with pytest.raises(DataError, match=r"missing values in columns 'a' \(1\), 'b' \(1\); of 3 rows, 2 have one"):
        source.moments(["a", "b"])
    assert source.labels("site")(0, 3).tolist() == ["x", "y", None]
    with pytest.raises(DataError, match=r"column 'when' has dates or times"):
        source.moments(["when"])


def test_the_cell_that_is_no_number(tmp_path):
    workbook(tmp_path / "t.xlsx", only=[["a", "b"], [1, 2], [2, 5], [3, "unknown"]])
    with pytest.raises(DataError, match=r"column 'b' of the sheet 'only' .*: cell B4 has 'unknown'"):
        ad.read_moments(tmp_path / "t.xlsx")


def test_a_header_with_a_hole(tmp_path):
    workbook(tmp_path / "t.xlsx", only=[["a", None, "c"], [1, 2, 3]])
    with pytest.raises(DataError, match="must hold the column names; its cell B1 is empty"):
        ad.read_moments(tmp_path / "t.xlsx")
    workbook(tmp_path / "t.xlsx", only=[])
    with pytest.raises(DataError, match="is empty; it needs a row with the column names"):
        ad.read_moments(tmp_path / "t.xlsx")


# -- Stata -------------------------------------------------------------------------------------------------------------


def test_labelled_values_of_stata(tmp_path):
    frame = pd.DataFrame({"sex": [1.0, 2.0, 2.0], "smokes": [0.0, 1.0, 1.0], "income": [-9.0, 20.0, 30.0]})
    labels = {"sex": {1: "male", 2: "female"}, "smokes": {0: "no", 1: "yes"}, "income": {-9: "refused"}}
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), variable_value_labels=labels)
    source = open_source(tmp_path / "t.dta")
    assert source.labels("sex")(0, 3).tolist() == ["male", "female", "female"]
    assert source.moments(["smokes", "income"]).mean.tolist() == pytest.approx([2 / 3, 41 / 3])


def test_labels_of_stata_that_are_numbers_in_writing_are_levels(tmp_path):
    rng = np.random.default_rng(0)
    levels = rng.integers(1, 4, 200)
    table = pd.DataFrame({"school": pd.Categorical(levels.astype(str)), "score": levels + rng.standard_normal(200)})
    table.to_stata(tmp_path / "t.dta", write_index=False)
    graph = ad.CandidateGraph.from_edges({("school", "score"): 1.0})
    effect = ad.fit(tmp_path / "t.dta", graph, terms=None, rng=0).effect("school", "score")
    assert effect.contrast("1", "3").mean == pytest.approx(2.0, abs=0.5)


# -- SQLite ------------------------------------------------------------------------------------------------------------


def test_one_of_several_tables(tmp_path):
    file = tmp_path / "t.sqlite"
    write_sqlite(file, {"a": [1, 2], "b": [3, 5]}, "visits")
    write_sqlite(file, {"a": [1, 4], "b": [3, 5]}, 'odd "name"; drop table visits')
    with pytest.raises(DataError, match=r"has the tables .*'visits'; say which, as 't\.sqlite::table'"):
        open_source(file)
    assert ad.read_moments(f"{file}::visits").mean.tolist() == [1.5, 4]
    assert ad.read_moments(f'{file}::odd "name"; drop table visits').mean.tolist() == [2.5, 4]
    with pytest.raises(DataError, match="has no table 'visit'; did you mean 'visits'"):
        open_source(f"{file}::visit")


def test_cells_of_sqlite_may_be_anything(tmp_path, monkeypatch):
    file = tmp_path / "t.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute('create table t (a, b, "c ""d""", site)')
        rows = [(1, 2.5, None, "x"), (2, None, None, "y"), (2**40, 4, None, "x")]
        connection.executemany("insert into t values (?, ?, ?, ?)", rows)
        connection.commit()
    source = open_source(file)
    assert source.columns == ("a", "b", 'c "d"', "site")
    assert source.moments(["a", "b"], drop_missing=True).n == 2
    assert source.labels("site")(1, 3).tolist() == ["y", "x"]
    with pytest.raises(DataError, match="column 'site' has dtype string, which is not a number"):
        source.moments(["site"])
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("insert into t values (3, 'unknown', null, 'x')")
        connection.commit()
    with pytest.raises(DataError, match=r"column 'b' of the table 't' is not all numbers: 1 of its cells .* 'unknown'"):
        ad.read_moments(file, ["b"])
    monkeypatch.setattr(sqlite, "_HEAD", 2)
    with pytest.raises(DataError, match="1 of its cells hold text, the first is 'unknown'"):
        ad.read_moments(file, ["b"])


# -- engines -----------------------------------------------------------------------------------------------------------


def test_a_query_through_adbc(tmp_path):
    import adbc_driver_sqlite.dbapi as adbc

    data = values()
    write_sqlite(tmp_path / "t.db", data)
    want = ad.Moments.from_table(data)
    with adbc.connect(str(tmp_path / "t.db")) as connection, connection.cursor() as cursor:
        cursor.execute("select * from visits where dose > -100")
        got = ad.read_moments(cursor.fetch_record_batch())
    assert (got.scatter == want.scatter).all()


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # inside Ibis
def test_ibis_tables(tmp_path):
    import ibis

    data = values()
    pd.DataFrame(data).to_parquet(tmp_path / "t.parquet")
    want = ad.Moments.from_table(data)
    for backend in (ibis.duckdb, ibis.polars):
        table = backend.connect().read_parquet(tmp_path / "t.parquet")
        got = ad.read_moments(table.filter(table.dose > -100))
        assert got.names == NAMES
        np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-13)
