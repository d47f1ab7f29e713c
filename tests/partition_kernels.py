"""Parts of the walk over partitions that only compiled code calls, made callable for the tests."""

from __future__ import annotations

from numba import njit

from alldags.kernels.blocks import partition as _partition


@njit
def take_out(target, walker, v):
    _partition.take_out(target, walker, v)


@njit
def weigh_places(target, walker, v, space):
    return _partition.weigh_places(target, walker, v, space)


@njit
def relocate(target, walker, v, power, space, uniform):
    _partition.relocate(target, walker, v, power, space, uniform)
