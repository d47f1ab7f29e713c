"""`Cells`: rows by the levels of one or two factors, and what is left of them when the factors are taken out.

Rows are added up by *cell*, a combination of levels: weight and means of each, and the scatter inside them. Parts of a
table add up cell by cell, so that one pass over the rows is enough. Regressing every variable on all levels then looks
at cells alone. With ``Q`` the deviations from the means of the first factor and ``D`` the dummies of the second::

    what is left  =  Q Z - Q D (D'QD)^+ D'Q Z,    degrees of freedom taken  =  levels - connected pieces

The levels of both factors are the nodes of a graph whose edges are the cells; in each of its connected pieces one level
follows from all others. Leaving one level of each piece out makes ``D'QD`` regular, so that nothing depends on a
threshold for its rank. Unbalanced tables are as exact as balanced ones, and nothing is iterated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from alldags.typing import BoolArray, FloatArray, IntArray

_DENSE = 3000  # levels of the second factor up to which its matrix is factored as a dense one
_REFINED = 2  # rounds: what rounding leaves of the levels in the first, the second takes out


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows by cell, c of them; m columns.

    Parameters
    ----------
    key
        Of each cell, in rising order: number of the level of the first factor times the levels of the second, plus
        that of the second; shape (c,).
    weight
        Sum of the weights of its rows, all above 0, shape (c,).
    mean
        Of its rows, from any origin that all cells share, shape (c, m).
    scatter
        Cross-products of the deviations from the means of the cells, shape (m, m).
    levels
        Number of levels of each factor, of which some may have no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.cells import cells_of
    >>> values, state, year = np.array([[1.0, 2.0, 5.0, 7.0]]), [0, 0, 1, 1], [0, 1, 0, 1]
    >>> cells = cells_of(values, np.ones(4), np.column_stack([state, year]), (2, 2))
    >>> left = cells.left
    >>> left.rank, left.scatter.round(12).tolist()
    (3, [[0.25]])
    """

    key: IntArray
    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    levels: tuple[int, ...]

    @cached_property
    def left(self) -> Left:
        """What is left of the rows when the levels are taken out."""
        first, *others = self.numbers()
        if not others:
            return Left(np.zeros_like(self.mean), self.scatter, len(self.key), 1)
        return _two_way(self, first, others[0])

    def numbers(self) -> list[IntArray]:
        """Return the number of each cell's level of each factor, shape (c,) each."""
        found = np.unravel_index(self.key, self.levels)
        return [np.asarray(one, dtype=np.int64) for one in found]


class Left(NamedTuple):
    """What is left of rows when the levels are taken out.

    Parameters
    ----------
    mean
        Of each cell, shape (c, m).
    scatter
        Cross-products over the rows, shape (m, m).
    rank
        Degrees of freedom that the levels took.
    pieces
        Number of parts of the table that share no level; 1 for one factor.
    """

    mean: FloatArray
    scatter: FloatArray
    rank: int
    pieces: int


def cells_of(values: FloatArray, weight: FloatArray, codes: Any, levels: tuple[int, ...]) -> Cells:
    """Return the cells of some rows.

    Parameters
    ----------
    values
        Shape (m, rows).
    weight
        Of the rows, shape (rows,); those of weight 0 are left out.
    codes
        Number of each row's level of each factor, shape (rows, factors).
    levels
        Number of levels of each factor.
    """
    kept = weight > 0
    values, weight = values[:, kept], weight[kept]
    return _added_up(np.ravel_multi_index(tuple(np.asarray(codes)[kept].T), levels), values, weight, levels)


def together(parts: Sequence[Cells]) -> Cells:
    """Merge the cells of several parts of a table."""
    if len(parts) == 1:
        return parts[0]
    key, weight, mean = (np.concatenate([getattr(one, name) for one in parts]) for name in ("key", "weight", "mean"))
    found = _added_up(key, mean.T, weight, parts[0].levels)
    return replace(found, scatter=sum((one.scatter for one in parts), found.scatter))


def _added_up(rows: IntArray, values: FloatArray, weight: FloatArray, levels: tuple[int, ...]) -> Cells:
    """Return the cells of rows, or of cells, shape (m, rows), with these keys and weights, shape (rows,) each."""
    key, place = np.unique(rows, return_inverse=True)
    total = np.bincount(place, weight, len(key)).astype(np.float64)
    mean = _sums_by(place, (values * weight).T, len(key)) / total[:, None]
    gap = values - mean.T[:, place]
    return Cells(key, total, mean, (gap * weight) @ gap.T, levels)


# -- two factors -------------------------------------------------------------------------------------------------------


def _two_way(cells: Cells, one: IntArray, other: IntArray) -> Left:
    """Return what is left of two factors: inside the one with more levels, and the other by a Schur complement."""
    if len(np.unique(one)) < len(np.unique(other)):
        one, other = other, one
    design = _Design.of(cells.weight, one, other)
    solve, rest = design.solver(), cells.mean
    for _ in range(_REFINED):
        rest = design.inside(rest)
        slopes = np.zeros((design.second, rest.shape[1]))
        slopes[design.kept] = solve(design.sums(rest)[design.kept])
        rest = rest - design.inside(slopes[design.other])
    scatter = cells.scatter + (rest * cells.weight[:, None]).T @ rest
    return Left(rest, scatter, design.first + design.second - design.pieces, design.pieces)


@dataclass(frozen=True, eq=False)
class _Design:
    """Two factors: numbers of the levels that cells have, shape (c,) each, and how many there are.

    `kept` says which levels of the second factor are left if one of each connected piece is left out.
    """

    weight: FloatArray
    one: IntArray
    other: IntArray
    first: int
    second: int
    pieces: int
    kept: BoolArray

    @classmethod
    def of(cls, weight: FloatArray, one: IntArray, other: IntArray) -> _Design:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        (named, one), (others, other) = (np.unique(codes, return_inverse=True) for codes in (one, other))
        first, second = len(named), len(others)
        size = first + second
        joined = coo_array((np.ones(len(one)), (one, first + other)), shape=(size, size))
        pieces, piece = connected_components(joined, directed=False)
        kept = np.ones(second, dtype=bool)
        kept[np.unique(piece[first:], return_index=True)[1]] = False
        return cls(weight, one, other, first, second, int(pieces), kept)

    def inside(self, values: FloatArray) -> FloatArray:
        """Return the deviations of cells, shape (c, m), from the means of the first factor's levels."""
        total = np.bincount(self.one, self.weight, self.first)
        sums = _sums_by(self.one, values * self.weight[:, None], self.first)
        return np.asarray(values - (sums / total[:, None])[self.one])

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of cells, shape (c, m), over the second factor's levels."""
        return _sums_by(self.other, values * self.weight[:, None], self.second)

    def solver(self) -> Callable[[FloatArray], FloatArray]:
        """Return what solves for the second factor's levels that are kept, inside the first."""
        from scipy.linalg import cho_factor, cho_solve
        from scipy.sparse import csc_array, diags_array
        from scipy.sparse.linalg import splu

        total = np.bincount(self.one, self.weight, self.first)
        table = csc_array((self.weight, (self.one, self.other)), shape=(self.first, self.second))[:, self.kept]
        own = np.bincount(self.other, self.weight, self.second)[self.kept]
        matrix = diags_array(own) - table.T @ diags_array(1.0 / total) @ table
        if len(own) == 0:
            return lambda right: right
        if len(own) > _DENSE:
            return splu(csc_array(matrix)).solve  # type: ignore[no-any-return]
        factor = cho_factor(matrix.toarray())
        return lambda right: np.asarray(cho_solve(factor, right))


def _sums_by(codes: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the sums of rows, shape (c, m), with the same code, shape (count, m)."""
    return np.array([np.bincount(codes, column, count) for column in values.T]).reshape(values.shape[1], count).T


def moved_cells(cells: Cells, shift: FloatArray) -> Cells:
    """Return the same rows with means counted from a point `shift`, shape (m,), further down."""
    return replace(cells, mean=shift + cells.mean)
