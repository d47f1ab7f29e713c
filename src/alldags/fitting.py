"""`fit`: from a table and candidate graphs to a posterior."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from alldags import checks
from alldags.data.levels import code_words, coded_columns
from alldags.data.reading import Missing, RowOptions, read_tables
from alldags.data.source import Source, open_source
from alldags.data.weights import WeightKind
from alldags.engines import resolve
from alldags.engines.auto import Auto
from alldags.engines.suits import check_suits
from alldags.errors import AlldagsError, DataError, GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.components import components
from alldags.graph.others import as_graphs
from alldags.graph.randomized import randomized_names, randomized_note, without_causes
from alldags.models.categories import check_categories
from alldags.models.components import fitted_mixture
from alldags.models.families import Families, Opened, with_families
from alldags.models.store import NodeStore
from alldags.nodes.build import linear_terms
from alldags.nodes.data import common_scale, working_rows
from alldags.nodes.posterior import Engine, GraphEngine
from alldags.orders.choose import order_engine
from alldags.priors.equivalent import block_prior, unsuited_to_blocks
from alldags.priors.noise import KnownNoise
from alldags.priors.prior import Prior
from alldags.results.clusters import Clusters, clusters_note
from alldags.results.data_notes import table_notes
from alldags.results.posterior import Posterior
from alldags.typing import RandomSource

_MOST_THREADS = 1024
_MOST_NAMED = 6


def fit(
    table: Any,
    graph: Any,
    *,
    graph_weights: Sequence[float] | None = None,
    prior: Prior | None = None,
    engine: str | Engine = "auto",
    rng: RandomSource = None,
    n_jobs: int = 1,
    names: Sequence[str] | None = None,
    families: Families = "auto",
    interventions: Any = None,
    randomized: str | Sequence[str] = (),
    missing: Missing = "raise",
    imputations: int = 20,
    auxiliary: Sequence[str] = (),
    weights: Any = None,
    weight_kind: WeightKind = "frequency",
    cluster: Any = None,
    drop_missing: bool = False,
    progress: bool = False,
) -> Posterior:
    """Average a linear structural causal model over every candidate graph.

    Parameters
    ----------
    table
        A data frame (pandas, polars, pyarrow, ...), a mapping of names to columns, an array with `names`, the path of a
        CSV, Parquet or Feather file, `Moments`, or `Imputed` tables. Columns that are not in the graph are ignored.
    graph
        The candidate graph, or what stands for one: the path of a graph file, a text such as ``"y ~ x + m"``, tiers, a
        dictionary of possible causes, a networkx graph; or a list of several, weighed by their evidence.
    graph_weights
        Prior weights of several graphs; equal by default.
    prior
        By default ``Prior()``.
    engine
        How each node's posterior is computed: a name or an engine object, see `alldags.engines`.
    rng
        Seed or generator. Exact engines need it only for the draws behind intervals.
    n_jobs
        Threads; results do not depend on it.
    names
        Column names, if `table` is an array.
    families
        ``"auto"``: a child with values 0 and 1 is yes/no, and effects on it are differences of risk. A mapping names
        families, ``{"death": "bernoulli", "visits": "poisson"}``, or `Poisson` with its offset; what it does not name
        is as under ``"auto"``. ``"normal"``: straight lines through all, as under ``Prior.paper()``.
    interventions
        Rows of experiments: a column (its name, or one value per row) that names the variable that was set from
        outside in each row, several joined by ``+``, nothing for none; or a mapping from variables to rows (the name
        of a column of truth values, one truth value per row, or row numbers). Such rows are left out of that
        variable's own regression and used in all others.
    randomized
        Variables that were drawn by lot: edges into them are left out.
    missing
        What to do about missing values: ``"raise"`` an error, ``"drop"`` the rows that have one, or ``"impute"`` them.
    imputations
        Number of completed tables with ``missing="impute"``.
    auxiliary
        Columns outside the graph that help to impute.
    weights
        Of the rows: the name of a column, or one number per row.
    weight_kind
        ``"frequency"``: a row of weight 3 stands for three equal rows. ``"sampling"``: weights are one over the
        probability of being sampled, and rows count as their effective number.
    cluster
        What rows belong together: the name of a column, or one label per row. Answers about single effects are then as
        uncertain as resampling clusters shows them to be.
    drop_missing
        The same as ``missing="drop"``.
    progress
        Show a progress bar on a terminal when the work is long.

    Examples
    --------
    >>> import alldags as ad
    >>> example = ad.datasets.example()
    >>> posterior = ad.fit(example.table, example.graph, rng=0)
    >>> effect = posterior.effect(example.treatment, example.outcome)
    >>> bool(effect.sd > 0)
    True
    """
    graphs = as_graphs(graph)
    shares = _weights(graph_weights, len(graphs))
    prior = Prior() if prior is None else prior
    _check_options(prior, n_jobs, drop_missing, progress)
    policy = _missing(missing, drop_missing)
    options = RowOptions(policy, imputations, auxiliary, interventions, weights, weight_kind, cluster)
    lots = randomized_names(randomized, graphs[0])
    graphs = [without_causes(graph, lots) for graph in graphs]
    made = resolve(engine)
    check_suits(made, prior)
    if any(one.blocks for one in graphs):
        order_engine(made)
        block_prior(prior)
    variables = graphs[0].variables
    node_seed, draw_seed, table_seed, cluster_seed = _seed(rng).spawn(4)
    tables = read_tables(table, names, variables, options, np.random.default_rng(table_seed), n_jobs)
    parts = [part.forget(lots) for part in tables.parts]
    columns = coded_columns(variables, tables.levels)
    scale = common_scale(parts, prior, columns) if len(parts) > 1 else None
    categories = {name: one.columns for name, one in tables.levels.items() if one.is_category}
    data = [replace(working_rows(part, prior, columns, scale), categories=categories) for part in parts]
    check_categories(categories, graphs, made)
    said = options.in_use or (("imputed tables",) if len(parts) > 1 else ()) or (("categories",) if categories else ())
    opened = Opened(partial(_opened, table, names, variables), parts[0].without(), policy == "drop", said)
    data[0] = replace(data[0], seen=tables.seen)
    data[0], family_notes = with_families(data[0], families, opened, graphs, prior, made)
    searcher = Auto(max_certified=0)  # what it finds only moves a prior: no need to prove it
    store = NodeStore(_planned(made, graphs), searcher, node_seed, variables, n_jobs, progress)
    turned = _turned(graphs, prior)
    models = fitted_mixture(graphs, shares, prior, data, store, turned)
    suspicions = () if data[0].seen is None else table_notes(data[0].seen, graphs)
    said_of_data = (*tables.notes, *suspicions, *randomized_note(lots))
    notes = (*said_of_data, *family_notes, *_direction_notes(graphs, prior, turned))
    clusters = None if cluster is None else Clusters(parts, cluster_seed)
    return Posterior(models, store, draw_seed, (*notes, *clusters_note(clusters)), clusters)


def _opened(table: Any, names: Sequence[str] | None, variables: Sequence[str]) -> Source:
    """Open the table, its words as numbers."""
    return code_words(open_source(table, names), variables)[0]


def _missing(missing: Missing, drop_missing: bool) -> str:
    """Return what to do about missing values, where there are two ways to say it."""
    if drop_missing and missing == "impute":
        raise DataError("drop_missing=True and missing='impute' contradict each other; leave out one of them")
    return "drop" if drop_missing else missing


def _planned(engine: Engine, graphs: Sequence[CandidateGraph]) -> Engine:
    """Return the engine with its budget shared out over the nodes of all graphs, whatever will be asked."""
    if not isinstance(engine, GraphEngine):
        return engine
    nodes = {linear_terms(graph, child) for graph in graphs for child in graph.variables}
    return engine.for_graph(sorted(sum(p < 1.0 for p in node.probability) for node in nodes))


def _turned(graphs: Sequence[CandidateGraph], prior: Prior) -> frozenset[str]:
    """Return the variables between which several graphs have edges of different directions, or cycles together.

    Their nodes have the prior under which graphs that data cannot tell apart tie; not if the noise is known, or if the
    prior was chosen otherwise.
    """
    if len(graphs) == 1 or isinstance(prior.noise, KnownNoise) or unsuited_to_blocks(prior) is not None:
        return frozenset()
    edges = {edge: 1.0 for graph in graphs for edge in graph.edges}
    return frozenset(name for group in components(graphs[0].variables, edges) if len(group) > 1 for name in group)


def _direction_notes(graphs: Sequence[CandidateGraph], prior: Prior, turned: frozenset[str]) -> Iterator[str]:
    """Say which regressions have another prior than asked for, or that the prior takes part in weighing directions."""
    opened = [
        name for name in graphs[0].variables if name in turned or any(name in b for g in graphs for b in g.blocks)
    ]
    if opened and not prior.noise.ties_directions and not isinstance(prior.noise, KnownNoise):
        yield (
            f"where directions are open ({_listed(opened)}), regressions have EquivalentNoise() and a fixed slab: "
            "under this prior graphs that data cannot tell apart tie"
        )
    edges = {edge for graph in graphs for edge in graph.edges}
    if not turned and len(graphs) > 1 and any((b, a) in edges for a, b in edges) and not prior.noise.ties_directions:
        yield (
            "the candidate graphs disagree about a direction; where data cannot tell directions apart, the weights "
            "depend on the prior of the coefficients: leave out what was said of it, so that such graphs tie"
        )
    for graph in dict.fromkeys(graphs):
        yield from graph.notes()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{', '.join(names[: _MOST_NAMED - 1])}, ..."


def _check_options(prior: object, n_jobs: object, drop_missing: object, progress: object) -> None:
    if not isinstance(prior, Prior):
        raise AlldagsError(f"prior must be a Prior such as Prior() or Prior.paper(), got {prior!r}")
    if n_jobs != -1 and checks.whole("n_jobs", n_jobs, least=1) > _MOST_THREADS:
        raise AlldagsError(f"n_jobs must be at most {_MOST_THREADS}, or -1 for all cores, got {n_jobs!r}")
    checks.flag("drop_missing", drop_missing)
    checks.flag("progress", progress)


def _weights(weights: Sequence[float] | None, count: int) -> list[float]:
    if weights is None:
        return [1.0 / count] * count
    if isinstance(weights, str) or not isinstance(weights, Sequence | np.ndarray):
        raise GraphError(f"graph_weights must be a list of {count} numbers, got {weights!r}")
    if len(weights) != count:
        raise GraphError(f"{count} candidate graphs need {count} graph_weights, got {len(weights)}")
    for weight in weights:
        if not 0 < checks.finite("a candidate graph's weight", weight) < 1e100:
            raise GraphError(f"graph_weights must be positive, got {weight!r}; leave that graph out")
    return [weight / math.fsum(weights) for weight in weights]


def _seed(rng: RandomSource) -> np.random.SeedSequence:
    if isinstance(rng, np.random.SeedSequence):
        return np.random.SeedSequence(rng.entropy, spawn_key=rng.spawn_key)
    if isinstance(rng, np.random.Generator):
        return np.random.SeedSequence(rng.integers(0, 2**63, size=4).tolist())
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0):
        raise AlldagsError(f"rng must be a non-negative whole number, a numpy Generator or None, got {rng!r}")
    return np.random.SeedSequence(None if rng is None else int(rng))
