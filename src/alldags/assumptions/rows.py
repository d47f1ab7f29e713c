"""The rows of one regression, a batch at a time: terms about their means in units of their deviation, and the child."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from alldags.data.batches import RowTable
from alldags.nodes.family import AnyFamily
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Regressed:
    """What one regression is checked on.

    Parameters
    ----------
    child, causes
        Names.
    table
        The rows.
    center, deviation
        Of every variable, in the user's units.
    family
        Of the child; None for a normal one.
    """

    child: str
    causes: tuple[str, ...]
    table: RowTable
    center: Mapping[str, float]
    deviation: Mapping[str, float]
    family: AnyFamily | None = None

    def batches(self, others: Sequence[str] = ()) -> Iterator[RegressedBatch]:
        """Yield the rows; with those of other variables, in the same units as the causes."""
        names = (*self.causes, *others)
        center, scale = (np.array([source[name] for name in names]) for source in (self.center, self.deviation))
        offset = () if self.family is None or self.family.offset is None else (self.family.offset,)
        k, m = len(self.causes), len(names)
        for block in self.table.batches([*names, self.child, *offset]):
            units = (block[:, :m] - center) / scale
            design = np.column_stack([np.ones(len(block)), units[:, :k]])
            yield RegressedBatch(design, block[:, m], units[:, k:], block[:, m + 1] if offset else None)


@dataclass(frozen=True, eq=False)
class RegressedBatch:
    """Some rows: ones and causes (rows, 1 + k), child (rows,), other variables (rows, j), offset (rows,) if any."""

    design: FloatArray
    child: FloatArray
    others: FloatArray
    offset: FloatArray | None = None
