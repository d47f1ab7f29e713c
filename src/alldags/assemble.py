"""From a recipe to a posterior; nodes are fitted when first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from alldags.data.lagged import FIRST
from alldags.data.levels import Levels, categories_of, coded_columns
from alldags.data.rows import RowGroups
from alldags.effects.clusters import Clusters
from alldags.engines.auto import Auto
from alldags.engines.traits.panel import panel_of
from alldags.engines.traits.posterior import Traits
from alldags.graph.candidate import CandidateGraph
from alldags.models.capabilities import model_asks
from alldags.models.components import fitted_mixture, turned
from alldags.models.curved import with_terms
from alldags.models.families import Opened, with_family_rows
from alldags.models.store import NodeStore
from alldags.nodes.build import linear_terms
from alldags.nodes.data import WorkingData, common_scale, told_apart, working_rows
from alldags.nodes.flat import with_flat
from alldags.nodes.posterior import Engine, GraphEngine
from alldags.priors.prior import Prior
from alldags.recipes.recipe import Recipe, opened_rows
from alldags.results.posterior import Posterior
from alldags.typing import FloatArray


def working_tables(
    parts: Sequence[RowGroups],
    prior: Prior,
    columns: Sequence[str],
    levels: Mapping[str, Levels] | None = None,
) -> list[WorkingData]:
    """Return the data of each completed table, in units common to all; `levels` are those of columns of words."""
    scale = _scale(parts, prior, columns, categories_of(levels or {}))
    return [replace(working_rows(part, prior, columns, scale), levels=levels or {}) for part in parts]


def _scale(
    parts: Sequence[RowGroups], prior: Prior, columns: Sequence[str], categories: Mapping[str, tuple[str, ...]]
) -> FloatArray | None:
    """Return the working units where they are not those of each column in the one table: None."""
    if len(parts) > 1:
        return common_scale(parts, prior, columns)
    if parts[0].cells is None or not categories:
        return None
    scale = working_rows(parts[0], prior, columns).scale.copy()
    for names in categories.values():  # one unit for all of a category, so that no level is special within levels, too
        places = [columns.index(name) for name in names]
        scale[places] = np.sqrt(np.mean(scale[places] ** 2))
    return scale


def assemble(
    recipe: Recipe,
    data: Sequence[WorkingData] | None = None,
    table: Opened | None = None,
    n_jobs: int = 1,
    progress: bool = False,
    backend: Any = None,
) -> Posterior:
    """Put a posterior together; nodes are fitted when first asked for.

    Parameters
    ----------
    recipe
        What it is made from.
    data
        The tables in working units, if they are there already.
    table
        Where the rows can be read again.
    n_jobs, progress, backend
        As for `fit`.
    """
    graphs = recipe.graphs
    tables = _data(recipe) if data is None else list(data)
    tables = [_with_traits(recipe, one) for one in told_apart(tables)]
    nodes, draws, _ = recipe.seeds
    searcher = Auto(max_certified=0)  # what it finds only moves a prior: no need to prove it
    names = (*graphs[0].variables, *(column for found in tables[0].categories.values() for column in found))
    store = NodeStore(_planned(recipe.engine, graphs), searcher, nodes, names, n_jobs, progress, backend)
    models = fitted_mixture(graphs, recipe.shares, recipe.prior, tables, store, turned(graphs, recipe.prior))
    clusters = Clusters(recipe.parts) if recipe.clustered else None
    linked = tables[0].traits is None  # a walk is over all regressions at once, whatever is asked
    return Posterior(models, store, draws, recipe.notes, clusters, table, recipe, linked, recipe.robust)


def _with_traits(recipe: Recipe, data: WorkingData) -> WorkingData:
    """Return the data with what is lasting about units, if that was asked for."""
    part = recipe.parts[0]
    if part.intercepts != "joint" or part.cells is None:
        return data
    names = data.pooled.names
    cells = replace(part.cells, mean=part.cells.mean[:, [part.as_read.index[name] for name in names]])
    panel = panel_of(cells, names, data.scale)
    traits = Traits(panel, recipe.graphs[0], recipe.prior, data.pooled, recipe.seeds[0])
    return replace(data, traits=traits)


def _data(recipe: Recipe) -> list[WorkingData]:
    levels = {} if recipe.seen is None else recipe.seen.levels
    columns = coded_columns(recipe.graphs[0].variables, levels)
    columns += tuple(name for name in recipe.parts[0].as_read.names if name.endswith(FIRST))
    data = working_tables(recipe.parts, recipe.prior, columns, levels)
    data[0] = replace(data[0], seen=recipe.seen)
    data = [with_flat(recipe.errors.out_of(one), recipe.flat) for one in data]
    if recipe.rows is None:
        return data
    rows = (recipe.rows, *recipe.copies)
    data = [with_family_rows(dict(recipe.families), *pair) for pair in zip(rows, data, strict=True)]
    asked = model_asks(recipe.graphs, recipe.prior, recipe.engine)
    both = zip(data, map(opened_rows, rows), strict=True)
    return [with_terms(one, recipe.terms, opened, recipe.graphs, asked) for one, opened in both]


def _planned(engine: Engine, graphs: Sequence[CandidateGraph]) -> Engine:
    """Return the engine with its budget shared out over the nodes of all graphs, whatever will be asked."""
    if not isinstance(engine, GraphEngine):
        return engine
    nodes = {linear_terms(graph, child) for graph in graphs for child in graph.variables}
    return engine.for_graph(sorted(sum(p < 1.0 for p in node.probability) for node in nodes))
