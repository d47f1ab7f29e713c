"""`fit_node`: from what a child's regression is made of to its posterior."""

from __future__ import annotations

import numpy as np

from alldags.nodes.loadings import onto_parents
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.nodes.spec import NodeSpec


def fit_node(spec: NodeSpec, engine: Engine, rng: np.random.Generator) -> NodePosterior:
    """Return the posterior of one child's regression, read onto its candidate causes.

    Where moments determine it, the engine is all there is; else the log-likelihood is expanded, and draws are weighed.
    """
    if spec.family is None:
        posterior = engine(spec.problem(), rng)
        posterior.mean  # noqa: B018  - computed here, so that many nodes are in parallel
        return onto_parents(posterior)
    from alldags.engines.weighted.fit import fit_rows

    return fit_rows(spec.rows(), spec.column_terms, spec.prior, engine, rng)
