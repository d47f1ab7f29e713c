"""Throw hostile inputs at every door for a while: ``python -m fuzz --seconds 60 --seed 0``.

Case number N of a seed is always the same. The work is done in a second process, so that a crash of compiled code is a
finding, too, and not the end. Findings are written to a folder (``--keep``), one a kind; those worth keeping for good
go to ``tests/fuzz_corpus`` together with what mends them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TextIO

import alldags as ad
from fuzz import corpus, seeds
from fuzz.judge import Finding, Tally, judged
from fuzz.targets import NEEDS_WARMTH, TARGETS, Case, Target, warm_up

MEMORY = 8 * 2**30  # bytes of address space: what asks for more is refused by the system


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="stop after this time")
    parser.add_argument("--inputs", type=int, default=10**9, help="stop after so many inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", nargs="*", default=[], choices=list(TARGETS), help="only these doors")
    parser.add_argument("--keep", type=Path, default=Path("fuzz/found"), help="folder for findings")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def chosen(rng: Random, only: list[str]) -> str:
    """Return the name of a door, by shares."""
    names = only or list(TARGETS)
    return rng.choices(names, [TARGETS[name].share for name in names])[0]


def case_number(number: int, seed: int, only: list[str]) -> tuple[str, Case]:
    """Return case `number`: always the same for the same seed."""
    rng = Random(f"{seed} {number}")
    name = chosen(rng, only)
    return name, TARGETS[name].make(rng)


# -- the process that works --------------------------------------------------------------------------------------------


def work(options: argparse.Namespace, say: TextIO) -> None:
    """Ask case after case; say each number before and each outcome after it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", ad.AlldagsWarning)
    with TemporaryDirectory() as name:
        folder = Path(name)
        seeds.write_folder(folder)
        if not options.only or set(options.only) & set(NEEDS_WARMTH):
            warm_up(folder)
        begin = time.monotonic()
        number = options.first
        while number < options.first + options.inputs and time.monotonic() - begin < options.seconds:
            target, case = case_number(number, options.seed, options.only)
            print(json.dumps([number, target]), file=say, flush=True)
            print(json.dumps(outcome(TARGETS[target], case, folder)), file=say, flush=True)
            number += 1


def outcome(target: Target, case: Case, folder: Path) -> list[str]:
    """Return what came of a case, and of a finding its kind and details."""
    try:
        return [judged(lambda: target.ask(case, folder))]
    except Finding as finding:
        return ["found", finding.kind, str(finding)]


# -- the process that watches ------------------------------------------------------------------------------------------


def watch(options: argparse.Namespace) -> dict[str, Counter[str]]:
    """Let workers work until time or inputs are used up; start another where one has died."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    end, first, left = time.monotonic() + options.seconds, options.first, options.inputs
    while left > 0 and time.monotonic() < end:
        last, died = _one_worker(options, first, left, end - time.monotonic(), found)
        if not died:
            break
        target, case = case_number(last, options.seed, options.only)
        _keep(options.keep, target, case, "the process died", f"case {last}, {died}", found)
        left -= last + 1 - first
        first = last + 1
    return found


def _one_worker(
    options: argparse.Namespace, first: int, left: int, seconds: float, found: dict[str, Counter[str]]
) -> tuple[int, str]:
    """Return the last case that was begun, and how the process ended if it died over it."""
    said = ["--seconds", seconds, "--inputs", left, "--seed", options.seed, "--first", first, "--worker"]
    command = [sys.executable, "-m", "fuzz", *map(str, said), *(["--only", *options.only] if options.only else [])]
    number, target = first, None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        for line in worker.stdout or ():
            match json.loads(line):
                case [int(number), str(target)]:
                    pass
                case ["found", kind, details]:
                    _keep(
                        options.keep, target, case_number(number, options.seed, options.only)[1], kind, details, found
                    )
                case [word]:
                    found[target][word] += 1
    if target is None and worker.returncode:
        raise SystemExit(f"the process that asks did not begin, exit code {worker.returncode}")
    return number, "" if worker.returncode == 0 else f"exit code {worker.returncode}"


def _keep(folder: Path, target: str, case: Case, kind: str, details: str, found: dict[str, Counter[str]]) -> None:
    found[target]["found"] += 1
    is_new = not found[target][f"! {kind}"]
    found[target][f"! {kind}"] += 1
    if is_new:
        path = corpus.keep(target, case, folder)
        path.with_suffix(path.suffix + ".why").write_text(details, encoding="utf-8", errors="backslashreplace")
        print(f"{target}: {kind}\n    {path}", flush=True)


def tallies(found: dict[str, Counter[str]]) -> dict[str, Tally]:
    """Return the counts of each door."""
    return {name: Tally(**{word: found[name][word] for word in ("answered", "refused", "found")}) for name in found}


def main() -> int:
    """Run, print a table; the exit code says whether anything was found."""
    options = arguments()
    if options.worker:
        with os.fdopen(os.dup(1), "w", encoding="utf-8") as say:
            os.dup2(2, 1)  # what is printed by mistake does not mix with what is said
            work(options, say)
        return 0
    begin = time.monotonic()
    counted = tallies(found := watch(options))
    print(f"\n{'door':<12}{'inputs':>10}{'answered':>10}{'refused':>10}{'findings':>10}{'kinds':>7}")
    for name in TARGETS:
        if tally := counted.get(name):
            kinds = sum(word.startswith("! ") for word in found[name])
            total = tally.answered + tally.refused + tally.found
            print(f"{name:<12}{total:>10,}{tally.answered:>10,}{tally.refused:>10,}{tally.found:>10,}{kinds:>7}")
    total = sum(tally.answered + tally.refused + tally.found for tally in counted.values())
    print(f"{total:,} inputs in {time.monotonic() - begin:.0f} s, seed {options.seed}")
    return int(any(tally.found for tally in counted.values()))


if __name__ == "__main__":
    raise SystemExit(main())
