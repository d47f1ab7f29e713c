"""Running several chains over parent sets, in rounds, from dispersed starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.kernels.sampler.block import Sums, Together, new_sums, nothing_together
from alldags.engines.kernels.sampler.chain import Chain, Systems, new_chain, padded, start
from alldags.engines.kernels.sampler.moves import run_chain
from alldags.engines.kernels.sampler.response import Response, new_response
from alldags.nodes import NodeProblem
from alldags.typing import BoolArray, FloatArray, IntArray

MOST_BATCHES = 512  # per chain; beyond, neighbours are averaged
MOST_START = 200  # parents present in a start
NO_RESPONSE = new_response(0)


def stack_systems(problem: NodeProblem) -> Systems:
    """Return the conjugate systems of all settings of a problem as stacked arrays."""
    parts = [conjugate_system(replace(problem, settings=(setting,))) for setting in problem.settings]
    gram = np.zeros((problem.k, padded(problem.k)))
    gram[:, : problem.k] = problem.gram
    return Systems(
        gram=gram,
        factor=np.array([_factor(problem.gram, part.precision) for part in parts]),
        scale=np.array([np.diag(part.precision) for part in parts]),
        shift=np.array([part.shift for part in parts]),
        log_factor=np.array([part.log_factor for part in parts]),
        log_size=np.ascontiguousarray(parts[0].log_size),
        constant=np.array([part.log_constant for part in parts]),
        has_determinant=np.array([part.has_determinant for part in parts]),
        known_noise=np.array([part.noise.known for part in parts]),
        whole=np.array([part.noise.whole for part in parts]),
        shape=np.array([part.noise.shape for part in parts]),
        shape_per_parent=np.array([part.noise.shape_per_parent for part in parts]),
        noise_unit=np.array([setting.noise.unit for setting in problem.settings]),
        certain=np.ascontiguousarray(problem.certain),
    )


def _factor(gram: FloatArray, precision: FloatArray) -> float:
    """Return the ratio of the off-diagonal entries; settings differ only by it and by the diagonal."""
    off = np.abs(gram - np.diag(np.diag(gram)))
    if off.size == 0 or off.max() == 0.0:
        return 1.0
    place = np.unravel_index(int(np.argmax(off)), off.shape)
    return float(precision[place] / gram[place])


@dataclass(eq=False)
class Run:
    """Chains and what they have recorded so far.

    Parameters
    ----------
    together
        The parents drawn together after each sweep.
    response, effects
        How parents act on each other, and what follows from drawing one: coefficients of control variates, (k, 2, k).
    trace
        Batch means, shape (chains, batches, 3, k): inclusion, coefficient, control.
    sets, set_settings
        Parent set (chains, batches, k) and setting (chains, batches) at the end of each batch.
    batch
        Sweeps per batch.
    warm_up
        Sweeps per chain that are not in the trace.
    """

    systems: Systems
    chains: list[Chain]
    generators: list[np.random.Generator]
    swaps: int
    together: Together
    response: Response
    effects: FloatArray
    sums: list[Sums] = field(default_factory=list)
    trace: FloatArray = field(default_factory=lambda: np.zeros(0))
    sets: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    set_settings: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    batch: int = 1
    warm_up: int = 0

    @property
    def sweeps(self) -> int:
        """Sweeps per chain in the trace."""
        return int(self.trace.shape[1]) * self.batch


def start_chains(problem: NodeProblem, systems: Systems, chains: int, swaps: int, rng: np.random.Generator) -> Run:
    """Return chains at dispersed starts: empty, greedy, crowded, then random."""
    generators = rng.spawn(chains)
    k, count = problem.k, len(problem.settings)
    states = [new_chain(k) for _ in range(chains)]
    run = Run(systems, states, generators, swaps, nothing_together(k), new_response(k), np.zeros((k, 2, k)))
    for index, (chain, generator) in enumerate(zip(run.chains, generators, strict=True)):
        setting = (index * count) // chains
        start(systems, chain, start_set(problem, index, generator), setting)
    forget(run)
    return run


def start_set(problem: NodeProblem, index: int, generator: np.random.Generator) -> BoolArray:
    """Return the start of chain `index`, shape (k,): 0 is empty, 1 greedy, 2 crowded, others random."""
    from alldags.engines.conjugate.greedy import greedy_set

    none = np.zeros(problem.k, dtype=bool)
    if index == 1:
        return greedy_set(conjugate_system(problem.with_setting(problem.settings[0])), problem.certain)[0]
    if index == 0 or problem.free == 0:
        return none
    share = 0.9 if index == 2 else generator.random()
    size = int(share * min(problem.free, MOST_START))
    if problem.log_size is not None and not np.isfinite(problem.log_size[size]):
        return none
    none[generator.choice(np.flatnonzero(~problem.certain), size=size, replace=False)] = True
    return none


def forget(run: Run) -> None:
    """Count everything so far as warm-up."""
    chains, k = len(run.chains), run.systems.certain.size
    run.warm_up += run.sweeps if run.trace.ndim == 4 else 0
    run.sums = [new_sums(k, run.systems.constant.size) for _ in run.chains]
    run.trace = np.zeros((chains, 0, 3, k))
    run.sets = np.zeros((chains, 0, k), dtype=bool)
    run.set_settings = np.zeros((chains, 0), dtype=np.int64)
    run.batch = 1


def warm_up(run: Run, sweeps: int, response: Response | None = None, every: int = 0) -> None:
    """Run sweeps that are not recorded; with `response`, every so many states are added to it."""
    k = run.systems.certain.size
    trace, sets, settings = np.zeros((sweeps, 3, 0)), np.zeros((0, k), dtype=bool), np.zeros(0, dtype=np.int64)
    seen = NO_RESPONSE if response is None else response
    for chain, sums, generator in zip(run.chains, run.sums, run.generators, strict=True):
        run_chain(
            run.systems, chain, sums, run.together, trace, sets, settings, 1, run.swaps, False, generator, seen, every
        )
    run.warm_up += sweeps


def advance(run: Run, sweeps: int) -> None:
    """Run and record about `sweeps` more sweeps in each chain (a whole number of batches)."""
    while run.trace.shape[1] >= MOST_BATCHES:
        _halve(run)
    if run.trace.shape[1] == 0:
        run.batch = max(1, sweeps // MOST_BATCHES)  # memory does not grow with the length of the first round
    chains, k = len(run.chains), run.systems.certain.size
    batches = max(1, sweeps // run.batch)
    trace = np.zeros((chains, batches, 3, k))
    sets = np.zeros((chains, batches, k), dtype=bool)
    settings = np.zeros((chains, batches), dtype=np.int64)
    for c in range(chains):
        run_chain(
            run.systems,
            run.chains[c],
            run.sums[c],
            run.together,
            trace[c],
            sets[c],
            settings[c],
            run.batch,
            run.swaps,
            True,
            run.generators[c],
            NO_RESPONSE,
            0,
        )
    run.trace = np.concatenate([run.trace, trace], axis=1)
    run.sets = np.concatenate([run.sets, sets], axis=1)
    run.set_settings = np.concatenate([run.set_settings, settings], axis=1)


def _halve(run: Run) -> None:
    """Average neighbouring batches and keep every second parent set; an odd first batch becomes warm-up."""
    chains, batches, _, k = run.trace.shape
    odd = batches % 2
    run.trace = run.trace[:, odd:].reshape(chains, batches // 2, 2, 3, k).mean(axis=2)
    run.sets = np.ascontiguousarray(run.sets[:, odd + 1 :: 2])
    run.set_settings = np.ascontiguousarray(run.set_settings[:, odd + 1 :: 2])
    run.batch *= 2


def total(run: Run, name: str) -> FloatArray:
    """Return the average over all recorded sweeps of one of the sums that every sweep adds to."""
    return np.asarray(added_up(run, name) / added_up(run, "setting").sum())


def added_up(run: Run, name: str) -> FloatArray:
    """Return one of the sums, over all chains."""
    parts: list[FloatArray] = [getattr(sums, name) for sums in run.sums]
    return np.asarray(sum(parts[1:], start=parts[0]))
