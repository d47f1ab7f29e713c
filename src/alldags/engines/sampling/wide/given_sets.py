"""What stored parent sets say: each is small, and so is its own regression."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.conjugate.noise import mean_variance
from alldags.engines.sampling.wide.candidates import Wide
from alldags.nodes import NodeProblem
from alldags.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SetMoments:
    """Moments of the coefficients over parent sets.

    Parameters
    ----------
    columns
        The candidates that are in any of the sets, or certain, ascending, shape (c,).
    mean
        Shape (c,).
    second, between
        Second moments of coefficients and of their conditional means, shape (c, c).
    """

    columns: IntArray
    mean: FloatArray
    second: FloatArray
    between: FloatArray

    def at(self, places: IntArray, of: FloatArray) -> FloatArray:
        """Return rows and columns of `second` or `between` for m of all candidates, shape (m, m)."""
        at = np.searchsorted(self.columns, places)
        met = self.columns[np.minimum(at, len(self.columns) - 1)] == places if len(self.columns) else at < 0
        out, inside = np.zeros((len(places), len(places))), np.flatnonzero(met)
        out[np.ix_(inside, inside)] = of[np.ix_(at[inside], at[inside])]
        return out

    def spread(self, k: int) -> FloatArray:
        """Return the mean of all candidates, shape (k,)."""
        out = np.zeros(k)
        out[self.columns] = self.mean
        return out


def set_moments(wide: Wide, sets: BoolArray, settings: IntArray, weights: FloatArray) -> SetMoments:
    """Return the moments over parent sets, (D, k), each under its setting, (D,), with these weights, (D,)."""
    columns = met(wide, sets)
    gram, size = wide.products.block(columns), len(columns)
    found = SetMoments(columns, np.zeros(size), np.zeros((size, size)), np.zeros((size, size)))
    for members, setting, weight in _different(sets[:, columns], settings, weights):
        mean, covariance = _given_set(wide, gram, columns, members, setting)
        block = np.ix_(members, members)
        found.mean[members] += weight * mean
        found.between[block] += weight * np.outer(mean, mean)
        found.second[block] += weight * (np.outer(mean, mean) + covariance)
    return found


def met(wide: Wide, sets: BoolArray) -> IntArray:
    """Return the candidates that are in any of the sets, or certain."""
    return np.flatnonzero(sets.any(axis=0) | wide.problem.certain)


def _different(sets: BoolArray, settings: IntArray, weights: FloatArray) -> Iterator[tuple[IntArray, int, float]]:
    """Yield each set and setting that has weight once, with all of its weight."""
    packed = np.column_stack([np.packbits(sets, axis=1), settings.astype(np.uint16).view(np.uint8).reshape(-1, 2)])
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(which.reshape(-1), weights)
    for d, weight in zip(first, total, strict=True):
        if weight > 0.0:
            yield np.flatnonzero(sets[d]), int(settings[d]), float(weight)


def _given_set(
    wide: Wide, gram: FloatArray, columns: IntArray, members: IntArray, setting: int
) -> tuple[FloatArray, FloatArray]:
    """Return mean (m,) and covariance (m, m) of the members' coefficients under one set and setting."""
    terms, places = wide.terms[setting], columns[members]
    a = terms.factor * gram[np.ix_(members, members)]
    a[np.diag_indices(len(members))] = terms.scale[places]
    inverse = np.linalg.inv(a)
    shift = terms.shift[places]
    mean = inverse @ shift
    size = int((~wide.problem.certain[places]).sum())
    variance = mean_variance(terms.noise, float(shift @ mean), size)
    return mean, np.asarray(variance * inverse if math.isfinite(variance) else np.full_like(inverse, np.inf))


def narrowed(wide: Wide, columns: IntArray) -> NodeProblem:
    """Return the problem of some candidates, all certain ones among them, for what is asked given parent sets."""
    problem = wide.problem
    return replace(
        problem,
        terms=tuple(problem.terms[place] for place in columns),
        gram=wide.products.block(columns),
        cross=problem.cross[columns],
        probability=problem.probability[columns],
        log_size=None,
        origin=None,
        linked=None,
        groups=None,
        further=None,
    )
