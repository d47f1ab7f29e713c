"""What each uncertain edge does to the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from alldags.effects.propagate import Nodes, first_moments, parent_positions, path_variables
from alldags.graph.candidate import CandidateGraph
from alldags.typing import FloatArray


@dataclass(frozen=True, slots=True)
class EdgeInfluence:
    """The effect's posterior mean with and without one edge, in working units.

    Parameters
    ----------
    cause, effect
        The edge.
    prior, posterior
        Its probability before and after the data.
    mean_present, mean_absent
        Posterior mean of the total effect given that the edge is present or absent.
    independent
        Whether the edge is independent of the others a priori; if not, its odds cannot be changed alone.
    """

    cause: str
    effect: str
    prior: float
    posterior: float
    mean_present: float
    mean_absent: float
    independent: bool = True


def edge_influences(graph: CandidateGraph, nodes: Nodes, source: str, target: str) -> list[EdgeInfluence] | None:
    """Return the influence of every uncertain edge into a node on a path; None if the engine has no parent sets.

    Edges from confounders count: they change the other coefficients of their child. Edges into nodes off the paths
    have no influence.
    """
    variables = path_variables(graph, source, target)
    if not variables:
        return []
    reach = first_moments(graph, nodes, variables)
    rows: list[EdgeInfluence] = []
    for child in variables[1:]:
        own, others = parent_positions(graph, variables, child)
        slope = np.zeros(len(graph.parents(child)))  # of the effect's mean in this node's mean
        slope[own] = reach[others] * _onward(graph, nodes, child, target)
        found = _node_influences(graph, nodes, child, slope, float(reach[-1]))
        if found is None:
            return None
        rows += found
    return rows


def _onward(graph: CandidateGraph, nodes: Nodes, child: str, target: str) -> float:
    if child == target:
        return 1.0
    return float(first_moments(graph, nodes, path_variables(graph, child, target))[-1])


def _node_influences(
    graph: CandidateGraph, nodes: Nodes, child: str, slope: FloatArray, mean: float
) -> list[EdgeInfluence] | None:
    node = nodes(child)
    if node.inclusion is None:
        return None
    rows = []
    for place, parent in enumerate(graph.parents(child)):
        prior, posterior = float(node.problem.prior_inclusion[place]), float(node.inclusion[place])
        if not node.problem.certain[place]:
            present, absent = _conditional_means(node.mean_given, node.mean, place, posterior)
            if present is None or absent is None:
                return None
            shift_present, shift_absent = slope @ (present - node.mean), slope @ (absent - node.mean)
            means = float(mean + shift_present), float(mean + shift_absent)
            rows.append(EdgeInfluence(parent, child, prior, posterior, *means, node.problem.log_size is None))
    return rows


def _conditional_means(
    mean_given: Callable[[int, bool], FloatArray | None], mean: FloatArray, place: int, posterior: float
) -> tuple[FloatArray | None, FloatArray | None]:
    """Condition on the rarer case and get the other by the law of total expectation, which is stable that way round."""
    rare = posterior < 0.5
    given = mean_given(place, rare)
    if given is None:
        return None, None
    p = posterior if rare else 1 - posterior
    other = (mean - p * given) / (1 - p)
    present, absent = (given, other) if rare else (other, given)
    absent[place] = 0.0  # an absent edge has no coefficient, not even a rounding error
    return present, absent
