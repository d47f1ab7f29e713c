"""Run all benchmarks, or those whose name contains one of the given words: ``python -m benchmarks exact moments``."""

from __future__ import annotations

import os
import sys

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from importlib import import_module  # noqa: E402  (threads must be pinned before numpy loads)
from pathlib import Path  # noqa: E402

from benchmarks.report import print_rows  # noqa: E402


def main(words: list[str]) -> None:
    """Import each ``bench_*.py`` and print the rows its ``run()`` returns."""
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        name = path.stem.removeprefix("bench_")
        if not words or any(word in name for word in words):
            module = import_module(f"benchmarks.{path.stem}")
            print_rows(module.__doc__.splitlines()[0], module.run())


if __name__ == "__main__":
    main(sys.argv[1:])
