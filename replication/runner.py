"""Run replications in parallel, keep each finished block, resume after a kill.

A block of replications is worked on by one worker and written, under a temporary name that is then renamed, to one
file. A file is therefore complete or absent: a run that is killed loses only the blocks in flight, and the next run in
the same folder does only what is missing. A folder belongs to one process at a time: a second one is refused.
"""

from __future__ import annotations

import csv
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from alldags.errors import AlldagsError, AlldagsWarning
from alldags.files import alone_in, remove_unfinished, write_text
from alldags.parallel import map_processes
from alldags.progress import Progress

RESULTS, SETTINGS, PARTS = "results.csv", "run.json", "parts"


class Task(NamedTuple):
    """One replication: `group` is a setting of the experiment (a value of p, a data set)."""

    group: str
    replication: int


@dataclass(frozen=True, slots=True)
class Result:
    """One estimate of one method on one data set; `pehe` is the root mean squared error of the rows' effects."""

    group: str
    replication: int
    size: int
    prior: str
    method: str
    estimate: float
    truth: float
    low: float = math.nan
    high: float = math.nan
    seconds: float = math.nan
    pehe: float = math.nan

    @property
    def task(self) -> Task:
        """The replication it belongs to."""
        return Task(self.group, self.replication)

    @property
    def squared_error(self) -> float:
        """Squared distance of estimate and truth."""
        return (self.estimate - self.truth) ** 2


_FIELDS = tuple(field.name for field in fields(Result))
_INTEGERS, _TEXTS = ("replication", "size"), ("group", "prior", "method")

Work = Callable[[Task], list[Result]]


def run_tasks(
    work: Work,
    tasks: Sequence[Task],
    folder: Path,
    *,
    settings: dict[str, Any],
    block: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> list[Result]:
    """Do the tasks that `folder` has no results of yet, and return the results of all.

    Parameters
    ----------
    work
        Takes a task, returns its results; must be picklable and depend on nothing but the task.
    tasks
        What is to be done.
    folder
        Where results are kept.
    settings
        Everything the results depend on; a folder with results of other settings is refused.
    block
        Tasks per unit of work and per file.
    n_jobs
        As in joblib: None is what ``joblib.parallel_config`` says, else 1.
    progress
        Show a progress bar on stderr; by default when that is a terminal.
    """
    parts = folder / PARTS
    parts.mkdir(parents=True, exist_ok=True)
    wanted = set(tasks)
    with alone_in(folder):
        check_settings(folder, settings)
        remove_unfinished(parts)
        done = {result.task for result in load_results(folder)}
        blocks = list(split_blocks([task for task in tasks if task not in done], block))
        with Progress("replications", len(tasks), show=progress, done=len(done & wanted), keep=True) as bar:
            for finished, results in map_processes(partial(work_block, work), blocks, n_jobs):
                write_part(parts, finished, results)
                bar.advance(len(finished))
        merge_parts(folder)
        return sorted((r for r in load_results(folder) if r.task in wanted), key=_order)


def work_block(work: Work, block: tuple[Task, ...]) -> tuple[tuple[Task, ...], list[Result]]:
    """Do the tasks of one block, in the worker.

    Warnings about single data sets (chains that have not quite converged, say) are for users who look at one; here
    there are thousands, and the tables show what comes of it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlldagsWarning)
        return block, [result for task in block for result in work(task)]


def split_blocks(tasks: Sequence[Task], size: int) -> Iterator[tuple[Task, ...]]:
    """Cut the tasks into blocks of at most `size`."""
    if size < 1:
        raise AlldagsError(f"a block needs at least one task, got {size}")
    for start in range(0, len(tasks), size):
        yield tuple(tasks[start : start + size])


# -- files -----------------------------------------------------------------------------------------------------------


def check_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Write the settings into a new folder; refuse a folder whose results were made with others."""
    path = folder / SETTINGS
    wanted = json.loads(json.dumps(settings))
    if not path.exists():
        write_text(path, json.dumps(wanted, indent=1) + "\n")
        return
    found = _read_settings(path)
    different = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
    if different:
        key = different[0]
        raise AlldagsError(
            f"the folder {str(folder)!r} has results with {key} = {found.get(key)!r}, now it is {wanted.get(key)!r}; "
            "choose another folder, or delete this one"
        )


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged(path, "choose another folder, or delete this one") from error
    if not isinstance(found, dict):
        raise _damaged(path, "choose another folder, or delete this one")
    return found


def _damaged(path: Path, fix: str) -> AlldagsError:
    return AlldagsError(f"the file {str(path)!r} is damaged, or not what this program writes; {fix}")


def write_part(parts: Path, block: Sequence[Task], results: Sequence[Result]) -> Path:
    """Write the results of one finished block to a file of its own, all or nothing."""
    group = "".join(letter if letter.isalnum() else "-" for letter in block[0].group)
    path = parts / f"{group}-{block[0].replication:05d}-{os.urandom(4).hex()}.csv"
    write_text(path, _to_csv(results))
    return path


def merge_parts(folder: Path) -> Path:
    """Merge all parts into one file, then remove them; a kill in between loses nothing and doubles nothing."""
    merged = sorted((folder / PARTS).glob("*.csv"))  # listed first: what appears later stays
    write_results(folder, load_results(folder))
    for path in merged:
        path.unlink(missing_ok=True)
    return folder / RESULTS


def write_results(folder: Path, results: Sequence[Result]) -> Path:
    """Write results to a folder's file of results, in order."""
    write_text(folder / RESULTS, _to_csv(sorted(results, key=_order)))
    return folder / RESULTS


def load_results(folder: Path) -> list[Result]:
    """Return all results kept in a folder, each once."""
    paths = [folder / RESULTS, *sorted((folder / PARTS).glob("*.csv"))]
    found = {_order(result): result for path in paths if path.exists() for result in _from_csv(path)}
    return list(found.values())


def _to_csv(results: Sequence[Result]) -> str:
    lines = [",".join(_FIELDS)]
    lines += [",".join(_text(value) for value in asdict(result).values()) for result in results]
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return repr(float(value))  # the shortest text that reads back as the same number
    text = str(value)
    if any(mark in text for mark in ',"\n'):
        raise AlldagsError(f"names in results must not contain commas, quotes or line ends, got {text!r}")
    return text


def _from_csv(path: Path) -> list[Result]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [_result(row) for row in csv.DictReader(file)]
    except (ValueError, TypeError, csv.Error) as error:
        raise _damaged(path, "delete it, and what it held is computed again") from error


def _result(row: dict[str, Any]) -> Result:
    values: dict[str, Any] = {
        name: text if name in _TEXTS else int(text) if name in _INTEGERS else float(text) for name, text in row.items()
    }
    return Result(**values)


def _order(result: Result) -> tuple[str, int, int, str, str]:
    return result.group, result.replication, result.size, result.prior, result.method
