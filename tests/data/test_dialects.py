"""Text files as programs and countries write them: read without doubt, or refused with line and value."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import alldags as ad
from alldags import Moments
from alldags.data import files
from alldags.data.dialect import find_dialect
from alldags.data.files import read_table
from alldags.errors import DataError
from lines import fit


@pytest.fixture(params=["pyarrow", "standard library"])
def reader(request, monkeypatch):
    """Run the test with and without the packages of the extra `files`."""
    if request.param == "standard library":
        known = files.find_spec
        monkeypatch.setattr(files, "find_spec", lambda name: None if name in ("pyarrow", "polars") else known(name))
    return request.param


POINTS = "größe,wage,note\n1,2.5,a\n2,-4.25,b\n4,1e3,c\n"
SEMICOLONS = "größe;wage;note\n1;2,5;a\n2;-4,25;b\n4;1e3;c\n"
MEAN = [7 / 3, (2.5 - 4.25 + 1000) / 3]

WAYS = {
    "commas": POINTS.encode(),
    "semicolons": POINTS.replace(",", ";").encode(),
    "decimal commas": SEMICOLONS.encode(),
    "tabs": SEMICOLONS.replace(";", "\t").encode(),
    "bars": SEMICOLONS.replace(";", "|").encode(),
    "quoted decimal commas": 'größe,wage,note\n1,"2,5",a\n2,"-4,25",b\n4,1e3,c\n'.encode(),
    "mark of UTF-8": SEMICOLONS.encode("utf-8-sig"),
    "UTF-16": SEMICOLONS.encode("utf-16"),
    "UTF-16, big end first": b"\xfe\xff" + SEMICOLONS.encode("utf-16-be"),
    "UTF-16 without a mark": SEMICOLONS.encode("utf-16-le"),
    "UTF-32": SEMICOLONS.encode("utf-32"),
    "latin-1": SEMICOLONS.encode("latin-1"),
    "sep= as spreadsheets write it": ("sep=;\n" + SEMICOLONS).encode(),
    "Windows line ends": SEMICOLONS.replace("\n", "\r\n").encode("cp1252"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_numbers_however_they_are_written(tmp_path, reader, way):
    file = tmp_path / "study.csv"
    file.write_bytes(WAYS[way])
    moments = Moments.from_table(read_table(file), ["größe", "wage"])
    np.testing.assert_allclose(moments.mean, MEAN, rtol=1e-15)
    assert (Moments.from_table(file, ["größe", "wage"]).scatter == moments.scatter).all()


@pytest.mark.parametrize("name", ["t.tsv", "t.tab", "t.txt", "t.tsv.gz"])
def test_other_endings(tmp_path, reader, name):
    text = b"a\tb\n1\t2\n3\t5\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert Moments.from_table(tmp_path / name).mean.tolist() == [2, 3.5]


def test_compressed_text_in_another_encoding(tmp_path, reader):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(SEMICOLONS.encode("utf-16")))
    np.testing.assert_allclose(Moments.from_table(tmp_path / "t.csv.gz", ["größe", "wage"]).mean, MEAN)


def test_latin_1_is_noted(tmp_path):
    (tmp_path / "t.csv").write_bytes("größe,b\n1,2\n2,3\n4,1\n".encode("latin-1"))
    posterior = fit(tmp_path / "t.csv", ad.CandidateGraph.from_order(["größe", "b"]), rng=0)
    assert "'t.csv' is not UTF-8; it was read as Latin-1 (Windows-1252)" in map(str, posterior.notes)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            b"a,b\n1,2\n3,\x81\x8d\n",
            r"is not UTF-8 text: line 3 has b'\\x81\\x8d'; save it as UTF-8 .*encoding='\.\.\.'",
        ),
        ("a,b\n1,2\n3,5\nñandú,ﬃ\n".encode()[:-3] + b"\n", r"is not UTF-8 text: line 4 has b'\\xef'"),
        (b"a,b\n\0\0\0\0\n", "holds zero bytes: it is no text file"),
        (b"a;b,c\n1;2,3\n", r"may be separated by commas or semicolons: line 1 is 'a;b,c'; say which: .*separator="),
        (b"a;b\n1;1.234,5\n", r"line 2 of .*, column 'b': '1\.234,5' has a sign between thousands"),
        (b'a,b\n1,"1,234,567"\n', r"line 2 of .*, column 'b': '1,234,567' has a sign between thousands"),
        (
            b"a;b\n1;2\n2;1,234\n3;2,345\n",
            r"line 3 .* column 'b': '1,234' may be a decimal comma or thousands; .*decimal=",
        ),
        (
            b"a;b\n1,5;2\n2;3\n3;1.5\n",
            r"line 2 .*'1,5' but line 4 has '1\.5' in column 'b'; write all decimals with the",
        ),
        (b"a;b\n1;2\n3\n", r"line 3 of .* has 1 fields, the header has 2; every line needs the same number of .*';'"),
    ],
)
def test_doubt_is_refused_with_line_and_value(tmp_path, reader, text, match):
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(DataError, match=match):
        read_table(tmp_path / "t.csv")


def test_what_the_user_says_ends_the_doubt(tmp_path, reader):
    file = tmp_path / "t.csv"
    file.write_bytes(b"a;b\n1;1,234\n2;2,345\n")
    assert Moments.from_table(read_table(file, decimal=",")).mean.tolist() == [1.5, (1.234 + 2.345) / 2]
    file.write_bytes(b"a;b,c\n1;2,3\n4;5,6\n")
    assert list(Moments.from_table(read_table(file, separator=";", decimal=","), ["a"]).mean) == [2.5]
    file.write_bytes("größe,b\n1,2\n3,2\n".encode("cp437"))
    assert Moments.from_table(read_table(file, encoding="cp437"), ["größe"]).mean.tolist() == [2]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"separator": ";;"}, "separator must be one character"),
        ({"decimal": "'"}, "decimal must be '.' or ','"),
        ({"encoding": "utf-99"}, "encoding must be one that Python knows"),
    ],
)
def test_what_the_user_says_is_checked(tmp_path, options, match):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=match):
        read_table(tmp_path / "t.csv", **options)


def test_text_options_are_for_text(tmp_path):
    import polars as pl

    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"are for text files; 't\.parquet' is none"):
        read_table(tmp_path / "t.parquet", separator=";")


def test_the_cell_that_is_no_number_is_named(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n2,3\n3,unknown\n4,5\n")
    with pytest.raises(
        DataError, match=r"column 'b' of .* is not all numbers: line 4 has 'unknown'; correct it, or, leave"
    ):
        Moments.from_table(file)
    file.write_text("a;b\n1;2,5\n2;3,5\n3;3.5.1\n4;5\n")
    with pytest.raises(DataError, match=r"line 4 has '3\.5\.1'"):
        Moments.from_table(file)


def test_lists_in_quotes_are_no_decimals(tmp_path, reader):
    (tmp_path / "t.csv").write_text('a,chosen,b\n1.5,"1,3",2\n2.5,"2,4",5\n')
    assert Moments.from_table(tmp_path / "t.csv", ["a", "b"]).mean.tolist() == [2, 3.5]


def test_decimal_commas_far_down_are_named(tmp_path):
    rows = "".join(f"{i};{i % 9}\n" for i in range(60_000))
    (tmp_path / "t.csv").write_text(f"a;b\n{rows}7;1,5\n")
    with pytest.raises(DataError, match=r"column 'b' .* line 60002 has '1,5'; .* decimal commas, .*decimal=','"):
        Moments.from_table(tmp_path / "t.csv")
    assert Moments.from_table(read_table(tmp_path / "t.csv", decimal=",")).n == 60_001


def test_a_cell_far_down_in_a_long_file(tmp_path, monkeypatch):
    """Types are found in the first block; what does not fit them later is named, too."""
    from alldags.data import csv_stream

    monkeypatch.setattr(csv_stream, "_BLOCK_BYTES", 2**12)
    file = tmp_path / "t.csv"
    lines = [f"{i},{i % 7}" for i in range(5000)]
    file.write_text("\n".join(["a,b", *lines]))
    whole = Moments.from_table({"a": np.arange(5000.0), "b": np.arange(5000.0) % 7})
    assert (Moments.from_table(file).scatter == whole.scatter).all()
    lines[4000] = "1.5,2.25"  # whole numbers go on with others
    file.write_text("\n".join(["a,b", *lines]))
    assert Moments.from_table(file).n == 5000
    lines[4321] = "7,seven"
    file.write_text("\n".join(["a,b", *lines]))
    with pytest.raises(DataError, match=r"column 'b' .* line 4323 has 'seven'"):
        Moments.from_table(file)
    lines[4321] = "7"
    file.write_text("\n".join(["a,b", *lines]))
    with pytest.raises(DataError, match=r"line 4323 of .* has 1 fields, the header has 2"):
        Moments.from_table(file)


def test_line_breaks_inside_quotes(tmp_path, reader):
    (tmp_path / "t.csv").write_text('a,note,b\n1,"two\nlines",2\n3,"x",5\n')
    assert Moments.from_table(tmp_path / "t.csv", ["a", "b"]).mean.tolist() == [2, 3.5]


def test_the_dialect_of_one_column(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert find_dialect(tmp_path / "t.csv").separator == ","
