"""The components of a fit: every candidate graph with every value of a hyperparameter that nodes share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from alldags.graph.candidate import CandidateGraph
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.store import NodeStore
from alldags.nodes.data import WorkingData
from alldags.priors.grid import shared_grid
from alldags.priors.prior import Prior


def fitted_mixture(
    graphs: Sequence[CandidateGraph],
    shares: Sequence[float],
    prior: Prior,
    data: WorkingData,
    store: NodeStore,
    turned: frozenset[str] = frozenset(),
) -> Mixture[FittedGraph]:
    """Return the mixture of all graphs, weighed by `shares` a priori; nodes are fitted when first needed.

    Given graph and shared hyperparameters the posterior factorises over blocks; the components are weighed by their
    total evidence. Graphs that list the variables in another order are read in that of the first, so that they share
    the nodes they have in common. Nodes of variables in `turned`, whose directions the graphs disagree about, have the
    prior under which graphs that data cannot tell apart tie.
    """
    variables = graphs[0].variables
    grid = shared_grid(prior)
    total = math.fsum(math.exp(log_weight) for log_weight, _ in grid)
    parts = [
        (share * math.exp(log_weight) / total, FittedGraph(graph, part, data, store, tied=turned))
        for graph, share in zip((graph.with_order(variables) for graph in graphs), shares, strict=True)
        for log_weight, part in grid
    ]
    return Mixture.of([model for _, model in parts], [weight for weight, _ in parts])
