"""From a table to one number per method: the shortest way through the library's layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alldags.data.moments import Moments
from alldags.graph.candidate import CandidateGraph
from alldags.nodes import Engine, node_problem, working_moments
from alldags.priors.prior import Prior
from alldags.typing import FloatArray


def array_moments(table: FloatArray, names: Sequence[str]) -> Moments:
    """Return the moments of an array of shape (n, m) that is known to be complete and finite."""
    mean = table.mean(axis=0)
    centred = table - mean
    return Moments(len(table), mean, centred.T @ centred, tuple(names))


def path_nodes(graph: CandidateGraph, treatment: str, outcome: str) -> tuple[str, ...]:
    """Return the nodes on candidate paths from treatment to outcome, causes first, without the treatment."""
    inside = graph.descendants(treatment) & (graph.ancestors(outcome) | {outcome})
    return tuple(name for name in graph.order if name in inside)


def mean_effect(
    moments: Moments,
    graph: CandidateGraph,
    prior: Prior,
    engine: Engine,
    rng: np.random.Generator,
    treatment: str = "X",
    outcome: str = "Y",
) -> float:
    """Return the posterior mean of the total effect: ``fit(...).effect(...).mean`` without the results around it.

    Posterior means of coefficients of different nodes multiply along a path, so that the mean effect on each node is
    the mean effect on its parents times its mean coefficients.
    """
    nodes = path_nodes(graph, treatment, outcome)
    working = working_moments(moments, prior, graph.variables)
    reached = {treatment: 1.0}
    for child, child_rng in zip(nodes, rng.spawn(len(nodes)), strict=True):
        problem = node_problem(working, graph, prior, child)
        mean = engine(problem, child_rng).mean
        reached[child] = sum(
            float(value) * reached[name] for name, value in zip(problem.parents, mean, strict=True) if name in reached
        )
    units = working.scale[working.index[outcome]] / working.scale[working.index[treatment]]
    return float(reached.get(outcome, 0.0) * units)
