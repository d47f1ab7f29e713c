"""Moments of the change of an outcome where variables are set, in several scenarios of one fitted graph.

With ``u`` the change of each variable in one scenario, fixed for those that are set there::

    E[u_j]     = mean_j . E[u_C]
    E[u_j v_a] = mean_j . E[u_C v_a]      for every earlier a, in any scenario
    E[u_j v_j] = sum(M_j * E[u_C v_C'])   M_j = E[theta_j theta_j'], C = candidate parents of j

as for total effects (`alldags.effects.total`): edges into what is set are cut, and each node is still used once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from alldags.models.fitted import FittedGraph
from alldags.nodes.posterior import NodePosterior
from alldags.typing import FloatArray


def joint_changes(
    model: FittedGraph, moves: Sequence[Mapping[str, float]], outcome: str
) -> tuple[FloatArray, FloatArray]:
    """Return first (w,) and second moments (w, w) of the change of an outcome in w scenarios of one model.

    Every scenario has its own copy of each variable; the copies of a node share its coefficients.

    Parameters
    ----------
    model
        Whose nodes on the way are normal and straight.
    moves
        By how much each scenario moves what it sets, in working units.
    outcome
        Name.
    """
    w, graph = len(moves), model.graph
    moved = set().union(*(graph.descendants(name) for one in moves for name in one))
    nodes = [name for name in graph.order if name in moved and (name == outcome or name in graph.ancestors(outcome))]
    names = [*dict.fromkeys(name for one in moves for name in one if name not in nodes), *nodes]
    place, count = {name: i for i, name in enumerate(names)}, len(names)
    mean, square = np.zeros((count, w)), np.zeros((count, w, count, w))
    for name in names:
        j = place[name]
        given = np.array([one.get(name, math.nan) for one in moves])
        is_set = ~np.isnan(given)
        if name in nodes and not is_set.all():
            _carry(model.node(name), j, place, mean, square)
        mean[j, is_set] = given[is_set]
        for i in np.flatnonzero(is_set).tolist():  # fixed numbers
            square[j, i, : j + 1] = given[i] * mean[: j + 1]
            square[: j + 1, :, j, i] = given[i] * mean[: j + 1]
    if outcome not in place:
        return np.zeros(w), np.zeros((w, w))
    j = place[outcome]
    return mean[j], square[j, :, j, :]


def _carry(node: NodePosterior, j: int, place: Mapping[str, int], mean: FloatArray, square: FloatArray) -> None:
    """Write the moments of one node's change in all scenarios with each other and with all before."""
    pairs = [(own, place[name]) for own, name in enumerate(node.parents) if name in place and place[name] < j]
    own, others = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if not own:
        return
    slopes = node.mean[own]
    mean[j] = slopes @ mean[others]
    across = np.einsum("p,pwau->wau", slopes, square[others][:, :, :j, :])
    square[j, :, :j, :] = across
    square[:j, :, j, :] = across.transpose(1, 2, 0)
    inside = square[np.ix_(others, range(mean.shape[1]), others, range(mean.shape[1]))]
    square[j, :, j, :] = np.einsum("pq,pwqu->wu", node.second_moments(own), inside)
