"""The paper's small experiment: squared errors of VB, K2 and the full model against the exact average.

n1 = n2 = 2, edge probability 0.5, slab variance and noise precision 1; paired over 10,000 simulated data sets
(``ALLDAGS_REPLICATES`` changes that).
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from alldags import engines
from alldags.nodes import NodeProblem, Setting
from alldags.priors.noise import KnownNoise
from alldags.typing import FloatArray
from benchmarks.problems import node_of
from benchmarks.report import Row

SETTING = Setting(1.0, KnownNoise(1.0))
RNG = np.random.default_rng(0)  # the engines compared use no random numbers
Means = Callable[[list[NodeProblem]], list[FloatArray]]


def simulate(rng: np.random.Generator, replicates: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Return tables of W1, W2, X, Z1, Z2, Y, shape (replicates, n, 6), and the true effects of X on Y."""

    def coefficients(*shape: int) -> FloatArray:
        return rng.standard_normal((replicates, *shape)) * (rng.random((replicates, *shape)) < 0.5)

    def noise(*shape: int) -> FloatArray:
        return rng.standard_normal((replicates, n, *shape))

    w = noise(2)
    x = np.einsum("rni,ri->rn", w, coefficients(2)) + noise()
    into_z, into_y = coefficients(3, 2), coefficients(4)
    z = np.concatenate([w, x[..., None]], axis=2) @ into_z + noise(2)
    y = np.einsum("rni,ri->rn", np.concatenate([w, z], axis=2), into_y) + noise()
    table = np.concatenate([w, x[..., None], z, y[..., None]], axis=2)
    return table, np.einsum("rz,rz->r", into_z[:, 2], into_y[:, 2:])


def problems(table: FloatArray) -> list[NodeProblem]:
    """Return the problems of Z1, Z2 and Y: only nodes on paths from X to Y matter."""
    scatter = table.T @ table
    n = float(len(table))
    return [
        node_of(scatter, n, parents, child, SETTING)
        for child, parents in ((3, [0, 1, 2]), (4, [0, 1, 2]), (5, [0, 1, 3, 4]))
    ]


def effects(means: list[FloatArray]) -> FloatArray:
    """Return the mean total effects: sums over Z of products of means, which belong to different nodes."""
    z1, z2, y = (np.array(means[i::3]) for i in range(3))
    return np.asarray(z1[:, 2] * y[:, 2] + z2[:, 2] * y[:, 3])


def one_by_one(engine: engines.Exact | engines.K2 | engines.Full) -> Means:
    return lambda nodes: [engine(node, RNG).mean for node in nodes]


def all_at_once(engine: engines.VB) -> Means:
    return lambda nodes: [fit.mean for fit in engine.fit_many(nodes)]


def squared_errors(n: int, replicates: int, methods: dict[str, Means]) -> dict[str, FloatArray]:
    """Return the squared errors of each method on the same data sets."""
    tables, truth = simulate(np.random.default_rng([2021, n]), replicates, n)
    nodes = [node for table in tables for node in problems(table)]
    return {name: (effects(method(nodes)) - truth) ** 2 for name, method in methods.items()}


def paired(a: FloatArray, b: FloatArray) -> float:
    """Return the mean of ``a - b`` in standard errors."""
    difference = a - b
    return float(difference.mean() / (difference.std(ddof=1) / np.sqrt(len(difference))))


def run() -> list[Row]:
    replicates = int(os.environ.get("ALLDAGS_REPLICATES", "10000"))
    methods = {
        "exact": one_by_one(engines.Exact()),
        "vb": all_at_once(engines.VB()),
        "k2": one_by_one(engines.K2()),
        "full": one_by_one(engines.Full()),
    }
    rows = []
    for n in (20, 50, 100):
        errors = squared_errors(n, replicates, methods)
        note = ", ".join(f"{name} {value.mean():.4f}" for name, value in errors.items())
        exact, vb, k2, full = (errors[name] for name in ("exact", "vb", "k2", "full"))
        rows += [
            Row(f"n = {n}: VB - exact", paired(vb, exact), "standard errors", 2.0, ">=", note),
            Row(f"n = {n}: VB - K2", paired(vb, k2), "standard errors", 2.0),
            Row(f"n = {n}: full - K2", paired(full, k2), "standard errors", 2.0, ">="),
            Row(f"n = {n}: VB above exact", 100 * (vb.mean() / exact.mean() - 1), "%", 20.0),
        ]
    return rows
