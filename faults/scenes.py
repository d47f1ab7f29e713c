"""The faults, one function each: it lets one thing happen, and raises `Fault` if anything was lost or badly said."""

from __future__ import annotations

import resource
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import numpy as np

import alldags as ad
from faults.process import (
    Fault,
    Place,
    kill,
    kill_after,
    require_answer,
    require_refusal,
    small_disk,
)
from replication.runner import load_results

SMALL = ["reproduce", "small", "--sizes", "10", "20", "--methods", "k2", "full", "--seed", "3", "--n-jobs", "2"]
QUESTION = ["effect", "data.csv", "--graph", "graph.toml", "--treatment", "smoking", "--outcome", "risk"]
KILLS = 5  # a scene
SOON = 12.0  # seconds from an interrupt to the end, on a busy machine; 2 are promised
ALLDAGS = ["-m", "alldags"]


def write_study(folder: Path) -> None:
    """Write the tables and graphs that the scenes use."""
    study = ad.datasets.example()
    names = list(study.table)
    rows = zip(*study.table.values(), strict=True)
    lines = [",".join(names), *(",".join(repr(float(value)) for value in row) for row in rows)]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    holes = [line.rpartition(",")[0] + "," if number % 9 == 0 else line for number, line in enumerate(lines[1:])]
    (folder / "holes.csv").write_text("\n".join([lines[0], *holes]) + "\n")
    ad.write_graph(study.graph, folder / "graph.toml")
    _write_long(folder)


def _write_long(folder: Path) -> None:
    """Write questions that are worked on for minutes: 300 entangled candidates, and thirty variables in any order."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(150, 6))
    values = shared @ rng.normal(size=(6, 302)) + rng.normal(size=(150, 302))
    names = [f"v{i}" for i in range(302)]
    np.savetxt(folder / "wide.csv", values, "%.6f", ",", header=",".join(names), comments="")
    ad.write_graph(ad.CandidateGraph.from_tiers([names[:300], ["v300"], ["v301"]], 0.3), folder / "wide.toml")
    ad.write_graph(ad.CandidateGraph.from_tiers([names[:30]], 0.2, within=0.2), folder / "open.toml")


# -- kill -9 -----------------------------------------------------------------------------------------------------------


def reproduce_killed(place: Place) -> str:
    """Kill ``reproduce`` at random moments; what it ends with is as if nothing had happened."""
    folder = place.folder / f"run{place.rng.random()}"
    command = [*ALLDAGS, *SMALL, "--replicates", "120", "--out", str(folder)]
    kills = sum(kill_after(place.start(command), place.rng.uniform(0.5, 5.0)) for _ in range(KILLS))
    require_answer(*place.run(command))
    whole = place.folder / f"{folder.name}whole"
    require_answer(*place.run([*command[:-1], str(whole)]))
    if _numbers(folder) != _numbers(whole):
        raise Fault("results differ from those of a run that was not killed")
    left = [path.name for path in folder.rglob(".*.tmp")]
    if left:
        raise Fault(f"left behind: {left}")
    return f"{kills} kills"


def _numbers(folder: Path) -> list[tuple[object, ...]]:
    return [astuple(result)[:7] for result in load_results(folder)]


WRITER = """
import sys, alldags as ad
study = ad.datasets.example()
both = [ad.fit(study.table, study.graph, prior=prior, rng=0) for prior in (ad.Prior(), ad.Prior.paper())]
for one in both:
    one.effect(study.treatment, study.outcome).mean
print("ready", flush=True)
while True:
    for number, one in enumerate(both):
        one.save("posterior.npz")
        ad.write_graph(study.graph.with_edge("age", "risk", (number + 1) / 4), "written.toml")
        ad.Moments.from_table(study.table).save("moments.json")
        if REPORT:
            one.report("report.html", study.treatment, study.outcome)
"""


def saving_killed(place: Place) -> str:
    """Kill a program that writes posteriors, graphs and moments all the time: each file is the old or the new one."""
    return _writer_killed(place, "False", 0.6)


def report_killed(place: Place) -> str:
    """Kill a program that writes reports, too."""
    return _writer_killed(place, "True", 6.0)


def _writer_killed(place: Place, report: str, longest: float) -> str:
    for _ in range(KILLS):
        program = place.start(["-c", WRITER.replace("REPORT", report)])
        if program.stdout.readline() != "ready\n":
            raise Fault(program.communicate()[1][-500:])
        time.sleep(place.rng.uniform(0.0, longest))
        kill(program)
        _check_written(place.folder)
    return f"{KILLS} kills"


def _check_written(folder: Path) -> None:
    readers: dict[str, Callable[[Path], object]] = {
        "posterior.npz": ad.load,
        "written.toml": ad.read_graph,
        "moments.json": ad.Moments.load,
        "report.html": _check_page,
    }
    for name, read in readers.items():
        if (folder / name).exists():
            try:
                read(folder / name)
            except Exception as error:
                raise Fault(f"{name} is damaged: {error}") from error
    for path in folder.glob(".*.tmp"):
        path.unlink()  # a killed program cannot tidy up


def _check_page(path: Path) -> None:
    if not path.read_text(encoding="utf-8").rstrip().endswith("</html>"):
        raise ValueError("it has no end")


# -- no room, no rights, no memory -------------------------------------------------------------------------------------


def disk_full(place: Place) -> str:
    """Let the disk be full after some bytes: refused in one line, and files from before are as they were."""
    size = place.rng.choice((1, 100, 4096, 20_000))
    for name, words in _writers(Path()).items():
        _without_room(place, place.folder, name, words, {resource.RLIMIT_FSIZE: size})
    return f"limit {size}"


def _writers(study: Path) -> dict[str, list[str]]:
    """Return commands by the file that they write; the study is in this folder."""
    data, graph = str(study / "data.csv"), str(study / "graph.toml")
    question = ["effect", data, "--graph", graph, *QUESTION[4:]]
    return {
        "moments.json": ["moments", data, "moments.json"],
        "full.html": [*question, "--report", "full.html"],
        "full.png": ["graph", graph, "--draw", "full.png"],
    }


def disk_small(place: Place) -> str:
    """Let a file system run full: files from before are as they were, and with more room a run goes on to the end."""
    kilobytes = place.rng.choice((12, 24, 40, 80))
    with small_disk(place, kilobytes) as disk:
        writers = _writers(place.folder).items()
        refused = sum(_without_room(disk.place, disk.folder, name, words) for name, words in writers)
        command = [*ALLDAGS, *SMALL, "--replicates", "60", "--out", "run"]
        code, out, err = disk.place.run(command)
        if code != 0:
            require_refusal(code, out, err)
            refused += 1
            disk.grow(20_000)
            require_answer(*disk.place.run(command))
        whole = place.folder / f"whole{place.rng.random()}"
        require_answer(*place.run([*command[:-1], str(whole)]))
        if _numbers(disk.folder / "run") != _numbers(whole):
            raise Fault("results differ from those of a run that had room")
    return f"{kilobytes} kB: {refused} of 4 refused"


def _without_room(
    place: Place, folder: Path, name: str, words: list[str], limits: dict[int, int] | None = None
) -> bool:
    """Return whether a file was refused for want of room; the one from before is then still there."""
    (folder / name).write_text("old")
    (folder / name).chmod(0o666)
    code, _, err = place.run([*ALLDAGS, *words], limits)
    content = (folder / name).read_bytes()
    if code == 0 and content != b"old":
        (folder / name).unlink()
        return False  # it fitted
    require_refusal(code, "", err)
    if content != b"old":
        raise Fault(f"{name} was {len(content)} bytes of something after: {err[-300:]}")
    if left := [path.name for path in folder.glob(".*.tmp")]:
        raise Fault(f"left behind: {left}")
    return True


def output_full(place: Place) -> str:
    """Write the answer to a full disk."""
    with open("/dev/full", "w") as full:
        command = place.start([*ALLDAGS, *QUESTION, "--json"])
        command.communicate()
        done = subprocess.run(
            [*command.args, "--json"], cwd=place.folder, env=place.environment, stdout=full, stderr=-1, text=True,
            check=False,
        )  # fmt: skip
    require_refusal(done.returncode, "", done.stderr)
    return ""


def nothing_writable(place: Place) -> str:
    """Run with a home, a package folder and perhaps temporary files that cannot be written to."""
    temporary = place.rng.choice((str(place.folder), "/proc"))
    code, out, err = place.run(
        [*ALLDAGS, *QUESTION], HOME="/proc/nowhere", XDG_CACHE_HOME="/proc/nowhere", NUMBA_CACHE_DIR="",
        TMPDIR=temporary, MPLCONFIGDIR="",
    )  # fmt: skip
    require_answer(code, out, err)
    if any(line and not line.startswith("alldags: ") for line in err.splitlines()):
        raise Fault(f"said: {err[-500:]}")
    return f"TMPDIR={temporary if temporary == '/proc' else 'writable'}"


def two_at_once(place: Place) -> str:
    """Start four runs in one folder: each works or is told that another does; nothing is lost."""
    folder = place.folder / f"both{place.rng.random()}"
    command = [*ALLDAGS, *SMALL, "--replicates", "20", "--out", str(folder)]
    programs = [place.start(command) for _ in range(4)]
    refused = 0
    for program in programs:
        out, err = program.communicate()
        if program.returncode == 2 and "another process is at work" in err:
            refused += 1
        else:
            require_answer(program.returncode, out, err)
    require_answer(*place.run(command))
    if (found := len(load_results(folder))) != 20 * 2 * 2:
        raise Fault(f"{found} rows of 80")
    return f"{refused} of 4 refused"


def memory_short(place: Place) -> str:
    """Give the program less memory than it likes: an answer, or one line; no traceback, no crash."""
    size = place.rng.choice((500, 700, 900, 1100, 1300, 2000)) * 2**20
    code, out, err = place.run([*ALLDAGS, *QUESTION], {resource.RLIMIT_AS: size})
    if code == 0:
        require_answer(code, out, err)
        return f"{size >> 20} MB: answered"
    if "OpenBLAS error" in err and "Traceback" not in err:
        return f"{size >> 20} MB: OpenBLAS gave up while it was loaded"
    require_refusal(code, out, err)
    return f"{size >> 20} MB: refused"


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------

LONG = {
    "mcmc": [
        "effect",
        "wide.csv",
        "--graph",
        "wide.toml",
        "--treatment",
        "v300",
        "--outcome",
        "v301",
        "--engine",
        "mcmc",
    ],
    "blocks": ["effect", "wide.csv", "--graph", "open.toml", "--treatment", "v0", "--outcome", "v1"],
    "imputing": ["effect", "holes.csv", *QUESTION[2:], "--missing", "impute", "--imputations", "100000"],
    "reproduce": [*SMALL, "--replicates", "100000", "--out", "long"],
}


def interrupted(place: Place, second: int) -> str:
    """Send Ctrl-C after so many seconds of a long run: it ends soon, in one line."""
    name = place.rng.choice(list(LONG))
    program = place.start([*ALLDAGS, *LONG[name]])
    time.sleep(second)
    if program.poll() is not None:
        out, err = program.communicate()
        require_answer(program.returncode, out, err)
        return f"{name}: had ended"
    begin = time.monotonic()
    program.send_signal(signal.SIGINT)
    try:
        _, err = program.communicate(timeout=SOON)
    except subprocess.TimeoutExpired:
        kill(program)
        raise Fault(f"{name}: did not end within {SOON} s of Ctrl-C at {second} s") from None
    finally:
        kill(program)
    if program.returncode not in (130, -signal.SIGINT) or "Traceback" in err:
        raise Fault(f"{name} at {second} s: exit code {program.returncode}: {err[-600:]}")
    return f"{name}: {time.monotonic() - begin:.1f} s"
