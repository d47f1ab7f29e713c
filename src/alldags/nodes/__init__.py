"""The border between data and engines: `NodeProblem` goes in, `NodePosterior` comes out, one per child variable.

A node's problem is a regression of the child on the terms of its candidate parents with a spike-and-slab prior, reduced
to cross-products, which is all that a normal child with straight lines needs. The rows of others are read in batches:
`engines.weighted` expands their likelihood into such a problem and weighs draws by the rows. Everything here is in
*working units* (see `Prior.units`); effects are turned into the user's units at the end.
"""

from __future__ import annotations

from alldags.nodes.build import linear_terms, node_problem
from alldags.nodes.data import WorkingData, working_data
from alldags.nodes.posterior import BatchEngine, Diagnostics, Engine, GraphEngine, NodeFit, NodePosterior, ParentSet
from alldags.nodes.problem import NodeProblem, Origin
from alldags.priors.grid import Setting

__all__ = [
    "BatchEngine",
    "Diagnostics",
    "Engine",
    "GraphEngine",
    "NodeFit",
    "NodePosterior",
    "NodeProblem",
    "Origin",
    "ParentSet",
    "Setting",
    "WorkingData",
    "linear_terms",
    "node_problem",
    "working_data",
]
