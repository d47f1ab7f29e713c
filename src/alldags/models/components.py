"""The components of a fit: every candidate graph with every value of a hyperparameter that nodes share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from alldags.graph.candidate import CandidateGraph
from alldags.graph.components import components
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.store import NodeStore
from alldags.nodes.data import WorkingData
from alldags.priors.equivalent import unsuited_to_blocks
from alldags.priors.grid import shared_grid
from alldags.priors.noise import KnownNoise
from alldags.priors.prior import Prior


def fitted_mixture(
    graphs: Sequence[CandidateGraph],
    shares: Sequence[float],
    prior: Prior,
    data: WorkingData | Sequence[WorkingData],
    store: NodeStore,
    turned: frozenset[str] = frozenset(),
) -> Mixture[FittedGraph]:
    """Return the mixture of all graphs, weighed by `shares` a priori; nodes are fitted when first needed.

    Several completed copies of one table have equal weights: their evidences are not to be compared.

    Given graph and shared hyperparameters the posterior factorises over blocks; the components are weighed by their
    total evidence. Graphs that list the variables in another order are read in that of the first, so that they share
    the nodes they have in common. Nodes of variables in `turned`, whose directions the graphs disagree about, have the
    prior under which graphs that data cannot tell apart tie.
    """
    variables = graphs[0].variables
    grid = shared_grid(prior)
    total = math.fsum(math.exp(log_weight) for log_weight, _ in grid)
    tables = [data] if isinstance(data, WorkingData) else list(data)
    parts = [
        (share * math.exp(log_weight) / total, FittedGraph(graph, part, one, store, tied=turned))
        for one in tables
        for graph, share in zip((graph.with_order(variables) for graph in graphs), shares, strict=True)
        for log_weight, part in grid
    ]
    return Mixture.of([model for _, model in parts], [weight / len(tables) for weight, _ in parts], len(tables))


def on_other_data(models: Mixture[FittedGraph], data: Sequence[WorkingData], store: NodeStore) -> Mixture[FittedGraph]:
    """Return the mixture of the same graphs and priors, fitted to other tables with equal weights."""
    tables = models.weights.tables
    size = len(models.items) // tables
    items = [model.on(one, store) for one in data for model in models.items[:size]]
    prior = [weight * tables / len(data) for _ in data for weight in models.weights.prior[:size]]
    return Mixture.of(items, prior, len(data))


def turned(graphs: Sequence[CandidateGraph], prior: Prior) -> frozenset[str]:
    """Return the variables between which several graphs have edges of different directions, or cycles together.

    Their nodes have the prior under which graphs that data cannot tell apart tie; not if the noise is known, or if the
    prior was chosen otherwise.
    """
    if len(graphs) == 1 or isinstance(prior.noise, KnownNoise) or unsuited_to_blocks(prior) is not None:
        return frozenset()
    edges = {edge: 1.0 for graph in graphs for edge in graph.edges}
    return frozenset(name for group in components(graphs[0].variables, edges) if len(group) > 1 for name in group)
