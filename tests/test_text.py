"""Text for people: bounded, escaped, as wide as the terminal."""

from __future__ import annotations

import io
import os
import pickle
import pty
import subprocess
import sys

import pytest

import alldags as ad
from alldags.errors import DataError, GraphError, MissingExtraError
from alldags.show.table import text_table
from alldags.text import line_width, printable, shortened
from lines import fit


def test_what_moves_the_cursor_is_escaped():
    assert printable("größe 年 x") == "größe 年 x"
    assert printable("a\x1b[2Jb\nc\x00\u202ed") == r"a\x1b[2Jb\nc\x00\u202ed"


@pytest.mark.parametrize("length", [10, 499, 500, 501, 100_000])
def test_long_text_loses_its_middle(length):
    text = "".join(chr(97 + i % 26) for i in range(length))
    short = shortened(text)
    assert len(short) == min(length, 500)
    assert short[:100] == text[:100]
    assert short[-100:] == text[-100:]


@pytest.mark.parametrize("kind", [ad.AlldagsError, DataError, GraphError, MissingExtraError])
def test_messages_are_bounded_and_printable(kind):
    error = kind("the column " + "x\x1b" * 10_000 + " is bad; rename it")
    assert len(str(error)) == 500
    assert str(error).isprintable()
    assert str(error).endswith("is bad; rename it")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_hostile_name_does_not_reach_the_terminal():
    name = "x\x1b[31m\n" + "y" * 5000
    with pytest.raises(ad.AlldagsError) as caught:
        fit({"a": [1, 2, 3]}, ad.CandidateGraph.from_order(["a", name]))
    assert len(str(caught.value)) <= 500
    assert str(caught.value).isprintable()
    columns = {"a\tb": [1.0, 2.0, 4.0, 3.0], "c\x1b[1m": [2.0, 1.0, 1.0, 4.0]}
    posterior = fit(columns, ad.CandidateGraph.from_order(list(columns)), rng=0)
    shown = [str(posterior.effect(*columns)), str(posterior.effects()), str(posterior.edge_probabilities())]
    assert all(line.isprintable() for text in shown for line in text.splitlines())
    assert all(r"a\tb" in text for text in shown)


def test_wide_tables_stand_below_each_other_with_their_first_column():
    names, rows = ["cause", "aa", "bb", "cc"], [["x", 1.0, 2.0, 3.0], ["long name", 4.0, 5.0, 6.0]]
    assert text_table(names, rows).count("cause") == 1
    text = text_table(names, rows, width=18)
    assert text == (
        "cause      aa  bb\nx           1   2\nlong name   4   5\n\ncause      cc\nx           3\nlong name   6"
    )
    assert text_table(names, rows, width=5).count("cause") == 3  # one column each, at least


@pytest.mark.parametrize(("columns", "width"), [("40", 38), ("80", 78), ("200", 78), ("3", 20)])
def test_prose_is_as_wide_as_the_terminal_but_not_wider_than_one_reads(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert line_width() == width


def test_a_table_follows_a_real_terminal():
    ours, theirs = pty.openpty()
    code = (
        "import numpy as np; from alldags.show.table import SquareTable\n"
        "print(SquareTable(tuple('abcdefghij'), np.full((10, 10), 0.123)))"
    )
    environment = {**os.environ, "COLUMNS": "44"}
    done = subprocess.run([sys.executable, "-c", code], stdout=theirs, env=environment, check=True)
    os.close(theirs)
    lines = os.read(ours, 100_000).decode().splitlines()
    os.close(ours)
    assert done.returncode == 0
    assert max(map(len, lines)) <= 44
    assert sum(line.startswith("cause") for line in lines) == 2
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert piped.stdout.count("cause") == 1


def test_tables_become_frames_of_the_caller_s_library():
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from alldags.errors import AlldagsError
    from alldags.show.table import Table

    table = Table({"edge": ["a -> b", "c -> d"], "probability": [0.25, None]})
    for frame in (pd.DataFrame({"x": [1]}), pl.DataFrame({"x": [1]}), pa.table({"x": [1]})):
        found = table.to_frame(like=frame)
        assert type(found) is type(frame)
        assert [str(value) for value in found["edge"]] == ["a -> b", "c -> d"]
    with pytest.raises(AlldagsError, match=r"like must be a frame of pandas, .* got dict; use to_pandas"):
        table.to_frame(like={})


def test_a_terminal_without_a_letter_gets_it_spelled_or_escaped(monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert printable("café … ± 1") == "caf\\xe9 ... +/- 1"
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert printable("café … ± 1") == "café … ± 1"
