"""Threads for work that releases the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def run_threads(job: Callable[[int], Result], count: int, threads: int) -> list[Result]:
    """Run ``job(0), ..., job(count - 1)`` on some threads and return the results in order."""
    if threads == 1 or count <= 1:
        return [job(i) for i in range(count)]
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=threads, backend="threading")(delayed(job)(i) for i in range(count)))
