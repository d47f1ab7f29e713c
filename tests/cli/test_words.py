"""The command line speaks of options, not of Python, and keeps an answer when a part beside it cannot be made."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
import replication
from alldags.notes import Note
from alldags.show.table import text_table
from alldags.wording import either, option

ROOMS = [Path(package.__file__).parent for package in (ad, replication)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    rng = np.random.default_rng(3)
    rows = ["site,x,y"]
    for i in range(120):
        x = rng.normal() + i % 3
        rows.append(f"{'abc'[i % 3]},{x:.4f},{0.5 * x + rng.normal():.4f}")
    (folder / "t.csv").write_text("\n".join(rows), encoding="utf-8")
    (folder / "g.toml").write_text('tiers = [["site"], ["x"], ["y"]]\n', encoding="utf-8")
    return folder


ASKED = ["effect", "t.csv", "--graph", "g.toml", "--treatment", "x", "--outcome", "y"]
ARMS = ["effect", "t.csv", "--graph", "g.toml", "--treatment", "site", "--outcome", "y"]


def run(folder, *arguments, **more):
    command = [sys.executable, "-m", "alldags", *arguments]
    return subprocess.run(command, cwd=folder, text=True, check=False, **({"capture_output": True} | more))


@pytest.mark.parametrize(
    ("mark", "python", "command"),
    [
        (option("families"), "families=", "--family"),
        (option("families", "normal"), "families='normal'", "--family normal"),
        (option("families", {"x": "student"}), "families={'x': 'student'}", "--family x=student"),
        (option("engine", "auto", "exact", "mcmc"), "engine='auto', 'exact' or 'mcmc'", "--engine auto, exact or mcmc"),
        (option("weight_kind", "sampling"), "weight_kind='sampling'", "--weight-kind sampling"),
        (option("missing", "drop"), "missing='drop'", "--missing drop"),
        (option("robust", True), "robust=True", "--robust"),
        (option("slab_variance", 1.0), "slab_variance=1.0", "--slab-variance 1.0"),
        (either("graph.uncalibrated()", "calibrate = false"), "graph.uncalibrated()", "calibrate = false"),
    ],
)
def test_each_front_has_its_words(mark, python, command):
    message = f"use {mark}, or leave {mark} out"
    for said in (ad.AlldagsError(message), Note(message)):
        assert str(said) == f"use {python}, or leave {python} out"
    assert ad.AlldagsError(message).on_command_line == f"use {command}, or leave {command} out"
    assert str(Note(message).on_command_line) == f"use {command}, or leave {command} out"


def test_marks_in_the_names_of_columns_do_no_harm():
    for name in ("a\x01b", "\x03", "\x02\x01", "\x01\x02\x03"):
        error = ad.AlldagsError(f"{name!r} and {name} with {option('cluster')}")
        assert str(error).endswith("cluster=")
        assert error.on_command_line.endswith("--cluster")


OPTIONS = ("auxiliary", "cluster", "engine", "families", "imputations", "interventions", "missing")
OPTIONS += ("randomized", "terms", "weight_kind", "weights")
NOT_MARKED = re.compile(rf"(?<![\w.])({'|'.join(OPTIONS)})=(?!=)")
CODE = ("app/answer.py", "recipes/origin.py", "replication/command.py")  # what they write is Python


def messages(path):
    """Strings that are no docstrings, nor the words of one front."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "either"):
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield child.value


def test_options_in_messages_are_marked():
    """A message that spells an option as Python does would be Python on the command line, too."""
    paths = [path for room in ROOMS for path in room.rglob("*.py") if not path.as_posix().endswith(CODE)]
    assert [(path.name, text) for path in paths for text in messages(path) if NOT_MARKED.search(text)] == []


def test_a_refusal_names_options(folder):
    done = run(folder, *ASKED, "--engine", "vb")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "the category 'site' and --engine vb do not go together" in said
    assert "use --engine auto" in said
    rows = (folder / "t.csv").read_text(encoding="utf-8").splitlines()
    yes_no = [f"{rows[0]},z", *(f"{line},{i % 2}" for i, line in enumerate(rows[1:]))]
    (folder / "z.csv").write_text("\n".join(yes_no), encoding="utf-8")
    (folder / "z.toml").write_text('tiers = [["x"], ["z"]]\n', encoding="utf-8")
    asked = ["effect", "z.csv", "--graph", "z.toml", "--treatment", "x", "--outcome", "z", "--engine", "vb"]
    assert "use --family normal" in run(folder, *asked).stderr
    assert run(folder, *asked, "--family", "normal").returncode == 0


def test_an_answer_is_not_lost_with_a_part_beside_it(folder):
    done = run(folder, *ARMS, "--checks", "--sensitivity", "--paths")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Changing site from 'a' to another level changes y by")
    flat = " ".join(done.stdout.split())
    assert "--paths: not made: the treatment 'site' is a category with 3 levels" in flat
    assert "name two of them, --contrast 'a:c', or ask for all pairs, --json" in flat
    assert "checks:" in done.stdout
    told = json.loads(run(folder, *ARMS, "--paths", "--json").stdout)
    assert list(told["not_made"]) == ["paths"]
    assert "paths" not in told
    assert [(row["start"], row["stop"]) for row in told["contrasts"]] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert told["schema"] == "alldags.contrasts/1"
    assert sum(told["probability_best"].values()) == pytest.approx(1.0)


def test_two_levels_are_named_on_the_command_line(folder):
    done = run(folder, *ARMS, "--contrast", "a:c", "--paths", "--report", "r.html", "--terms", "straight")
    assert done.stdout.startswith("Changing site from 'a' to 'c' raises y by")
    assert "site -> x -> y" in done.stdout
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Every pair of levels" in page
    assert ".contrast(&#39;a&#39;, &#39;c&#39;)" in page
    told = json.loads(run(folder, *ARMS, "--contrast", "a:c", "--json").stdout)
    pairs = json.loads(run(folder, *ARMS, "--json").stdout)["contrasts"]
    assert told["mean"] == next(row["mean"] for row in pairs if row["stop"] == "c" and row["start"] == "a")
    assert run(folder, *ASKED, "--contrast", "0:2").stdout.startswith("Changing x from 0 to 2 raises y by")


@pytest.mark.parametrize(
    ("contrast", "message"),
    [
        ("a", "two values joined by a colon, such as none:high or 0:10, got 'a'"),
        ("a:d", "has the levels 'a', 'b', 'c'"),
    ],
)
def test_a_contrast_that_is_none_is_refused(folder, contrast, message):
    done = run(folder, *ARMS, "--contrast", contrast)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_an_answer_is_printed_before_a_report_that_cannot_be_written(folder):
    done = run(folder, *ASKED, "--report", "nowhere/r.html")
    assert done.returncode == 2
    assert done.stdout.startswith("Raising x by one unit")
    assert "nowhere" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["effect", "t.csv", "--treatment", "x", "--outcome", "y", "--graph"],
            "--graph is missing: the file that says",
        ),
        (ASKED[:1] + ASKED[2:], "the file of the data is missing: the table, such as"),
    ],
)
def test_what_was_forgotten(folder, arguments, message):
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_errors_are_as_wide_as_the_terminal(folder):
    ours, theirs = pty.openpty()
    run(folder, "graph", "g.nothing", capture_output=False, stderr=theirs, env={**os.environ, "COLUMNS": "60"})
    os.close(theirs)
    lines = os.read(ours, 100_000).decode().splitlines()
    os.close(ours)
    assert len(lines) > 1
    assert max(map(len, lines)) <= 60


def test_long_names_of_columns_are_broken_before_columns_are():
    names = ["cause", "effect_if_present", "effect_if_absent", "sign_flips_at"]
    text = text_table(names, [["x", 0.123, 4.5, None]], width=48)
    assert text.splitlines()[:2] == [
        "cause  effect_if_  effect_if_     sign_",
        "          present      absent  flips_at",
    ]
    assert text_table(names, [["x", 0.123, 4.5, None]], width=None).count("\n") == 1
