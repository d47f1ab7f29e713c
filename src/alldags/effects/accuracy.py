"""How far the computed posterior mean of a total effect may be from the true one."""

from __future__ import annotations

import math

import numpy as np

from alldags.effects.propagate import Nodes, first_moments, parent_positions, path_variables
from alldags.graph.candidate import CandidateGraph


def mean_accuracy(graph: CandidateGraph, nodes: Nodes, source: str, target: str) -> tuple[float, float]:
    """Return the Monte-Carlo standard error of the mean effect, and a bound from parent sets left out.

    The mean effect is linear in each node's mean, with slope ``E[t_C]`` times the mean effect of the node on the
    target; nodes are fitted independently. Both numbers are first-order and 0 for exact engines.
    """
    variables = path_variables(graph, source, target)
    if not variables:
        return 0.0, 0.0
    reach = first_moments(graph, nodes, variables)
    variance, bound = 0.0, 0.0
    for child in variables[1:]:
        own, others = parent_positions(graph, variables, child)
        onward = first_moments(graph, nodes, path_variables(graph, child, target))[-1] if child != target else 1.0
        slope = np.zeros(len(graph.parents(child)))
        slope[own] = reach[others] * onward
        node = nodes(child)
        variance += node.linear_error(slope) ** 2
        bound += float(np.abs(slope) @ node.mean_bound)
    return math.sqrt(variance), bound
