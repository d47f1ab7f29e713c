"""What is right to begin with: a graph in every format, a table in every kind of file, command lines."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import alldags as ad
from alldags.graph.io import format_graph

NAMES = ("age", "dose", "stress", "risk")
ROUND_TRIP = ("toml", "csv", "dot", "gml", "json", "dagitty")
FORMATS = (*ROUND_TRIP, "lavaan", "bnlearn")
BY_HAND = {
    "toml": [
        'probability = 0.3\ntiers = [["age", "sex"], ["dose"], ["risk"]]\n[[edges]]\ncause = "dose"\neffect = "risk"\n'
        "probability = 1\n",
        'order = ["a", "b", "c"]\nedges = [["a", "c", 0.9]]\nvariables = ["c", "b", "a", "lone"]\n',
        'tiers = [["a", "b"], ["c"]]\nwithin = 0.4\nhidden = [["a", "c", 0.2]]\n',
    ],
    "csv": ["cause,effect,probability\nsmoking,tar,0.9\ntar,cancer,\n", "cause,effect\na,b\nb,c\n"],
    "dot": [
        "digraph { rankdir=LR; age -> {dose risk} [probability=0.4]; dose -> risk; subgraph s { x; y } // end\n }",
        'strict digraph "g" { node [shape=box]; "a b" -> c:n [label="0.5"]; /* c */ c -> d -> e }',
    ],
    "gml": ['graph [ directed 1 node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]'],
    "json": [
        '{"tiers": [["a", "b"], ["c"]], "probability": 0.1, "edges": [{"cause": "a", "effect": "b"}]}',
        '{"variables": ["a", "b", "c"], "edges": [["a", "b"], ["b", "c", 0.2]], "hidden": [["a", "c", 0.1]]}',
    ],
    "dagitty": ['dag { age -> {dose risk}; dose -> risk; dose <-> risk; x [exposure,pos="0,1"] "a b" <- x }'],
    "lavaan": ["y ~ x + a*m\nm ~ x # comment\nx ~~ y\nab := a*b\n", "y + z ~ start(0.5)*x +\n  w\n"],
    "bnlearn": ["[age][dose|age][risk|age:dose]", "[a][b][c|a:b]"],
}
SWITCHES = ["--paths", "--influence", "--checks", "--sensitivity"]
COMMON = ["--graph", "graph.toml", "--n-jobs", "1", "--no-progress"]
EFFECT = ["effect", "data.csv", *COMMON, "--treatment", "dose", "--outcome", "risk"]
COMMANDS = [
    EFFECT,
    [*EFFECT, "--json"],
    [*EFFECT, "--level", "0.8", "--paths", "--influence"],
    [*EFFECT, "--engine", "k2", "--prior", "paper"],
    [*EFFECT, "--missing", "drop", "--slab-variance", "2"],
    [*EFFECT, "--prior", "g", "--link", "0"],
    [*EFFECT, "--noise-precision", "1", "--seed", "3"],
    [*EFFECT, "--weights", "age", "--weight-kind", "sampling"],
    [*EFFECT, "--family", "risk=normal"],
    ["effects", "data.csv", *COMMON, "--json"],
    ["edges", "data.csv", *COMMON, "--engine", "exact"],
    ["moments", "data.csv", "moments.json", "--columns", "age", "dose", "--n-jobs", "1"],
    ["graph", "graph.toml", "--json"],
    ["graph", "graph.dot"],
    ["schema"],
    ["--version", "--json"],
    ["reproduce", "small", "--replicates", "1", "--sizes", "10", "--methods", "full", "--n-jobs", "1", "--out", "run"],
]
VOCABULARY = (
    *sorted({word for line in COMMANDS for word in line}), *SWITCHES, *NAMES, "data.parquet", "moments.json", "empty",
    "nothing.csv", "nothing.toml", "posterior.npz", "broken.csv", "latin.csv", "three.csv", "--out", "--methods",
    "--first", "--quick", "--sizes", "--columns", "--randomized", "--auxiliary", "--imputations", "--cluster",
    "--interventions", "--terms", "auto", "exact", "certified", "full", "impute", "raise", "learned", "bernoulli",
    "risk=poisson", "--as-json", "--n_jobs", "1.0", "0.95", "1e-9", "99", "-1",
)  # fmt: skip


def table() -> dict[str, np.ndarray]:
    """Return forty rows of four variables."""
    rng = np.random.default_rng(0)
    age, dose, stress, risk = np.round(rng.normal(size=(4, 40)), 3)
    age, dose = 40.0 + 10.0 * age, dose + age
    return dict(zip(NAMES, (age, dose, stress, risk + dose / 2), strict=True))


@lru_cache
def graph_texts() -> dict[str, list[str]]:
    """Return right graphs in every format."""
    names = ["age", "two words", 'say "hi"', "Größe", "->"]
    graphs = [
        ad.CandidateGraph.from_tiers([["age", "sex"], ["dose"], ["risk"]], 0.4),
        ad.CandidateGraph.from_order(names, 0.25).with_edge("age", "->", 1.0),
        ad.CandidateGraph.from_order(["a", "b", "c"], 0.3).with_pair("a", "b", 0.2, 0.4),
        ad.CandidateGraph.from_order(["x", "m", "y"]).with_hidden("x", "y", 0.1),
    ]
    made = {form: [_written(graph, form) for graph in graphs] for form in ROUND_TRIP}
    return {form: [text for text in [*made.get(form, []), *BY_HAND[form]] if text] for form in FORMATS}


def _written(graph: ad.CandidateGraph, form: str) -> str:
    try:
        return format_graph(graph, form)
    except ad.AlldagsError:  # not every format has a word for everything
        return ""


@lru_cache
def csv_texts() -> list[str]:
    """Return right text tables: of numbers, with gaps, by people elsewhere, quoted, with a column of text."""
    columns = table()
    rows = list(zip(*(values[:12].tolist() for values in columns.values()), strict=True))
    plain = "\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in rows)]) + "\n"
    german = plain.replace(",", ";").replace(".", ",")
    gaps = plain.replace("0.", "NA,", 1).replace("\n", "\r\n")
    quoted = '"age of ""her""","dose\nmg",town\n"1",2,Ulm\n3,"4.5","Ulm, Neu"\n'
    return [plain, german, gaps, plain.replace(",", "\t"), quoted, "a b\n1 2\n3 4\n", "a\n1\n2\n"]


@lru_cache
def table_files() -> dict[str, bytes]:
    """Return the bytes of right tables in every kind of file, by ending."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import feather, parquet

    frame = pa.table(table())
    found = {"csv": csv_texts()[0].encode()}
    with TemporaryDirectory() as name:
        folder = Path(name)
        parquet.write_table(frame, folder / "t.parquet", row_group_size=16)
        feather.write_feather(frame, folder / "t.feather")
        pd.DataFrame(table()).to_excel(folder / "t.xlsx", index=False)
        pd.DataFrame(table()).to_stata(folder / "t.dta", write_index=False)
        with sqlite3.connect(folder / "t.sqlite") as connection:
            connection.execute("create table rows (age real, dose real, stress real, risk real)")
            rows = list(zip(*(values.tolist() for values in table().values()), strict=True))
            connection.executemany("insert into rows values (?, ?, ?, ?)", rows)
        connection.close()
        ad.Moments.from_table(table()).save(folder / "t.npz")
        ad.Moments.from_table(table()).save(folder / "t.json")
        found |= {path.suffix[1:]: path.read_bytes() for path in folder.iterdir()}
    return found


@lru_cache
def posterior_file() -> bytes:
    """Return the bytes of a saved posterior."""
    with TemporaryDirectory() as name:
        path = Path(name) / "posterior.npz"
        ad.fit(table(), ad.CandidateGraph.from_tiers([["age", "stress"], ["dose"], ["risk"]]), rng=0).save(path)
        return path.read_bytes()


@lru_cache
def question() -> dict[str, object]:
    """Return what the local page asks."""
    return {
        "tiers": [["age", "stress"], ["dose"], ["risk"]],
        "probability": 0.5,
        "edges": [["age", "risk", 0.9]],
        "pairs": [["age", "stress", 0.2, 0.3]],
        "direct": 1.0,
        "treatment": "dose",
        "outcome": "risk",
        "family": None,
        "contrast": None,
        "left": [],
        "rows": [],
        "missing": None,
    }


def archive(content: bytes) -> dict[str, bytes]:
    """Return the files inside a zip file."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def packed(files: dict[str, bytes]) -> bytes:
    """Return a zip file of these files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as opened:
        for name, content in files.items():
            opened.writestr(zipfile.ZipInfo(name), content)
    return target.getvalue()


def write_folder(folder: Path) -> None:
    """Write the files that the command lines name."""
    graph = ad.CandidateGraph.from_tiers([["age", "stress"], ["dose"], ["risk"]])
    ad.write_graph(graph, folder / "graph.toml")
    ad.write_graph(graph, folder / "graph.dot")
    files = table_files()
    plain = files["csv"].decode()
    (folder / "data.csv").write_text(plain)
    (folder / "data.parquet").write_bytes(files["parquet"])
    (folder / "three.csv").write_text("".join(plain.splitlines(keepends=True)[:4]))
    (folder / "broken.csv").write_text(plain + "1,2\n")
    (folder / "latin.csv").write_bytes(plain.replace("age", "âge").encode("latin-1"))
    (folder / "posterior.npz").write_bytes(posterior_file())
    (folder / "empty").mkdir(exist_ok=True)


def header_of(npz: dict[str, bytes]) -> tuple[bytes, dict[str, object]]:
    """Return the start of the array that holds a saved posterior's header, and the header."""
    content = npz["header.npy"]
    start = content.index(b"\n") + 1
    return content[:start], json.loads(content[start:])


def with_header(header: object) -> bytes:
    """Return a header as an array file."""
    target = io.BytesIO()
    np.save(target, np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    return target.getvalue()
