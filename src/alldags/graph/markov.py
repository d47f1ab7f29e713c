"""Markov classes: graphs that no number of observational rows can tell apart.

Two DAGs entail the same independences iff they have the same pairs of neighbours and the same *unshielded colliders*
``a -> j <- b`` with a and b not joined (Verma and Pearl 1990). An edge ``i -> j`` is *covered* if j has the parents of
i, and i, and no others; turning it around stays in the class, and all members can be reached in this way (Chickering
1995).

A graph is a matrix with a row for each cause and a column for each effect. The first b rows are the b columns'
variables; further rows are causes whose own parents do not matter here: variables known to come before. Their edges
keep their direction, and members differ inside the first b rows only.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from alldags.typing import BoolArray

Parents: TypeAlias = tuple[int, ...]
"""The parents of each variable, as bits of a whole number: bit i is row i."""

ClassKey: TypeAlias = tuple[Parents, frozenset[tuple[int, int, int]]]
"""Neighbours of each variable, and unshielded colliders (a, b, j), a < b."""


def parents_of(present: BoolArray) -> Parents:
    """Return the parents of each column of a matrix of edges, shape (rows, b)."""
    return tuple(sum(1 << int(i) for i in np.flatnonzero(column)) for column in present.T)


def edges_of(parents: Parents, rows: int) -> BoolArray:
    """Return the matrix of edges, shape (rows, b)."""
    return np.array([[bool(word >> i & 1) for word in parents] for i in range(rows)]).reshape(rows, len(parents))


def class_key(parents: Parents) -> ClassKey:
    """Return what all members of a graph's Markov class have in common, and no other graph has.

    Examples
    --------
    >>> chain, fork, collider = (0, 1, 2), (2, 0, 2), (0, 5, 0)  # 0 -> 1 -> 2, 0 <- 1 -> 2, 0 -> 1 <- 2
    >>> class_key(chain) == class_key(fork), class_key(chain) == class_key(collider)
    (True, False)
    """
    b = len(parents)
    joined = list(parents)
    for j, word in enumerate(parents):
        for i in _bits(word):
            if i < b:
                joined[i] |= 1 << j
    colliders = {
        (i, k, j)
        for j, word in enumerate(parents)
        for i in _bits(word)
        for k in _bits(word >> (i + 1), i + 1)
        if i < b and not joined[i] >> k & 1
    }
    return tuple(joined), frozenset(colliders)


def covered_edges(parents: Parents) -> tuple[tuple[int, int], ...]:
    """Return the edges (i, j) that can be turned around without leaving the class."""
    b = len(parents)
    return tuple((i, j) for j, word in enumerate(parents) for i in _bits(word) if i < b and word == parents[i] | 1 << i)


def turned(parents: Parents, i: int, j: int) -> Parents:
    """Return the graph with ``j -> i`` in place of ``i -> j``."""
    out = list(parents)
    out[j] &= ~(1 << i)
    out[i] |= 1 << j
    return tuple(out)


def class_members(parents: Parents, limit: int | None = None) -> tuple[Parents, ...] | None:
    """Return all members of a graph's Markov class, itself first; None if there are more than `limit`.

    Examples
    --------
    >>> len(class_members((0, 1, 2)))  # 0 -> 1 -> 2
    3
    """
    found = {parents: None}
    waiting = [parents]
    while waiting:
        now = waiting.pop()
        for i, j in covered_edges(now):
            other = turned(now, i, j)
            if other not in found:
                found[other] = None
                waiting.append(other)
        if limit is not None and len(found) > limit:
            return None
    return tuple(found)


def open_edges(parents: Parents) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j), i < j, whose edge has different directions in different members (Meek 1995).

    Directions are first taken from the unshielded colliders, and then passed on as long as the other one would make a
    new collider or a cycle; what is left is open.
    """
    b = len(parents)
    joined, colliders = class_key(parents)
    known = [word >> b << b for word in parents]  # causes from outside come before
    for i, k, j in colliders:
        known[j] |= 1 << i | 1 << k
    while _pass_on(known, joined, b):
        pass
    return tuple((i, j) for j in range(b) for i in _bits(joined[j] & ((1 << j) - 1)) if not _is_known(known, i, j))


def _is_known(known: list[int], i: int, j: int) -> bool:
    return bool(known[j] >> i & 1) or (i < len(known) and bool(known[i] >> j & 1))


def _pass_on(known: list[int], joined: Parents, b: int) -> bool:
    """Direct the first edge that one of the rules directs; return whether there was one."""
    for j in range(b):
        for i in _bits(joined[j] & ((1 << b) - 1)):
            if not _is_known(known, i, j) and _must_point(known, joined, i, j):
                known[j] |= 1 << i
                return True
    return False


def _must_point(known: list[int], joined: Parents, i: int, j: int) -> bool:
    """Return whether ``i -> j`` follows: ``j -> i`` would make a collider, or a cycle, or one of them either way."""
    if known[i] & ~joined[j] & ~(1 << j):  # c -> i, c and j not joined
        return True
    if any(known[k] >> i & 1 for k in _bits(known[j]) if k < len(known)):  # i -> k -> j
        return True
    sides = [
        k for k in _bits(known[j]) if k < len(known) and joined[i] >> k & 1 and not _is_known(known, i, k)
    ]  # i - k -> j
    return any(not joined[k] >> other & 1 for at, k in enumerate(sides) for other in sides[at + 1 :])


def _bits(word: int, offset: int = 0) -> list[int]:
    """Return the places of the bits that are set."""
    out = []
    while word:
        low = word & -word
        out.append(low.bit_length() - 1 + offset)
        word ^= low
    return out
