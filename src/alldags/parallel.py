"""Work on several threads, for code that releases the interpreter lock, and on several processes, for the rest."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

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


def named_cluster() -> Any:
    """Return the backend of joblib that ``joblib.parallel_config`` has named, if it is other machines; else None."""
    if "joblib" not in sys.modules:
        return None
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    here = type(backend).__module__.startswith("joblib._parallel_backends")
    return None if here else backend


def cluster_backend(given: Any) -> Any:
    """Return the backend of joblib that a client of Dask, the name of a backend or a backend itself stands for.

    Examples
    --------
    >>> from alldags.parallel import cluster_backend
    >>> type(cluster_backend("loky")).__name__
    'LokyBackend'
    """
    from joblib import parallel_config
    from joblib.parallel import ParallelBackendBase, get_active_backend

    if isinstance(given, ParallelBackendBase):
        return given
    is_client = type(given).__module__.partition(".")[0] == "distributed" and hasattr(given, "submit")
    if not is_client and not isinstance(given, str):
        raise AlldagsError(
            f"backend must be a dask.distributed Client, the name of a backend of joblib, such as 'ray' after "
            f"ray.util.joblib.register_ray(), or such a backend; got {given!r}"
        )
    try:
        with parallel_config(backend="dask", client=given) if is_client else parallel_config(backend=given):
            return get_active_backend()[0]
    except (ImportError, ValueError) as error:
        raise AlldagsError(f"joblib knows no backend {given!r}: {error}; register it first") from error


def map_cluster(job: Callable[[Item], Result], items: Iterable[Item], backend: Any) -> Iterator[Result]:
    """Yield ``job(item)`` of each item, in order, computed by a backend of joblib; items are made as they are sent."""
    from joblib import Parallel, delayed

    if getattr(getattr(backend, "client", None), "status", "running") != "running":
        raise AlldagsError("the client given as backend= is closed; open one and fit again, or save and load with it")
    together = Parallel(n_jobs=-1, backend=backend, return_as="generator", batch_size=1, pre_dispatch="3*n_jobs")
    yield from together(delayed(job)(item) for item in items)


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
