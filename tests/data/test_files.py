"""Files to tables."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from alldags import Moments
from alldags.data import files
from alldags.data.files import read_table
from alldags.errors import DataError, MissingExtraError

TEXT = 'dose,"the score",treated,group\n1,2.5,true,x\n2,4.5,false,y\n4,-1e3,true,"x, y"\n'
MEAN = [7 / 3, (2.5 + 4.5 - 1000) / 3, 2 / 3]
USED = ["dose", "the score", "treated"]


@pytest.fixture(params=["pyarrow", "standard library"])
def reader(request, monkeypatch):
    """Run the test with and without the packages of the extra `files`."""
    if request.param == "standard library":
        without(monkeypatch, "pyarrow", "polars")
    return request.param


def without(monkeypatch, *absent: str) -> None:
    known = files.find_spec
    monkeypatch.setattr(files, "find_spec", lambda name: None if name in absent else known(name))


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return file


@pytest.mark.parametrize("name", ["t.csv", "T.CSV", "t.csv.gz"])
def test_csv(tmp_path, reader, name):
    table = read_table(written(tmp_path, name, TEXT))
    assert isinstance(table, dict) == (reader == "standard library")
    moments = Moments.from_table(table, USED)
    assert moments.n == 3
    np.testing.assert_allclose(moments.mean, MEAN, rtol=1e-14)
    with pytest.raises(DataError, match=r"column 'group' has dtype .*, which is not a number"):
        Moments.from_table(table)


@pytest.mark.parametrize("text", ["\ufeff" + TEXT, TEXT.replace("\n", "\r\n"), TEXT.rstrip(), TEXT + "\n"])
def test_csv_written_by_other_programs(tmp_path, reader, text):
    moments = Moments.from_table(read_table(written(tmp_path, "t.csv", text)), USED)
    np.testing.assert_allclose(moments.mean, MEAN, rtol=1e-14)


@pytest.mark.parametrize("sign", ["", "NA", "NaN", "null"])
def test_missing_values_in_csv(tmp_path, reader, sign):
    table = read_table(written(tmp_path, "t.csv", f"a,b\n1,2\n{sign},3\n5,8\n"))
    assert Moments.from_table(table, missing="drop").mean.tolist() == [3, 5]
    with pytest.raises(DataError, match=r"missing values in column 'a' \(1\)"):
        Moments.from_table(table)


FORMATS = {"parquet": pl.DataFrame.write_parquet, "feather": pl.DataFrame.write_ipc}


@pytest.mark.parametrize("ending", FORMATS)
def test_parquet_and_feather(tmp_path, monkeypatch, ending):
    file = tmp_path / f"t.{ending}"
    FORMATS[ending](pl.DataFrame({"a": [1.0, 3.0], "b": [1, 2]}), file)
    assert Moments.from_table(read_table(file)).mean.tolist() == [2, 1.5]
    without(monkeypatch, "pyarrow")
    table = read_table(str(file))
    assert isinstance(table, pl.DataFrame)
    assert Moments.from_table(table).mean.tolist() == [2, 1.5]


@pytest.mark.parametrize(("ending", "name"), [("parquet", "Parquet"), ("feather", "Feather")])
def test_parquet_and_feather_need_an_extra(tmp_path, monkeypatch, ending, name):
    without(monkeypatch, "pyarrow", "polars")
    message = rf"{name} files need .* pip install 'alldags\[files\]', or convert the file to CSV"
    with pytest.raises(MissingExtraError, match=message):
        read_table(written(tmp_path, f"t.{ending}", "x"))


@pytest.mark.parametrize(("ending", "name"), [("parquet", "Parquet"), ("feather", "Feather")])
def test_damaged_parquet_and_feather(tmp_path, ending, name):
    with pytest.raises(DataError, match=f"is not a readable {name} file"):
        read_table(written(tmp_path, f"t.{ending}", "a,b\n1,2\n"))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty; it needs a line with the column names"),
        ("\n\n", "is empty; it needs a line with the column names"),
        ("a,b\n1,2\n1\n3,4\n", "line 3 of .* has 1 fields, the header has 2"),
        ("a,b\n1,2\n1,2,3\n", "line 3 of .* has 3 fields, the header has 2"),
    ],
)
def test_csv_out_of_form(tmp_path, reader, text, match):
    with pytest.raises(DataError, match=match):
        read_table(written(tmp_path, "t.csv", text))


def test_repeated_header_names(tmp_path, reader):
    with pytest.raises(DataError, match=r"must be distinct; rename or drop: 'a' \(2 times\)"):
        Moments.from_table(read_table(written(tmp_path, "t.csv", "a,a\n1,2\n3,4\n")))


def test_header_only(tmp_path, reader):
    with pytest.raises(DataError, match="the table has 0 rows"):
        Moments.from_table(read_table(written(tmp_path, "t.csv", "a,b\n")))


def test_not_gzip(tmp_path, reader):
    (tmp_path / "t.csv.gz").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"cannot read .*t\.csv\.gz"):
        read_table(tmp_path / "t.csv.gz")


def test_paths(tmp_path):
    written(tmp_path, "trial.csv", TEXT)
    with pytest.raises(DataError, match=r"there is no file .*trail\.csv'; did you mean 'trial\.csv'\?"):
        read_table(tmp_path / "trail.csv")
    with pytest.raises(DataError, match="there is no file"):
        read_table(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(DataError, match=r"format of 't\.doc'; the name must end in \.csv, .* \.parquet, \.feather"):
        read_table("t.doc")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match="has no CSV, Parquet or Feather file in it"):
        read_table(tmp_path / "d.csv")
