"""What each part of the sampler contributes on nodes made to fool it: the measurements behind its decision record.

Run ``python -m benchmarks.mcmc_moves``. Each line is one way to sample; the figures count the problems that are
right without a warning, that warn, and that are silently wrong (an inclusion probability off by more than 0.05), and
the CPU time of one. Parallel tempering has six rungs of ``w^beta``, from 0.1 to 1 evenly in the logarithm, four
ensembles and 2,000 sweeps of every rung, and is called right or wrong only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from alldags.engines.mcmc import MCMC
from alldags.engines.sampling import sample as sampling
from alldags.engines.sampling.explore import Found, explore, nothing_found
from alldags.engines.sampling.run import State, flattened, stack_systems, walk
from benchmarks.hostile import Hostile, small

BETAS = 10.0 ** np.linspace(-1.0, 0.0, 6)


def no_searches(systems, *_rest: object) -> Found:
    return nothing_found(systems.certain.size)


def no_jumps(systems, *rest: object) -> Found:
    found = explore(systems, *rest)
    return replace(found, jumps=found.jumps[:0], pattern=found.pattern[:0])


def verdict(given: Hostile, seed: int, search: Callable[..., Found]) -> tuple[bool, bool]:
    """Return whether the answer is right and whether it claims to be."""
    before = sampling.explore, sampling.LEARN_AGAIN
    sampling.explore, sampling.LEARN_AGAIN = search, (before[1] if search is explore else 0)
    try:
        node = MCMC()(given.problem, np.random.default_rng(seed))
    finally:
        sampling.explore, sampling.LEARN_AGAIN = before
    return bool(np.abs(node.inclusion - given.inclusion).max() <= 0.05), node.diagnostics.converged


def tempered(given: Hostile, seed: int, sweeps: int = 2000, ensembles: int = 4) -> tuple[bool, bool]:
    """Return whether parallel tempering over the whole weight is right."""
    systems, rng = stack_systems(given.problem), np.random.default_rng(seed)
    targets = [flattened(systems, 1, float(beta)) for beta in BETAS]
    seen = np.zeros(given.problem.k)
    for _ in range(ensembles):
        states = [State(rng.random(given.problem.k) < rng.random(), 0) for _ in BETAS]
        for step in range(sweeps):
            states = [walk(systems, state, target, 1, rng) for state, target in zip(states, targets, strict=True)]
            for low in range(step % 2, len(BETAS) - 1, 2):
                gap = (BETAS[low + 1] - BETAS[low]) * (states[low].log_weight - states[low + 1].log_weight)
                if np.log(1.0 - rng.random()) < gap:
                    states[low], states[low + 1] = states[low + 1], states[low]
            if step >= sweeps // 5:
                seen += states[-1].present
    inclusion = seen / (ensembles * (sweeps - sweeps // 5))
    return bool(np.abs(inclusion - given.inclusion).max() <= 0.05), True


WAYS: dict[str, Callable[[Hostile, int], tuple[bool, bool]]] = {
    "sweeps and swaps": lambda given, seed: verdict(given, seed, no_searches),
    "chains from searched modes": lambda given, seed: verdict(given, seed, no_jumps),
    "and jumps between them": lambda given, seed: verdict(given, seed, explore),
    "parallel tempering": tempered,
}


def main(first: int = 0, count: int = 48) -> None:
    problems = [(seed, small(seed)) for seed in range(first, first + count)]
    print(f"{'way':28s}{'right':>10s}{'warned':>10s}{'silent':>10s}{'CPU s':>10s}")
    for name, way in WAYS.items():
        way(problems[0][1], 0)  # compiles
        start = time.process_time()
        verdicts = [way(given, seed) for seed, given in problems]
        seconds = (time.process_time() - start) / count
        right = sum(good and trusted for good, trusted in verdicts)
        warned = sum(not trusted for _, trusted in verdicts)
        print(f"{name:28s}{right:10d}{warned:10d}{count - right - warned:10d}{seconds:10.2f}", flush=True)


if __name__ == "__main__":
    main()
