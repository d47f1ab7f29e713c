"""Blocks for the tests: from cross-products and prior odds."""

from __future__ import annotations

import numpy as np

from alldags.nodes import NodeProblem, Setting
from alldags.orders.problem import BlockProblem
from alldags.priors.noise import EquivalentNoise


def block_problem(scatter, n, odds, b):
    """The first b variables form the block, the others come before; infinite odds are a certain edge, 0 is none."""
    names = [f"x{i}" for i in range(len(scatter))]
    nodes = []
    for j in range(b):
        terms = [i for i in range(len(scatter)) if odds[i, j] > 0]
        own = odds[terms, j]
        probability = np.where(np.isinf(own), 1.0, own / (1.0 + np.where(np.isinf(own), 0.0, own)))
        nodes.append(
            NodeProblem(
                names[j], tuple(names[i] for i in terms), np.ascontiguousarray(scatter[np.ix_(terms, terms)]),
                scatter[terms, j].copy(), float(scatter[j, j]), n, probability,
                (Setting(1.0, EquivalentNoise(dof=2.0)),), rows=n + 1,
            )
        )  # fmt: skip
    return BlockProblem(tuple(nodes))


def linear_data(rng, m, n, edges=2.0):
    """Standardised cross-products of a random linear graph with about `edges` edges a node, and usable rows."""
    b = np.triu(rng.uniform(0.3, 1.2, (m, m)) * rng.choice([-1, 1], (m, m)), 1)
    b[rng.random((m, m)) > edges / (m - 1)] = 0.0
    order = rng.permutation(m)
    x = rng.normal(size=(n, m)) @ np.linalg.inv(np.eye(m) - b)[np.ix_(order, order)]
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    return x.T @ x, n - 1


def even_odds(m, value=0.5):
    return np.full((m, m), value) - value * np.eye(m)
