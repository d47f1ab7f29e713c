"""What was measured, one JSON file a benchmark: a single one can be rerun without losing the others."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from alldags.files import write_text
from benchmarks.report import Row

FOLDER = Path(__file__).parent / "results"
PACKAGES = ("alldags", "numpy", "numba", "scikit-learn", "duckdb", "numpyro", "nutpie", "pyspark")


@dataclass(frozen=True)
class Kept:
    """One benchmark's rows, when they were measured (a date), by which versions, and CPU seconds of the whole of it."""

    name: str
    title: str
    date: str
    seconds: float
    processors: int
    versions: dict[str, str]
    rows: tuple[Row, ...]


def versions() -> dict[str, str]:
    """Return the versions of Python and of what is installed among `PACKAGES`."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write(name: str, title: str, date: str, seconds: float, rows: Sequence[Row], folder: Path = FOLDER) -> None:
    """Keep the rows of a benchmark in place of those measured before."""
    kept = Kept(name, title, date, round(seconds, 1), os.cpu_count() or 1, versions(), tuple(rows))
    folder.mkdir(exist_ok=True)
    write_text(folder / f"{name}.json", json.dumps(asdict(kept), indent=1, ensure_ascii=False) + "\n")


def read(folder: Path = FOLDER) -> dict[str, Kept]:
    """Return what is kept, by the names of benchmarks, in their order."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        fields = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(Row(**row) for row in fields.pop("rows"))
        found[path.stem] = Kept(**fields, rows=rows)
    return found
