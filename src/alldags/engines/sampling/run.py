"""Chains over parent sets: a state goes in; a state, and what was seen on the way, come out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from alldags.engines.conjugate.system import conjugate_system
from alldags.kernels.sampler.chain import Chain, Systems, new_chain, padded
from alldags.kernels.sampler.flip import (
    DRIFT,
    FLIPS,
    ILL_PIVOT,
    JUMPS,
    LEAST_RESIDUAL,
    LOG_WEIGHT,
    SETTING,
    SETTING_MOVES,
    SWAPS,
    TINY,
)
from alldags.kernels.sampler.moves import Record, run_chain
from alldags.kernels.sampler.target import Target
from alldags.nodes import NodeProblem
from alldags.typing import BoolArray, FloatArray, IntArray

STRETCH = 0.5  # seconds, about, that compiled code runs before Python looks for an interrupt
COPY = 1e-10  # correlations above one less this are those of copies
CHANCES = 0.05, 0.95  # least and largest with which a copy is proposed
MOST_BATCHES = 512  # per chain; beyond, neighbours are averaged


# -- the problem as arrays --------------------------------------------------------------------------------------------


def stack_systems(problem: NodeProblem) -> Systems:
    """Return the conjugate systems of all settings of a problem as stacked arrays."""
    parts = [conjugate_system(replace(problem, settings=(setting,))) for setting in problem.settings]
    gram = np.zeros((problem.k, padded(problem.k)))
    gram[:, : problem.k] = problem.gram
    factor = np.array([_factor(problem.gram, part.precision) for part in parts])
    scale = np.array([np.diag(part.precision) for part in parts])
    same = _uncertain_copies(problem)
    return Systems(
        gram=gram,
        factor=factor,
        scale=scale,
        shift=np.array([part.shift for part in parts]),
        log_factor=np.array([part.log_factor for part in parts]),
        log_size=np.ascontiguousarray(parts[0].log_size),
        log_columns=np.ascontiguousarray(parts[0].log_columns),
        constant=np.array([part.log_constant for part in parts]),
        has_determinant=np.array([part.has_determinant for part in parts]),
        known_noise=np.array([part.noise.known for part in parts]),
        whole=np.array([part.noise.whole for part in parts]),
        shape=np.array([part.noise.shape for part in parts]),
        shape_per_parent=np.array([part.noise.shape_per_parent for part in parts]),
        noise_unit=np.array([setting.noise.unit for setting in problem.settings]),
        certain=np.ascontiguousarray(problem.certain),
        certain_columns=int(problem.certain.sum()),
        starts=problem.starts,
        leads=problem.uncertain.astype(np.int64),
        copies=same,
        chance=np.clip(problem.prior_inclusion, *CHANCES) if (same >= 0).any() else np.full(problem.k, 0.5),
        costly=(copies(problem.gram) >= 0) & (scale - np.outer(factor, np.diag(problem.gram)) < ILL_PIVOT * scale),
    )


def copies(gram: FloatArray) -> IntArray:
    """Return the kind of each column, shape (k,): those that are exact copies, but for unit and sign; -1 if alone."""
    size = np.sqrt(np.maximum(np.diag(gram), TINY))
    alike = np.abs(gram / np.outer(size, size)) > 1.0 - COPY
    several = alike.sum(axis=1) > 1
    group = np.full(len(gram), -1)
    group[several] = np.unique(alike.argmax(axis=1)[several], return_inverse=True)[1] if several.any() else -1
    return group


def _uncertain_copies(problem: NodeProblem) -> IntArray:
    """Return the same among the uncertain parents that are one column alone."""
    alone = np.bincount(problem.leaders, minlength=problem.k)[problem.leaders] == 1
    free, same = ~problem.certain & alone, np.full(problem.k, -1)
    same[free] = copies(problem.gram[np.ix_(free, free)])
    return same


def whole_groups(systems: Systems, sets: BoolArray) -> BoolArray:
    """Return sets, shape (..., k), in which a group is there if its first column is."""
    if groups_of(systems) is None:
        return sets
    leaders = np.repeat(systems.starts[:-1], np.diff(systems.starts))
    return np.ascontiguousarray(sets[..., leaders])


def _factor(gram: FloatArray, precision: FloatArray) -> float:
    """Return the ratio of the off-diagonal entries; settings differ only by it and by the diagonal."""
    off = np.abs(gram - np.diag(np.diag(gram)))
    if off.size == 0 or off.max() == 0.0:
        return 1.0
    place = np.unravel_index(int(np.argmax(off)), off.shape)
    return float(precision[place] / gram[place])


def posterior_target(systems: Systems, swaps: int, jumps: BoolArray, pattern: BoolArray) -> Target:
    """Return the posterior as what to sample, with these jumps, shape (J, k)."""
    settings, k = systems.scale.shape
    return Target(1.0, np.zeros(k), np.zeros(settings), jumps, pattern, swaps)


def flattened(systems: Systems, swaps: int, beta: float) -> Target:
    """Return all weights, likelihood and prior, to the power `beta`; a large one leads to the nearest best set."""
    none = np.zeros((0, systems.certain.size), dtype=bool)
    return posterior_target(systems, swaps, none, none)._replace(beta=beta)


# -- states and what is seen ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class State:
    """Where a chain is: its parent set, shape (k,), and its setting; the log weight of both."""

    present: BoolArray
    setting: int
    log_weight: float = -np.inf


@dataclass(frozen=True)
class Tally:
    """Moves that changed the state, and what rounding did: largest change of a mean, least unexplained share."""

    flips: int = 0
    swaps: int = 0
    jumps: int = 0
    setting_moves: int = 0
    drift: float = 0.0
    least_residual: float = np.inf

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.flips + other.flips,
            self.swaps + other.swaps,
            self.jumps + other.jumps,
            self.setting_moves + other.setting_moves,
            max(self.drift, other.drift),
            min(self.least_residual, other.least_residual),
        )


@dataclass(frozen=True, eq=False)
class Seen:
    """What C chains recorded in B batches of `batch` sweeps each.

    Parameters
    ----------
    trace
        Batch means, shape (C, B, 4, k): presence, coefficient, its square, squared conditional mean.
    log_weight, noise
        Batch means of log weight and noise variance, shape (C, B).
    sets, settings
        Parent set (C, B, k) and setting (C, B) at the end of each batch.
    """

    trace: FloatArray
    log_weight: FloatArray
    noise: FloatArray
    sets: BoolArray
    settings: IntArray
    batch: int = 1
    tally: Tally = field(default_factory=Tally)

    @property
    def sweeps(self) -> int:
        """Sweeps per chain."""
        return int(self.trace.shape[1]) * self.batch


def _outcome(chain: Chain) -> tuple[State, Tally]:
    counts, numbers = chain.counts, chain.numbers
    state = State(chain.present, int(counts[SETTING]), float(numbers[LOG_WEIGHT]))
    flips, swaps, jumps, moves = (int(counts[place]) for place in (FLIPS, SWAPS, JUMPS, SETTING_MOVES))
    return state, Tally(flips, swaps, jumps, moves, float(numbers[DRIFT]), float(numbers[LEAST_RESIDUAL]))


def _nothing(k: int) -> Record:
    return Record(np.zeros((0, 4, k)), np.zeros(0), np.zeros(0), np.zeros((0, k), bool), np.zeros(0, np.int64))


def walk(
    systems: Systems,
    state: State,
    target: Target,
    sweeps: int,
    generator: np.random.Generator,
    order: IntArray | None = None,
) -> State:
    """Return the state after so many sweeps, in which groups are visited in this order, shape (flipped,)."""
    k = systems.certain.size
    chain, order = new_chain(k), in_order(systems) if order is None else order
    groups, nothing = groups_of(systems), _nothing(k)
    run_chain(systems, chain, state.present, state.setting, target, order, groups, 0, sweeps, 1, nothing, generator)
    return _outcome(chain)[0]


def groups_of(systems: Systems) -> IntArray | None:
    """Return where that begins which is flipped as one, shape (flipped + 1,); None if every column is alone."""
    return None if len(systems.starts) > systems.certain.size else systems.starts


def in_order(systems: Systems) -> IntArray:
    """Return all that is flipped as one, in the order of columns, shape (flipped,)."""
    return np.arange(len(systems.starts) - 1)


def observe(
    systems: Systems,
    states: tuple[State, ...],
    target: Target,
    batches: int,
    batch: int,
    generators: list[np.random.Generator],
) -> tuple[tuple[State, ...], Seen]:
    """Run all chains for ``batches * batch`` sweeps; return their states and what was seen."""
    count, k = len(states), systems.certain.size
    trace, log_weight, noise = np.zeros((count, batches, 4, k)), np.zeros((count, batches)), np.zeros((count, batches))
    sets, settings = np.zeros((count, batches, k), dtype=bool), np.zeros((count, batches), dtype=np.int64)
    after, tally = [], Tally()
    for c, (state, generator) in enumerate(zip(states, generators, strict=True)):
        chain = new_chain(k)
        record = Record(trace[c], log_weight[c], noise[c], sets[c], settings[c])
        for first, last in _stretches(batches):
            run_chain(
                systems,
                chain,
                state.present,
                state.setting,
                target,
                in_order(systems),
                groups_of(systems),
                first,
                last,
                batch,
                record,
                generator,
            )
        reached, moves = _outcome(chain)
        after.append(reached)
        tally += moves
    return tuple(after), Seen(trace, log_weight, noise, sets, settings, batch, tally)


def _stretches(batches: int) -> Iterator[tuple[int, int]]:
    """Yield which batches to run in one call: about `STRETCH` seconds' worth, so that an interrupt is soon answered.

    Where the cuts are does not change what the chain does.
    """
    first, size = 0, 1
    while first < batches:
        begin = time.perf_counter()
        yield first, min(first + size, batches)
        first += size
        spent = time.perf_counter() - begin
        size *= 8 if spent < STRETCH / 16 else 2 if spent < STRETCH / 2 else 1


def joined(first: Seen | None, second: Seen) -> Seen:
    """Return two stretches of the same chains, with batches of equal length, as one."""
    if first is None:
        return second
    names = ("trace", "log_weight", "noise", "sets", "settings")
    parts = {name: np.concatenate([getattr(first, name), getattr(second, name)], axis=1) for name in names}
    return Seen(**parts, batch=first.batch, tally=first.tally + second.tally)


def halved(seen: Seen) -> Seen:
    """Average neighbouring batches and keep every second parent set; an odd first batch is dropped."""
    odd = seen.trace.shape[1] % 2

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(0.5 * (values[:, odd::2] + values[:, odd + 1 :: 2]))

    return replace(
        seen,
        trace=mean(seen.trace),
        log_weight=mean(seen.log_weight),
        noise=mean(seen.noise),
        sets=np.ascontiguousarray(seen.sets[:, odd + 1 :: 2]),
        settings=np.ascontiguousarray(seen.settings[:, odd + 1 :: 2]),
        batch=2 * seen.batch,
    )


def extend(
    systems: Systems,
    states: tuple[State, ...],
    target: Target,
    seen: Seen | None,
    sweeps: int,
    generators: list[np.random.Generator],
) -> tuple[tuple[State, ...], Seen]:
    """Run about `sweeps` more sweeps in each chain (a whole number of batches) and add them to what was seen."""
    while seen is not None and seen.trace.shape[1] >= MOST_BATCHES:
        seen = halved(seen)
    batch = max(1, sweeps // MOST_BATCHES) if seen is None else seen.batch
    states, more = observe(systems, states, target, max(1, sweeps // batch), batch, generators)
    return states, joined(seen, more)
