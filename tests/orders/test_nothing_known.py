"""Five variables of which nothing is known, against all 29,281 acyclic graphs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import alldags as ad
from lines import fit
from naive import equivalent

NAMES = [f"v{i}" for i in range(5)]


def all_graphs() -> np.ndarray:
    """Return every acyclic graph, row = cause, shape (29281, 5, 5)."""
    pairs = list(itertools.combinations(range(5), 2))
    states = np.array(list(itertools.product((0, 1, 2), repeat=len(pairs))))
    found = np.zeros((len(states), 5, 5))
    for place, (i, j) in enumerate(pairs):
        found[states[:, place] == 1, i, j] = 1.0
        found[states[:, place] == 2, j, i] = 1.0
    return found[~np.linalg.matrix_power(found, 5).any(axis=(1, 2))]


def test_every_acyclic_graph_of_five_variables() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 5))
    x[:, 1] += 0.8 * x[:, 0]
    x[:, 3] += 0.6 * x[:, 1] - 0.5 * x[:, 2]
    scatter = x.T @ x
    candidate = ad.CandidateGraph.unordered(NAMES, 0.5)
    odds = candidate.block_odds(candidate.blocks[0]).odds["v0", "v1"]
    graphs = all_graphs()
    assert len(graphs) == 29_281
    log_weight = np.log(odds) * graphs.sum(axis=(1, 2))
    means = np.zeros_like(graphs)
    for child in range(5):
        for size in range(5):
            for parents in itertools.combinations([i for i in range(5) if i != child], size):
                chosen = list(parents)
                here = (graphs[:, :, child] == np.isin(np.arange(5), chosen)).all(axis=1)
                log_weight[here] += equivalent.log_node(scatter, 40.0, child, chosen, 2.0, 1.0)
                if chosen:
                    a = scatter[np.ix_(chosen, chosen)] + np.eye(size)
                    means[np.ix_(here, chosen, [child])] = np.linalg.solve(a, scatter[chosen, child])[None, :, None]
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    effects = np.linalg.inv(np.eye(5) - means)
    reached = np.linalg.inv(np.eye(5) - 0.1 * graphs) > 0.0
    prior = ad.Prior(1.0, ad.priors.EquivalentNoise(2.0), units="raw", intercept=False, link=0.0)
    posterior = fit(x, candidate, names=NAMES, prior=prior, rng=0)
    np.testing.assert_allclose(np.asarray(posterior.effects()), np.einsum("g,gij->ij", weight, effects), atol=1e-9)
    table = posterior.edge_probabilities()
    for cause, effect, found in zip(table["cause"], table["effect"], table["posterior"], strict=True):
        i, j = NAMES.index(cause), NAMES.index(effect)
        assert found == pytest.approx(float(weight @ graphs[:, i, j]), abs=1e-9)
    asked = posterior.effect("v0", "v3")
    assert asked.probability_no_effect == pytest.approx(float(weight @ ~reached[:, 0, 3]), abs=1e-9)
    between = float(weight @ effects[:, 0, 3] ** 2) - asked.mean**2
    assert asked.uncertainty.structure == pytest.approx(between**0.5, abs=1e-7)


def test_an_experiment_decides_a_direction_that_rows_alone_leave_open() -> None:
    rng = np.random.default_rng(0)
    x, was_set = rng.normal(size=300), np.arange(300) >= 150
    x[was_set] = rng.choice([-2.0, 2.0], 150)
    y = 0.8 * x + rng.normal(size=300)
    table = {"x": x, "y": y, "z": 0.7 * y + rng.normal(size=300)}
    graph = ad.CandidateGraph.unordered(["x", "y", "z"], 0.5)
    plain, told = (
        fit(table, graph, rng=0, **options).effect("x", "y")  # type: ignore[arg-type]
        for options in ({}, {"interventions": {"x": was_set}})
    )
    assert plain.probability.reverse == pytest.approx(0.65, abs=0.1)
    assert told.probability.reverse < 1e-6
    assert abs(told.mean - 0.8) < 4 * told.sd
