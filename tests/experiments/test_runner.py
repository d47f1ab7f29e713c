"""Blocks, files, resuming after a kill, the same numbers everywhere."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import alldags as ad
from replication import runner
from replication.methods import child_rng
from replication.runner import Result, Task
from replication.synthetic import Synthetic

WORK = Synthetic(n1=2, n2=2, sizes=(10, 20), methods=("k2", "full"), seed=5)
SETTINGS = {"seed": 5}


def tasks(count):
    return [Task("p=0.5", replication) for replication in range(count)]


def numbers(results):
    """Everything but the time it took."""
    return [dataclasses.astuple(result)[:7] for result in results]


def count_calls(counter, task):
    counter.append(task)
    return [Result(*task, 10, "paper", "full", 1.0 / 3, 0.1)]


def test_results_survive_the_file_exactly(tmp_path):
    (tmp_path / "parts").mkdir()
    awkward = [
        Result("p=0.5", 0, 10, "paper", "k2", 0.1 + 0.2, 1e-310, -math.inf, math.nan, 5.0),
        Result("p=0.5", 0, 20, "none", "ipw", -0.0, 1e300),
    ]
    runner.write_part(tmp_path / "parts", tasks(1), awkward)
    assert repr(runner.load_results(tmp_path)) == repr(awkward)


def test_nothing_is_done_twice(tmp_path):
    calls = []
    work = partial(count_calls, calls)
    runner.run_tasks(work, tasks(3), tmp_path, settings=SETTINGS, block=2)
    assert len(calls) == 3
    results = runner.run_tasks(work, tasks(7), tmp_path, settings=SETTINGS, block=2)
    assert len(calls) == 7
    assert [result.replication for result in results] == list(range(7))


def test_fewer_tasks_return_only_those(tmp_path):
    work = partial(count_calls, [])
    runner.run_tasks(work, tasks(5), tmp_path, settings=SETTINGS)
    assert len(runner.run_tasks(work, tasks(2), tmp_path, settings=SETTINGS)) == 2
    assert len(runner.load_results(tmp_path)) == 5


def test_unfinished_files_are_ignored_and_removed(tmp_path):
    (tmp_path / "parts").mkdir()
    half = tmp_path / "parts" / ".p-0-5-00000-abcd.csv.123.tmp"
    half.write_text("group,replication,size\np=0.5,0")
    results = runner.run_tasks(partial(count_calls, []), tasks(1), tmp_path, settings=SETTINGS)
    assert len(results) == 1
    assert not half.exists()


def test_a_part_that_was_merged_but_not_yet_removed_counts_once(tmp_path):
    results = runner.run_tasks(partial(count_calls, []), tasks(2), tmp_path, settings=SETTINGS)
    runner.write_part(tmp_path / "parts", tasks(2), results)
    assert numbers(runner.load_results(tmp_path)) == numbers(results)


def test_a_folder_of_another_run_is_refused(tmp_path):
    runner.run_tasks(partial(count_calls, []), tasks(1), tmp_path, settings={"seed": 1, "sizes": (10, 20)})
    runner.run_tasks(partial(count_calls, []), tasks(1), tmp_path, settings={"seed": 1, "sizes": (10, 20)})
    with pytest.raises(ad.AlldagsError, match=r"results with seed = 1, now it is 2; choose another folder"):
        runner.run_tasks(partial(count_calls, []), tasks(1), tmp_path, settings={"seed": 2, "sizes": (10, 20)})


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ad.AlldagsError, match="at least one task, got 0"):
        list(runner.split_blocks(tasks(2), 0))
    with pytest.raises(ad.AlldagsError, match="must not contain commas"):
        runner.write_part(tmp_path, tasks(1), [Result("a,b", 0, 1, "paper", "k2", 0.0, 0.0)])


def test_seeds_are_children_of_the_seed():
    import numpy as np

    child = np.random.SeedSequence(11).spawn(4)[3]
    assert child_rng(11, 3).random() == np.random.default_rng(child).random()
    assert len({child_rng(11, *key).random() for key in [(3,), (4,), (3, "k2"), (3, "full"), (3, 0)]}) == 5


def test_the_same_numbers_for_any_number_of_jobs_and_block_size(tmp_path):
    runs = [
        runner.run_tasks(WORK, tasks(6), tmp_path / str(n_jobs), settings=SETTINGS, block=block, n_jobs=n_jobs)
        for n_jobs, block in [(1, 6), (2, 1)]
    ]
    assert numbers(runs[0]) == numbers(runs[1])
    assert len(runs[0]) == 6 * 2 * 2


def test_the_same_numbers_with_threads(tmp_path):
    from joblib import parallel_config

    alone = runner.run_tasks(WORK, tasks(4), tmp_path / "a", settings=SETTINGS)
    with parallel_config("threading", n_jobs=2):
        threads = runner.run_tasks(WORK, tasks(4), tmp_path / "b", settings=SETTINGS)
    assert numbers(alone) == numbers(threads)


def test_the_same_numbers_on_a_dask_cluster(tmp_path):
    from distributed import Client, LocalCluster
    from joblib import parallel_config

    alone = runner.run_tasks(WORK, tasks(6), tmp_path / "a", settings=SETTINGS)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        parallel_config("dask", wait_for_workers_timeout=60),
    ):
        there = runner.run_tasks(WORK, tasks(6), tmp_path / "b", settings=SETTINGS, block=1)
        assert sum(client.run(_worker_imported_alldags).values()) >= 1  # the work was really done over there
    assert numbers(alone) == numbers(there)


def _worker_imported_alldags():
    import sys

    return "replication.synthetic" in sys.modules


# -- damaged files, other processes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"null", b'"seed"', b"\xff\xfe\x00", b'{"seed"'])
def test_damaged_settings_are_named(tmp_path, text):
    (tmp_path / "run.json").write_bytes(text)
    with pytest.raises(ad.AlldagsError, match=r"run\.json' is damaged, .* choose another folder, or delete this one"):
        runner.run_tasks(partial(count_calls, []), tasks(1), tmp_path, settings=SETTINGS)
    assert (tmp_path / "run.json").read_bytes() == text


@pytest.mark.parametrize(
    "text",
    [
        b"group,replication\na,b\n",
        b"a,b\n1,2\n",
        b"\xff\xfe\x00\n\x80",
        b"group,replication,size,prior,method,estimate,truth,low,high,seconds\np=0.5,0,10,paper,full,0.1\n",
        b"group,replication,size,prior,method,estimate,truth,low,high,seconds\np=0.5,0,10,a,b,1,1,1,1,1,1\n",
    ],
)
@pytest.mark.parametrize("place", ["results.csv", "parts/p-0-5-00000-abcd.csv"])
def test_damaged_results_are_named(tmp_path, text, place):
    (tmp_path / "parts").mkdir()
    (tmp_path / place).write_bytes(text)
    with pytest.raises(ad.AlldagsError, match=r"\.csv' is damaged, .* delete it, and what it held is computed again"):
        runner.run_tasks(partial(count_calls, []), tasks(1), tmp_path, settings=SETTINGS)


RACE = """
import sys, time
from pathlib import Path
from alldags.errors import AlldagsError
from replication import runner
from replication.runner import Result, Task

def work(task):
    time.sleep(0.002)
    return [Result(*task, 10, "paper", "full", 1.0 / 3, 0.1)]

def attempt(count):
    tasks = [Task("p=0.5", replication) for replication in range(count)]
    return len(runner.run_tasks(work, tasks, Path(sys.argv[1]), settings={"seed": 5}, block=3))

for count in range(20, 200, 20):
    try:
        print(attempt(count) == count, flush=True)
    except AlldagsError as error:
        print("another process is at work in the folder" in str(error), flush=True)
        time.sleep(0.01)
"""


def test_several_processes_in_one_folder_lose_nothing(tmp_path):
    """Each adds replications, again and again; whoever finds the folder taken is told so, and nothing else happens."""
    racing = [
        subprocess.Popen([sys.executable, "-c", RACE, str(tmp_path)], stdout=-1, stderr=-1, text=True) for _ in range(4)
    ]
    said = [process.communicate(timeout=120) for process in racing]
    assert [process.returncode for process in racing] == [0] * 4, said
    assert all(out.split() == ["True"] * 9 for out, _ in said)
    kept = runner.load_results(tmp_path)
    assert sorted(result.replication for result in kept) == list(range(len(kept)))
    assert len(kept) >= 20
    assert list((tmp_path / "parts").iterdir()) == []


def test_a_folder_is_free_again_after_a_kill(tmp_path):
    code = "import sys, time; from pathlib import Path; from alldags.files import alone_in\n"
    code += "with alone_in(Path(sys.argv[1])): print('held', flush=True); time.sleep(100)"
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(ad.AlldagsError, match="another process is at work in the folder"):
        runner.run_tasks(partial(count_calls, []), tasks(1), tmp_path, settings=SETTINGS)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert len(runner.run_tasks(partial(count_calls, []), tasks(1), tmp_path, settings=SETTINGS)) == 1


# -- kill -------------------------------------------------------------------------------------------------------------

COMMAND = """
from replication.command import reproduce
reproduce("small", replicates=100000, sizes=[10, 20], out={out!r}, n_jobs=2, methods=["k2", "full"], seed=3)
"""


def test_a_killed_run_resumes_without_redoing_or_losing_anything(tmp_path):
    folder = tmp_path / "killed"
    running = subprocess.Popen([sys.executable, "-c", COMMAND.format(out=str(folder))], start_new_session=True)
    try:
        _wait_for_parts(folder, 3, running)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    kept = runner.load_results(folder)
    count = 1 + max(result.replication for result in kept)
    assert not (folder / "results.csv").exists()  # it was really stopped in the middle
    assert len(kept) >= 3 * 10 * 2 * 2

    from replication.command import reproduce

    common = {"sizes": [10, 20], "methods": ["k2", "full"], "seed": 3}
    reproduce("small", replicates=count + 7, out=folder, **common)
    reproduce("small", replicates=count + 7, out=tmp_path / "whole", **common)
    resumed, whole = runner.load_results(folder), runner.load_results(tmp_path / "whole")
    assert numbers(resumed) == numbers(whole)
    # times differ from run to run: what still has its time was not done again
    assert {_stamp(result) for result in kept} <= {_stamp(result) for result in resumed}


def _stamp(result):
    return (*result.task, result.size, result.method, result.seconds)


def _wait_for_parts(folder: Path, count: int, running, limit: float = 120.0):
    start = time.monotonic()
    while len(list((folder / "parts").glob("*.csv"))) < count:
        assert running.poll() is None, "the run ended by itself"
        assert time.monotonic() - start < limit, "no results appeared"
        time.sleep(0.02)


def test_progress_counts_what_was_done_before(tmp_path, capsys):
    work = partial(count_calls, [])
    runner.run_tasks(work, tasks(4), tmp_path, settings=SETTINGS, progress=False)
    assert capsys.readouterr().err == ""
    runner.run_tasks(work, tasks(6), tmp_path, settings=SETTINGS, progress=True)
    assert "6/6" in capsys.readouterr().err
