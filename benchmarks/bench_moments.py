"""Moments of a 1,000,000 x 62 table, against a bare X.T @ X

Wall time of both sides, taken in turns; the least of several rounds, because the machine may be shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from alldags import Moments
from benchmarks.report import Row, wall_seconds

ROWS, COLUMNS, ROUNDS = 1_000_000, 62, 7
BAR = 1.6


def run() -> list[Row]:
    names = [f"v{j}" for j in range(COLUMNS)]
    array = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    jobs: dict[str, Callable[[], Any]] = {"bare X.T @ X": lambda: array.T @ array}
    for kind, table in _frames(array, names).items():
        for n_jobs in (1, 2):
            jobs[f"{kind}, n_jobs={n_jobs}"] = lambda table=table, n_jobs=n_jobs: Moments.from_table(  # type: ignore[misc]
                table, names=names if isinstance(table, np.ndarray) else None, n_jobs=n_jobs
            )
    best = _in_turns(jobs)
    bare = best.pop("bare X.T @ X")
    rows = [Row("bare X.T @ X", bare, "s")]
    peer = "NumPy's bare X.T @ X"
    return rows + [
        Row(what, time / bare, "x", BAR, note=f"{time:.3f} s", peer=peer, ours=time, theirs=bare)
        for what, time in best.items()
    ]


def _frames(array: np.ndarray[Any, np.dtype[np.float64]], names: list[str]) -> dict[str, Any]:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = {name: np.ascontiguousarray(array[:, j]) for j, name in enumerate(names)}
    return {
        "pandas, from an array": pd.DataFrame(array, columns=names),
        "pandas, by columns": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "numpy, rows contiguous": array,
    }


def _in_turns(jobs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(ROUNDS):
        for what, job in jobs.items():
            best[what] = min(best[what], wall_seconds(job, repeats=1))
    return best
