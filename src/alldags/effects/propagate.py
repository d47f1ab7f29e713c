"""Exact first and second moments of total effects, from the moments of the nodes.

With ``t_j`` the total effect of a source on ``j`` (``t_source = 1``) and nodes independent a posteriori, in
topological order::

    E[t_j]     = mean_j . E[t_C]
    E[t_j t_a] = mean_j . E[t_C t_a]      for every earlier a
    E[t_j^2]   = sum(M_j * E[t_C t_C'])   M_j = E[theta_j theta_j'], C = candidate parents of j

A directed path enters each vertex at most once, so a product of coefficients along it is a product over different,
independent nodes: that is why no sampling and no sum over graphs is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from alldags.graph.candidate import CandidateGraph
from alldags.nodes import NodePosterior
from alldags.typing import FloatArray

Nodes: TypeAlias = Callable[[str], NodePosterior]
SecondMoments: TypeAlias = Callable[[NodePosterior], FloatArray]


def path_variables(graph: CandidateGraph, source: str, target: str) -> tuple[str, ...]:
    """Return the variables on candidate paths from `source` to `target`, in topological order; empty without a path."""
    if target not in graph.descendants(source):
        return ()
    between = graph.descendants(source) & graph.ancestors(target)
    return tuple(name for name in graph.order if name in between or name in (source, target))


def parent_positions(graph: CandidateGraph, variables: Sequence[str], child: str) -> tuple[list[int], list[int]]:
    """Return, for the parents of `child` among `variables`, their positions in the parent list and in `variables`."""
    place = {name: i for i, name in enumerate(variables)}
    pairs = [(p, place[name]) for p, name in enumerate(graph.parents(child)) if name in place]
    return [p for p, _ in pairs], [v for _, v in pairs]


def first_moments(graph: CandidateGraph, nodes: Nodes, variables: Sequence[str]) -> FloatArray:
    """Return E[t_j] of the first variable on each of `variables`, shape (v,)."""
    mean = np.zeros(len(variables))
    mean[0] = 1.0
    for j, child in enumerate(variables[1:], start=1):
        own, others = parent_positions(graph, variables, child)
        if own:
            mean[j] = nodes(child).mean[own] @ mean[others]
    return mean


def second_moments(graph: CandidateGraph, nodes: Nodes, variables: Sequence[str], matrix: SecondMoments) -> FloatArray:
    """Return E[t t'] over `variables`, shape (v, v), with `matrix(node)` in place of each node's second moments."""
    square = np.zeros((len(variables), len(variables)))
    square[0, 0] = 1.0
    for j, child in enumerate(variables[1:], start=1):
        own, others = parent_positions(graph, variables, child)
        if own:
            node = nodes(child)
            square[j, :j] = node.mean[own] @ square[others, :j]
            square[:j, j] = square[j, :j]
            square[j, j] = _weighted_sum(matrix(node)[np.ix_(own, own)], square[np.ix_(others, others)])
    return square


def _weighted_sum(moments: FloatArray, weights: FloatArray) -> float:
    """Return ``sum(moments * weights)``; infinite moments with weight zero do not count."""
    return float(np.where(weights == 0.0, 0.0, moments * np.where(weights == 0.0, 0.0, weights)).sum())


def total(node: NodePosterior) -> FloatArray:
    """Return a node's second moments."""
    return node.second_moment


def between_graphs(node: NodePosterior) -> FloatArray:
    """Return the second moments of a node's conditional means over parent sets."""
    if node.second_moment_between is None:
        raise TypeError("this engine has no notion of a parent set")
    return node.second_moment_between


def mean_coefficients(graph: CandidateGraph, nodes: Nodes) -> FloatArray:
    """Return the model-averaged coefficient matrix ``Bbar``, shape (m, m), row = cause."""
    place = {name: i for i, name in enumerate(graph.variables)}
    matrix = np.zeros((len(place), len(place)))
    for child in graph.variables:
        parents = graph.parents(child)
        if parents:
            matrix[[place[name] for name in parents], place[child]] = nodes(child).mean
    return matrix


def all_effects(coefficients: FloatArray) -> FloatArray:
    """Return ``(I - Bbar)^-1``: the mean total effect of each row's variable on each column's, 1 on the diagonal."""
    return np.asarray(np.linalg.inv(np.eye(len(coefficients)) - coefficients), dtype=np.float64)


def effects_from(
    graph: CandidateGraph, nodes: Nodes, source: str, matrix: SecondMoments = total
) -> Mapping[str, tuple[float, float]]:
    """Return mean and second moment of the total effect of `source` on every descendant."""
    inside = graph.descendants(source)
    variables = [source, *(name for name in graph.order if name in inside)]
    mean = first_moments(graph, nodes, variables)
    second = np.diag(second_moments(graph, nodes, variables, matrix))
    return {name: (float(a), float(b)) for name, a, b in zip(variables, mean, second, strict=True)}
