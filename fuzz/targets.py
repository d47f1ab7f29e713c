"""The doors that hostile inputs come to; each makes inputs, and asks what comes of one.

A case is an ending and the bytes of a file, so that every case can be kept, and asked again, as a file.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import alldags as ad
from alldags.graph.io import format_graph, parse_graph
from fuzz import mutate, seeds, studies
from fuzz.judge import PATIENCE, Finding, TooSlow, check_message

if TYPE_CHECKING:
    from alldags.app.study import Study


class Case(NamedTuple):
    """An input, as the ending and the bytes of a file."""

    ending: str
    content: bytes


@dataclass(frozen=True)
class Target:
    """A door: its share of all inputs, how inputs are made, and what is asked of one."""

    share: float
    make: Callable[[Random], Case]
    ask: Callable[[Case, Path], None]


# -- graphs ------------------------------------------------------------------------------------------------------------


def _graph_text(rng: Random) -> Case:
    known = seeds.graph_texts()
    form = rng.choice(seeds.FORMATS)
    others = known[rng.choice(seeds.FORMATS)]
    if form == "json" and rng.random() < 0.5:
        changed = json.dumps(mutate.tree(json.loads(rng.choice(known[form])), rng))
    else:
        changed = mutate.text(rng.choice(known[form]), rng, others)
    return Case("any" if rng.random() < 0.1 else form, changed.encode("utf-8", "surrogatepass"))


def _parse(case: Case, _: Path) -> None:
    """Read a graph, write it in all formats, and read each again: it must be unchanged."""
    text = case.content.decode("utf-8", "surrogatepass")
    graph = parse_graph(text, None if case.ending == "any" else case.ending)
    for form in seeds.ROUND_TRIP:
        _round_trip(graph, form)


def _round_trip(graph: ad.CandidateGraph, form: str) -> None:
    try:
        written = format_graph(graph, form)
    except ad.AlldagsError as error:
        check_message(str(error))
        return
    if parse_graph(written, form) != graph:
        raise Finding(f"a graph changed when written and read as {form}", written[:500])


def _graph_file(rng: Random) -> Case:
    form = rng.choice(seeds.ROUND_TRIP)
    texts = [text.encode() for text in seeds.graph_texts()[form]]
    return Case(form, mutate.content(rng.choice(texts), rng, texts))


def _read_graph(case: Case, folder: Path) -> None:
    ad.read_graph(_written(case, folder))


# -- tables ------------------------------------------------------------------------------------------------------------

ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis")


def _table_text(rng: Random) -> Case:
    texts = seeds.csv_texts()
    text = mutate.text(rng.choice(texts), rng, texts)
    content = text.encode(rng.choice(ENCODINGS), "replace")
    if rng.random() < 0.1:
        content = mutate.content(content, rng, [content])
    return Case(rng.choice(("csv", "csv", "tsv", "txt")), content)


def _table_file(rng: Random) -> Case:
    files = seeds.table_files()
    ending = rng.choice([name for name in files if name != "csv"])
    content = files[ending]
    if ending in ("xlsx", "npz") and rng.random() < 0.8:
        inside = seeds.archive(content)
        name = rng.choice(list(inside))
        inside[name] = mutate.content(inside[name], rng, list(inside.values()))
        return Case(ending, seeds.packed(inside))
    if ending == "json" and rng.random() < 0.8:
        return Case(ending, json.dumps(mutate.tree(json.loads(content), rng)).encode())
    return Case(ending, mutate.content(content, rng, [content]))


def _read_table(case: Case, folder: Path) -> None:
    """Moments of what was read are finite, and the names are those of columns."""
    found = ad.read_moments(_written(case, folder))
    if not (np.isfinite(found.mean).all() and np.isfinite(found.scatter).all()):
        raise Finding("moments that are not finite")
    if not found.n > 0 or len(found.names) != len(found.mean):
        raise Finding("moments of nothing")


# -- saved posteriors, and what the local page asks --------------------------------------------------------------------


def _posterior(rng: Random) -> Case:
    content = seeds.posterior_file()
    way = rng.random()
    if way < 0.1:
        return Case("npz", mutate.content(content, rng, [content]))
    inside = seeds.archive(content)
    if way < 0.8:
        _, header = seeds.header_of(inside)
        inside["header.npy"] = seeds.with_header(mutate.tree(header, rng))
    else:
        name = rng.choice(list(inside))
        inside[name] = mutate.content(inside[name], rng, list(inside.values()))
    return Case("npz", seeds.packed(inside))


def _load(case: Case, folder: Path) -> None:
    posterior = ad.load(_written(case, folder))
    first, last = posterior.variables[0], posterior.variables[-1]
    float(posterior.effect(first, last).mean)


def _page_question(rng: Random) -> Case:
    changed = mutate.tree(seeds.question(), rng)
    text = json.dumps(changed)
    return Case("json", (mutate.text(text, rng, [text]) if rng.random() < 0.2 else text).encode(errors="replace"))


@lru_cache
def _study() -> Study:
    from alldags.app.study import Study

    return Study(Path("data.csv"), seeds.table(), seeds.question())


def _ask_page(case: Case, _: Path) -> None:
    from alldags.app.answer import answer, graph_file, parsed

    question = parsed(case.content)
    answer(_study(), question)
    graph_file(question)


# -- command lines -----------------------------------------------------------------------------------------------------


def _command(rng: Random) -> Case:
    words = mutate.words(rng.choice(seeds.COMMANDS), rng, seeds.VOCABULARY)
    return Case("json", json.dumps(words).encode())


def _run_inside(case: Case, folder: Path) -> None:
    """Run a command in this process."""
    words = json.loads(case.content)
    if words[:1] == ["app"]:
        return  # would wait for a browser
    out, err = io.StringIO(), io.StringIO()
    arguments, place = sys.argv, Path.cwd()
    sys.argv = ["alldags", *words]
    os.chdir(folder)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = _code()
    except TooSlow:
        if "reproduce" in words or any(word.startswith("--imputations") for word in words):
            return  # was asked to work for long
        raise
    finally:
        sys.argv = arguments
        os.chdir(place)
    check_ending(words, code, out.getvalue(), err.getvalue())


def _code() -> int:
    from alldags.cli import main

    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def check_ending(words: list[str], code: int, out: str, err: str) -> None:
    """Require exit code 0 and an answer, or 2 and one message; JSON that is JSON."""
    if "Traceback" in err or "Traceback" in out:
        raise Finding("a traceback", err + out)
    if code == 0:
        if "--json" in words and "--version" not in words and out and "Usage: " not in out:
            _check_json(out)
        return
    if code != 2:
        raise Finding(f"exit code {code}", f"{words}\n{err}")
    last = err.strip().splitlines()[-1:]
    if not last or not last[0].startswith("alldags: "):
        raise Finding("exit code 2 without its message", f"{words}\n{err}")
    if out:
        raise Finding("an error after an answer", f"{words}\n{out}\n{err}")
    check_message(last[0])
    raise ad.AlldagsError(last[0])


def _check_json(text: str) -> None:
    def refuse(constant: str) -> None:
        raise Finding(f"JSON with {constant}")

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        raise Finding("output that is no JSON", text[:1000]) from None


def _run_program(case: Case, folder: Path) -> None:
    """Run a command as a person would, in a process of its own."""
    words = json.loads(case.content)
    if words[:1] == ["app"]:
        return
    command = [sys.executable, "-m", "alldags", *words]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=10 * PATIENCE, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        if "reproduce" in words or any(word.startswith("--imputations") for word in words):
            return
        raise Finding("a command that does not end", str(words)) from None
    check_ending(words, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def _written(case: Case, folder: Path) -> Path:
    path = folder / f"case.{case.ending}"
    path.write_bytes(case.content)
    return path


def warm_up(folder: Path) -> None:
    """Let everything be compiled that right inputs need, outside the time that cases have."""
    _load(Case("npz", seeds.posterior_file()), folder)
    _ask_page(Case("json", json.dumps(seeds.question()).encode()), folder)
    for words in [*seeds.COMMANDS, [*seeds.EFFECT, "--engine", "mcmc"], [*seeds.EFFECT, "--engine", "certified"]]:
        _run_inside(Case("json", json.dumps(words).encode()), folder)


def _study_made(rng: Random) -> Case:
    return Case("json", studies.written(rng))


def _ask_study(case: Case, _: Path) -> None:
    with np.errstate(all="ignore"):
        studies.asked(json.loads(case.content))


NEEDS_WARMTH = ("study", "posterior", "page", "command", "program")
TARGETS = {
    "study": Target(0.01, _study_made, _ask_study),
    "graph": Target(0.63, _graph_text, _parse),
    "graph_file": Target(0.10, _graph_file, _read_graph),
    "table_text": Target(0.14, _table_text, _read_table),
    "table_file": Target(0.06, _table_file, _read_table),
    "posterior": Target(0.03, _posterior, _load),
    "page": Target(0.01, _page_question, _ask_page),
    "command": Target(0.0195, _command, _run_inside),
    "program": Target(0.0005, _command, _run_program),
}
