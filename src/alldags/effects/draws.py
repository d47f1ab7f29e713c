"""Independent draws of total effects, and of the mean and variance of the outcome under an intervention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from alldags.effects.propagate import Nodes, parent_positions, path_variables
from alldags.graph.candidate import CandidateGraph
from alldags.typing import FloatArray

NodeDraws = Mapping[str, tuple[FloatArray, FloatArray]]


def draw_nodes(
    graph: CandidateGraph, nodes: Nodes, children: Sequence[str], size: int, rng: np.random.Generator
) -> NodeDraws:
    """Draw each child's coefficients (size, k) and noise variance (size,), independently.

    Every variable of the graph has its own stream, so a node's draws do not depend on which others are drawn.
    """
    streams = dict(zip(graph.variables, rng.spawn(len(graph.variables)), strict=True))
    return {child: nodes(child).draw(size, streams[child]) for child in children}


def total_effect_draws(
    graph: CandidateGraph, nodes: Nodes, source: str, target: str, size: int, rng: np.random.Generator
) -> FloatArray:
    """Draw the total effect of `source` on `target`, shape (size,)."""
    variables = path_variables(graph, source, target)
    if not variables:
        return np.zeros(size)
    draws = draw_nodes(graph, nodes, variables[1:], size, rng)
    return np.asarray(_propagate(graph, draws, variables, size)[-1])


def _propagate(graph: CandidateGraph, draws: NodeDraws, variables: Sequence[str], size: int) -> FloatArray:
    """Return draws of the first variable's effect on each variable, shape (v, size)."""
    effect = np.zeros((len(variables), size))
    effect[0] = 1.0
    for j, child in enumerate(variables[1:], start=1):
        own, others = parent_positions(graph, variables, child)
        effect[j] = np.einsum("sp,ps->s", draws[child][0][:, own], effect[others])
    return effect


@dataclass(frozen=True, eq=False)
class OutcomeDraws:
    """Posterior draws that determine the outcome's distribution under do(source = x).

    Parameters
    ----------
    effect
        Total effect, shape (size,).
    variance
        Variance of the outcome given graph, coefficients and noise, source held fixed; shape (size,).
    """

    effect: FloatArray
    variance: FloatArray


def outcome_draws(
    graph: CandidateGraph, nodes: Nodes, source: str, target: str, size: int, rng: np.random.Generator
) -> OutcomeDraws:
    """Draw the total effect and ``sum_k U_k^2 / s_k``; U_k is the effect of k along paths that avoid the source."""
    variables = outcome_variables(graph, source, target)
    draws = draw_nodes(graph, nodes, variables, size, rng)
    reach = {target: np.ones(size)}
    variance = np.zeros(size)
    for name in reversed(variables):
        reach.setdefault(name, np.zeros(size))
        variance += reach[name] ** 2 * draws[name][1]
        for p, parent in enumerate(graph.parents(name)):
            reach[parent] = reach.get(parent, 0.0) + draws[name][0][:, p] * reach[name]
    return OutcomeDraws(np.asarray(reach.get(source, np.zeros(size))), variance)


def outcome_variables(graph: CandidateGraph, source: str, target: str) -> tuple[str, ...]:
    """Return the variables whose noise reaches the target without passing the source, in topological order."""
    inside = {target}
    for name in reversed(graph.order):
        if name in inside:
            inside.update(parent for parent in graph.parents(name) if parent != source)
    return tuple(name for name in graph.order if name in inside)
