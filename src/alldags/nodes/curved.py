"""Which children may have curves, and the rows these are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from alldags.data.batches import RowTable
from alldags.graph.terms import ChildTerms


@dataclass(frozen=True, eq=False)
class CurvedRows:
    """Children whose regression may have other terms than straight lines.

    Parameters
    ----------
    terms
        Of each such child.
    table
        The rows.
    on_demand
        Whether curves are looked for only on the way of an effect that is asked for (``terms="auto"``).
    """

    terms: Mapping[str, ChildTerms]
    table: RowTable
    on_demand: bool = False
