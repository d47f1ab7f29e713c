"""Chains over the parent sets of a wide node: hot candidates are swept often, then all others are visited once.

Given the others that are present (its *guests*), the hot candidates are a problem of their own, which `run_chain`
sweeps with all its moves. Then every other candidate is visited given all else, and a few parents are exchanged among
all candidates. Each part leaves the posterior as it is, whatever the division: nothing is screened out, and a
division that was chosen badly costs time and no truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.sampling.run import Seen, State, Tally, _outcome, halved, in_order, joined
from alldags.engines.sampling.wide.candidates import Division, with_room
from alldags.interrupts import checkpoint
from alldags.kernels.sampler.chain import Chain, new_chain
from alldags.kernels.sampler.cold import (
    FLIPS,
    FREE,
    LOG_WEIGHT,
    MEMBERS,
    SWAPS,
    Candidates,
    Front,
    exchange,
    log_absent,
    new_front,
    pop,
    push,
    start,
    visit,
)
from alldags.kernels.sampler.moves import Record, run_chain
from alldags.kernels.sampler.target import Target
from alldags.typing import BoolArray, FloatArray, IntArray

SWEEPS = 8  # of the hot candidates in a block, at least: a multiple of the sweeps between all other moves
EACH = 2000  # candidates, for each of which a block has so many sweeps: then either half takes about as long
MOST_TIMES = 4
STORED = 4  # parent sets of each block that are kept
EXCHANGES, MOST_EXCHANGES = 0.5, 8  # among all candidates in a block, over the number of parents; at most
MOST_NUMBERS = 2**20  # batches times candidates, beyond which neighbouring batches are averaged


@dataclass(frozen=True, eq=False)
class Walk:
    """What C chains do on one division, with jumps among the hot candidates."""

    division: Division
    target: Target

    @property
    def sweeps(self) -> int:
        """Sweeps of the hot candidates in a block."""
        return SWEEPS * min(max(self.division.wide.k // EACH, 1), MOST_TIMES)


def observe_wide(
    walk: Walk, states: tuple[State, ...], batches: int, batch: int, generators: list[np.random.Generator]
) -> tuple[tuple[State, ...], Seen]:
    """Run all chains for ``batches * batch`` blocks; return their states and what was seen, counted in sweeps."""
    seen = _nothing(len(states), batches, walk.division.wide.k, batch * walk.sweeps)
    after, tally = [], Tally()
    for c, (state, generator) in enumerate(zip(states, generators, strict=True)):
        reached, moves = _observe_one(walk, state, seen, c, batch, generator)
        after.append(reached)
        tally += moves
    return tuple(after), replace(seen, tally=tally)


def _nothing(chains: int, batches: int, k: int, sweeps: int) -> Seen:
    """Return room for what chains see in batches of so many sweeps."""
    stored = batches * STORED
    return Seen(
        trace=np.zeros((chains, batches, 4, k)),
        log_weight=np.zeros((chains, batches)),
        noise=np.zeros((chains, batches)),
        sets=np.zeros((chains, stored, k), dtype=bool),
        settings=np.zeros((chains, stored), dtype=np.int64),
        batch=sweeps,
    )


def _observe_one(
    walk: Walk, start: State, seen: Seen, c: int, batch: int, generator: np.random.Generator
) -> tuple[State, Tally]:
    """Run a chain from a state and write what it sees, in batches of `batch` blocks, into row `c` of `seen`."""
    space, state, trace = Space(walk), start, seen.trace[c]
    for block in range(len(trace) * batch):
        checkpoint()
        b = block // batch
        at = slice(b * STORED, (b + 1) * STORED)
        state, record = space.block(state, trace[b], seen.sets[c, at], generator)
        seen.log_weight[c, b] += record.log_weight.mean() / batch
        seen.noise[c, b] += record.noise.mean() / batch
        seen.settings[c, at] = record.settings
    trace /= batch
    return state, space.tally


class Space:
    """The work space of one chain."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._chains: dict[int, Chain] = {}
        self._front = new_front(walk.division.wide.k, 32)
        self._scratch = np.empty(walk.division.wide.k)
        self.tally = Tally()

    def block(
        self, state: State, now: FloatArray, sets: BoolArray, generator: np.random.Generator
    ) -> tuple[State, Record]:
        """Sweep the hot candidates, visit the others and exchange some.

        What was expected is added to `now` (4, k), and `sets` (STORED, k) gets parent sets on the way.
        """
        state, record = self._sweep(state, now, sets, generator)
        return self._scan(state, now, generator), record

    def _sweep(
        self, state: State, now: FloatArray, sets: BoolArray, generator: np.random.Generator
    ) -> tuple[State, Record]:
        division = self._walk.division
        hot, guests = division.places, np.flatnonzero(state.present & ~division.is_hot)
        systems, k = division.with_guests(guests), len(hot) + len(guests)
        chain = self._chains.setdefault(len(guests), new_chain(k))
        _forget(chain)
        present = np.append(state.present[hot], np.ones(len(guests), dtype=bool))
        record, each = _record(k), self._walk.sweeps // STORED
        target, order = with_room(self._walk.target, len(guests)), in_order(systems)
        run_chain(systems, chain, present, state.setting, target, order, None, 0, STORED, each, record, generator)
        now[:, hot] += record.trace[:, :, : len(hot)].mean(axis=0)
        reached, moves = _outcome(chain)
        self.tally += moves
        sets[:] = False
        sets[:, hot], sets[:, guests] = record.sets[:, : len(hot)], True
        return State(sets[-1].copy(), reached.setting, reached.log_weight), record

    def _scan(self, state: State, now: FloatArray, generator: np.random.Generator) -> State:
        division = self._walk.division
        given, k = division.wide.given[state.setting], division.wide.k
        self._start(given, state)
        v = visit(given, self._front, division.is_hot, 0, now, generator)
        while v < k:
            self._flip(given, v)
            v = visit(given, self._front, division.is_hot, v + 1, now, generator)
        for _ in range(min(int(EXCHANGES * self._front.counts[FREE]) + 1, MOST_EXCHANGES)):
            place, chosen = exchange(given, self._front, self._scratch, generator)
            if place >= 0 and chosen != self._front.members[place]:
                self._take_out(given, place)
                self._put_in(given, np.array([chosen]))
        counts = self._front.counts
        self.tally += Tally(flips=int(counts[FLIPS]), swaps=int(counts[SWAPS]))
        return State(self._front.place >= 0, state.setting, float(self._front.numbers[LOG_WEIGHT]))

    def log_absent(self, state: State) -> float:
        """Return the log probability that a scan which takes every candidate out that is not hot draws just that."""
        division, total = self._walk.division, np.zeros(1)
        given, k = division.wide.given[state.setting], division.wide.k
        self._start(given, state)
        v = log_absent(given, self._front, division.is_hot, 0, total)
        while v < k:
            self._flip(given, v)
            v = log_absent(given, self._front, division.is_hot, v + 1, total)
        return float(total[0])

    def _start(self, given: Candidates, state: State) -> None:
        division, front = self._walk.division, self._front
        members = np.flatnonzero(state.present)
        start(given, front)
        front.counts[FLIPS] = front.counts[SWAPS] = 0
        front.numbers[LOG_WEIGHT] = state.log_weight
        self._put_in(
            given, members[np.argsort(~division.is_hot[members], kind="stable")]
        )  # those that may go come last

    def _flip(self, given: Candidates, v: int) -> None:
        place = int(self._front.place[v])
        if place >= 0:
            self._take_out(given, place)
        else:
            self._put_in(given, np.array([v]))

    def _put_in(self, given: Candidates, new: IntArray) -> None:
        while self._front.counts[MEMBERS] + len(new) > len(self._front.rows):
            self._front = _doubled(self._front)
        push(given, self._front, self._walk.division.columns(new), new)

    def _take_out(self, given: Candidates, place: int) -> None:
        later = self._front.members[place + 1 : self._front.counts[MEMBERS]].copy()
        pop(given, self._front, place)
        self._put_in(given, later)


def _record(k: int) -> Record:
    sets, settings = np.zeros((STORED, k), dtype=bool), np.zeros(STORED, dtype=np.int64)
    return Record(np.zeros((STORED, 4, k)), np.zeros(STORED), np.zeros(STORED), sets, settings)


def _forget(chain: Chain) -> None:
    """Set what a chain has counted to nothing: it is no part of the state."""
    chain.often[:] = 0.0
    chain.counts[:] = 0
    chain.numbers[:] = (0.0, 0.0, 0.0, np.inf)


def _doubled(front: Front) -> Front:
    most = 2 * len(front.rows)
    rows, z, members = np.empty((most, front.rows.shape[1])), np.zeros(most), np.zeros(most, dtype=np.int64)
    m = front.counts[MEMBERS]
    rows[:m], z[:m], members[:m] = front.rows[:m], front.z[:m], front.members[:m]
    return front._replace(rows=rows, z=z, members=members)


def extend_wide(
    walk: Walk, states: tuple[State, ...], seen: Seen | None, blocks: int, generators: list[np.random.Generator]
) -> tuple[tuple[State, ...], Seen]:
    """Run about `blocks` more blocks in each chain and add them to what was seen."""
    most = max(MOST_NUMBERS // walk.division.wide.k, 64)
    while seen is not None and seen.trace.shape[1] >= most:
        seen = halved(seen)
    batch = max(1, blocks // most) if seen is None else seen.batch // walk.sweeps
    states, more = observe_wide(walk, states, max(1, blocks // batch), batch, generators)
    return states, joined(seen, more)
