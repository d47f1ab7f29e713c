"""Moments of rows that do not exist yet: no row is drawn.

Rows are linear in independent normal numbers, whose cross-products are those of a Wishart matrix. Where a variable is
set, half of the rows at each of two values, its own cross-product is known, and those of all noise with it are normal:
the first column of Bartlett's factor, with that one number in its corner.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import gammaincinv

from alldags.futures.equations import Equations, factor_of
from alldags.nodes.data import ChildData, WorkingData
from alldags.typing import FloatArray


@dataclass(frozen=True)
class Design:
    """Rows to come.

    Parameters
    ----------
    rows
        How many.
    variable
        The variable that is set in them; None: rows of the same kind as those at hand.
    middle, half
        The two values that it is set to, in half of the rows each, in working units: their middle, measured from the
        mean of the rows at hand, and half of their distance.
    """

    rows: int
    variable: str | None = None
    middle: float = 0.0
    half: float = 1.0


@dataclass(frozen=True, eq=False)
class Chance:
    """The chance in some futures, the same whatever is done: shapes (futures, p, p), (futures, p) twice.

    The first of the p numbers belongs to what is set.
    """

    below: FloatArray
    diagonal: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, futures: int, numbers: int, rng: np.random.Generator) -> Chance:
        """Draw it."""
        shape = futures, numbers
        return cls(rng.standard_normal((*shape, numbers)), rng.random(shape), rng.standard_normal(shape))


def future_moments(data: WorkingData, equations: Equations, design: Design, chance: Chance, future: int) -> ChildData:
    """Return the moments of the rows of one future, in working units."""
    pooled = data.pooled
    whole = _whole(data, equations, design, future)
    taken = round(pooled.rows - pooled.n)
    square = _bartlett(chance, future, design.rows - taken, len(whole))
    square[0, 0] = design.half * np.sqrt(design.rows)
    root = square.T @ whole
    mean = (
        pooled.mean + _mean_numbers(chance, future, design, equations.rows, len(whole)) @ whole
        if taken
        else pooled.mean
    )
    return ChildData(pooled.names, root.T @ root, mean, design.rows - taken, design.rows)


def _whole(data: WorkingData, equations: Equations, design: Design, future: int) -> FloatArray:
    """Return what follows from each independent number in one future, shape (p, m): what is set, given, noise."""
    pooled, first = data.pooled, np.zeros((1, equations.noise.shape[1]))
    if design.variable is not None:
        places = np.array([pooled.index[name] for name in data.columns([design.variable])])
        levels = factor_of(pooled.scatter / pooled.n, places.tolist()) if design.variable in data.categories else None
        first[0, places] = 0.0 if levels is not None else 1.0
        equations = equations.cut(places, np.zeros((0, first.shape[1])) if levels is None else levels)
    entering = np.vstack([first, equations.given, np.diag(equations.noise[future])])
    return equations.solved(future, entering)


def _mean_numbers(chance: Chance, future: int, design: Design, rows: float, p: int) -> FloatArray:
    """Return the mean of each independent number, shape (p,): where the set one is, and chance in both tables."""
    numbers = chance.mean[future, :p] * np.sqrt(1.0 / rows + 1.0 / design.rows)
    numbers[0] = design.middle
    return np.asarray(numbers)


def _bartlett(chance: Chance, future: int, degrees: int, p: int) -> FloatArray:
    """Return a factor of the cross-products of p independent normal numbers, shape (p, at most `degrees`)."""
    found = np.tril(chance.below[future, :p, :p], -1)
    kept = min(max(degrees, 0), p)
    place = np.arange(kept)
    found[place, place] = np.sqrt(2.0 * gammaincinv(0.5 * (degrees - place), chance.diagonal[future, :kept]))
    return found[:, :kept] if kept else np.zeros((p, 1))


# -- rows at hand and to come ------------------------------------------------------------------------------------------


def with_future(data: WorkingData, future: ChildData, variable: str | None) -> WorkingData:
    """Return the data with the rows of a future; those in which a variable was set say nothing of what acts on it."""
    own = {name: added(old, future) if old is not None and name != variable else old for name, old in data.own.items()}
    pooled = added(data.pooled, future)
    if variable is None:
        unset = None if data.unset is None else partial(_unset, data, future, frozenset())
        return replace(data, pooled=pooled, own=own, unset=unset)
    own.setdefault(variable, data.own.get(variable, data.pooled))
    unset = partial(_unset, data, future, frozenset({variable}))
    return replace(data, pooled=pooled, own=own, unset=unset, was_set=data.was_set | {variable})


def _unset(data: WorkingData, future: ChildData, was_set: frozenset[str], names: Collection[str]) -> ChildData | None:
    """Return the moments of the rows in which none of some variables was set."""
    found = data.undisturbed(names)
    if was_set & set(names):
        return found
    return future if found is None else added(found, future)


def added(one: ChildData, other: ChildData) -> ChildData:
    """Return the moments of the rows of both."""
    rows, taken = one.rows + other.rows, one.rows - one.n
    if taken == 0:
        return replace(one, scatter=one.scatter + other.scatter, n=rows, rows=rows)
    gap = other.mean - one.mean
    scatter = one.scatter + other.scatter + one.rows * other.rows / rows * np.outer(gap, gap)
    return replace(one, scatter=scatter, mean=one.mean + other.rows / rows * gap, n=rows - taken, rows=rows)
