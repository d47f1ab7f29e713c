"""Work on several threads, for code that releases the interpreter lock, and on several processes, for the rest."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from alldags.errors import AlldagsError

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: int) -> int:
    """Return how many threads `n_jobs` means: -1 is one per processor that this process may use, -2 one less, ...

    Examples
    --------
    >>> from alldags.parallel import thread_count
    >>> thread_count(3), thread_count(-1) >= 1
    (3, True)
    """
    return n_jobs if n_jobs > 0 else max(1, _processors() + 1 + n_jobs)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_threads(job: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> Iterator[Result]:
    """Yield ``job(item)`` of each item, in order, computed on some threads; an error stops what has not begun.

    Examples
    --------
    >>> from alldags.parallel import map_threads
    >>> list(map_threads(abs, [-1, 2, -3], n_jobs=2))
    [1, 2, 3]
    """
    threads = min(thread_count(n_jobs), len(items))
    if threads <= 1:
        yield from map(job, items)
        return
    workers: set[int] = set()
    with ThreadPoolExecutor(threads, initializer=lambda: workers.add(threading.get_ident())) as pool:
        try:
            yield from pool.map(job, items)
        except KeyboardInterrupt:
            _interrupt(workers)  # leaving the pool waits for what has begun, which may take hours
            raise


def _interrupt(threads: Iterable[int]) -> None:
    """Raise `KeyboardInterrupt` in other threads, too, as soon as each is back from compiled code."""
    for identity in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(identity), ctypes.py_object(KeyboardInterrupt))


def on_a_cluster() -> bool:
    """Has ``joblib.parallel_config`` named the machines of a cluster (Dask, Ray) to work on?"""
    if "joblib" not in sys.modules:
        return False
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return not type(backend).__module__.startswith("joblib._parallel_backends")  # those are of this machine


def map_cluster(job: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield ``job(item)`` of each item, in order, computed where ``joblib.parallel_config`` says."""
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=-1, return_as="generator")(delayed(job)(item) for item in items)


def map_processes(job: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> Iterator[Result]:
    """Yield ``job(item)`` of each item, as they are done, computed by joblib: ``joblib.parallel_config`` says where.

    `job`, items and results must be picklable.
    """
    from joblib import Parallel, delayed

    try:
        yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(job)(item) for item in items)
    except BrokenProcessPool as error:
        raise AlldagsError(
            "a process that worked for this one ended unexpectedly, killed or for want of memory; what was done before "
            "is kept: start again, with a smaller n_jobs if memory is short"
        ) from error
