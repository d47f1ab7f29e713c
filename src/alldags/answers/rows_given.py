"""Rows that a user gives with a question: weights of the rows of the fit, or other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from alldags.data.frames import FrameSource
from alldags.data.levels import with_levels
from alldags.data.source import Source, open_source
from alldags.errors import DataError
from alldags.nodes.data import WorkingData
from alldags.text import some
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class RowWeights:
    """How much each row of the fit counts, shape (rows,)."""

    values: FloatArray


@dataclass(frozen=True, eq=False)
class OtherRows:
    """A table of other rows than those of the fit.

    Parameters
    ----------
    source
        The table.
    weight
        How much each row counts, shape (rows,); None: all the same.
    coded
        Its columns of numbers, where they were read before.
    number
        Tells it from all others.
    """

    source: Source
    weight: FloatArray | None = None
    coded: Mapping[str, FloatArray] | None = None
    number: int = field(default_factory=count(1).__next__)
    _read: dict[tuple[str, ...], dict[str, FloatArray]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, table: Any) -> OtherRows:
        """Return rows of a table of any kind."""
        source = open_source(table)
        if isinstance(source, FrameSource) and source.rows == 1:  # a frame of one row has no moments, but values
            source = open_source({name: source.labels(name)(0, 1) for name in source.columns})
        return cls(source)

    @cached_property
    def count(self) -> int:
        """Number of rows."""
        known = getattr(self.source, "rows", None)
        return int(self.source.tally(self.source.columns[:1]).rows if known is None else known)

    def values(self, data: WorkingData, names: Sequence[str]) -> dict[str, FloatArray]:
        """Return columns of numbers, shape (rows,) each; an error that names the columns that are missing."""
        if self.coded is not None:
            return {name: self.coded[name] for name in data.columns(names)}
        key = tuple(names)
        if key not in self._read:
            self._read[key] = read_columns(self.source, data, names)
        return self._read[key]


def read_columns(source: Source, data: WorkingData, names: Sequence[str]) -> dict[str, FloatArray]:
    """Return some variables of a table as the columns of a fit, shape (rows,) each."""
    if not names:
        return {}
    missing = [name for name in names if name not in source.columns]
    if missing:
        lacking = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        raise DataError(
            f"rows need the column{'s' * (len(names) > 1)} {', '.join(names)}; {lacking}: add what is known"
        )
    levels = {} if data.seen is None else {name: data.seen.levels[name] for name in names if name in data.seen.levels}
    columns = with_levels(source, levels).numbers(data.columns(names))
    found = zip(columns.names, columns.read(0, columns.rows), strict=True)
    values = {name: np.asarray(column, dtype=float) for name, column in found}
    bad = [name for name, column in values.items() if not np.isfinite(column).all()]
    if bad:
        raise DataError(f"of the rows {some(map(repr, bad))} has missing or infinite values; leave those rows out")
    return values
