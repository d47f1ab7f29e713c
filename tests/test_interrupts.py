"""Ctrl-C ends the program within seconds, in one line, whatever it is doing: with real processes and real signals."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import alldags as ad
from alldags.engines.sampling import run as sampling
from problems import random_node

SOON = 10.0  # seconds; without the remedy the programs below run for a hundred

SWALLOWS = """
import time
from alldags.interrupts import ending_when_interrupted
with ending_when_interrupted():
    print("ready", flush=True)
    for _ in range(10):
        try:
            time.sleep(10)
        except BaseException:  # as packages do while they load
            pass
"""

COMPILED = """
import numba
from alldags.interrupts import ending_when_interrupted
@numba.njit(nogil=True)
def work(steps):
    state = 1.0
    for _ in range(steps):
        state = (state * 1.0000001) % 7.0
    return state
work(1)
with ending_when_interrupted():
    print("ready", flush=True)
    work(10**11)
"""

CALLED_BACK = """
import ctypes, time
from alldags.interrupts import ending_when_interrupted
def slow():
    print("ready", flush=True)
    time.sleep(30)
with ending_when_interrupted():
    ctypes.CFUNCTYPE(None)(slow)()  # as LLVM calls numba
    raise RuntimeError("no compiled object yet")
"""

LED_TO_AN_ERROR = """
import time
import alldags.cli
from alldags.__main__ import main
def run():
    print("ready", flush=True)
    try:
        time.sleep(30)
    except KeyboardInterrupt:
        raise RuntimeError("half a result")
alldags.cli.main = run
main()
"""

THREADS = """
import sys, time
from alldags.parallel import map_threads
def job(number):
    print("ready" if number == 0 else "", flush=True)
    for _ in range(10000):
        time.sleep(0.01)
try:
    list(map_threads(job, range(8), n_jobs=2))
except KeyboardInterrupt:
    print("alldags: interrupted", file=sys.stderr)
    raise SystemExit(130)
"""


PROGRAMS = {
    "swallowed": SWALLOWS,
    "compiled code": COMPILED,
    "called back": CALLED_BACK,
    "led to an error": LED_TO_AN_ERROR,
    "threads": THREADS,
}


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_an_interrupt_ends_the_program(code):
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while program.stdout.readline().strip() != "ready":
            assert program.poll() is None, program.stderr.read()
        time.sleep(0.1)
        begin = time.monotonic()
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=SOON)
    finally:
        program.kill()
        program.wait()
    assert time.monotonic() - begin < SOON
    assert (program.returncode, said) == (130, "alldags: interrupted\n")


IMPORTING = """
import signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
from alldags.__main__ import main
sys.argv = ["alldags", "demo"]
main()
"""


@pytest.mark.parametrize("name", ["cyclopts", "alldags.cli", "alldags.fitting", "numba", "alldags.kernels.linalg"])
def test_an_interrupt_while_packages_load_is_one_line(name):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING.format(name=name)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == "alldags: interrupted\n"
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stdout == ""


def test_chains_do_not_depend_on_how_long_compiled_code_may_run(monkeypatch):
    problem, _ = random_node(3, ad.Prior(link=0.0), k=12)
    systems = sampling.stack_systems(problem)
    seen = []
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(sampling, "STRETCH", seconds)
        states = (sampling.State(np.zeros(12, dtype=bool), 0), sampling.State(np.ones(12, dtype=bool), 0))
        generators = [np.random.default_rng(seed) for seed in (1, 2)]
        after, found = sampling.observe(systems, states, sampling.flattened(systems, 1, 1.0), 37, 3, generators)
        seen.append((found.trace, found.log_weight, found.sets, found.tally, [state.log_weight for state in after]))
    for one, other in zip(*seen, strict=True):
        np.testing.assert_equal(one, other)


SAMPLING = """
import sys
from alldags.engines.sampling import sample
observe = sample.observe
def said(*given):
    print("ready", flush=True)
    return observe(*given)
sample.observe = said
from alldags.__main__ import main
sys.argv = ["alldags", "effect", "wide.csv", "--graph", "wide.toml", "--treatment", "v300", "--outcome", "v301",
            "--engine", "mcmc"]
main()
"""


def write_wide_question(folder):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(150, 6)) @ rng.normal(size=(6, 302)) + rng.normal(size=(150, 302))
    names = [f"v{i}" for i in range(302)]
    np.savetxt(folder / "wide.csv", values, "%.6f", ",", header=",".join(names), comments="")
    ad.write_graph(ad.CandidateGraph.from_tiers([names[:300], ["v300"], ["v301"]], 0.3), folder / "wide.toml")


def test_an_interrupt_ends_a_long_run_of_the_sampler(tmp_path):
    """Three hundred entangled candidates, which take minutes."""
    write_wide_question(tmp_path)
    program = subprocess.Popen(
        [sys.executable, "-c", SAMPLING], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout.readline() == "ready\n", program.stderr.read()
        time.sleep(2.0)
        assert program.poll() is None
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=SOON)
    finally:
        program.kill()
        program.wait()
    assert (program.returncode, said) == (130, "alldags: interrupted\n")
