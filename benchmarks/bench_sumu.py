"""Effects between ten variables of unknown order: the exact sum against sumu's sampler.

sumu needs an older NumPy, so it runs in an environment of its own: ``ALLDAGS_SUMU`` is the Python of an environment
with sumu 0.1.2. CPU seconds, taken inside each process; loading and compiling do not count. sumu draws graphs with 16
chains and has an error that more draws would make smaller; the sum has none.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import alldags as ad
from benchmarks.report import Row, cpu_seconds

SCRIPT = """
import sys, time, warnings
import numpy as np, sumu
warnings.filterwarnings("ignore")
z = np.loadtxt(sys.argv[1])
begin = time.process_time()
data = sumu.Data(z, discrete=False)
sampler = sumu.Gadget(data=data, scoref="bge", ess=10, max_id=-1, K=9, d=3, cp_algo="greedy-lite", mc3_chains=16,
                      burn_in=1000, iterations=2000, thinning=2, tolerance=2**-32)
graphs, _ = sampler.sample()
effects = sumu.beeps([sumu.bnet.family_sequence_to_adj_mat(graph) for graph in graphs], data)
print("found", time.process_time() - begin)
"""


def table(rows: int = 200, variables: int = 10) -> np.ndarray:
    """Return standardised columns of a sparse chain."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(rows, variables))
    for j in range(1, variables):
        x[:, j] += 0.7 * x[:, j - 1] + (0.5 * x[:, j - 3] if j > 2 else 0.0)
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)


def every_effect(rows: np.ndarray) -> None:
    """Answer the effects between all pairs: means and standard deviations."""
    names = [f"v{i}" for i in range(rows.shape[1])]
    prior = ad.Prior(noise=ad.priors.EquivalentNoise(), link=0.0)
    posterior = ad.fit(rows, ad.CandidateGraph.unordered(names), names=names, prior=prior, rng=0)
    assert np.all(posterior.effects_sd().values >= 0)
    assert np.all(np.isfinite(posterior.effects().values))


def sumu_seconds(python: str, rows: np.ndarray) -> float:
    """Return the CPU seconds that sumu takes."""
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder) / "data.txt", Path(folder) / "run.py"
        np.savetxt(data, rows)
        script.write_text(SCRIPT)
        done = subprocess.run([python, str(script), str(data)], capture_output=True, text=True, check=True, cwd=folder)
    return float(done.stdout.split("found")[-1])


def run() -> list[Row]:
    rows, python = table(), os.environ.get("ALLDAGS_SUMU", "")
    every_effect(rows)  # compiles
    own = cpu_seconds(lambda: every_effect(rows))
    if not python:
        missing = "ALLDAGS_SUMU is not set: nothing to compare with"
        return [Row("10 variables, every effect", own, "s CPU", note=missing)]
    theirs = sumu_seconds(python, rows)
    what, note = "10 variables of unknown order, every effect", f"{own:.3g} s against {theirs:.3g} s"
    return [Row(what, theirs / own, "times faster", note=note, peer="sumu's sampler", ours=own, theirs=theirs)]
