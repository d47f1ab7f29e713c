"""Exact enumeration: cost per parent set, threads, memory, import and demo.

Ratios are to a compiled loop of one exponential and one square root per step, timed in the same run.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time

import numpy as np
from numba import njit

import alldags as ad
from alldags.engines.conjugate.free import free_moments, free_system
from alldags.engines.conjugate.system import conjugate_system
from benchmarks.problems import node_under
from benchmarks.report import Row, cpu_seconds


@njit(cache=True, error_model="numpy")
def yardstick(steps: int) -> float:
    total = 0.0
    for i in range(steps):
        total += math.exp(-1e-7 * i) * math.sqrt(float(i))
    return total


def make_problem(k: int, prior: ad.Prior, n: int = 200):
    rng = np.random.default_rng(k)
    x = rng.normal(size=(n, k + 1)) + 0.5 * rng.normal(size=(n, 1))
    x[:, k] += x[:, :3].sum(axis=1) * 0.3
    return node_under(prior, x, k)


def make_system(k: int, prior: ad.Prior):
    problem = make_problem(k, prior)
    return free_system(problem, conjugate_system(problem))


def run() -> list[Row]:
    rows = []
    k = 22
    yardstick(10)
    for name, prior in (("known noise", ad.Prior.paper()), ("unknown noise", ad.Prior.v01())):
        system = make_system(k, prior)
        for what, second, bar in (("mean + inclusion", False, 3.0), ("with second moments", True, 12.0)):
            free_moments(make_system(12, prior), second, 1)
            unit = cpu_seconds(lambda: yardstick(1 << k))
            cost = cpu_seconds(lambda system=system, second=second: free_moments(system, second, 1))
            note = f"{cost / 2**k * 1e9:.1f} ns a set; yardstick {unit / 2**k * 1e9:.1f} ns"
            rows.append(
                Row(f"k = {k}, {name}, {what}", cost / unit, "x", bar if name == "known noise" else None, note=note)
            )
    rows += [default_prior(), *threads_and_memory(), *start_up()]
    return rows


def default_prior() -> Row:
    """A node under the default prior: mean and second moments, averaged over the slab's variance."""
    problem = make_problem(15, ad.Prior())

    def answer() -> None:
        posterior = ad.engines.Exact()(problem, np.random.default_rng(0))
        assert posterior.mean.shape == (15,)
        assert posterior.second_moment.shape == (15, 15)

    answer()
    cost = 1e3 * min(cpu_seconds(answer) for _ in range(3))
    return Row(
        "k = 15, default prior, mean and second moments", cost, "ms", 15.0, note=f"{len(problem.settings)} slabs"
    )


def threads_and_memory() -> list[Row]:
    system = make_system(25, ad.Prior.paper())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    walls = {}
    for threads in (1, 2):
        best = math.inf
        for _ in range(3):
            start = time.perf_counter()
            free_moments(system, False, threads)
            best = min(best, time.perf_counter() - start)
        walls[threads] = best
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [
        Row("k = 25, two threads against one", walls[1] / walls[2], "x", 1.7, ">=", f"one thread {walls[1]:.2f} s"),
        Row("k = 25, growth of peak memory", grown, "MB", 10.0),
    ]


def start_up() -> list[Row]:
    def child_seconds(*command: str) -> float:
        """CPU seconds of a child process: wall time says more about the neighbours."""
        best = math.inf
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return best

    empty = child_seconds("-c", "pass")
    light = child_seconds("-c", "import alldags") - empty
    demo = child_seconds("-c", "from alldags.cli import main; main()", "demo")
    return [
        Row("import alldags", light, "s", 0.3, note="CPU, Python's own start taken off"),
        Row("alldags demo, second run", demo, "s", 2.0, note="CPU"),
    ]
