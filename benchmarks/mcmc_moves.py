"""Which moves mix best among correlated candidates? With what error per second of CPU time?

Run ``python -m benchmarks.mcmc_moves``. Each line is one design; the figures are independent posterior draws per second
of CPU time (the worst coefficient with an inclusion probability above 0.01), for Gibbs sweeps alone, with 1 or 4 swap
moves after each sweep, with 1 swap move and 8 parents drawn together, and for tempered Gibbs sampling (Zanella and
Roberts 2019), on the same swept matrix.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from alldags.engines.kernels.noise import log_gain, residual_rate
from alldags.engines.kernels.sampler.chain import Chain, Systems, flip, noise_at, refresh, work_limit
from alldags.engines.kernels.sampler.flip import QUADRATIC, WORK
from alldags.engines.mcmc import MCMC, sample
from alldags.engines.sampling.run import stack_systems, start_chains, warm_up
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.noise import UnknownNoise
from benchmarks.bench_mcmc import large_problems
from benchmarks.problems import regression_of


@njit(cache=True, nogil=True, error_model="numpy")
def tempered(
    systems: Systems, chain: Chain, generator: np.random.Generator, steps: int, trace: np.ndarray, weight: np.ndarray
) -> None:
    """Run tempered Gibbs sampling: always flip, a parent chosen by one over the probability of its present value.

    Row ``b`` of `trace` (batches, k) and ``weight[b]`` get the weighted sums of conditional means and of weights.
    """
    k = chain.present.shape[0]
    noise = noise_at(systems, 0)
    speed, mean = np.zeros(k), np.zeros(k)
    for b in range(trace.shape[0]):
        for _ in range(steps):
            residual = residual_rate(noise, chain.numbers[QUADRATIC])
            total = 0.0
            for v in range(k):
                inside = chain.present[v]
                variance = -chain.diagonal[v] if inside else 1.0 / chain.diagonal[v]
                center = chain.linear[v] if inside else chain.linear[v] * variance
                reduction = center * center / variance
                log_odds = systems.log_factor[0, v] + 0.5 * math.log(variance)
                log_odds += log_gain(noise, residual + (0.5 * reduction if inside else 0.0), reduction, 0)
                probability = 1.0 / (1.0 + math.exp(-log_odds))
                speed[v] = 0.5 / max(probability if inside else 1.0 - probability, 1e-12)
                mean[v] = probability * center
                total += speed[v]
            share = k / total
            weight[b] += share
            for v in range(k):
                trace[b, v] += share * mean[v]
            left = generator.random() * total
            v = 0
            while v < k - 1 and left >= speed[v]:
                left -= speed[v]
                v += 1
            flip(systems, chain, v)
            if chain.counts[WORK] >= work_limit(chain):
                refresh(systems, chain)


def gibbs_rate(
    problem: NodeProblem, swaps: int, sweeps: int, block: int = 0, runs: int = 8
) -> tuple[float, np.ndarray]:
    """Return draws per second, from the spread of whole runs, and their average mean."""
    engine = MCMC(sweeps=sweeps, max_sweeps=sweeps, swaps=swaps, block=block)
    sample(engine, problem, np.random.default_rng(99))
    start = time.process_time()
    found = [sample(engine, problem, np.random.default_rng(seed)) for seed in range(runs)]
    seconds = (time.process_time() - start) / runs
    means = np.array([item[1].mean for item in found])
    judged = found[0][1].inclusion > 0.01
    return _rate(means[:, judged], found[0][1].variance[judged], seconds), means.mean(axis=0)


def tempered_rate(
    problem: NodeProblem, variance: np.ndarray, judged: np.ndarray, steps: int, runs: int = 8
) -> tuple[float, np.ndarray]:
    """Return the same for tempered Gibbs sampling with `steps` flips in each of four chains."""
    systems = stack_systems(problem)
    means, seconds = [], 0.0
    for seed in range(-1, runs):
        run = start_chains(problem, systems, 4, 0, np.random.default_rng(seed + 100))
        warm_up(run, 50)
        start = time.process_time()
        trace, weight = np.zeros((4, problem.k)), np.zeros(4)
        for c in range(4):
            tempered(systems, run.chains[c], run.generators[c], steps, trace[c : c + 1], weight[c : c + 1])
        if seed >= 0:  # the first run compiles
            seconds += (time.process_time() - start) / runs
            means.append(trace.sum(axis=0) / weight.sum())
    return _rate(np.array(means)[:, judged], variance[judged], seconds), np.mean(means, axis=0)


def _rate(means: np.ndarray, variance: np.ndarray, seconds: float) -> float:
    return float(np.min(variance / means.var(axis=0, ddof=1)) / seconds)


def blocks(k: int, size: int, correlation: float, n: int, seed: int, probability: float) -> NodeProblem:
    """Return a problem whose candidates come in blocks of `size` with this correlation; five blocks have an effect."""
    rng = np.random.default_rng(seed)
    common = np.repeat(rng.normal(size=(n, k // size)), size, axis=1)
    x = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * rng.normal(size=(n, k))
    y = x[:, : 5 * size : size] @ np.array([1.0, -0.7, 0.5, 0.3, -0.2]) + rng.normal(size=n)
    x -= x.mean(axis=0)
    y -= y.mean()
    x /= x.std(axis=0)
    y /= y.std()
    return regression_of(x, y, Setting(1.0, UnknownNoise()), probability=probability)


DESIGNS: dict[str, Callable[[], NodeProblem]] = {
    "independent, p = .5": lambda: blocks(40, 1, 0.0, 500, 1, 0.5),
    "pairs at .99, p = .5": lambda: blocks(40, 2, 0.99, 500, 1, 0.5),
    "pairs at .99, p = .05": lambda: blocks(40, 2, 0.99, 500, 1, 0.05),
    "pairs at .999, p = .05": lambda: blocks(40, 2, 0.999, 5000, 1, 0.05),
    "blocks of 8 at .98, p = .05": lambda: blocks(64, 8, 0.98, 2000, 1, 0.05),
    "blocks of 8 at .98, p = .005": lambda: blocks(64, 8, 0.98, 2000, 1, 0.005),
    "large graph, Y": lambda: large_problems(23)[-1],
    "large graph, its hardest Z": lambda: large_problems(23)[2],
}


def main() -> None:
    titles = ("Gibbs", "1 swap", "4 swaps", "1 swap, 8", "tempered")
    print(f"{'design':32s}" + "".join(f"{title:>12s}" for title in titles) + "   draws per CPU second")
    for name, make in DESIGNS.items():
        problem = make()
        _, estimates, _ = sample(MCMC(sweeps=2000, max_sweeps=2000), problem, np.random.default_rng(7))
        judged = estimates.inclusion > 0.01
        rates = [gibbs_rate(problem, swaps, 1000)[0] for swaps in (0, 1, 4)]
        rates.append(gibbs_rate(problem, 1, 1000, block=8)[0])
        rates.append(tempered_rate(problem, estimates.variance, judged, 10_000)[0])
        print(f"{name:32s}" + "".join(f"{rate:12.3g}" for rate in rates), flush=True)


if __name__ == "__main__":
    main()
