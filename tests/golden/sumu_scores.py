"""Scores of sumu 0.1.2 (BGe), and its time for ten variables of which nothing is known.

Run in an environment of its own with sumu 0.1.2 and numpy 1.26:

    python sumu_scores.py > sumu.json
"""

from __future__ import annotations

import itertools
import json
import resource
import warnings

import numpy as np
import sumu
from sumu.scores.bge import BGe

warnings.filterwarnings("ignore")


def table(rows: int, variables: int, seed: int) -> np.ndarray:
    """Return standardised columns of a sparse chain."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, variables))
    for j in range(1, variables):
        x[:, j] += 0.7 * x[:, j - 1] + (0.5 * x[:, j - 3] if j > 2 else 0.0)
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)


def scores() -> dict:
    """Return the log score of every parent set of the last of six variables."""
    z = table(30, 6, 1)
    score = BGe(sumu.Data(z, discrete=False), -1)
    sets = [list(one) for size in range(6) for one in itertools.combinations(range(5), size)]
    return {"table": z.tolist(), "sets": sets, "scores": [float(score.local(5, np.array(s, dtype=int))) for s in sets]}


def timed() -> float:
    """Return the CPU seconds of 16 chains and their effects, ten variables, 200 rows."""
    z = table(200, 10, 2)
    before = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    data = sumu.Data(z, discrete=False)
    sampler = sumu.Gadget(
        data=data, scoref="bge", ess=10, max_id=-1, K=9, d=3, cp_algo="greedy-lite", mc3_chains=16, burn_in=1000,
        iterations=2000, thinning=2, tolerance=2**-32,
    )  # fmt: skip
    graphs, _ = sampler.sample()
    sumu.beeps([sumu.bnet.family_sequence_to_adj_mat(graph) for graph in graphs], data)
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - before


if __name__ == "__main__":
    print(json.dumps({**scores(), "seconds": timed()}))
