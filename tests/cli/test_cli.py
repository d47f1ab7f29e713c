"""The command line, run as a person would."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

import alldags as ad
from alldags.data.files import read_table
from alldags.demo import demo_text


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-c", "from alldags.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    study = ad.datasets.example()
    with open(folder / "data.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*study.table, "extra"])
        writer.writerows([*row, 1] for row in zip(*study.table.values(), strict=True))
    ad.write_graph(study.graph, folder / "graph.toml")
    return folder


def test_demo():
    done = run("demo")
    assert done.returncode == 0, done.stderr
    assert "Raising smoking by one unit changes risk" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout == demo_text() + "\n"


def test_effect_in_words_and_as_json(folder):
    question = ("effect", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk")
    done = run(*question, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "columns not in the graph were ignored: 'extra'" in done.stdout
    record = json.loads(run(*question, "--json", cwd=folder).stdout)
    study = ad.datasets.example()
    expected = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    assert record["mean"] == pytest.approx(expected.mean, rel=1e-9)
    assert record["interval"]["low"] == pytest.approx(expected.interval()[0], rel=1e-9)
    paper = json.loads(run(*question, "--json", "--prior", "paper", "--noise-precision", "0.01", cwd=folder).stdout)
    assert paper["mean"] != record["mean"]
    assert json.loads(run(*question, "--json", "--engine", "k2", cwd=folder).stdout)["engine"] == "k2"


@pytest.mark.parametrize("engine", ["auto", "vb"])
def test_effect_is_printed_as_python_prints_it(folder, engine):
    table, graph = read_table(folder / "data.csv"), ad.read_graph(folder / "graph.toml")
    effect = ad.fit(table, graph, engine=engine, rng=0).effect("smoking", "risk")
    assert run(*QUESTION, "--engine", engine, cwd=folder).stdout == f"{effect}\n"
    as_json = run(*QUESTION, "--engine", engine, "--json", cwd=folder).stdout
    assert as_json == json.dumps(effect.to_dict(), ensure_ascii=False) + "\n"


def test_effects_and_edges(folder):
    done = run("effects", "data.csv", "--graph", "graph.toml", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("cause")
    assert "ignored" in done.stderr
    record = json.loads(run("effects", "data.csv", "--graph", "graph.toml", "--json", cwd=folder).stdout)
    assert len(record["mean"]) == len(record["sd"]) == 7
    record = json.loads(run("edges", "data.csv", "--graph", "graph.toml", "--json", cwd=folder).stdout)
    assert len(record["edges"]) == 16
    assert {"cause", "effect", "prior", "posterior"} == set(record["edges"][0])


def test_graph_is_checked_and_drawn(folder):
    done = run("graph", "graph.toml", "--draw", "graph.png", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "7 variables, 16 candidate edges (0 certain), 65,536 graphs" in done.stdout
    assert (folder / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(run("graph", "graph.toml", "--json", cwd=folder).stdout)["log10_graphs"] == pytest.approx(
        4.8165, abs=1e-3
    )


def test_graph_with_open_directions_is_said(folder):
    (folder / "open.toml").write_text('tiers = [["a"], ["b", "c"]]\nwithin = 0.5\ncalibrate = false\n')
    done = run("graph", "open.toml", cwd=folder)
    assert (
        "3 variables, 4 candidate edges (0 certain), 12 graphs\ntier 1: a\ntier 2: b, c\norder open among: b, c\n"
        in done.stdout
    )
    (folder / "open.json").write_text(run("graph", "open.toml", "--json", cwd=folder).stdout)
    assert json.loads((folder / "open.json").read_text())["blocks"] == [["b", "c"]]
    assert ad.read_graph(folder / "open.json") == ad.read_graph(folder / "open.toml")


def test_graph_as_json_is_a_graph_file(folder):
    (folder / "copy.json").write_text(run("graph", "graph.toml", "--json", cwd=folder).stdout)
    assert ad.read_graph(folder / "copy.json") == ad.read_graph(folder / "graph.toml")


QUESTION = ("effect", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("effect", "nothing.csv", *QUESTION[2:]), "nothing.csv"),
        ((*QUESTION[:3], "no.toml", *QUESTION[4:]), "no.toml"),
        ((*QUESTION[:5], "smoke", *QUESTION[6:]), "did you mean 'smoking'"),
        (QUESTION[:6], "outcome"),
        ((*QUESTION, "--engine", "no"), "no engine 'no'"),
        ((*QUESTION, "--slab-variance", "-1"), "slab_variance"),
        (("graph", "graph.toml", "--draw", "graph.xyz"), "graph.xyz"),
        (("grahp", "graph.toml"), "grahp"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(folder, arguments, message):
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert message in done.stderr
    assert done.stderr.startswith("alldags: ")


def test_import_is_light():
    code = (
        "import sys, alldags; print(sorted({'numba', 'scipy', 'networkx', 'joblib', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_works_without_extras(folder):
    """Hide every optional package and ask the same question."""
    hidden = [
        "pandas",
        "polars",
        "pyarrow",
        "matplotlib",
        "jinja2",
        "sklearn",
        "pooch",
        "distributed",
        "xarray",
        "arviz_base",
        "duckdb",
    ]
    code = f"import sys\nfor name in {hidden!r}: sys.modules[name] = None\nfrom alldags.cli import main\nmain()\n"
    question = ["effect", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk", "--json"]
    for arguments in (["demo"], question):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=folder, check=False
        )
        assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [sys.executable, "-c", code, "graph", "graph.toml", "--draw", "x.png"],
        capture_output=True, text=True, cwd=folder, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'alldags[plot]'" in done.stderr
