"""From the problem of a wide node to chains that agree, or a report that they do not."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.sampling.diagnostics import LEAST_INCLUSION, MCMCDiagnostics, mean_errors
from alldags.engines.sampling.estimates import Estimates, diagnose, estimate, unseen
from alldags.engines.sampling.explore import Found
from alldags.engines.sampling.run import Seen, State, copies, posterior_target
from alldags.engines.sampling.sample import (
    LEARN_AGAIN,
    MOST_CHAINS,
    Clock,
    Sample,
    Wishes,
    missed_share,
    prepared,
    relearned,
    stuck,
)
from alldags.engines.sampling.wide.blocks import Walk, extend_wide, observe_wide
from alldags.engines.sampling.wide.candidates import Division, Wide, wide_problem
from alldags.engines.sampling.wide.hot import division, selected
from alldags.engines.sampling.wide.settled import TABLE, concluded, longer, wanted
from alldags.kernels.sampler.target import INCLUSION
from alldags.nodes import NodeProblem
from alldags.typing import FloatArray, IntArray

ROUNDS, WARM_BLOCKS = 2, 6  # of warm-up, after each of which the hot candidates are chosen anew; blocks of each
MOST_LONGER = 16  # times the sweeps that settled what is asked, for a table of all edges
FEW_BLOCKS, LEAST_BLOCKS = 32, 4  # before chains are first judged; even if there is no time for these


@dataclass(frozen=True, eq=False)
class WideSample:
    """Chains of a wide node, and what they have recorded.

    Parameters
    ----------
    walk
        What they do.
    found
        Modes and jumps among the hot candidates.
    states, generators
        Where the chains are, and their randomness.
    seen
        What they recorded.
    warm_up
        Sweeps per chain that are not in it.
    dismissed
        Chains taken from modes of negligible evidence.
    """

    walk: Walk
    found: Found
    states: tuple[State, ...]
    generators: tuple[np.random.Generator, ...]
    seen: Seen | None
    warm_up: int
    dismissed: int

    @property
    def wide(self) -> Wide:
        """The problem."""
        return self.walk.division.wide

    @property
    def recorded(self) -> Seen:
        """What the chains recorded."""
        if self.seen is None:
            raise RuntimeError("nothing was recorded yet")
        return self.seen


def draw_wide(
    engine: Wishes, problem: NodeProblem, rng: np.random.Generator
) -> tuple[WideSample, Estimates, MCMCDiagnostics]:
    """Choose hot candidates, search for modes among them, and run chains until they agree or have to stop."""
    clock = Clock(engine.max_seconds)
    explorer, *generators = rng.spawn(1 + max(engine.chains, MOST_CHAINS))
    sample = started(engine, wide_problem(problem), clock, explorer, generators)
    goal, learned = min(max(engine.sweeps, FEW_BLOCKS * sample.walk.sweeps), engine.max_sweeps), 0
    while True:
        sample = extended(sample, goal, clock)
        estimates = estimate(sample.recorded, problem.certain)
        report = judge(sample, estimates)
        need, sweeps = longer(engine, report, wanted(report)), report.sweeps
        if need <= 1.0 or clock.is_over or sweeps + sample.warm_up >= engine.max_sweeps:
            break
        goal = next_goal(need, sweeps)
        if stuck(report) and 4 * (sweeps + sample.warm_up) <= engine.max_sweeps:
            sample = again(engine, sample, estimates, explorer) if learned < LEARN_AGAIN else sample
            sample = replace(sample, seen=None, warm_up=sample.warm_up + sweeps)
            learned += 1
        goal = max(min(goal, engine.max_sweeps - sample.warm_up), 20)
    return sample, estimates, concluded(engine, problem, replace(report, reproducible=not clock.is_over))


def sharpened(engine: Wishes, sample: WideSample) -> tuple[WideSample, Estimates, MCMCDiagnostics]:
    """Let chains that are settled go on until all inclusion probabilities are as exact as a table shows them.

    They stop before that after `MOST_LONGER` times the sweeps; their errors then say so.
    """
    clock, problem = Clock(None), sample.wide.problem
    sample = replace(sample, generators=deepcopy(sample.generators))  # the same answer whenever it is asked for
    most = min(MOST_LONGER * sample.recorded.sweeps, engine.max_sweeps)
    while True:
        estimates = estimate(sample.recorded, problem.certain)
        report = judge(sample, estimates)
        need = longer(engine, report, TABLE)
        if need <= 1.0 or report.sweeps >= most:
            return sample, estimates, concluded(engine, problem, report)
        sample = extended(sample, min(next_goal(need, report.sweeps), most), clock)


def next_goal(need: float, sweeps: int) -> int:
    """Return how many sweeps to have next, of those that would be needed."""
    return int(min(max(1.1 * need, 1.25), 2.0) * sweeps)


def started(
    engine: Wishes, wide: Wide, clock: Clock, rng: np.random.Generator, generators: list[np.random.Generator]
) -> WideSample:
    """Find out which candidates matter, search for modes among these, and warm chains up that start there."""
    best, score = selected(wide, len(wide.terms) // 2)
    chosen = division(wide, score)
    states = _first_states(wide, chosen, best, engine.chains, rng)
    seen = np.zeros(wide.k)
    for _ in range(ROUNDS):
        states, record = observe_wide(_plain(engine, chosen), states, WARM_BLOCKS, 1, generators[: len(states)])
        seen = np.maximum(0.5 * seen, record.trace[:, WARM_BLOCKS // 2 :, INCLUSION].mean(axis=(0, 1)))
        chosen = division(wide, score, seen)
    hot = prepared(engine, chosen.systems, clock, rng, generators)
    walk, generators = Walk(chosen, hot.target), generators[: len(hot.states)]
    states, _ = observe_wide(walk, tuple(_widened(chosen, state) for state in hot.states), WARM_BLOCKS, 1, generators)
    warm_up = (ROUNDS + 1) * WARM_BLOCKS * walk.sweeps + hot.warm_up
    return WideSample(walk, hot.found, states, tuple(generators), None, warm_up, hot.dismissed)


def _plain(engine: Wishes, chosen: Division) -> Walk:
    """Return a walk without jumps."""
    none = np.zeros((0, len(chosen.places)), dtype=bool)
    return Walk(chosen, posterior_target(chosen.systems, engine.swaps, none, none))


def _first_states(
    wide: Wide, chosen: Division, best: np.ndarray, chains: int, rng: np.random.Generator
) -> tuple[State, ...]:
    """Return where chains start: the selected set, the empty one, and random ones of twice the selected size."""
    share = min(2.0 * max(int(best.sum()), 5) / len(chosen.places), 1.0)
    sets = [best, np.zeros(wide.k, dtype=bool)]
    sets += [chosen.is_hot & (rng.random(wide.k) < share) for _ in range(chains - len(sets))]
    allowed = [np.isfinite(wide.terms[0].log_size[int((one & ~wide.problem.certain).sum())]) for one in sets]
    kept = [one if good else best for one, good in zip(sets, allowed, strict=True)]
    return tuple(State(one | wide.problem.certain, int(rng.integers(len(wide.terms)))) for one in kept)


def _widened(chosen: Division, state: State) -> State:
    whole = np.zeros(chosen.wide.k, dtype=bool)
    whole[chosen.places] = state.present
    return State(whole, state.setting, state.log_weight)


def extended(sample: WideSample, goal: int, clock: Clock) -> WideSample:
    """Run until `goal` sweeps per chain are recorded, or as many as there is time for."""
    done = sample.seen.sweeps if sample.seen is not None else 0
    sweeps = clock.affordable(goal - done)
    blocks = max(sweeps // sample.walk.sweeps, 1 if done else LEAST_BLOCKS)
    states, seen = extend_wide(sample.walk, sample.states, sample.seen, blocks, list(sample.generators))
    clock.count(seen.sweeps - done)
    return replace(sample, states=states, seen=seen)


def again(engine: Wishes, sample: WideSample, estimates: Estimates, rng: np.random.Generator) -> WideSample:
    """Choose the hot candidates by what was seen, and search for jumps between where the chains are."""
    chosen = division(sample.wide, estimates.inclusion, estimates.inclusion)
    states = tuple(State(state.present[chosen.places], state.setting) for state in sample.states)
    hot = Sample(chosen.systems, _plain(engine, chosen).target, _known(sample, chosen), states, None, 0, 0)
    hot = relearned(engine, hot, rng)
    return replace(sample, walk=Walk(chosen, hot.target), found=hot.found)


def _known(sample: WideSample, chosen: Division) -> Found:
    """Return what was found, of the candidates that are hot now."""
    before = sample.walk.division

    def moved(sets: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(sets), before.wide.k), dtype=bool)
        whole[:, before.places] = sets
        return np.ascontiguousarray(whole[:, chosen.places])

    found = sample.found
    stays = ~(found.jumps & ~chosen.is_hot[before.places]).any(axis=1)
    modes = [mode for mode in found.modes if not (mode.present & ~chosen.is_hot[before.places]).any()]
    present = moved(np.array([mode.present for mode in modes]).reshape(len(modes), len(before.places)))
    return replace(
        found,
        modes=tuple(replace(mode, present=one) for mode, one in zip(modes, present, strict=True)),
        jumps=moved(found.jumps[stays]),
        pattern=moved(found.pattern[stays]),
    )


# -- judging ----------------------------------------------------------------------------------------------------------


def judge(sample: WideSample, estimates: Estimates) -> MCMCDiagnostics:
    """Return errors and R-hats, and what was done about modes; candidates that are not hot were visited less often."""
    seen, found, chosen = sample.recorded, sample.found, sample.walk.division
    reach, certain, times = sample.wide.reach, sample.wide.problem.certain, rarely(sample)
    report = diagnose(seen, estimates, certain, reach * times, copied(sample.wide, estimates.inclusion))
    rare = unseen(np.where(certain, 0.0, times), seen)
    on_hot = replace(seen, sets=np.ascontiguousarray(seen.sets[:, :, chosen.places]))
    return replace(
        report,
        inclusion_mcse=np.hypot(mean_errors(seen.trace[:, :, INCLUSION]), rare),
        missed=missed_share(chosen.systems, found, on_hot),
        warm_up=sample.warm_up,
        searches=found.starts,
        modes=len(found.modes),
        jumps=len(found.jumps),
        dismissed=sample.dismissed,
    )


def rarely(sample: WideSample) -> FloatArray:
    """Return how many times as rarely as hot ones candidates are visited, shape (k,)."""
    return np.where(sample.walk.division.is_hot, 1.0, float(sample.walk.sweeps))


def copied(wide: Wide, inclusion: FloatArray) -> IntArray:
    """Return the groups of candidates that are exact copies of each other, (k,), among those that are judged."""
    judged = np.flatnonzero(inclusion > LEAST_INCLUSION)
    out = np.full(wide.k, -1)
    out[judged] = copies(wide.products.block(judged))
    return out
