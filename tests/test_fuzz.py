"""Cases that were findings of `make fuzz` once are answered or refused; and the search itself finds what is there."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from fuzz import corpus, mutate, seeds
from fuzz.__main__ import case_number
from fuzz.judge import Finding, judged
from fuzz.targets import NEEDS_WARMTH, TARGETS, Case, check_ending

import alldags as ad


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    seeds.write_folder(folder)
    return folder


@pytest.mark.parametrize(("target", "path"), list(corpus.kept()), ids=lambda value: getattr(value, "name", value))
def test_what_was_found_once_is_mended(target, path, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        if target in NEEDS_WARMTH:  # compiling may take longer than a case may
            with suppress(Exception, SystemExit):
                TARGETS[target].ask(corpus.case_of(path), folder)
        assert judged(lambda: TARGETS[target].ask(corpus.case_of(path), folder)) in ("answered", "refused")


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in ("command", "program", "page")])
def test_some_new_cases_of_every_door(target, folder):
    """And right inputs are among what is mutated: some mutants are answered."""
    outcomes = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        for number in range(60):
            _, case = case_number(number, 20260, [target])
            if target in NEEDS_WARMTH:  # as above
                with suppress(Exception, SystemExit):
                    TARGETS[target].ask(case, folder)
            outcomes.add(judged(lambda case=case: TARGETS[target].ask(case, folder)))
    assert "refused" in outcomes
    assert "answered" in outcomes


def test_what_is_mutated_is_right_to_begin_with(folder):
    for form, texts in seeds.graph_texts().items():
        for text in texts:
            assert judged(lambda: TARGETS["graph"].ask(Case(form, text.encode()), folder)) == "answered", (form, text)
    for ending, content in seeds.table_files().items():
        assert judged(lambda: TARGETS["table_file"].ask(Case(ending, content), folder)) == "answered", ending


def test_a_case_has_a_number():
    assert case_number(17, 3, []) == case_number(17, 3, [])
    assert case_number(17, 3, []) != case_number(17, 4, [])


def raise_key_error():
    raise KeyError("x")


def wait():
    while True:
        pass


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (raise_key_error, "KeyError at test_fuzz.py"),
        (lambda: (_ for _ in ()).throw(ad.AlldagsError("")), "an error without a word"),
        (lambda: check_ending([], 1, "", "alldags: no"), "exit code 1"),
        (lambda: check_ending([], 2, "", "no"), "without its message"),
        (lambda: check_ending([], 2, "", "Traceback (most recent call last)"), "a traceback"),
        (lambda: check_ending([], 2, "half", "alldags: no"), "an error after an answer"),
        (lambda: check_ending(["--json"], 0, "{", ""), "output that is no JSON"),
        (lambda: check_ending(["--json"], 0, '{"sd": NaN}', ""), "JSON with NaN"),
    ],
)
def test_what_is_a_finding(question, kind):
    with pytest.raises(Finding, match=kind):
        judged(question)


def test_an_input_that_takes_too_long_is_a_finding(monkeypatch):
    from fuzz import judge

    monkeypatch.setattr(judge.bounded.__wrapped__, "__defaults__", (0.2,))
    with pytest.raises(Finding, match="took more than"):
        judged(wait)


def test_words_of_command_lines_name_nothing_outside_the_folder():
    for number in range(300):
        words = mutate.words(seeds.COMMANDS[number % len(seeds.COMMANDS)], Random(number), seeds.VOCABULARY)
        assert not any("/" in word or word.strip(".") == "" != word for word in words)


def test_a_short_search(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--inputs", "40", "--only", "graph", "--keep", str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 inputs in" in done.stdout
    assert json.dumps(list(tmp_path.iterdir())) == "[]"
