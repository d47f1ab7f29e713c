"""Run all benchmarks, or those whose name contains one of the given words: ``python -m benchmarks exact moments``.

What they measure is printed and kept in ``benchmarks/results``, with the tables of the page that shows it.
"""

from __future__ import annotations

import os
import sys

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import resource  # noqa: E402  (threads must be pinned before numpy loads)
from datetime import UTC, datetime  # noqa: E402
from importlib import import_module  # noqa: E402

from benchmarks import keep, page  # noqa: E402
from benchmarks.report import print_rows  # noqa: E402


def main(words: list[str]) -> None:
    """Import each ``bench_*.py``, print the rows its ``run()`` returns, and keep them."""
    for name, title in page.titles().items():
        if not words or any(word in name for word in words):
            module = import_module(f"benchmarks.bench_{name}")
            before = _cpu_seconds()
            rows = module.run()
            print_rows(title, rows)
            keep.write(name, title, datetime.now(UTC).date().isoformat(), _cpu_seconds() - before, rows)
            page.write()


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those it started that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


if __name__ == "__main__":
    main(sys.argv[1:])
