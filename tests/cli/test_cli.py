"""The command line, run as a person would."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

import alldags as ad
from alldags.data.files import read_table
from alldags.demo import demo_text
from alldags.show.json import effect_dict
from alldags.show.screen import screen_text
from lines import fit

LINES = ("--terms", "straight")


def run(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "alldags", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        env={**os.environ, **environment},
        encoding=environment.get("PYTHONIOENCODING"),
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
    assert "Raising smoking by one unit raises risk" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout == demo_text() + "\n"


def test_parts_and_moments_answer_as_one_file(folder, tmp_path):
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    for place in range(2):
        (tmp_path / f"part-{place}.csv").write_text("".join([lines[0], *lines[1 + place :: 2]]))
    done = run("moments", "part-*.csv", "site.json", "--n-jobs", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rows written to site.json" in done.stderr
    want = fit(folder / "data.csv", folder / "graph.toml", rng=0).effect("smoking", "risk")
    for data in ("part-*.csv", "site.json"):
        question = (
            "effect",
            data,
            "--graph",
            folder / "graph.toml",
            "--treatment",
            "smoking",
            "--outcome",
            "risk",
            "--json",
            *LINES,
        )
        done = run(*question, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["mean"] == pytest.approx(want.mean, rel=1e-12)


def test_effect_with_a_report(folder):
    question = ("effect", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk", *LINES)
    done = run(*question, "--report", "r.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Raising smoking by one unit raises risk" in done.stdout
    text = (folder / "r.html").read_text(encoding="utf-8")
    assert f"alldags {' '.join(question)} --report r.html</pre>" in text
    assert "extra" in text  # the notes of the table are there, too
    failed = run(*question, "--report", "nowhere/r.html", cwd=folder)
    assert failed.returncode == 2
    assert "nowhere" in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_sensitivity_in_words_and_as_json(folder):
    arguments = ("effect", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk", *LINES)
    text = " ".join(run(*arguments, "--sensitivity", "--details", cwd=folder).stdout.split())
    assert "A hidden common cause would have to explain 31% of the unexplained" in text
    assert "An unmeasured common cause that explains 38%" in text
    assert "as strong as treatment outcome same direction" in text
    found = json.loads(run(*arguments, "--sensitivity", "--json", cwd=folder).stdout)
    assert len(found["sensitivity"]["table"]) == 36
    assert found["sensitivity"]["benchmarks"][0]["as strong as"] == "age"
    assert found["hidden_cause"]["covariate"] == "age"


def test_effect_in_words_and_as_json(folder):
    question = ("effect", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk", *LINES)
    done = run(*question, "--details", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "columns not in the graph were ignored: 'extra'" in done.stdout
    record = json.loads(run(*question, "--json", cwd=folder).stdout)
    study = ad.datasets.example()
    expected = fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    assert record["mean"] == pytest.approx(expected.mean, rel=1e-9)
    assert record["interval"]["low"] == pytest.approx(expected.interval()[0], rel=1e-9)
    paper = json.loads(run(*question, "--json", "--prior", "paper", "--noise-precision", "0.01", cwd=folder).stdout)
    assert paper["mean"] != record["mean"]
    assert json.loads(run(*question, "--json", "--engine", "k2", cwd=folder).stdout)["engine"] == "k2"


@pytest.mark.parametrize("engine", ["auto", "vb"])
def test_effect_is_printed_as_python_prints_it(folder, engine):
    table, graph = read_table(folder / "data.csv"), ad.read_graph(folder / "graph.toml")
    effect = fit(table, graph, engine=engine, rng=0).effect("smoking", "risk")
    assert run(*QUESTION, "--engine", engine, cwd=folder).stdout == screen_text(effect.summary(), command=True) + "\n"
    as_json = run(*QUESTION, "--engine", engine, "--json", cwd=folder).stdout
    assert as_json == json.dumps(effect.to.dict(), ensure_ascii=False) + "\n"


def test_families_are_named_by_option(tmp_path):
    lines = ["x,y,z", *(f"{i % 7},{int(i % 3 == 0)},{i % 7 + i * 37 % 11 + 900 * (i == 5)}" for i in range(60))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "graph.csv").write_text("cause,effect,probability\nx,y,1\nx,z,1\n", encoding="utf-8")
    question = ("effect", "data.csv", "--graph", "graph.csv", "--treatment", "x", "--outcome", "y")
    assert "the mean of y" in run(*question, "--family", "y=poisson", cwd=tmp_path).stdout
    heavy = run(*question[:-1], "z", "--family", "z=student", "--details", *LINES, cwd=tmp_path).stdout
    assert "The noise of z may have heavy tails" in heavy
    from alldags.cli.study import families_of

    assert families_of(()) == "auto"
    assert families_of(("normal",)) == "normal"
    assert families_of(("a=poisson", "b=normal")) == {"a": "poisson", "b": "normal"}
    with pytest.raises(ad.AlldagsError, match="--family takes NAME=FAMILY"):
        families_of(("poisson",))


def test_effects_and_edges(folder):
    done = run("effects", "data.csv", "--graph", "graph.toml", *LINES, cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("cause")
    assert "ignored" in done.stderr
    record = json.loads(run("effects", "data.csv", "--graph", "graph.toml", *LINES, "--json", cwd=folder).stdout)
    assert len(record["mean"]) == len(record["sd"]) == 7
    record = json.loads(run("edges", "data.csv", "--graph", "graph.toml", "--json", cwd=folder).stdout)
    assert len(record["edges"]) == 16
    assert {"cause", "effect", "prior", "posterior"} == set(record["edges"][0])


def test_decide_says_which_action_is_best(folder):
    question = ("decide", "data.csv", "--graph", "graph.toml", "--outcome", "risk", *LINES)
    actions = ("--action", "nothing", "--action", "smoking-1", "--action", "smoking=10, exercise+2")
    done = run(*question, *actions, "--utility", "-1", cwd=folder)
    assert done.stdout.startswith("Choose 'smoking = 10, exercise + 2': mean risk would be")
    assert "More: --json" in done.stdout
    assert "--utility -1 says that less is" in run(*question, *actions, cwd=folder).stdout.replace("\n", " ")
    options = ("--cost", "0", "--cost", "1", "--cost", "2", "--by", "row", "--budget", "9", "--json", "--utility", "-1")
    record = json.loads(run(*question, *actions, *options, cwd=folder).stdout)
    assert [row["cost"] for row in record["actions"]] == [0, 1, 2]
    assert record["plan"]["counts"]["nothing"] == 491
    assert len(record["plan"]["rows"]) == 500
    done = run(*question, "--action", "nothing", "--action", "smokin=3", cwd=folder)
    assert done.returncode == 2
    assert "--action takes variables of the graph" in done.stderr
    assert "did you mean 'smoking'" in done.stderr
    assert "by what they are chosen, --by row" in run(*question, *actions, "--budget", "3", cwd=folder).stderr


def test_next_says_what_to_find_out(folder):
    question = ("next", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk", *LINES)
    done = run(*question, "--rows", "500", "--experiment", "tar=50", "--plot", "next.png", cwd=folder)
    assert done.stdout.startswith("500 more rows of the same kind would bring the sd of this effect from 0.10 to"), done
    assert (folder / "next.png").read_bytes().startswith(b"\x89PNG")
    costs = ("--cost", "rows=1", "--cost", "experiments=2", "--cost", "edges=100000")
    record = json.loads(run(*question, "--rows", "500", "--experiment", "tar=50", *costs, "--json", cwd=folder).stdout)
    assert {step["step"]: step["cost"] for step in record["steps"]}["experiment on tar, 50 rows"] == 100.0
    assert record["schema"] == "alldags.next_steps/1"
    done = run(*question, "--experiment", "tar", cwd=folder)
    assert done.returncode == 2
    assert "--experiment takes a name and a number, such as exercise=200, got 'tar'" in done.stderr


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


QUESTION = ("effect", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk", *LINES)


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


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-be"])
def test_a_table_that_is_not_utf8_is_refused_in_one_line(folder, encoding):
    (folder / "other.csv").write_bytes("größe,risk\n1,2\n2,3\n3,1\n".encode(encoding))
    done = run("effects", "other.csv", "--graph", "graph.toml", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("alldags: ")
    assert done.stderr.count("\n") == 1


def test_infinite_spread_is_null_in_json(folder):
    (folder / "three.csv").write_text("x,y,z\n1,2,3\n2,1,5\n4,3,1\n")
    ad.write_graph(ad.CandidateGraph.from_order(["x", "y", "z"]), folder / "three.toml")
    done = run("effects", "three.csv", "--graph", "three.toml", *LINES, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sd"] == [[0, None, None], [0, 0, None], [0, 0, 0]]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_that_cannot_show_a_name_gets_an_escape(folder, encoding):
    (folder / "names.csv").write_text("größe,年\n1,2\n2,3\n3,1\n5,5\n", encoding="utf-8")
    ad.write_graph(ad.CandidateGraph.from_order(["größe", "年"]), folder / "names.toml")
    question = ("names.csv", "--graph", "names.toml")
    done = run("effects", *question, *LINES, cwd=folder, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "\\u5e74" in done.stdout
    done = run("effects", *question, *LINES, "--json", cwd=folder, PYTHONIOENCODING=encoding)
    assert json.loads(done.stdout)["names"] == ["größe", "年"]
    done = run("effect", *question, "--treatment", "große", "--outcome", "年", cwd=folder, PYTHONIOENCODING=encoding)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_full_disk_is_one_line(folder):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "alldags", "graph", "graph.toml"],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=folder, check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "alldags: [Errno 28] No space left on device\n"


def test_all_versions_for_bug_reports():
    record = json.loads(run("--version", "--json").stdout)
    assert record["alldags"] == ad.__version__ == run("--version").stdout.strip()
    assert record["python"].endswith(".".join(map(str, sys.version_info[:3])))
    assert record["packages"]["numpy"]
    assert run("--json", "--version").stdout == json.dumps(record) + "\n"


def test_versions_cover_every_package_of_the_project():
    import re
    import tomllib
    from pathlib import Path

    from alldags.versions import CORE, EXTRAS

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    name = re.compile(r"[a-z0-9-]+")
    extras = {name.match(item).group() for items in project["optional-dependencies"].values() for item in items}
    assert [name.match(item).group() for item in project["dependencies"]] == list(CORE)
    assert extras == set(EXTRAS)


def test_import_is_light():
    code = (
        "import sys, alldags; print(sorted({'numba', 'scipy', 'networkx', 'joblib', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_answer_imports_nothing_slow_that_it_does_not_need():
    code = (
        "import sys\nfrom alldags.demo import demo_text\ndemo_text()\n"
        "print(sorted({'scipy.stats', 'networkx', 'pandas', 'matplotlib', 'joblib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


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
    question = [
        "effect",
        "data.csv",
        "--graph",
        "graph.toml",
        "--treatment",
        "smoking",
        "--outcome",
        "risk",
        *LINES,
        "--json",
    ]
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


@pytest.fixture(scope="module")
def rows_folder(folder):
    """The example with holes, a column that says what was set, weights and clusters."""
    table = {name: list(column) for name, column in ad.datasets.example().table.items()}
    table["target"] = ["smoking" if i % 5 == 0 else "" for i in range(500)]
    table["count"] = [1 + i % 3 for i in range(500)]
    table["chance"] = [0.5 + i % 4 for i in range(500)]
    table["clinic"] = [f"clinic {i // 10}" for i in range(500)]
    for name, holes in (("whole", set()), ("holes", {3, 50, 77})):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            for i, row in enumerate(zip(*table.values(), strict=True)):
                writer.writerow(["" if i in holes and name == "age" else v for name, v in zip(table, row, strict=True)])
    return folder


@pytest.mark.parametrize(
    ("file", "words", "options"),
    [
        ("whole.csv", ["--interventions", "target"], {"interventions": "target"}),
        ("whole.csv", ["--randomized", "smoking", "exercise"], {"randomized": ["smoking", "exercise"]}),
        ("whole.csv", ["--weights", "count"], {"weights": "count"}),
        (
            "whole.csv",
            ["--weights", "chance", "--weight-kind", "sampling"],
            {"weights": "chance", "weight_kind": "sampling"},
        ),
        ("whole.csv", ["--cluster", "clinic"], {"cluster": "clinic"}),
        ("whole.csv", ["--fixed-effects", "clinic"], {"fixed_effects": "clinic"}),
        ("whole.csv", ["--fixed-effects", "clinic,count"], {"fixed_effects": ["clinic", "count"]}),
        ("holes.csv", ["--missing", "drop"], {"missing": "drop"}),
        (
            "holes.csv",
            ["--missing", "impute", "--imputations", "3", "--auxiliary", "count", "chance"],
            {"missing": "impute", "imputations": 3, "auxiliary": ["count", "chance"]},
        ),
    ],
)
def test_what_is_said_of_rows_is_what_python_is_told(rows_folder, file, words, options):
    question = ("effect", file, "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk", *LINES)
    expected = fit(rows_folder / file, ad.read_graph(rows_folder / "graph.toml"), rng=0, **options)
    done = run(*question, *words, "--json", cwd=rows_folder)
    assert done.returncode == 0, done.stderr
    summary = expected.effect("smoking", "risk").summary()
    summary = replace(summary, notes=tuple(note.on_command_line for note in summary.notes))
    assert json.loads(done.stdout) == json.loads(json.dumps(effect_dict(summary)))


def test_messages_name_options_and_not_keywords(rows_folder):
    question = ("effect", "holes.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk", *LINES)
    plain, both = (
        run(*question, cwd=rows_folder),
        run(*question, "--missing", "drop", "--imputations", "3", cwd=rows_folder),
    )
    assert plain.returncode == both.returncode == 2
    assert "drop them with --missing drop, or fill them in with --missing impute" in plain.stderr
    assert "--imputations is for --missing impute" in both.stderr


def test_gaps_in_a_category_with_a_yes_no_outcome_are_imputed_on_the_command_line(tmp_path):
    rows = [(["a", "b", "c", ""][i % 4], (i * 7) % 11, int((i * 7) % 11 > 3 + i % 5)) for i in range(120)]
    lines = ["site,dose,dead", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "gaps.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "graph.txt").write_text("dose -> dead\nsite -> dead\n")
    question = ("effect", "gaps.csv", "--graph", "graph.txt", "--treatment", "dose", "--outcome", "dead")
    done = run(*question, "--missing", "impute", "--imputations", "3", "--details", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the probability of dead" in " ".join(done.stdout.split())
    assert "imputed 3 times" in " ".join(done.stdout.split())
