"""`Panel`: cross-products inside units, and of unit means, with the means of waves taken out.

Units that were seen at the same waves are a group, which is a balanced panel of its own: its means of waves, and how
the traits of its units are spread, are its own, so that those who leave early may be of another kind. Regressions are
common to all groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alldags.data.cells import Cells
from alldags.typing import FloatArray, IntArray


class Group(NamedTuple):
    """Units that were seen at the same waves: cross-products of their means (p, p), each unit once, and numbers."""

    between: FloatArray
    units: int
    waves: int


@dataclass(frozen=True, eq=False)
class Panel:
    """Moments of a panel; p columns, in working units.

    Parameters
    ----------
    names
        Of the columns.
    within
        Cross-products of the deviations from unit means, shape (p, p).
    groups
        Of units that were seen at the same waves.
    scale
        User's units per working unit of each column, shape (p,); None: the same.
    """

    names: tuple[str, ...]
    within: FloatArray
    groups: tuple[Group, ...]
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
        """Number of rows, less one for each wave of each group."""
        return float(sum((group.units - 1) * group.waves for group in self.groups))


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
    >>> panel.within.tolist(), panel.groups[0].between.tolist(), panel.n
    ([[1.0]], [[4.5]], 2.0)
    """
    unit, wave = cells.numbers()
    values = cells.mean / scale
    group_of = _groups(unit, wave)
    within, groups = np.zeros((len(names), len(names))), []
    for group in range(int(group_of.max()) + 1):
        rows = group_of == group
        inside, found = _moments(values[rows], unit[rows], wave[rows])
        if found.units > 1:  # the means of waves take all there is of a unit alone
            within += inside
            groups.append(found)
    return Panel(names, within, tuple(groups), scale)


def _groups(unit: IntArray, wave: IntArray) -> IntArray:
    """Return the number of the group of each row's unit."""
    codes = np.unique(unit, return_inverse=True)[1]
    seen = np.zeros((int(codes.max()) + 1, int(wave.max()) + 1), dtype=bool)
    seen[codes, wave] = True
    return np.unique(seen, axis=0, return_inverse=True)[1].ravel()[codes]


def _moments(values: FloatArray, unit: IntArray, wave: IntArray) -> tuple[FloatArray, Group]:
    """Return the cross-products inside the units of one group, and what lies between them."""
    values = values - _means(wave, values)[wave]
    codes = np.unique(unit, return_inverse=True)[1]
    means = _means(codes, values)
    gap = values - means[codes]
    return gap.T @ gap, Group(means.T @ means, len(means), len(unit) // len(means))


def _means(codes: IntArray, values: FloatArray) -> FloatArray:
    """Return the means of rows with the same code, shape (codes, p)."""
    counts = np.maximum(np.bincount(codes), 1)
    return np.array([np.bincount(codes, column) for column in values.T]).T / counts[:, None]
