"""Threads and processes: the order of results, the number of workers, and errors."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import alldags as ad
from alldags.parallel import map_processes, map_threads, thread_count


@pytest.mark.parametrize("n_jobs", [1, 2, 5, -1])
def test_results_come_in_the_order_of_the_items(n_jobs):
    def job(i):
        time.sleep(0.002 * (10 - i))
        return i * i

    assert list(map_threads(job, range(10), n_jobs)) == [i * i for i in range(10)]


def test_as_many_threads_as_asked_for_work_at_once():
    together = threading.Barrier(3, timeout=30)
    assert list(map_threads(lambda i: together.wait() >= 0, range(3), 3)) == [True] * 3


def test_one_thread_is_the_callers():
    assert list(map_threads(lambda i: threading.get_ident(), range(3), 1)) == [threading.get_ident()] * 3


def test_results_are_handed_over_before_all_are_done():
    gate = threading.Event()

    def job(i):
        assert i == 0 or gate.wait(30)
        return i

    results = map_threads(job, range(4), 2)
    assert next(results) == 0
    gate.set()
    assert list(results) == [1, 2, 3]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_stops_what_has_not_begun(n_jobs):
    begun = []

    def job(i):
        begun.append(i)
        time.sleep(0.01)
        raise ValueError(f"job {i}")

    with pytest.raises(ValueError, match="job 0"):
        list(map_threads(job, range(200), n_jobs))
    assert len(begun) < 100


def test_minus_one_is_every_processor_this_process_may_use():
    assert thread_count(4) == 4
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert thread_count(-1) == allowed
    assert thread_count(-1000) == 1


def test_processes_give_every_result_once():
    assert sorted(map_processes(abs, [-3, 1, -2], n_jobs=2)) == [1, 2, 3]


def end_at_once(item):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_one_message():
    with pytest.raises(ad.AlldagsError, match=r"a process that worked for this one ended unexpectedly, .* start again"):
        list(map_processes(end_at_once, [1, 2, 3], n_jobs=2))
