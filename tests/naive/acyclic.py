"""Every acyclic graph of a few variables, one by one."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from alldags.typing import FloatArray


def acyclic_graphs(possible: FloatArray, certain: FloatArray) -> FloatArray:
    """Return all acyclic graphs with these possible and these certain edges, row = cause, shape (graphs, b, b)."""
    b = len(possible)
    states = []
    for i, j in combinations(range(b), 2):
        forward, backward = ((i, j),), ((j, i),)
        if certain[i, j] or certain[j, i]:
            states.append([forward if certain[i, j] else backward])
        else:
            states.append([(), *([forward] if possible[i, j] else []), *([backward] if possible[j, i] else [])])
    graphs = np.zeros((int(np.prod([len(state) for state in states])), b, b))
    for number, chosen in enumerate(product(*states)):
        for edges in chosen:
            for edge in edges:
                graphs[(number, *edge)] = 1.0
    walks = np.eye(b) + graphs  # a graph is acyclic if no walk of b steps exists
    for _ in range(b):
        walks = np.minimum(walks @ (np.eye(b) + graphs), 1.0)
    closed = (np.einsum("gij,gji->gij", walks, graphs) > 0).any(axis=(1, 2))
    return graphs[~closed]


def weights(graphs: FloatArray, odds: FloatArray) -> FloatArray:
    """Return the product of the odds of each graph's edges; certain edges have odds 1 here."""
    return np.where(graphs > 0, odds, 1.0).prod(axis=(1, 2))


def edge_probabilities(graphs: FloatArray, odds: FloatArray) -> FloatArray:
    """Return the share of the weight in which each edge is present, shape (b, b)."""
    weight = weights(graphs, odds)
    return np.einsum("g,gij->ij", weight, graphs) / weight.sum()
