"""Results of simulations in CSV files, one record a line: a run that was interrupted goes on where it stopped.

A record is a dataclass whose fields are texts, whole numbers, numbers and truth values. The texts and whole numbers it
begins with say what it is about (a design, a seed), and no two records have the same.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from alldags.files import write_text
from alldags.parallel import map_processes
from alldags.progress import Progress

FOLDER = Path(__file__).parent / "results"
_EVERY = 100  # tasks between two writings of the file

Record = TypeVar("Record")
Task = TypeVar("Task")
Key = tuple[str | int, ...]

_READ: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float, "bool": lambda text: text == "True"}


def run(
    path: Path,
    record: type[Record],
    job: Callable[[Task], Sequence[Record]],
    tasks: Mapping[Key, Task],
    *,
    n_jobs: int = 1,
    digits: str = "",
) -> list[Record]:
    """Do the tasks whose records are not in the file yet, add these, and return the records of all tasks.

    Parameters
    ----------
    path, record
        The file, and what is in it.
    job
        From a task to its records; on other processes, if `n_jobs` is not 1.
    tasks
        By what their records begin with, or the first part of that.
    n_jobs
        Processes.
    digits
        Format of numbers that are not whole, such as ``".5f"``; empty: as many digits as they have.
    """
    found = read(path, record)
    size = len(next(iter(tasks), ()))
    known = {_key(item)[:size] for item in found}
    missing = [task for key, task in tasks.items() if key not in known]
    with Progress("data sets", len(missing), keep=True) as progress:
        for count, items in enumerate(map_processes(job, missing, n_jobs), start=1):
            found += items
            progress.advance()
            if count % _EVERY == 0 or count == len(missing):
                write(path, found, digits)
    return [item for item in found if _key(item)[:size] in tasks]


def read(path: Path, record: type[Record]) -> list[Record]:
    """Return the records of a file; none if there is no such file."""
    if not path.exists():
        return []
    convert = {field.name: _READ[str(field.type)] for field in fields(record)}  # type: ignore[arg-type]
    with path.open(encoding="utf-8", newline="") as file:
        return [record(**{name: convert[name](text) for name, text in row.items()}) for row in csv.DictReader(file)]


def write(path: Path, records: Sequence[Any], digits: str = "") -> None:
    """Write records, in the order of what they begin with; the file appears complete or not at all."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(field.name for field in fields(records[0]))
    for item in sorted(records, key=_key):
        out.writerow(f"{part:{digits}}" if isinstance(part, float) else part for part in astuple(item))
    path.parent.mkdir(exist_ok=True)
    write_text(path, text.getvalue())


def _key(item: Any) -> Key:
    """Return what a record begins with."""
    return tuple(takewhile(lambda part: isinstance(part, str) or type(part) is int, astuple(item)))


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
