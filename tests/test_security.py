"""Attacks that belong to no single room; `SECURITY.md` lists them with those that do."""

from __future__ import annotations

import ast
import io
import json
import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from markdown_it import MarkdownIt

import alldags as ad
from alldags.app.answer import python_lines
from alldags.errors import AlldagsError, DataError
from lines import fit

ROOT = Path(__file__).parents[1]
SCRIPT = "<script>alert(1)</script>"
HOSTILE = (SCRIPT, "\"><img src=x onerror=alert(1)>'", "x\"; drop table kept; --\n'')](javascript:alert(1))")
GRAPH = ad.CandidateGraph.from_order(HOSTILE)


def table(rows=200):
    noise = np.random.default_rng(0).normal(size=(3, rows))
    return dict(zip(HOSTILE, np.cumsum(noise, axis=0), strict=True))


@pytest.fixture(scope="module")
def posterior():
    return fit(table(), GRAPH, rng=0)


@pytest.fixture
def saved(posterior, tmp_path):
    posterior.save(tmp_path / "fit.npz")
    return tmp_path / "fit.npz"


def add(path, name, content):
    """Put one more member into an archive, or another one of that name."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)


def packed(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../out.npy", "/tmp/out.npy", "extra.npy", "rows1/../../out.npy"])
def test_members_that_are_not_known_are_neither_read_nor_unpacked(saved, posterior, monkeypatch, name):
    add(saved, name, packed(np.zeros(20_000_000)))  # 160 MB of a few kB: were it read, it would be refused
    before = sorted(saved.parent.rglob("*"))
    for method in ("extract", "extractall"):
        monkeypatch.setattr(zipfile.ZipFile, method, lambda *_: pytest.fail("unpacked"))
    assert ad.load(saved).effect(*HOSTILE[1:]).mean == posterior.effect(*HOSTILE[1:]).mean
    assert sorted(saved.parent.rglob("*")) == before


@pytest.mark.parametrize("name", ["rows9", "mean7", "profile_else"])
def test_a_bomb_is_refused_before_it_is_unpacked(saved, monkeypatch, name):
    add(saved, f"{name}.npy", packed(np.zeros(20_000_000)))
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(DataError, match=r"is damaged: \d+ kB that unpack to 1\d\d MB, which no file of a table does"):
        ad.load(saved)


def test_a_header_that_claims_more_than_is_there_costs_nothing(saved):
    claims = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        claims, {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
    )  # 9 PB, of which 0 bytes follow
    add(saved, "rows.npy", claims.getvalue())
    with pytest.raises(DataError, match="is damaged"):
        ad.load(saved)


def test_moments_that_unpack_to_far_more_than_they_hold_are_refused(tmp_path):
    np.savez_compressed(tmp_path / "m.npz", scatter=np.zeros((3000, 3000)))
    with pytest.raises(DataError, match="that unpack to 72 MB, which no file of a table does"):
        ad.Moments.load(tmp_path / "m.npz")


def test_a_workbook_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["x", "y"])
    book.save(path)
    add(path, "xl/sharedStrings2.xml", b" " * 80_000_000)
    with pytest.raises(DataError, match=r"is not a readable Excel file: .*that unpack to 80 MB"):
        ad.read_moments(path)


def test_more_than_fits_into_memory_is_refused(saved, monkeypatch):
    monkeypatch.setattr("alldags.memory.free_memory", lambda: 1e7)
    add(saved, "rows.npy", packed(np.random.default_rng(0).normal(size=9_000_000)))
    with pytest.raises(DataError, match=r"what is in .* need about 0.072 GB of memory, more than the 0.01 GB free"):
        ad.load(saved)


def test_rare_values_which_pack_to_nothing_are_saved_so_that_they_load(posterior, tmp_path, monkeypatch):
    """One yes in a hundred packs 240 times smaller: such a file was written, and then refused as a bomb."""
    monkeypatch.setattr("alldags.archives._SMALL", 10_000)
    monkeypatch.setattr("alldags.archives._MOST_PACKED", 5)
    rng = np.random.default_rng(0)
    rare = {name: (rng.random(500) < 0.3).astype(float) for name in ("x", "a", "b", "y")}
    graph = ad.CandidateGraph(tuple(rare), {("x", "y"): 0.5})
    first = fit(rare, graph, terms=None, rng=0)
    first.save(tmp_path / "rare.npz")
    assert (tmp_path / "rare.npz").stat().st_size > 500 * 4 * 8  # not packed
    posterior.save(tmp_path / "fit.npz")
    assert (tmp_path / "fit.npz").stat().st_size < 10_000  # packed
    assert ad.load(tmp_path / "rare.npz").effect("x", "y").mean == first.effect("x", "y").mean


# -- queries -----------------------------------------------------------------------------------------------------------


def frame():
    return pl.DataFrame({**table(), "site": np.arange(200) % 4})


def in_sqlite(path):
    """Write the table under a hostile name beside one that must be there at the end."""
    with closing(sqlite3.connect(path)) as connection:
        columns = ", ".join('"' + name.replace('"', '""') + '" real' for name in HOSTILE)
        connection.execute(f"""create table "t""'; drop table kept; --" ({columns})""")
        connection.execute("create table kept (x real)")
        rows = zip(*(column.tolist() for column in table().values()), strict=True)
        connection.executemany("""insert into "t""'; drop table kept; --" values (?, ?, ?)""", rows)
        connection.commit()
    return path


def test_names_of_tables_and_columns_of_sqlite_files_are_quoted(tmp_path):
    path = in_sqlite(tmp_path / "t.sqlite")
    found = ad.read_moments(f"{path}::t\"'; drop table kept; --")
    np.testing.assert_allclose(found.scatter, ad.Moments.from_table(table()).scatter, rtol=1e-12)
    with pytest.raises(DataError, match="has no table"):
        ad.read_moments(f"{path}::kept; drop table kept")
    with closing(sqlite3.connect(path)) as connection:
        assert {name for (name,) in connection.execute("select name from sqlite_master")} >= {"kept"}


def duckdb_file(path):
    with duckdb.connect(path) as connection:
        connection.register("given", frame().to_arrow())
        connection.execute("create table t as select * from given")
        connection.execute("create table kept (x real)")
    return path


def relation(folder):
    connection = duckdb.connect(duckdb_file(folder / "t.duckdb"))
    return connection.table("t"), lambda: connection.execute("select * from kept")


def ibis_duckdb(folder):
    import ibis

    backend = ibis.duckdb.connect(duckdb_file(folder / "t.duckdb"))
    return backend.table("t"), lambda: backend.table("kept").execute()


def polars_frame(_):
    return frame().lazy(), lambda: None


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option", "ignore:fetch_arrow_table")  # inside Ibis
@pytest.mark.parametrize("engine", [relation, ibis_duckdb, polars_frame])
@pytest.mark.parametrize("push_down", [False, True])
def test_names_are_quoted_in_every_engine(engine, push_down, tmp_path):
    lazy, is_kept = engine(tmp_path)
    found = ad.read_moments(lazy, columns=list(HOSTILE), push_down=push_down)
    np.testing.assert_allclose(found.scatter, ad.Moments.from_table(table()).scatter, rtol=1e-12)
    if not push_down:
        effect = fit(lazy, GRAPH, cluster="site", rng=0).effect(*HOSTILE[1:])
        assert effect.mean == pytest.approx(fit(table(), GRAPH, rng=0).effect(*HOSTILE[1:]).mean, rel=1e-9)
    is_kept()


# -- what is written ---------------------------------------------------------------------------------------------------


def test_markdown_has_no_tag_of_a_name(posterior):
    """CommonMark takes a backslash before "<" for an escape, other programs do not: it is written as an entity."""
    effect = posterior.effect(HOSTILE[0], HOSTILE[2])
    for text in (effect.to.markdown(), effect.paths().to_markdown(), posterior.edge_probabilities().to_markdown()):
        assert "<" not in text
        html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        assert set(re.findall(r"<(\w+)", html)) <= {"p", "table", "thead", "tbody", "tr", "th", "td"}
        assert "&lt;script&gt;" in html


def test_notebook_views_have_no_tag_of_a_name(posterior):
    effect = posterior.effect(HOSTILE[0], HOSTILE[2])
    for shown in (effect, effect.paths(), posterior, posterior.checks(HOSTILE[0], HOSTILE[2]), GRAPH):
        html = shown._repr_html_() if hasattr(shown, "_repr_html_") else ""
        assert not re.search("<(script|img)", html)


def test_lines_of_python_hold_names_as_text_only():
    said = {"treatment": HOSTILE[1], "outcome": HOSTILE[2], "tiers": [[name] for name in HOSTILE], "direct": 1.0}
    for edges in ([], [[HOSTILE[0], HOSTILE[2], 0.2]]):
        text = python_lines({**said, "edges": edges, "categories": [HOSTILE[0]]}, "'); import os; ('.csv")
        called = {ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)}
        assert called <= {"ad.effect", "ad.fit", "ad.CandidateGraph.from_tiers", "graph.with_edge", "print",
                          "posterior.effect"}  # fmt: skip
        assert {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} <= {
            "ad", "graph", "posterior", "effect", "print"
        }  # fmt: skip


def test_a_condition_runs_no_code(posterior):
    for text in ("__import__('os').system('x') > 0", "(lambda: 1)() > 0", "age.__class__ == 1"):
        with pytest.raises(AlldagsError):
            posterior.effect(*HOSTILE[1:], over=text)


def test_files_of_graphs_and_moments_run_no_code(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps({"schema": "alldags.moments/1", "n": "__import__('os')"}))
    with pytest.raises(DataError, match="is not a file of moments"):
        ad.Moments.load(tmp_path / "m.json")
    with pytest.raises(AlldagsError):
        ad.parse_graph("variables = !!python/object/apply:os.system ['x']", "toml")


# -- the list ----------------------------------------------------------------------------------------------------------


def test_every_row_of_the_list_names_tests_that_are_there():
    rows = re.findall(r"^\| .* \| (`.*`) \|$", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 20
    for named in [one for row in rows for one in re.findall("`([^`]+)`", row)]:
        path, _, test = named.partition("::")
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), named


def test_every_test_of_this_file_is_on_the_list():
    listed = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    own = re.findall(r"^def (test_\w+)", Path(__file__).read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in own if f"test_security.py::{name}`" not in listed and "list" not in name] == []
