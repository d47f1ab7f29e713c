"""Write the tables of the page "How fast is it?" from what the benchmarks kept: ``python -m benchmarks.page``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

from alldags.files import write_text
from benchmarks.keep import FOLDER, Kept, read
from benchmarks.report import Row

LEAST = ("moments", "sources")  # what these are held against answers no question: it is the least that must be done
PEERS = {
    "bms": ("R's BMS",),
    "mcmc": ("R's BMS",),
    "sumu": ("sumu's sampler",),
    "scale_mixtures": ("scikit-learn's ARDRegression",),
    "horseshoe": ("a horseshoe in NumPyro", "a horseshoe in nutpie"),
}


def titles() -> dict[str, str]:
    """Return the first lines of all benchmarks' descriptions, by name."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found[path.stem.removeprefix("bench_")] = words.partition("\n")[0].rstrip(".")
    return found


def tables(kept: Mapping[str, Kept], known: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each table: other programs, the least that must be done, everything measured, not run."""
    others = [one for one in kept.values() if one.name not in LEAST]
    return {
        "peers": against(others) + by_what(kept.values()),
        "least": against([one for one in kept.values() if one.name in LEAST]),
        "measured": "\n".join(measured(one) for one in kept.values()),
        "not_run": not_run(kept, known),
    }


def against(kept: Iterable[Kept]) -> str:
    """Return rows with another program's seconds beside ours."""
    lines = ["| problem | beside | seconds there | seconds here | here | repeat |", "| --- |" + " --- |" * 5]
    lines += [
        f"| {row.what.strip()} | {row.peer} | {row.theirs:.2g} | {row.ours:.2g} | {in_words(row)} | `{one.name}` |"
        for one in kept
        for row in one.rows
        if row.peer
    ]
    return "\n".join(lines) + "\n"


def by_what(kept: Iterable[Kept]) -> str:
    """Say which versions ran, and on how many processors; the newest where benchmarks were run at different times."""
    found, processors = {}, set()
    for one in sorted(kept, key=lambda one: one.date):
        found.update(one.versions)
        processors.add(one.processors)
    names = ", ".join(f"{name} {number}" for name, number in found.items())
    return f"\nRun with {names}; processors: {' or '.join(map(str, sorted(processors)))}.\n" if found else ""


def in_words(row: Row) -> str:
    """Say how the seconds compare: ``12 times faster``, ``1.6 times as long``."""
    faster = row.value if row.unit == "times faster" else 1 / row.value
    return f"{figure(faster)} times faster" if faster > 1 else f"{figure(1 / faster)} times as long"


def figure(value: float, digits: int = 2) -> str:
    """Return a few digits, or a whole number with commas."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}g}"


def measured(one: Kept) -> str:
    """Return all rows of a benchmark under its title."""
    lines = [f"### {one.title.rstrip('.')}", "", "| what | measured | bar | note |", "| --- | --- | --- | --- |"]
    for row in one.rows:
        bar = "" if row.bar is None else f"{'at most' if row.sense == '<=' else 'at least'} {row.bar:g}"
        missed = " (missed)" if row.ok is False else ""
        value = f"{figure(row.value, 3)} {row.unit}".rstrip()
        lines.append(f"| {row.what.strip()} | {value} | {bar}{missed} | {row.note} |")
    command = f"`python -m benchmarks {one.name}`: {one.seconds:,.0f} CPU seconds in all, {one.date}."
    return "\n".join([*lines, "", command, ""])


def not_run(kept: Mapping[str, Kept], known: Mapping[str, str]) -> str:
    """Name the benchmarks and other programs of which nothing is kept."""
    lines = [f"- `{name}`: {title}." for name, title in known.items() if name not in kept]
    for name, peers in PEERS.items():
        seen = {row.peer for row in kept[name].rows} if name in kept else set(peers)
        lines += [f"- {peer} in `{name}`: it was not installed." for peer in peers if peer not in seen]
    return "\n".join(lines or ["Nothing: all of them were."]) + "\n"


def write() -> None:
    """Write every table beside what was kept."""
    for name, text in tables(read(), titles()).items():
        write_text(FOLDER / f"{name}.md", text)


if __name__ == "__main__":
    write()
