"""Which children may have curves: what the user said, and with what it does not go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from alldags.data.record import MomentsSource
from alldags.errors import AlldagsError, DataError, EngineError, PriorError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.terms import read_terms
from alldags.models.components import turned
from alldags.models.families import Opened
from alldags.nodes.data import ChildModel, WorkingData
from alldags.nodes.posterior import Engine
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import UnknownNoise
from alldags.priors.prior import Prior

_MEET = frozenset({"categories", "weights=", "interventions="})  # what may be said of rows with curves


def with_terms(
    data: WorkingData, terms: Any, table: Opened, graphs: Sequence[CandidateGraph], prior: Prior, engine: Engine
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
    prior, engine
        Both must suit regressions on derived columns.
    """
    if terms is None:
        return data
    names = [name for name in graphs[0].variables if name not in data.categories]
    causes = {name: _causes(name, graphs) for name in names}
    found = read_terms(terms, causes)
    on_demand = isinstance(terms, str)
    for reason in (_unsuited(prior, engine), _unsuited_rows(table, graphs, prior)):
        if reason is not None:
            raise reason
    source = table.source()
    if isinstance(source, MomentsSource):
        raise DataError("terms are made from rows, which means and covariances do not have; pass the table itself")
    kept = {name: ChildModel(data.model(name).family, terms) for name, terms in found.items()}
    rows = table.rows(data.pooled.names) if data.table is None else data.table
    return replace(data, children={**data.children, **kept}, table=rows, on_demand=on_demand)


def _causes(child: str, graphs: Sequence[CandidateGraph]) -> tuple[str, ...]:
    """Return the candidate causes of a child in any graph."""
    return tuple(dict.fromkeys(name for graph in graphs for name in graph.parents(child)))


def _unsuited(prior: Prior, engine: Engine) -> AlldagsError | None:
    """Return why there can be no regression on derived columns; None if there can."""
    if engine.name != "auto" or ScaleMixture in getattr(engine, "takes", ()) or prior.coefficients is not None:
        return EngineError(f"the engine {engine.name!r} takes straight lines only; with terms use engine='auto'")
    if not prior.intercept:
        return PriorError("terms need an intercept: Prior(intercept=True), or leave out terms")
    if not isinstance(prior.noise, UnknownNoise):
        return PriorError(f"{prior.noise!r} is about straight lines; with terms use UnknownNoise()")
    if prior.has_shared:
        return PriorError("hyperparameters shared by all nodes and terms do not go together; leave one of them out")
    return None


def _unsuited_rows(table: Opened, graphs: Sequence[CandidateGraph], prior: Prior) -> AlldagsError | None:
    """Return why these rows and graphs can have straight lines only; None if they need not."""
    moved = ("graphs that disagree about a direction",) if turned(graphs, prior) else ()
    hidden = ("hidden common causes",) if any(graph.hidden for graph in graphs) else ()
    open_ = ("open directions",) if any(graph.blocks for graph in graphs) else ()
    if options := (*(name for name in table.options if name not in _MEET), *hidden, *open_, *moved):
        return DataError(f"{' and '.join(options)} and terms do not go together yet; leave one of them out")
    return None
