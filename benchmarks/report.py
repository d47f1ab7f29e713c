"""One row per measured figure, printed as a table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A measured figure and the bar it is held against.

    `value` is compared with `bar` by `sense` ("<=" or ">="); a row without a bar only reports. A row against another
    program names it (`peer`) and has the seconds of both for the same job, measured in the same run.
    """

    what: str
    value: float
    unit: str
    bar: float | None = None
    sense: str = "<="
    note: str = ""
    peer: str = ""
    ours: float | None = None
    theirs: float | None = None

    @property
    def ok(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value <= self.bar if self.sense == "<=" else self.value >= self.bar


def cpu_seconds(job: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU time of this process over `repeats` calls (a busy machine inflates wall time)."""
    return min(_timed(job, time.process_time) for _ in range(repeats))


def wall_seconds(job: Callable[[], object], repeats: int = 3) -> float:
    """Return the least wall time over `repeats` calls."""
    return min(_timed(job, time.perf_counter) for _ in range(repeats))


def _timed(job: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    job()
    return clock() - start


def print_rows(title: str, rows: list[Row]) -> None:
    """Print the rows of one benchmark."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading, justify in (
        ("what", "left"),
        ("measured", "right"),
        ("bar", "right"),
        ("", "center"),
        ("note", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for row in rows:
        bar = "" if row.bar is None else f"{row.sense} {row.bar:g}"
        mark = {None: "", True: "ok", False: "MISSED"}[row.ok]
        table.add_row(row.what, f"{row.value:.3g} {row.unit}", bar, mark, row.note)
    Console(width=int(os.environ.get("COLUMNS", "120"))).print(table)
