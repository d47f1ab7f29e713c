"""Parents that are copies of each other: all of one kind go in or out at once."""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import tight
from alldags.kernels.sampler.chain import Chain, Systems, start
from alldags.kernels.sampler.flip import JUMPS, SETTING
from alldags.kernels.sampler.sets import set_log_weight
from alldags.kernels.sampler.target import Target
from alldags.typing import BoolArray


@tight
def _proposed(systems: Systems, chain: Chain, g: int, fill: bool, generator: np.random.Generator) -> None:
    """Put the current set into `wanted`, with none of the copies g or, if `fill`, with some of them at random."""
    filled = False
    while not filled:
        for v in range(chain.wanted.shape[0]):
            chain.wanted[v] = chain.present[v]
            if systems.copies[v] == g:
                chain.wanted[v] = fill and generator.random() < systems.chance[v]
                filled = filled or chain.wanted[v]
        filled = filled or not fill


@tight
def _log_proposal(systems: Systems, target: Target, present: BoolArray, g: int) -> float:
    """Return minus the log probability of filling in copies as in `present`, plus what the reference says."""
    value, none = 0.0, 0.0
    for v in range(present.shape[0]):
        if systems.copies[v] == g:
            absent = math.log(1.0 - systems.chance[v])
            none += absent
            value -= math.log(systems.chance[v]) if present[v] else absent
            if present[v]:
                value += (1.0 - target.beta) * target.reference[v]
    return value + math.log(1.0 - math.exp(none))


@tight
def toggle_copies(systems: Systems, chain: Chain, target: Target, kinds: int, generator: np.random.Generator) -> None:
    """Propose to take out all copies of each kind, or to put some in if there are none.

    Of c copies without a signal about half are present, or none: 2^c sets outweigh the empty one by as much as each is
    lighter, and single flips hardly ever take the last one out.
    """
    if kinds == 0:
        return
    setting = chain.counts[SETTING]
    here = set_log_weight(systems, chain.present, setting, chain.factor, chain.before)
    for g in range(kinds):
        inside = 0
        for v in range(chain.present.shape[0]):
            if systems.copies[v] == g and chain.present[v]:
                inside += 1
        empty = inside == 0
        _proposed(systems, chain, g, empty, generator)
        there = set_log_weight(systems, chain.wanted, setting, chain.factor, chain.before)
        change = target.beta * (there - here)
        if empty:
            change += _log_proposal(systems, target, chain.wanted, g)
        else:
            change -= _log_proposal(systems, target, chain.present, g)
        if math.log(1.0 - generator.random()) < change:
            here = there
            chain.counts[JUMPS] += 1
            start(systems, chain, chain.wanted, setting)
