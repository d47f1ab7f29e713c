"""Hyperparameters that all nodes share: an outer average by total evidence."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.priors.grid import shared_grid
from lines import fit
from problems import PRIORS, random_world


@pytest.mark.parametrize(
    "options",
    [
        {"slab": ad.priors.LearnedSlab(shared=True, points=5)},
        {"edges": ad.priors.BetaBinomial(1.0, 2.0, shared=True, points=4)},
        {"slab": ad.priors.LearnedSlab(shared=True, points=3), "edges": ad.priors.BetaBinomial(shared=True, points=3)},
    ],
    ids=["slab", "edges", "both"],
)
def test_shared_hyperparameters_are_weighed_by_total_evidence(options):
    world = random_world(4, PRIORS["unknown"], variables=4)
    graph = ad.CandidateGraph.from_order(world.names)
    prior = ad.Prior(**options)
    posterior = fit(world.rows, graph, names=world.names, prior=prior, engine="exact", rng=0)
    grid = shared_grid(prior)
    parts = [fit(world.rows, graph, names=world.names, prior=part, engine="exact", rng=0) for _, part in grid]
    log = np.array([log_weight for log_weight, _ in grid])
    log = log - np.logaddexp.reduce(log) + [part.log_evidence for part in parts]
    weights = np.exp(log - np.logaddexp.reduce(log))
    assert len(parts) > 2
    assert posterior.graph_probabilities == pytest.approx(weights, rel=1e-9)
    assert posterior.log_evidence == pytest.approx(np.logaddexp.reduce(log), rel=1e-9)
    effects = [part.effect("a", "d") for part in parts]
    mean = weights @ [effect.mean for effect in effects]
    second = weights @ [effect.sd**2 + effect.mean**2 for effect in effects]
    effect = posterior.effect("a", "d")
    assert effect.mean == pytest.approx(mean, rel=1e-9)
    assert effect.sd == pytest.approx(np.sqrt(second - mean**2), rel=1e-7)
    assert posterior.log10_graphs == pytest.approx(6 * np.log10(2))
