"""From a node's problem to chains that agree, or a report that they do not."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from alldags.engines.sampling.diagnostics import (
    R_HAT,
    WEIGHT_R_HAT,
    MCMCDiagnostics,
    convergence_warnings,
    standing_remark,
)
from alldags.engines.sampling.estimates import Estimates, diagnose, estimate
from alldags.engines.sampling.explore import (
    Found,
    allowed,
    crowd,
    explore,
    explore_further,
    settle,
    with_mode,
    with_needed_jumps,
)
from alldags.engines.sampling.run import (
    Seen,
    State,
    copies,
    extend,
    flattened,
    observe,
    posterior_target,
    stack_systems,
)
from alldags.kernels.sampler.chain import Systems
from alldags.kernels.sampler.flip import TINY
from alldags.kernels.sampler.sets import set_log_weights
from alldags.kernels.sampler.target import INCLUSION, Target
from alldags.nodes import NodeProblem
from alldags.typing import FloatArray, IntArray

_ALLOWED = 12.0  # nats by which a set that was not met may lie below the full one
STUCK = 1.05  # an R-hat above: what has been run counts as warm-up
EFFECTIVE_DRAWS = 400  # of each coefficient wanted if no target_mcse is given
INCLUSION_ERROR = 0.02  # largest one of an inclusion probability that is called agreement
SMALL_INCLUSION_ERROR, SMALL_SD_ERROR = 0.0125, 0.15  # wanted while that is cheap; the second relative to the sd
CHEAP, CHEAP_WITH_MODES = 50_000, 200_000  # sweeps times parents; the second with several modes
WARM_UP = 50  # sweeps, at least
MOST_CHAINS = 8  # if there are so many modes
MOST_SEARCHES = 8  # times those asked for, where modes are found
DISMISSED = 9.0  # nats of evidence below the best mode
MISSED = 0.02  # share of the weight of the sets visited, above which a mode must have been visited
LEARN_AGAIN = 3  # times that chains which disagree are searched for jumps


class Wishes(Protocol):
    """What is wanted of a sample; see `alldags.engines.MCMC`."""

    @property
    def sweeps(self) -> int:
        """Sweeps of each chain before they are first judged."""

    @property
    def chains(self) -> int:
        """Chains, at least."""

    @property
    def target_mcse(self) -> float | None:
        """Largest error wanted of a coefficient's mean."""

    @property
    def max_sweeps(self) -> int:
        """Most sweeps of each chain."""

    @property
    def max_seconds(self) -> float | None:
        """Most wall time."""

    @property
    def swaps(self) -> int:
        """Swap moves after each sweep."""

    @property
    def starts(self) -> int:
        """Searches for modes."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Chains, and what they have recorded.

    Parameters
    ----------
    systems, target
        What is sampled.
    found
        Modes and jumps.
    states
        Where the chains are.
    seen
        What they recorded; None before that.
    warm_up
        Sweeps per chain that are not in it.
    dismissed
        Chains taken from modes of negligible evidence.
    """

    systems: Systems
    target: Target
    found: Found
    states: tuple[State, ...]
    seen: Seen | None
    warm_up: int
    dismissed: int

    @property
    def recorded(self) -> Seen:
        """What the chains recorded."""
        if self.seen is None:
            raise RuntimeError("nothing was recorded yet")
        return self.seen


def draw_sample(
    engine: Wishes, problem: NodeProblem, rng: np.random.Generator
) -> tuple[Sample, Estimates, MCMCDiagnostics]:
    """Search for modes, run chains from them until they agree and are accurate enough, or have to stop."""
    clock = Clock(engine.max_seconds)
    explorer, *generators = rng.spawn(1 + max(engine.chains, MOST_CHAINS))
    sample = prepared(engine, stack_systems(problem), clock, explorer, generators)
    goal, learned = min(engine.sweeps, engine.max_sweeps), 0
    while True:
        sample = extended(sample, goal, clock, generators)
        estimates = estimate(sample.recorded, problem.certain)
        report = judge(sample, estimates)
        need, sweeps = longer(engine, report), report.sweeps
        if need <= 1.0 or clock.is_over or sweeps + sample.warm_up >= engine.max_sweeps:
            break
        goal = int(min(max(1.1 * need, 1.25), 2.0) * sweeps)
        if stuck(report) and 4 * (sweeps + sample.warm_up) <= engine.max_sweeps:
            sample = relearned(engine, sample, explorer) if learned < LEARN_AGAIN else sample
            sample = replace(sample, seen=None, warm_up=sample.warm_up + sweeps)
            learned += 1
        goal = max(min(goal, engine.max_sweeps - sample.warm_up), 20)
    return sample, estimates, finished(engine, problem, replace(report, reproducible=not clock.is_over))


def prepared(
    engine: Wishes, systems: Systems, clock: Clock, rng: np.random.Generator, generators: list[np.random.Generator]
) -> Sample:
    """Search for modes and warm chains up that start there."""
    found = explore(systems, engine.swaps, engine.starts, MOST_SEARCHES * engine.starts, rng)
    states = first_states(systems, found, engine.chains, rng)
    generators = generators[: len(states)]
    sweeps = clock.affordable(max(WARM_UP, engine.sweeps // 4), share=0.25)
    states, found = without_jumps(systems, engine.swaps, states, found, sweeps // 2, generators)
    target = posterior_target(systems, engine.swaps, found.jumps, found.pattern)
    states, dismissed = warmed_up(systems, states, target, sweeps - sweeps // 2, generators)
    clock.count(sweeps)
    return Sample(systems, target, found, states, None, sweeps, dismissed)


def extended(sample: Sample, goal: int, clock: Clock, generators: list[np.random.Generator]) -> Sample:
    """Run until `goal` sweeps per chain are recorded, or as many as there is time for."""
    done = sample.seen.sweeps if sample.seen is not None else 0
    sweeps = max(clock.affordable(goal - done), 1 if done else 20)
    generators = generators[: len(sample.states)]
    states, seen = extend(sample.systems, sample.states, sample.target, sample.seen, sweeps, generators)
    clock.count(seen.sweeps - done)
    return replace(sample, states=states, seen=seen)


def finished(engine: Wishes, problem: NodeProblem, report: MCMCDiagnostics) -> MCMCDiagnostics:
    """Add the verdict and the words."""
    report = replace(report, converged=agreed(report))
    words = convergence_warnings(problem.child, problem.terms, report, engine.target_mcse)
    return replace(report, warnings=words, remark=standing_remark(report))


def first_states(systems: Systems, found: Found, chains: int, rng: np.random.Generator) -> tuple[State, ...]:
    """Return where chains start: at the modes, heaviest first, then empty, full, and at random."""
    k, settings = systems.certain.size, systems.constant.size
    states = list(found.modes[: max(chains, MOST_CHAINS)])
    shares = [0.0, 1.0]
    while len(states) < chains:
        share = shares.pop() if shares else rng.random()
        state = State(crowd(systems, share, rng), int(rng.integers(settings)))
        states.append(state if allowed(systems, state) else State(np.zeros(k, dtype=bool), state.setting))
    return tuple(states)


def without_jumps(
    systems: Systems,
    swaps: int,
    states: tuple[State, ...],
    found: Found,
    sweeps: int,
    generators: list[np.random.Generator],
) -> tuple[tuple[State, ...], Found]:
    """Return states after some plain sweeps, and what was found with only the jumps that these show to be needed."""
    if len(found.jumps) == 0:
        return states, found
    states, seen = observe(systems, states, flattened(systems, swaps, 1.0), max(sweeps, 2), 1, generators)
    return states, with_needed_jumps(found, seen.sets[:, max(sweeps, 2) // 4 :], systems.leads)


def warmed_up(
    systems: Systems, states: tuple[State, ...], target: Target, sweeps: int, generators: list[np.random.Generator]
) -> tuple[tuple[State, ...], int]:
    """Return states after warm-up, and how many chains were taken from modes of negligible evidence to others.

    A chain inside one mode knows its evidence: the mean log weight plus the entropy of its sets, which is at most that
    of independent parents. The heaviest set that any chain saw is a lower bound of the best mode's.
    """
    states, _ = observe(systems, states, target, 1, max(sweeps // 2, 1), generators)
    states, seen = observe(systems, states, target, max(sweeps // 2, 1), 1, generators)
    upper = evidence_bounds(seen, systems)
    least = min(float(seen.log_weight.max()) - DISMISSED, float(upper.max()))  # chains may still be climbing
    kept = np.flatnonzero(upper >= least)
    out = [state if c in kept else states[kept[c % len(kept)]] for c, state in enumerate(states)]
    return tuple(out), len(states) - len(kept)


def evidence_bounds(seen: Seen, systems: Systems) -> FloatArray:
    """Return an upper bound of the log evidence of the mode each chain is in, shape (chains,)."""
    presence = seen.trace[:, :, INCLUSION].mean(axis=1).take(systems.starts[:-1], axis=1)  # a group counts once
    return np.asarray(seen.log_weight.mean(axis=1) + entropy(presence) + math.log(systems.constant.size))


def entropy(presence: FloatArray) -> FloatArray:
    """Return the entropy of sets in which groups are independent, with these probabilities, shape (..., groups)."""
    p = np.clip(presence, 1e-12, 1.0 - 1e-12)
    return np.asarray(-(p * np.log(p) + (1.0 - p) * np.log1p(-p)).sum(axis=-1))


def relearned(engine: Wishes, sample: Sample, rng: np.random.Generator) -> Sample:
    """Search for jumps between where the chains are, then from heated modes."""
    systems, found = sample.systems, replace(sample.found, quiet=0)
    for state in sample.states:
        found = with_mode(systems, engine.swaps, found, settle(systems, engine.swaps, state, rng))
    found = explore_further(systems, engine.swaps, found, engine.starts, found.starts + 2 * engine.starts, rng)
    return replace(sample, found=found, target=posterior_target(systems, engine.swaps, found.jumps, found.pattern))


# -- judging ----------------------------------------------------------------------------------------------------------


def judge(sample: Sample, estimates: Estimates) -> MCMCDiagnostics:
    """Return errors and R-hats, what was done about modes, and whether a known one is missing."""
    systems, found = sample.systems, sample.found
    return replace(
        diagnose(sample.recorded, estimates, systems.certain, reach(systems), copied(systems)),
        missed=missed_share(systems, found, sample.recorded),
        warm_up=sample.warm_up,
        searches=found.starts,
        modes=len(found.modes),
        jumps=len(found.jumps),
        dismissed=sample.dismissed,
    )


def copied(systems: Systems) -> IntArray:
    """Return the groups of parents that are exact copies of each other, shape (k,), -1 for all others."""
    return copies(systems.gram[:, : systems.certain.size])  # without the padding of its rows


def reach(systems: Systems) -> FloatArray:
    """Return how much a coefficient may change in a set that was not met, shape (k,).

    At most to what it would be if it explained the child alone; and, in sets whose weight is not hopeless, not further
    than twice its largest distance from the full set (`_apart`).
    """
    alone = np.sqrt(2.0 * systems.whole[0] / np.maximum(np.diag(systems.gram), TINY))
    return np.asarray(np.minimum(alone, 2.0 * _apart(systems)))


def _apart(systems: Systems) -> FloatArray:
    """Return how far a coefficient may be from that of the full set in sets that fit well enough, shape (k,).

    With the rate ``r(m) = whole - b'm + m'Am/2``, least at the full set's mean, a set whose mean differs by d in one
    coefficient has a rate that is larger by at least ``d^2 / (2 [A^-1]_jj)``. A set can make up for a worse fit by
    `_ALLOWED` nats and by all it saves on parents. Infinite where parents are copies of each other.
    """
    loosest = int(np.argmin(systems.scale.sum(axis=1) / systems.factor))
    a = systems.factor[loosest] * systems.gram[:, : systems.certain.size]
    np.fill_diagonal(a, systems.scale[loosest])
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.full(len(a), np.inf)
    shift = systems.shift[loosest]
    determinant = 0.5 * np.log(np.maximum(np.diag(a), TINY)) if systems.has_determinant[loosest] else 0.0
    saved = np.maximum(determinant - systems.log_factor[loosest], 0.0)[~systems.certain]
    nats = _ALLOWED + float(saved.sum())
    if systems.known_noise[loosest]:
        worse = nats
    else:
        rate = max(float(systems.whole[loosest] - 0.5 * shift @ inverse @ shift), 0.0)
        worse = rate * math.expm1(min(nats / float(systems.shape[loosest]), 500.0))
    distance = np.sqrt(2.0 * worse * np.maximum(np.diag(inverse), 0.0))
    return np.where(copied(systems) >= 0, np.inf, distance)


def missed_share(systems: Systems, found: Found, seen: Seen) -> float:
    """Return the weight of the heaviest known mode that should have been visited and was not, relative to the others.

    Parent sets are compared by their weights summed over settings; only modes whose expected number of visits, given
    those of the most visited mode, is at least 20 are missed.
    """
    if len(found.modes) < 2:
        return 0.0
    weights = np.array([_over_settings(systems, mode) for mode in found.modes])
    sets = np.packbits(np.concatenate(list(seen.sets)), axis=1)
    visits = np.array([(sets == np.packbits(mode.present)).all(axis=1).sum() for mode in found.modes])
    top = int(np.argmax(visits))
    relative = np.exp(np.minimum(weights - weights[top], 50.0))
    missed = (visits < 0.2 * visits[top] * relative) & (visits[top] * relative >= 20.0) & (relative > MISSED)
    return float(min(relative[missed].max(initial=0.0), 1e6))


def _over_settings(systems: Systems, state: State) -> float:
    count = systems.constant.size
    out = np.empty(count)
    set_log_weights(systems, np.tile(state.present, (count, 1)), np.arange(count), out)
    return float(np.logaddexp.reduce(out))


def stuck(report: MCMCDiagnostics) -> bool:
    """Return whether the chains disagree so much that more of the same does not help."""
    return report.max_r_hat > STUCK or report.weight_r_hat > 1.2 or report.missed > 0.0


def agreed(report: MCMCDiagnostics) -> bool:
    """Return whether the chains agree, with errors small enough to tell."""
    error = report.max_inclusion_mcse <= INCLUSION_ERROR
    return report.max_r_hat <= R_HAT and report.weight_r_hat <= WEIGHT_R_HAT and report.missed == 0.0 and error


def longer(engine: Wishes, report: MCMCDiagnostics) -> float:
    """Return how many times longer the run should be to reach what is wanted; at most 1 if it is reached."""
    if engine.target_mcse is not None:
        need = (report.max_mcse / engine.target_mcse) ** 2
    else:
        draws = float(np.min(report.effective_draws[~np.isnan(report.split_r_hat)], initial=np.inf))
        need = EFFECTIVE_DRAWS / max(draws, 1.0)
    cheap = report.sweeps * report.mcse.size < (CHEAP_WITH_MODES if report.modes > 1 else CHEAP)
    need = max(need, (report.max_inclusion_mcse / (SMALL_INCLUSION_ERROR if cheap else INCLUSION_ERROR)) ** 2)
    if cheap:
        need = max(need, (report.relative_sd_error / SMALL_SD_ERROR) ** 2)
    apart = report.max_r_hat > R_HAT or report.weight_r_hat > WEIGHT_R_HAT or report.missed > 0.0
    return max(need, 2.0) if apart else need


class Clock:
    """Turns a time limit into a number of sweeps, by the rate seen so far."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.begin = time.perf_counter()
        self.sweeps = 10
        self.is_over = False

    def count(self, sweeps: int) -> None:
        """Note sweeps that were made."""
        self.sweeps += sweeps

    def affordable(self, sweeps: int, share: float = 1.0) -> int:
        """Return `sweeps`, or fewer if they would not fit into this share of the time that is left."""
        if self.limit is None:
            return sweeps
        spent = time.perf_counter() - self.begin
        fits = max(0, int(share * (self.limit - spent) * self.sweeps / spent))
        self.is_over = self.is_over or fits < sweeps
        return min(sweeps, fits)
