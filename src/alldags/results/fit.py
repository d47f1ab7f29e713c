"""`fit`: from a table and candidate graphs to a posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alldags.data.moments import Moments
from alldags.engines import resolve
from alldags.errors import AlldagsError, GraphError, finite_number, whole_number
from alldags.graph.candidate import CandidateGraph
from alldags.nodes import Engine, working_moments
from alldags.priors.grid import shared_grid
from alldags.priors.prior import Prior
from alldags.results.graphfit import GraphFit
from alldags.results.posterior import Posterior
from alldags.typing import RandomSource

_MOST_THREADS = 1024


def fit(
    table: Any,
    graph: CandidateGraph | Sequence[CandidateGraph],
    *,
    weights: Sequence[float] | None = None,
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
        A data frame (pandas, polars, pyarrow, ...), a mapping of names to columns, an array with `names`, or `Moments`.
        Columns that are not in the graph are ignored.
    graph
        The candidate graph; or several, which may disagree about directions, weighed by their evidence.
    weights
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
    shares = _weights(weights, len(graphs))
    prior = Prior() if prior is None else prior
    _check_options(prior, n_jobs, drop_missing)
    made = resolve(engine)
    variables = graphs[0].variables
    moments = _moments(table, variables, names, drop_missing, n_jobs)
    working = working_moments(moments, prior, variables)
    seed = _seed(rng)
    node_seed, draw_seed = seed.spawn(2)
    parts = _components(graphs, shares, prior)
    streams = np.random.default_rng(node_seed).spawn(len(parts))
    fits = [
        GraphFit(one, part, working, made, stream, n_jobs, progress)
        for (_, one, part), stream in zip(parts, streams, strict=True)
    ]
    notes = (*_ignored(table, names, variables), *_direction_note(graphs, prior))
    return Posterior(fits, [share for share, _, _ in parts], draw_seed, notes)


def _direction_note(graphs: Sequence[CandidateGraph], prior: Prior) -> tuple[str, ...]:
    """Warn that the prior takes part in weighing graphs that disagree about a direction."""
    edges = {edge for graph in graphs for edge in graph.edges}
    if prior.noise.ties_directions or not any((effect, cause) in edges for cause, effect in edges):
        return ()
    return (
        "the candidate graphs disagree about a direction; where data cannot tell directions apart, the weights depend "
        "on the prior of the coefficients: use Prior(noise=EquivalentNoise()), for which such graphs tie",
    )


def _components(
    graphs: Sequence[CandidateGraph], shares: Sequence[float], prior: Prior
) -> list[tuple[float, CandidateGraph, Prior]]:
    """Return (weight, graph, prior) for every graph and every value of a hyperparameter that nodes share.

    Given graph and shared hyperparameters the posterior factorises over nodes; the components are weighed by total
    evidence.
    """
    grid = shared_grid(prior)
    total = math.fsum(math.exp(log_weight) for log_weight, _ in grid)
    return [
        (share * math.exp(log_weight) / total, graph, part)
        for graph, share in zip(graphs, shares, strict=True)
        for log_weight, part in grid
    ]


def _check_options(prior: object, n_jobs: object, drop_missing: object) -> None:
    if not isinstance(prior, Prior):
        raise AlldagsError(f"prior must be a Prior such as Prior() or Prior.paper(), got {prior!r}")
    if n_jobs != -1 and whole_number("n_jobs", n_jobs, least=1) > _MOST_THREADS:
        raise AlldagsError(f"n_jobs must be at most {_MOST_THREADS}, or -1 for all cores, got {n_jobs!r}")
    if not isinstance(drop_missing, bool):
        raise AlldagsError(f"drop_missing must be True or False, got {drop_missing!r}")


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
        raise GraphError(f"weights must be a list of {count} numbers, got {weights!r}")
    if len(weights) != count:
        raise GraphError(f"{count} candidate graphs need {count} weights, got {len(weights)}")
    for weight in weights:
        if not 0 < finite_number("a candidate graph's weight", weight) < 1e100:
            raise GraphError(f"weights of candidate graphs must be positive, got {weight!r}; leave that graph out")
    return [weight / math.fsum(weights) for weight in weights]


def _moments(
    table: Any, variables: Sequence[str], names: Sequence[str] | None, drop_missing: bool, n_jobs: int
) -> Moments:
    if isinstance(table, Moments):
        return table
    return Moments.from_table(table, variables, names=names, drop_missing=drop_missing, n_jobs=n_jobs)


def _ignored(table: Any, names: Sequence[str] | None, variables: Sequence[str]) -> tuple[str, ...]:
    """Say which columns are not used."""
    columns = _column_names(table) if names is None else names
    extra = [str(name) for name in columns if name not in variables]
    if not extra:
        return ()
    shown = ", ".join(map(repr, extra[:5])) + (f" and {len(extra) - 5} more" if len(extra) > 5 else "")
    return (f"columns not in the graph were ignored: {shown}",)


def _column_names(table: Any) -> list[Any]:
    for attribute in ("names", "column_names", "columns"):  # Moments, pyarrow, pandas and polars
        if hasattr(table, attribute):
            return list(getattr(table, attribute))
    return list(table) if isinstance(table, Mapping) else []


def _seed(rng: RandomSource) -> np.random.SeedSequence:
    if isinstance(rng, np.random.SeedSequence):
        return np.random.SeedSequence(rng.entropy, spawn_key=rng.spawn_key)
    if isinstance(rng, np.random.Generator):
        return np.random.SeedSequence(rng.integers(0, 2**63, size=4).tolist())
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0):
        raise AlldagsError(f"rng must be a non-negative whole number, a numpy Generator or None, got {rng!r}")
    return np.random.SeedSequence(None if rng is None else int(rng))
