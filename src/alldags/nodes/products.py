"""`Products`: what a regression with thousands of candidate parents asks of the data, instead of a k x k matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from alldags.typing import FloatArray, IntArray

_KEPT = 2**28  # bytes of products that are kept; what is no longer in use is computed again


class Products(Protocol):
    """Cross-products of k columns with each other.

    What `NodeProblem.gram` holds as an array, asked for piece by piece. The cross-products with the child are in the
    problem itself.
    """

    @property
    def diagonal(self) -> FloatArray:
        """Of each column with itself, shape (k,)."""

    def block(self, places: IntArray) -> FloatArray:
        """Return those of m columns with each other, shape (m, m)."""

    def times(self, places: IntArray) -> FloatArray:
        """Return those of m columns with all, shape (m, k)."""


class MomentProducts:
    """Cross-products that lie in memory: nothing is computed."""

    def __init__(self, gram: FloatArray) -> None:
        self._gram = gram
        self.diagonal = np.ascontiguousarray(np.diag(gram))

    def block(self, places: IntArray) -> FloatArray:
        """Return those of m columns with each other, shape (m, m)."""
        return np.asarray(self._gram[np.ix_(places, places)])

    def times(self, places: IntArray) -> FloatArray:
        """Return those of m columns with all, shape (m, k)."""
        return np.asarray(self._gram[places])


class RowProducts:
    """Cross-products computed from rows when they are asked for, and kept as long as there is room.

    Parameters
    ----------
    columns
        One column a row, shape (k, n), in working units and centred if there is an intercept. They are read at every
        product that is not kept, so they must be in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.nodes.products import RowProducts
    >>> RowProducts(np.array([[1.0, -1.0], [2.0, -2.0], [0.0, 1.0]])).times(np.array([0])).tolist()
    [[2.0, 4.0, -1.0]]
    """

    def __init__(self, columns: FloatArray) -> None:
        self._columns = columns
        self.diagonal = np.einsum("ij,ij->i", columns, columns)
        self._kept: dict[int, FloatArray] = {}
        self._most = max(_KEPT // (8 * len(columns)), 64)

    def block(self, places: IntArray) -> FloatArray:
        """Return those of m columns with each other, shape (m, m)."""
        part = self._columns[places]
        return np.asarray(part @ part.T)

    def times(self, places: IntArray) -> FloatArray:
        """Return those of m columns with all, shape (m, k)."""
        wanted = [int(place) for place in places]
        self._make_room(set(wanted))
        self._compute([place for place in dict.fromkeys(wanted) if place not in self._kept])
        return np.array([self._kept[place] for place in wanted]).reshape(len(wanted), len(self._columns))

    def _make_room(self, wanted: set[int]) -> None:
        if len(self._kept) > self._most:
            self._kept = {place: self._kept[place] for place in wanted & self._kept.keys()}

    def _compute(self, missing: Sequence[int]) -> None:
        if missing:
            self._kept.update(zip(missing, self._columns[list(missing)] @ self._columns.T, strict=True))


def products_of(gram: FloatArray | Products) -> Products:
    """Return the products of a problem, whose cross-products are an array or answer piece by piece."""
    return MomentProducts(gram) if isinstance(gram, np.ndarray) else gram
