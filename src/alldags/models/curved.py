"""Which children may have curves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from alldags import checks, meetings
from alldags.data.record import MomentsRecord, MomentsSource
from alldags.data.source import is_at_hand, open_source
from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.terms import read_terms
from alldags.models.families import Opened
from alldags.nodes.data import ChildModel, WorkingData
from alldags.notes import Note

_MOST_VALUES = 20_000_000  # rows times columns in which curves are looked for unasked
_ALL_THE_SAME = "name a child in terms to look for them all the same"


class Wanted(NamedTuple):
    """What is wanted beside straight lines, None for nothing, and what to tell the user."""

    terms: Any
    notes: tuple[Note, ...] = ()

    def in_table(self, rows: float, columns: int) -> Wanted:
        """Return what is wanted in a table of so many rows and columns: in a huge one, only what was written down."""
        if not isinstance(self.terms, str) or rows * columns <= _MOST_VALUES:
            return self
        return Wanted(None, (_straight(f"{rows:,.0f} rows, which would be read again and again; {_ALL_THE_SAME}"),))


def wanted_terms(terms: Any, asked: meetings.Asked, table: Any) -> Wanted:
    """Return what is wanted beside straight lines.

    ``"auto"`` looks for curves where they go with all that is asked, and says where it does not; what was written down
    is wanted in any case.

    Parameters
    ----------
    terms, table
        As given to `fit`.
    asked
        What curves have to go with.
    """
    if not isinstance(terms, str):
        return Wanted(terms)
    checks.one_of("terms", terms, ("auto", "straight"), GraphError)
    if terms == "straight":
        return Wanted(None)
    against = meetings.reason_against("curves", {**asked, **({"moments": ()} if _is_moments(table) else {})})
    if not against and not is_at_hand(table):
        against = f"rows that are elsewhere; {_ALL_THE_SAME}"
    return Wanted(None, (_straight(against),)) if against else Wanted(terms)


def _is_moments(table: Any) -> bool:
    """Tell whether a table, or the file that it is in, has moments and no rows."""
    return isinstance(
        open_source(table) if isinstance(table, str | os.PathLike) else table, MomentsSource | MomentsRecord
    )


def _straight(reason: str) -> Note:
    return Note(f"curves were not looked for, because of {reason}")


def with_terms(
    data: WorkingData, terms: Any, table: Opened, graphs: Sequence[CandidateGraph], asked: meetings.Asked
) -> WorkingData:
    """Return the data with the children that may have curves, and their rows.

    Parameters
    ----------
    data
        Moments in working units, and the children that are not normal.
    terms
        As given to `fit`, or what is left of it.
    table
        Where rows can be read.
    graphs
        A child's causes are those of all candidate graphs.
    asked
        What curves have to go with.
    """
    if terms is None:
        return data
    if isinstance(terms, Mapping) and (levels := tuple(name for name in terms if name in data.categories)):
        meetings.check({"terms of levels": levels, "categorical": levels})
    names = [name for name in graphs[0].variables if name not in data.categories]
    found = read_terms(terms, {name: _causes(name, graphs) for name in names})
    meetings.check({**asked, "curves": ()})
    kept = {name: ChildModel(data.model(name).family, terms) for name, terms in found.items()}
    rows = table.rows(data.pooled.names) if data.table is None else data.table
    return replace(data, children={**data.children, **kept}, table=rows, on_demand=isinstance(terms, str))


def _causes(child: str, graphs: Sequence[CandidateGraph]) -> tuple[str, ...]:
    """Return the candidate causes of a child in any graph."""
    return tuple(dict.fromkeys(name for graph in graphs for name in graph.parents(child)))
