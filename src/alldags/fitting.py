"""`fit`: from a table and candidate graphs to a posterior."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from alldags import checks
from alldags.data.source import ignored_columns_note, open_source
from alldags.engines import resolve
from alldags.engines.auto import Auto
from alldags.engines.suits import check_suits
from alldags.errors import AlldagsError, GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.components import components
from alldags.models.components import fitted_mixture
from alldags.models.store import NodeStore
from alldags.nodes.build import linear_terms
from alldags.nodes.data import working_data
from alldags.nodes.posterior import Engine, GraphEngine
from alldags.orders.choose import order_engine
from alldags.priors.equivalent import block_prior, unsuited_to_blocks
from alldags.priors.noise import KnownNoise
from alldags.priors.prior import Prior
from alldags.results.posterior import Posterior
from alldags.typing import RandomSource

_MOST_THREADS = 1024
_MOST_NAMED = 6


def fit(
    table: Any,
    graph: CandidateGraph | Sequence[CandidateGraph],
    *,
    graph_weights: Sequence[float] | None = None,
    prior: Prior | None = None,
    engine: str | Engine = "auto",
    rng: RandomSource = None,
    n_jobs: int = 1,
    names: Sequence[str] | None = None,
    drop_missing: bool = False,
    progress: bool = False,
) -> Posterior:
    """Average a linear structural causal model over every candidate graph.

    Parameters
    ----------
    table
        A data frame (pandas, polars, pyarrow, ...), a mapping of names to columns, an array with `names`, the path of a
        CSV, Parquet or Feather file, or `Moments`. Columns that are not in the graph are ignored.
    graph
        The candidate graph; or several, which may disagree about directions, weighed by their evidence.
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
    drop_missing
        Leave out rows in which a used column is missing.
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
    graphs = _graphs(graph)
    shares = _weights(graph_weights, len(graphs))
    prior = Prior() if prior is None else prior
    _check_options(prior, n_jobs, drop_missing, progress)
    made = resolve(engine)
    check_suits(made, prior)
    if any(one.blocks for one in graphs):
        order_engine(made)
        block_prior(prior)
    variables = graphs[0].variables
    source = open_source(table, names)
    moments = source.moments(variables, drop_missing=drop_missing, n_jobs=n_jobs)
    data = working_data(moments, prior, variables)
    node_seed, draw_seed = _seed(rng).spawn(2)
    searcher = Auto(max_certified=0)  # what it finds only moves a prior: no need to prove it
    store = NodeStore(_planned(made, graphs), searcher, node_seed, variables, n_jobs, progress)
    turned = _turned(graphs, prior)
    models = fitted_mixture(graphs, shares, prior, data, store, turned)
    notes = (*ignored_columns_note(source, variables), *_direction_notes(graphs, prior, turned))
    return Posterior(models, store, draw_seed, notes)


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


def _graphs(graph: CandidateGraph | Sequence[CandidateGraph]) -> list[CandidateGraph]:
    if isinstance(graph, CandidateGraph):
        return [graph]
    if not isinstance(graph, list | tuple):
        raise GraphError(
            f"graph must be a CandidateGraph or a list of them, got {type(graph).__name__}; see "
            "CandidateGraph.from_edges, from_tiers, from_matrix and from_networkx"
        )
    graphs = list(graph)
    if not graphs:
        raise GraphError("the list of candidate graphs is empty")
    for one in graphs:
        if not isinstance(one, CandidateGraph):
            raise GraphError(f"graph must be a CandidateGraph or a list of them, got {type(one).__name__}")
        missing = set(graphs[0].variables) ^ set(one.variables)
        if missing:
            raise GraphError(
                f"all candidate graphs must have the same variables; these are not in all of them: {sorted(missing)}"
            )
    return graphs


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
