"""Which children may have curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from alldags import meetings
from alldags.graph.candidate import CandidateGraph
from alldags.graph.terms import read_terms
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
        A child's causes are those of all candidate graphs.
    asked
        What curves have to go with.
    """
    if terms is None:
        return data
    names = [name for name in graphs[0].variables if name not in data.categories]
    found = read_terms(terms, {name: _causes(name, graphs) for name in names})
    meetings.check({**asked, "curves": ()})
    kept = {name: ChildModel(data.model(name).family, terms) for name, terms in found.items()}
    rows = table.rows(data.pooled.names) if data.table is None else data.table
    return replace(data, children={**data.children, **kept}, table=rows, on_demand=isinstance(terms, str))


def _causes(child: str, graphs: Sequence[CandidateGraph]) -> tuple[str, ...]:
    """Return the candidate causes of a child in any graph."""
    return tuple(dict.fromkeys(name for graph in graphs for name in graph.parents(child)))
