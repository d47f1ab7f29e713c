"""Parts of the sampler that only compiled code calls, made callable for the tests."""

from __future__ import annotations

from numba import njit

from alldags.kernels.sampler import chain as _chain
from alldags.kernels.sampler import groups as _groups
from alldags.kernels.sampler import moves as _moves


@njit
def start(systems, chain, present, setting):
    _chain.start(systems, chain, present, setting)


@njit
def flip(systems, chain, v):
    _chain.flip(systems, chain, v)


@njit
def refresh(systems, chain):
    _chain.refresh(systems, chain)


@njit
def load_row(chain, v):
    _chain.load_row(chain, v)


@njit
def log_odds_of(systems, chain, v):
    return _chain.log_odds_of(systems, chain, v)


@njit
def swap_once(systems, chain, target, generator):
    _moves.swap_once(systems, chain, target, generator)


@njit
def jump(systems, chain, target, values, now, generator, share):
    _moves.jump(systems, chain, target, values, now, generator, share)


@njit
def log_odds_of_group(systems, chain, first, last):
    return _groups.log_odds_of_group(systems, chain, first, last)


@njit
def flip_group(systems, chain, first, last):
    _groups.flip_group(systems, chain, first, last)


@njit
def swap_groups(systems, chain, target, generator):
    _groups.swap_groups(systems, chain, target, generator)
