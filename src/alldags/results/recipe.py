"""`Recipe`: all that a posterior is made from; the same recipe gives the same numbers, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from alldags.data.batches import RowTable
from alldags.data.levels import categories_of, coded_columns
from alldags.data.rows import RowGroups
from alldags.data.seen import Seen
from alldags.data.source import open_source
from alldags.engines.auto import Auto
from alldags.graph.candidate import CandidateGraph
from alldags.graph.components import components
from alldags.models.components import fitted_mixture
from alldags.models.families import Opened, family_rows
from alldags.models.store import NodeStore
from alldags.models.terms.wanted import with_terms
from alldags.nodes.build import linear_terms
from alldags.nodes.data import WorkingData, common_scale, working_rows
from alldags.nodes.family import AnyFamily
from alldags.nodes.posterior import Engine, GraphEngine
from alldags.priors.equivalent import unsuited_to_blocks
from alldags.priors.noise import KnownNoise
from alldags.priors.prior import Prior
from alldags.results.clusters import Clusters
from alldags.results.posterior import Posterior


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a posterior is made from.

    Parameters
    ----------
    graphs, shares
        The candidate graphs and their prior weights.
    prior, engine
        As given to `fit`, the engine as an object.
    parts
        Moments of the rows of each completed table; one, unless values were imputed.
    seeds
        Of the nodes, of draws, and of the resampling of clusters.
    notes
        What the user should know about how the data were read.
    clustered
        Whether rows belong together.
    families
        The children that are not normal.
    terms
        As given to `fit`: which children may have curves.
    rows
        The rows of all variables; None if all children are normal and straight.
    seen
        The table as it was read, for notes, and the levels of columns of words.
    """

    graphs: tuple[CandidateGraph, ...]
    shares: tuple[float, ...]
    prior: Prior
    engine: Engine
    parts: tuple[RowGroups, ...]
    seeds: tuple[np.random.SeedSequence, np.random.SeedSequence, np.random.SeedSequence]
    notes: tuple[str, ...] = ()
    clustered: bool = False
    families: tuple[tuple[str, AnyFamily], ...] = ()
    terms: Any = None
    rows: RowTable | None = None
    seen: Seen | None = None

    @property
    def opened(self) -> Opened | None:
        """The rows as a table that can be opened; None if there are none."""
        if self.rows is None:
            return None
        table = {name: self.rows.column(name) for name in self.rows.columns.names}
        return Opened(partial(open_source, table), self.parts[0].without())


def with_rows(recipe: Recipe, data: WorkingData, terms: Any = None) -> Recipe:
    """Return the recipe with the children that are not normal, or not straight, as they were found in the data."""
    families = tuple((name, rows.family) for name, rows in data.families.items())
    tables = [rows.table for rows in data.families.values()] + ([] if data.curved is None else [data.curved.table])
    return replace(recipe, families=families, terms=terms, rows=tables[0] if tables else None)


def working_tables(
    parts: Sequence[RowGroups],
    prior: Prior,
    columns: Sequence[str],
    categories: Mapping[str, tuple[str, ...]] | None = None,
) -> list[WorkingData]:
    """Return the data of each completed table, in units common to all; `categories` have several of the columns."""
    scale = common_scale(parts, prior, columns) if len(parts) > 1 else None
    return [replace(working_rows(part, prior, columns, scale), categories=categories or {}) for part in parts]


def assemble(
    recipe: Recipe,
    data: Sequence[WorkingData] | None = None,
    table: Opened | None = None,
    n_jobs: int = 1,
    progress: bool = False,
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
    n_jobs, progress
        As for `fit`.
    """
    graphs = recipe.graphs
    tables = _data(recipe) if data is None else list(data)
    nodes, draws, resampling = recipe.seeds
    searcher = Auto(max_certified=0)  # what it finds only moves a prior: no need to prove it
    store = NodeStore(_planned(recipe.engine, graphs), searcher, nodes, graphs[0].variables, n_jobs, progress)
    models = fitted_mixture(graphs, recipe.shares, recipe.prior, tables, store, turned(graphs, recipe.prior))
    clusters = Clusters(recipe.parts, resampling) if recipe.clustered else None
    return Posterior(models, store, draws, recipe.notes, clusters, table, recipe)


def _data(recipe: Recipe) -> list[WorkingData]:
    levels = {} if recipe.seen is None else recipe.seen.levels
    columns = coded_columns(recipe.graphs[0].variables, levels)
    data = working_tables(recipe.parts, recipe.prior, columns, categories_of(levels))
    data[0] = replace(data[0], seen=recipe.seen)
    if recipe.rows is None or recipe.opened is None:
        return data
    data[0] = replace(data[0], families=family_rows(dict(recipe.families), recipe.rows, data[0]))
    data[0] = with_terms(data[0], recipe.terms, recipe.opened, recipe.graphs, recipe.prior, recipe.engine)
    return data


def _planned(engine: Engine, graphs: Sequence[CandidateGraph]) -> Engine:
    """Return the engine with its budget shared out over the nodes of all graphs, whatever will be asked."""
    if not isinstance(engine, GraphEngine):
        return engine
    nodes = {linear_terms(graph, child) for graph in graphs for child in graph.variables}
    return engine.for_graph(sorted(sum(p < 1.0 for p in node.probability) for node in nodes))


def turned(graphs: Sequence[CandidateGraph], prior: Prior) -> frozenset[str]:
    """Return the variables between which several graphs have edges of different directions, or cycles together.

    Their nodes have the prior under which graphs that data cannot tell apart tie; not if the noise is known, or if the
    prior was chosen otherwise.
    """
    if len(graphs) == 1 or isinstance(prior.noise, KnownNoise) or unsuited_to_blocks(prior) is not None:
        return frozenset()
    edges = {edge: 1.0 for graph in graphs for edge in graph.edges}
    return frozenset(name for group in components(graphs[0].variables, edges) if len(group) > 1 for name in group)
