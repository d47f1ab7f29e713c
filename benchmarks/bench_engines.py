"""Moments of 1,000,000 x 40 numbers, from a Parquet file, by every engine that is installed

CPU time of all processes that took part, started before the clock; wall time beside it. Two threads or two workers.
Spark is measured if pyspark is installed (``make test-spark`` installs it).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.bench_sources import write
from benchmarks.report import Row

ROWS, COLUMNS = int(os.environ.get("ALLDAGS_BENCH_ROWS", "1_000_000")), 40


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        write(file, ROWS, COLUMNS)
        rows = [_row(what, job) for what, job in _local(str(file)).items()]
        with _dask() as frames:
            rows.append(_row("Dask, 2 workers", lambda: frames(str(file))))
        if find_spec("pyspark"):
            with _spark() as spark:
                rows.append(_row("Spark, local[2]", lambda: spark(str(file))))
    return rows


def _local(file: str) -> dict[str, Callable[[], Any]]:
    import duckdb
    import polars as pl

    import alldags as ad

    relation = duckdb.connect(config={"threads": 2}).read_parquet(file)
    sums = ", ".join(f"sum({name})" for name in relation.columns)
    return {
        "DuckDB's plain sum of every column": lambda: relation.aggregate(sums).fetchall(),
        "the path of the file": lambda: ad.read_moments(file, n_jobs=2, progress=False),
        "polars lazy frame": lambda: ad.read_moments(pl.scan_parquet(file)),
        "DuckDB relation": lambda: ad.read_moments(relation),
        "DuckDB relation, push_down=True": lambda: ad.read_moments(relation, push_down=True),
    }


@contextmanager
def _dask() -> Iterator[Callable[[str], Any]]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import alldags as ad

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        yield lambda file: ad.read_moments(dd.read_parquet(file, split_row_groups=True))


@contextmanager
def _spark() -> Iterator[Callable[[str], Any]]:
    from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]

    import alldags as ad

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield lambda file: ad.read_moments(session.read.parquet(file))
    session.stop()


def _row(what: str, job: Callable[[], Any]) -> Row:
    best, clock = float("inf"), float("inf")
    for _ in range(2):  # the first pays for imports and code generation
        start, wall = _all_seconds(), time.perf_counter()
        job()
        best, clock = min(best, _all_seconds() - start), min(clock, time.perf_counter() - wall)
    return Row(what, best, "s", note=f"{clock:.1f} s on the clock")


def _all_seconds() -> float:
    """Return the CPU seconds of this process and of all below it, living or not."""
    import psutil

    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
