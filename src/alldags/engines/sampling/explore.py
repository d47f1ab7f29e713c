"""Looking for modes: many starts, the greedy ways between where they lead, and the jumps that follow from those.

A *mode* is a parent set heavier than its neighbours (one flip or one exchange away), from which plain moves hardly get
to the others: the ways lead through sets at least `BARRIER` nats lighter. The greedy way from one mode to another,
always to the heaviest set, is cut at the peaks in between. Each piece that crosses a barrier becomes a *jump*: all its
parents are flipped at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from alldags.engines.sampling.run import State, flattened, groups_of, in_order, walk, whole_groups
from alldags.kernels.sampler.chain import Systems, new_chain
from alldags.kernels.sampler.path import greedy_path
from alldags.typing import BoolArray, FloatArray, IntArray

BARRIER = 2.0  # nats; plain moves pass lower ones within a few sweeps
FOOTHOLDS = (4.0, 12.0)  # nats below the lighter end, at most, of a peak at which a way is cut
FAR = 14.0  # nats between the ends of a jump; a lighter mode has no weight
SETTLE = 6  # sweeps at the posterior before the search for the nearest best set
SEARCH = 1000.0  # power of the weights that makes sweeps a search
NEIGHBOURS = 3  # modes a new one is compared with
MOST_JUMPS = 64
MOST_MODES = 64
PASSES = 8  # from end to end, by which plain moves show that a jump is not needed
MOST_START = 200  # parents in a start, at most: flips from larger sets take minutes
PEAKS = 4  # sets of a stepwise selection to search from
PATIENCE = 40  # steps without a heavier set that end a greedy way through all candidates


@dataclass(frozen=True, eq=False)
class Found:
    """Modes, heaviest first, and the jumps between them.

    Parameters
    ----------
    modes
        States from which plain moves do not lead to each other.
    jumps, pattern
        Parents flipped together, and how they look at one end, shape (J, k).
    starts
        Searches made.
    quiet
        Searches since one found a jump that was not known.
    """

    modes: tuple[State, ...]
    jumps: BoolArray
    pattern: BoolArray
    starts: int = 0
    quiet: int = 0


def nothing_found(k: int) -> Found:
    """Return what is known before the first search."""
    return Found((), np.zeros((0, k), dtype=bool), np.zeros((0, k), dtype=bool))


def explore(systems: Systems, swaps: int, starts: int, most: int, rng: np.random.Generator) -> Found:
    """Search from `starts` places; where modes were found go on until so many searches in a row found nothing new."""
    found = nothing_found(systems.certain.size)
    for state in starting_points(systems, swaps, starts, rng):
        found = with_mode(systems, swaps, found, settle(systems, swaps, state, rng))
    return explore_further(systems, swaps, found, starts, most, rng) if len(found.modes) > 1 else found


def explore_further(
    systems: Systems, swaps: int, found: Found, quiet: int, most: int, rng: np.random.Generator
) -> Found:
    """Search from heated modes and full sets until `quiet` searches in a row found nothing new, or `most` were made."""
    while found.quiet < quiet and found.starts < most:
        if rng.random() < 0.3:
            state = State(crowd(systems, 1.0, rng), int(rng.integers(systems.constant.size)))
        else:
            state = heated(systems, swaps, found.modes[int(rng.integers(len(found.modes)))], rng)
        found = with_mode(systems, swaps, found, settle(systems, swaps, state, rng))
    return found


# -- where to search from ---------------------------------------------------------------------------------------------


def starting_points(systems: Systems, swaps: int, count: int, rng: np.random.Generator) -> Iterator[State]:
    """Yield starts: peaks of forward and backward selection, then full, empty, random and heated sets in turn."""
    settings = systems.constant.size
    setting = int(rng.integers(settings))
    for share in (0.0, 1.0):
        yield from peaks_on_the_way(systems, State(crowd(systems, share, rng), setting))
    for number in range(count):
        share = (1.0, 0.5, rng.random(), 0.0)[number % 4]
        state = State(crowd(systems, share, rng), int(rng.integers(settings)))
        if number % 4 == 1:
            state = heated(systems, swaps, state, rng)
        if allowed(systems, state):
            yield state


def crowd(systems: Systems, share: float, rng: np.random.Generator) -> BoolArray:
    """Return a random set with about this share of all candidates, shape (k,), but not more than `MOST_START`."""
    k = systems.certain.size
    return whole_groups(systems, np.asarray(rng.random(k) < min(share, MOST_START / max(k, 1))))


def allowed(systems: Systems, state: State) -> bool:
    """Return whether the size prior allows a set of this size."""
    return bool(np.isfinite(systems.log_size[int((state.present & (systems.leads > 0)).sum())]))


def heated(systems: Systems, swaps: int, state: State, rng: np.random.Generator) -> State:
    """Return the state after some sweeps over flattened weights, cooled down again."""
    order, beta = rng.permutation(in_order(systems)), 0.05 * 8.0 ** rng.random()
    while beta < 1.0:
        state = walk(systems, state, flattened(systems, swaps, beta), 3, rng, order)
        beta *= 1.6
    return state


def settle(systems: Systems, swaps: int, state: State, rng: np.random.Generator) -> State:
    """Return the heaviest set near to a state or, as often, to where a few sweeps in random order lead."""
    order = rng.permutation(in_order(systems))
    if rng.random() < 0.5:
        state = walk(systems, state, flattened(systems, swaps, 1.0), SETTLE, rng, order)
    while True:
        better = walk(systems, state, flattened(systems, max(swaps, 1), SEARCH), 4, rng, order)
        if better.log_weight <= state.log_weight + 1e-6:
            return better
        state = better


def peaks_on_the_way(systems: Systems, state: State) -> list[State]:
    """Return peaks that stepwise selection meets, forward from an empty set or backward from a full one."""
    if not allowed(systems, state):
        return []
    path, weights = greedy_way(systems, state, ~systems.certain)
    high = [i for i in peaks(weights, np.inf) if weights[i] > weights.max() - FAR]
    heaviest = sorted(high, key=lambda i: -weights[i])[:PEAKS]
    return [State((state.present | systems.certain) ^ flips_of(systems, path[:i]), state.setting) for i in heaviest]


def flips_of(systems: Systems, path: IntArray) -> BoolArray:
    """Return the columns, shape (k,), of groups that are named by their first ones."""
    out = np.zeros(systems.certain.size, dtype=bool)
    out[path] = True
    return whole_groups(systems, out)


# -- ways between modes -----------------------------------------------------------------------------------------------


def greedy_way(
    systems: Systems, state: State, candidates: BoolArray, patience: int = PATIENCE
) -> tuple[IntArray, FloatArray]:
    """Return the order in which the candidates are flipped, shape (m,), and the log weights on the way, (m + 1,).

    A group is named by its first column.
    """
    k = systems.certain.size
    path, weights = np.zeros(k, dtype=np.int64), np.zeros(k + 1)
    chain, left, groups = new_chain(k), candidates.copy(), groups_of(systems)
    steps = greedy_path(systems, chain, state.present, state.setting, left, groups, patience, path, weights)
    return path[:steps], weights[: steps + 1]


def peaks(weights: FloatArray, foothold: float) -> list[int]:
    """Return where a way is cut: its ends, and the peaks between them that are not far below both."""
    low = min(weights[0], weights[-1]) - foothold
    inside = range(1, len(weights) - 1)
    high = [i for i in inside if weights[i] >= max(weights[i - 1], weights[i + 1]) and weights[i] > low]
    return [0, *high, len(weights) - 1]


def barriers(systems: Systems, swaps: int, one: State, other: State) -> list[IntArray]:
    """Return the sets of groups that must be flipped together on the greedy way from one mode to another."""
    path, weights = greedy_way(systems, one, one.present ^ other.present, systems.certain.size + 1)
    out: list[IntArray] = []
    for foothold in FOOTHOLDS:
        cuts = peaks(weights, foothold)
        for i, j in pairwise(cuts):
            height = min(weights[i], weights[j]) - weights[i : j + 1].min()
            piece = path[i:j]
            exchange = len(piece) == 2 and swaps > 0 and one.present[piece].sum() == 1
            if height > BARRIER and abs(weights[i] - weights[j]) < FAR and len(piece) > 1 and not exchange:
                out.append(piece)
    return out


def with_mode(systems: Systems, swaps: int, found: Found, state: State) -> Found:
    """Return what is known after a search that ended here."""
    if any(np.array_equal(mode.present, state.present) for mode in found.modes):
        return _counted(found, found.modes, found)
    distance = [int((mode.present ^ state.present).sum()) for mode in found.modes]
    nearest = [found.modes[i] for i in np.argsort(distance, kind="stable")[:NEIGHBOURS]]
    jumps = found
    same = None
    for mode in nearest:
        pieces = [*barriers(systems, swaps, mode, state), *barriers(systems, swaps, state, mode)]
        if not pieces:
            same = mode
            break
        for piece in sorted(pieces, key=len):
            jumps = with_jump(jumps, flips_of(systems, piece), state.present)
    if same is None:
        modes: tuple[State, ...] = (*found.modes, state)
    else:
        modes = tuple(state if m is same and state.log_weight > m.log_weight else m for m in found.modes)
    modes = tuple(sorted(modes, key=lambda mode: -mode.log_weight))[:MOST_MODES]
    return _counted(found, modes, jumps if same is None else found)


def _counted(found: Found, modes: tuple[State, ...], jumps: Found) -> Found:
    quiet = found.quiet + 1 if len(jumps.jumps) == len(found.jumps) else 0
    return Found(modes, jumps.jumps, jumps.pattern, found.starts + 1, quiet)


def with_jump(found: Found, flips: BoolArray, present: BoolArray) -> Found:
    """Return the jumps with one more, (k,), unless it is made up of known ones that do not overlap."""
    rest = flips.copy()
    for part in found.jumps:
        if not (part & ~rest).any():
            rest &= ~part
    known = bool((found.jumps == flips).all(axis=1).any())
    if known or not rest.any() or len(found.jumps) >= MOST_JUMPS:
        return found
    jumps, pattern = np.vstack([found.jumps, flips]), np.vstack([found.pattern, present])
    return Found(found.modes, jumps, pattern, found.starts, found.quiet)


def with_needed_jumps(found: Found, sets: BoolArray, leads: IntArray) -> Found:
    """Drop jumps that chains without any, whose sets have shape (chains, sets, k), do not need or could not make.

    They do not need one if they go from end to end again and again; they could not make it if no chain is at either
    end, up to one parent, most of the time: then its parents are undecided rather than in one of two modes.
    """
    pairs = [(flips & (leads > 0), pattern) for flips, pattern in zip(found.jumps, found.pattern, strict=True)]
    needed = [_is_needed(sets[:, :, flips], pattern[flips]) for flips, pattern in pairs]
    return replace(found, jumps=found.jumps[needed], pattern=found.pattern[needed])


def _is_needed(sets: BoolArray, pattern: BoolArray) -> bool:
    unlike = (sets != pattern).sum(axis=2)
    near = (unlike <= 1) | (unlike >= pattern.size - 1)
    ends = np.where(unlike == 0, 1, np.where(unlike == pattern.size, -1, 0))
    passes = sum(int((np.diff(chain[chain != 0]) != 0).sum()) for chain in ends)
    return bool(near.mean(axis=1).max() > 0.5 and passes < PASSES)
