"""`Partition`: sample the order of a block that is too large to sum over, and average exactly given what was sampled.

States are ordered partitions (`alldags.kernels.blocks.partition`); one variable at a time is put into a new place.
Given a partition nodes are independent, so that coefficients, effects and their second moments are not sampled.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from alldags import checks
from alldags.engines.sampling.diagnostics import mean_errors
from alldags.errors import EngineError
from alldags.orders import agreement as agreeing
from alldags.orders.agreement import PartitionDiagnostics
from alldags.orders.candidates import Excluded, choose, grow, look_at_excluded
from alldags.orders.chains import BlockTables, Chains, extend, restart, start
from alldags.orders.problem import BlockProblem
from alldags.orders.sampled import PartitionBlock, effect_sums
from alldags.typing import FloatArray

LARGEST = 62  # variables of a block: a set is one machine word
LARGEST_TABLE = 22  # log2 of the parent sets of one node, earlier candidates included
_TABLE_NUMBERS = 2.5e7  # second moments kept for all sets, at most
_GROWTH = 3  # rounds in which mates left out may come in
_LEAST_EXCLUDED = 0.02  # probability from which a mate that was left out comes in
_FEWEST = 40  # sweeps that are run, however short the time
_GRAPHS = 400  # drawn to look for mates left out


@dataclass(frozen=True, slots=True)
class Partition:
    """Sample the order of a block's variables in several chains, until they agree.

    Every chain has walkers at several powers of the posterior, which exchange their places: the flat ones cross what
    keeps the first from moving. All start from different random graphs. The run is extended until split R-hat is below
    1.05 for every effect inside the block and for the weight of the partitions, and the Monte-Carlo error of every
    effect is below `target_mcse`, or until `max_sweeps` is reached.

    Parameters
    ----------
    sweeps
        Sweeps of each chain before convergence is first judged; a sweep moves every variable once.
    chains
        Chains, at least 4.
    target_mcse
        Largest Monte-Carlo standard error wanted for any mean effect inside the block, in working units.
    max_sweeps
        Most sweeps of each chain.
    max_seconds
        Most wall time. A run that it ends is not reproducible, and its diagnostics say so.
    places
        Most mates of a variable that get a place in its table, 2 to 14; None: 12, or fewer in large blocks.

    Examples
    --------
    >>> from alldags.orders.partition import Partition
    >>> Partition(max_sweeps=2000).name
    'partition'
    """

    sweeps: int = 500
    chains: int = 4
    target_mcse: float = 0.009
    max_sweeps: int = 8000
    max_seconds: float | None = None
    places: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("sweeps", 20), ("chains", 4), ("max_sweeps", 20)):
            checks.whole(f"Partition {name}", getattr(self, name), least, error=EngineError)
        checks.positive("Partition target_mcse", self.target_mcse, EngineError)
        if self.max_seconds is not None:
            checks.positive("Partition max_seconds", self.max_seconds, EngineError)
        if self.places is not None:
            checks.whole("Partition places", self.places, 2, 14, EngineError)

    @property
    def name(self) -> str:
        return "partition"

    def refuses(self, problem: BlockProblem) -> str | None:
        """Return why a block is too large, None if it is not."""
        if len(problem) > LARGEST:
            return (
                f"{len(problem)} variables whose order is open ({', '.join(problem.variables[:4])}, ...) form one "
                f"block: at most {LARGEST} can be sampled; say more about the order, tiers make blocks smaller"
            )
        crowded = max(range(len(problem)), key=lambda j: _uncertain_earlier(problem, j))
        count = _uncertain_earlier(problem, crowded)
        if count > LARGEST_TABLE - 4:
            return (
                f"{problem.variables[crowded]!r}, whose place in the order of its block is open, has {count} earlier "
                f"candidate causes: at most {LARGEST_TABLE - 4} can be summed over for every set of others; leave out "
                "earlier causes that you can rule out"
            )
        return None

    def __call__(self, problem: BlockProblem, rng: np.random.Generator) -> PartitionBlock:
        """Return the sampled posterior of a block."""
        reason = self.refuses(problem)
        if reason is not None:
            raise EngineError(reason)
        generators = rng.spawn(self.chains + 1)
        clock = Clock(self.max_seconds)
        tables, chains, excluded = settle_candidates(self, problem, clock, generators)
        chains, found = run(self, tables, chains, excluded, clock, generators[:-1])
        return PartitionBlock(tables, chains, found)


def _uncertain_earlier(problem: BlockProblem, variable: int) -> int:
    return int((~problem.nodes[variable].certain & ~problem.mates(variable)).sum())


def places_of(problem: BlockProblem, wanted: int | None) -> int:
    """Return how many mates a variable may keep: as many as wanted, or as tables have room for."""
    b, earlier = len(problem), max(_uncertain_earlier(problem, j) for j in range(len(problem)))
    places = 12 if wanted is None else wanted
    while places > 2 and (
        places + earlier > LARGEST_TABLE
        or (wanted is None and b * 2.0**places * (places + earlier + 1) ** 2 > _TABLE_NUMBERS)
    ):
        places -= 1
    return places


class Clock:
    """Turns a time limit into a number of sweeps, by the rate seen so far."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.begin = time.perf_counter()
        self.is_over = False

    def affordable(self, sweeps: int, chains: Chains) -> int:
        """Return `sweeps`, or fewer if they would not fit into the time that is left."""
        if self.limit is None:
            return sweeps
        spent = time.perf_counter() - self.begin
        fits = int((self.limit - spent) * max(chains.sweeps, 10) / spent)
        self.is_over = self.is_over or fits < sweeps
        return min(sweeps, max(fits, _FEWEST if chains.sweeps == 0 else 0))


def settle_candidates(
    wishes: Partition, problem: BlockProblem, clock: Clock, generators: list[np.random.Generator]
) -> tuple[BlockTables, Chains, Excluded | None]:
    """Return tables with the mates that matter, chains that have warmed up on them, and what is left out, if any."""
    tables = BlockTables(problem, choose(problem, places_of(problem, wishes.places)))
    chains = start(tables, generators[:-1])
    if not tables.candidates.excluded.any():
        return tables, chains, None
    for last in range(_GROWTH - 1, -1, -1):
        chains = extend(tables, chains, clock.affordable(wishes.sweeps // 2, chains), generators[:-1])
        block = PartitionBlock(tables, chains, PartitionDiagnostics("partition"))
        excluded = look_at_excluded(problem, tables.candidates, block.draw_graphs(_GRAPHS, generators[-1]))
        inclusion = _certain_first(problem, block.inclusion)
        grown = grow(tables.candidates, inclusion, excluded.probability, _LEAST_EXCLUDED)
        if last == 0 or clock.is_over or (grown.kept == tables.candidates.kept).all():
            break
        tables, chains = BlockTables(problem, grown), restart(chains.states)
    return tables, restart(chains.states), excluded


def _certain_first(problem: BlockProblem, inclusion: FloatArray) -> FloatArray:
    """Return inclusion inside the block, shape (b, b), with certain edges above all others."""
    out = inclusion[: len(problem)].copy()
    for j, node in enumerate(problem.nodes):
        fixed = node.certain & problem.mates(j)
        out[problem.rows(j)[fixed], j] = np.inf
    return out


def run(
    wishes: Partition,
    tables: BlockTables,
    chains: Chains,
    excluded: Excluded | None,
    clock: Clock,
    generators: list[np.random.Generator],
) -> tuple[Chains, PartitionDiagnostics]:
    """Run chains until they agree, or have run as long as they may."""
    more = wishes.sweeps
    while True:
        chains = extend(tables, chains, clock.affordable(more, chains), generators)
        found = judge(tables, chains, excluded)
        wanted = agreeing.wanted_longer(found, wishes.target_mcse)
        factor = min(max(1.1 * wanted - 1.0, 0.25), 1.0)  # at most twice as long: estimates of what is needed vary
        more = min(math.ceil(factor * chains.sweeps), wishes.max_sweeps - chains.sweeps)
        if wanted <= 1.0 or more <= 0:
            break
        if clock.affordable(more, chains) < min(more, _FEWEST):
            break
    found = replace(found, reproducible=not clock.is_over)
    warnings = agreeing.convergence_warnings(tables.problem.causes, tables.problem.variables, found, wishes.max_sweeps)
    return chains, replace(found, warnings=warnings)


def judge(tables: BlockTables, chains: Chains, excluded: Excluded | None = None) -> PartitionDiagnostics:
    """Return what the chains' partitions say about themselves."""
    layers, log_weight = chains.settled
    sums = effect_sums(tables, layers)
    flat = sums.reshape(*sums.shape[:3], -1)
    parts = [part.reshape(sums.shape[3:]) for part in agreeing.agreements(flat, layers.shape[1])]
    names, walkers = tables.problem.variables, chains.states.shape[1]
    found = PartitionDiagnostics(
        "partition",
        remark=agreeing.standing_remark(names, len(layers), walkers),
        sweeps=chains.sweeps,
        chains=len(layers),
        walkers=walkers,
        swap_rate=chains.swap_rate,
        split_r_hat=parts[0],
        mcse=parts[1],
        steady_mcse=float(mean_errors(flat[:, :, 0] / agreeing.batch_length(layers.shape[1])).max()),
        effective_draws=parts[2],
        weight_r_hat=agreeing.weight_r_hat(log_weight),
        left_out=0.0 if excluded is None else float(np.abs(excluded.mean).max()),
        edges_left_out=0.0 if excluded is None else float(excluded.probability.sum()),
    )
    return replace(found, converged=agreeing.is_agreed(found))
