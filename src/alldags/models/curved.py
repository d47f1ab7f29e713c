"""Which children may have curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from alldags import meetings
from alldags.data.batches import RowTable
from alldags.families.base import Family
from alldags.graph.candidate import CandidateGraph
from alldags.graph.terms import read_terms
from alldags.models.capabilities import family_asks
from alldags.models.families import Opened
from alldags.nodes.data import ChildModel, WorkingData


def with_terms(
    data: WorkingData, terms: Any, table: Opened, graphs: Sequence[CandidateGraph], asked: meetings.Asked
) -> WorkingData:
    """Return the data with the children that may have curves, and their rows.

    Parameters
    ----------
    data
        Moments in working units, and the children that are not normal.
    terms
        As given to `fit`.
    table
        Where rows can be read.
    graphs
        A child's causes are those of the one candidate graph.
    asked
        What curves have to go with.
    """
    if terms is None:
        return data
    causes = {name: graphs[0].parents(name) for name in graphs[0].variables}
    found = read_terms(terms, causes)
    meetings.check({**asked, "curves": tuple(found)})
    on_demand = isinstance(terms, str)
    others = {**data.families, **data.heavy}
    if not on_demand:  # else only those on the way of an effect matter, which is looked at when it is asked for
        check_curves({name: family for name, family in others.items() if name in found})
    kept = {name: ChildModel(None, terms) for name, terms in found.items() if name not in others}
    rows = RowTable(table.source().numbers(data.pooled.names)) if data.table is None else data.table
    return replace(data, children={**data.children, **kept}, table=rows, on_demand=on_demand)


def check_curves(families: Mapping[str, Family]) -> None:
    """Refuse curves in children of these families."""
    meetings.check({"curves": (), **family_asks(families)})
