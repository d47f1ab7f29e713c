"""Which children may have curves: what the user said, and with what it does not go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from alldags.data.record import MomentsSource
from alldags.errors import AlldagsError, DataError, EngineError, PriorError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.terms import read_terms
from alldags.models.families import Opened
from alldags.nodes.data import ChildModel, WorkingData
from alldags.nodes.posterior import Engine
from alldags.notes import Note
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import UnknownNoise
from alldags.priors.prior import Prior


def with_terms(
    data: WorkingData, terms: Any, table: Opened, graphs: Sequence[CandidateGraph], prior: Prior, engine: Engine
) -> tuple[WorkingData, tuple[Note, ...]]:
    """Return the data with the children that may have curves and their rows, and what to tell the user.

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
        return data, ()
    causes = {name: graphs[0].parents(name) for name in graphs[0].variables}
    found = read_terms(terms, causes)
    on_demand = isinstance(terms, str)
    if data.categories:
        names = ", ".join(data.categories)
        raise DataError(f"categories ({names}) and terms do not go together yet; code them as 0/1 columns of your own")
    for reason in (_unsuited(prior, engine), _unsuited_rows(table, graphs)):
        if reason is not None:
            raise reason
    heavy = [name for name in found if name in data.heavy]
    if heavy and not on_demand:
        raise DataError(
            f"{heavy[0]!r} has heavy tails and terms: curves are for normal noise only yet; leave it out of terms, or "
            "give it normal noise"
        )
    clash = [name for name in found if name in data.families or name in data.heavy]
    if clash and not on_demand:
        raise DataError(
            f"{clash[0]!r} is yes/no or a count and has terms: curves are for normal outcomes only yet; leave it out "
            "of terms, or use families='normal'"
        )
    source = table.source()
    if isinstance(source, MomentsSource):
        raise DataError("terms are made from rows, which means and covariances do not have; pass the table itself")
    kept = {name: ChildModel(None, terms) for name, terms in found.items() if name not in clash}
    rows = table.rows(data.pooled.names) if data.table is None else data.table
    return replace(data, children={**data.children, **kept}, table=rows, on_demand=on_demand), _not_curved(clash)


def _not_curved(names: Sequence[str]) -> tuple[Note, ...]:
    """Say in which children curves were not looked for."""
    if not names:
        return ()
    what = f"curves were not looked for in {', '.join(names)}, which is yes/no or a count"
    return (Note(f"{what}: terms are for normal outcomes only yet", "changes the answer"),)


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


def _unsuited_rows(table: Opened, graphs: Sequence[CandidateGraph]) -> AlldagsError | None:
    """Return why these rows and graphs can have straight lines only; None if they need not."""
    several = ("several candidate graphs",) if len(graphs) > 1 else ()
    hidden = ("hidden common causes",) if any(graph.hidden for graph in graphs) else ()
    open_ = ("open directions",) if any(graph.blocks for graph in graphs) else ()
    said = (name for name in table.options if name != "cluster=")  # clusters are asked for the spread alone
    if options := (*said, *several, *hidden, *open_):
        return DataError(f"{' and '.join(options)} and terms do not go together yet; leave one of them out")
    return None
