"""`Panel`: cross-products inside units, and of unit means, with the means of waves taken out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.data.cells import Cells
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Panel:
    """Moments of a panel with as many waves of each unit; p columns, in working units.

    Parameters
    ----------
    names
        Of the columns.
    within
        Cross-products of the deviations from unit means, shape (p, p).
    between
        Those of the unit means, each unit once, shape (p, p).
    units, waves
        Their numbers.
    scale
        User's units per working unit of each column, shape (p,); None: the same.
    """

    names: tuple[str, ...]
    within: FloatArray
    between: FloatArray
    units: int
    waves: int
    scale: FloatArray | None = None

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each column."""
        return {name: i for i, name in enumerate(self.names)}

    def unit(self, cause: str, effect: str) -> float:
        """Return what one working unit of a coefficient is in the user's units."""
        return 1.0 if self.scale is None else float(self.scale[self.index[effect]] / self.scale[self.index[cause]])

    @property
    def n(self) -> float:
        """Number of rows, less one for each wave."""
        return float(self.units * self.waves - self.waves)


def panel_of(cells: Cells, names: tuple[str, ...], scale: FloatArray) -> Panel:
    """Return the moments of rows by unit and wave.

    Parameters
    ----------
    cells
        One row each: units, then waves.
    names
        Of the columns, p of them.
    scale
        User's units per working unit, shape (p,).

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.cells import cells_of
    >>> from alldags.engines.traits.panel import panel_of
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> panel = panel_of(cells_of(np.array([[1.0, 2.0, 3.0, 6.0]]), np.ones(4), codes, (2, 2)), ("y",), np.ones(1))
    >>> panel.within.tolist(), panel.between.tolist(), panel.n
    ([[1.0]], [[4.5]], 2.0)
    """
    unit, wave = cells.numbers()
    values = cells.mean / scale
    values = values - _means(wave, values)[wave]
    means = _means(unit, values)
    gap = values - means[unit]
    count = len(np.unique(unit))
    return Panel(names, gap.T @ gap, means.T @ means, count, len(unit) // count, scale)


def _means(codes: np.ndarray[tuple[int], np.dtype[np.int64]], values: FloatArray) -> FloatArray:
    """Return the means of rows with the same code, shape (codes, p)."""
    counts = np.maximum(np.bincount(codes), 1)
    return np.array([np.bincount(codes, column) for column in values.T]).T / counts[:, None]
