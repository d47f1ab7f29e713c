"""Which companions help chains over partitions: R-hat for the same work with several ladders, over data sets.

``python -m benchmarks.partition_powers``; the figures of decision 16. Every ladder gets the same number of sweeps over
all of its walkers, in four chains; "apart" is the largest difference between the chains' mean log weights.
"""

from __future__ import annotations

import numpy as np

from alldags.orders import chains as running
from alldags.orders.candidates import choose
from alldags.orders.chains import BlockTables, extend, start
from alldags.orders.partition import judge
from benchmarks.bench_partition import problem

LADDERS = {
    "alone": [1.0],
    "0.7": [1.0, 0.7],
    "default": None,
    "to 1/5": [1.0, 0.765, 0.585, 0.447, 0.342, 0.262, 0.2],
}
CASES = ((13, 200), (13, 1000), (30, 300), (30, 1000), (30, 5000))
WORK, DATA_SETS = 6000, 6


def figures(b: int, n: int, seed: int, ladder: list[float] | None) -> tuple[float, float]:
    """Return the largest R-hat of an effect, and how far apart the chains' log weights are."""
    tables, usual = BlockTables(problem(b, n, seed), choose(problem(b, n, seed), 12)), running.powers
    powers = usual(b) if ladder is None else np.array(ladder)
    running.powers = lambda _: powers
    try:
        generators = np.random.default_rng(0).spawn(4)
        found = extend(tables, start(tables, generators), WORK // len(powers), generators)
    finally:
        running.powers = usual
    return judge(tables, found).max_r_hat, float(np.ptp(found.settled[1].mean(axis=1)))


if __name__ == "__main__":
    for b, n in CASES:
        for name, ladder in LADDERS.items():
            r_hat, apart = np.array([figures(b, n, seed, ladder) for seed in range(DATA_SETS)]).T
            print(
                f"{b} variables, {n:4} rows, {name:8} R-hat: median {np.median(r_hat):.3f}, largest {r_hat.max():.3f}; "
                f"apart: median {np.median(apart):.1f}, largest {apart.max():.1f}",
                flush=True,
            )
