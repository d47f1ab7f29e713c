"""Moments of 5,000,000 rows from a Parquet file and a DuckDB relation, against DuckDB's plain sum of every column

CPU time of both sides, each in a process of its own, two threads, the file in the page cache; the least of several
rounds. ``ALLDAGS_BENCH_ROWS`` asks for fewer rows. Peak memory is that of the whole process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import Row, cpu_seconds

ROWS = int(os.environ.get("ALLDAGS_BENCH_ROWS", "5_000_000"))
GROUP = 250_000
ROUNDS = 2
FILE_COLUMNS, RELATION_COLUMNS, FRAME_ROWS = 62, 40, 2_000_000
FILE_BAR, RELATION_BAR, FRAME_BAR, MEMORY_BAR = 2.5, 2.2, 1.6, 1.0


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        engines = [*_against_sum(folder, "Parquet", FILE_COLUMNS), *_against_sum(folder, "DuckDB", RELATION_COLUMNS)]
    return [*engines, _frame_in_memory()]


def _frame_in_memory() -> Row:
    """Hold a frame in memory against the bare product."""
    import numpy as np
    import pandas as pd

    import alldags as ad

    array = np.random.default_rng(0).normal(size=(FRAME_ROWS, RELATION_COLUMNS))
    table = pd.DataFrame(array, columns=[f"v{j}" for j in range(RELATION_COLUMNS)])
    bare = cpu_seconds(lambda: array.T @ array)
    ours = cpu_seconds(lambda: ad.Moments.from_table(table))
    return Row(
        f"pandas, {FRAME_ROWS:,} x {RELATION_COLUMNS}, against X.T @ X",
        ours / bare,
        "x",
        FRAME_BAR,
        note=f"{ours:.2f} s",
        peer="NumPy's bare X.T @ X",
        ours=ours,
        theirs=bare,
    )


def _against_sum(folder: str, kind: str, columns: int) -> list[Row]:
    file = Path(folder) / f"{kind}.parquet"
    write(file, ROWS, columns)
    plain = _best("sum", file)
    ours = _best(kind, file)
    file.unlink()
    size = f"{ROWS:,} x {columns}"
    bar = FILE_BAR if kind == "Parquet" else RELATION_BAR
    note = f"{ours['cpu']:.2f} s, {ours['wall']:.1f} s on the clock"
    peer, cpu = "DuckDB's sum of every column", ours["cpu"]
    return [
        Row(f"{peer}, {size}", plain["cpu"], "s", note=f"{plain['memory']:.2f} GB"),
        Row(f"{kind}, {size}", cpu / plain["cpu"], "x", bar, note=note, peer=peer, ours=cpu, theirs=plain["cpu"]),
        Row(f"{kind}, peak memory", ours["memory"], "GB", MEMORY_BAR),
    ]


def write(file: Path, rows: int, columns: int) -> None:
    """Write normal columns with means up to `columns`, one row group at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"v{j}" for j in range(columns)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for start in range(0, rows, GROUP):
            values = [rng.normal(j, 1.0, size=min(GROUP, rows - start)) for j in range(columns)]
            writer.write_table(pa.table(dict(zip(names, values, strict=True))))


def _best(job: str, file: Path) -> dict[str, float]:
    found = [_measured(job, file) for _ in range(ROUNDS)]
    return {key: min(one[key] for one in found) for key in found[0]}


def _measured(job: str, file: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.bench_sources", job, str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ})
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


# -- in the process that is measured ------------------------------------------------------------------------------


def _job(job: str, file: str) -> Any:
    import duckdb

    relation = duckdb.connect(config={"threads": 2}).read_parquet(file)
    if job == "sum":
        return relation.aggregate(", ".join(f"sum({name})" for name in relation.columns)).fetchall()
    import alldags as ad

    return ad.read_moments(file if job == "Parquet" else relation, n_jobs=2, progress=False)


def _measure(job: str, file: str) -> None:
    import resource
    import time

    start, wall = time.process_time(), time.perf_counter()
    _job(job, file)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"cpu": time.process_time() - start, "wall": time.perf_counter() - wall, "memory": peak}))


if __name__ == "__main__":
    _measure(*sys.argv[1:])
