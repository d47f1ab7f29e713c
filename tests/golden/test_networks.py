"""Total effects of ECOLI70 and MAGIC-NIAB, whose coefficients are published: exact truths."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from lines import fit

HERE = Path(__file__).parent
EFFECTS = {"ecoli70": 203, "magic-niab": 148}  # that are not zero
MANY = 1e7  # rows that the covariance matrix is said to come from: what is left is the prior's pull, and little


def candidates(names, true_edges, extra, rng):
    """Return the true edges and some that are not, all with probability one half."""
    place = {name: i for i, name in enumerate(names)}
    edges = {tuple(edge): 0.5 for edge in true_edges}
    for child in names:
        before = [name for name in names[: place[child]] if (name, child) not in edges]
        chosen = rng.choice(len(before), min(extra, len(before)), replace=False) if before else []
        edges |= {(before[i], child): 0.5 for i in chosen}
    return ad.CandidateGraph(tuple(names), edges)


def check(names, covariance, true_edges, effects):
    """Hold effects and edges found in a population against the truth; `effects` maps pairs to total effects."""
    graph = candidates(names, true_edges, 5, np.random.default_rng(5))
    moments = ad.Moments.from_covariance(covariance, MANY, names=list(names))
    posterior = fit(moments, graph, prior=ad.Prior(link=0.0), rng=0)
    found = posterior.effects(link=0.0)
    sd = np.sqrt(np.diag(covariance))
    place = {name: i for i, name in enumerate(names)}
    for (cause, effect), truth in effects.items():
        scale = sd[place[cause]] / sd[place[effect]]
        assert found[cause, effect] * scale == pytest.approx(truth * scale, abs=2e-4), (cause, effect)
    true = {tuple(edge) for edge in true_edges}
    for row in posterior.edge_probabilities().rows():
        there = (row["cause"], row["effect"]) in true
        assert (row["posterior"] > 0.5) == there, row
    return posterior


@pytest.mark.parametrize("name", EFFECTS)
def test_all_effects_of_the_whole_network(name, public_data):
    if not (public_data / "gbn" / f"{name}.json").exists():
        pytest.skip("this network is not among the public data sets on this machine")
    spec = importlib.util.spec_from_file_location("golden_networks", HERE / "networks.py")
    networks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(networks)
    names, coefficients, noise = networks.read(name)
    truth = networks.effects(coefficients)
    edges = [(names[i], names[j]) for i, j in np.argwhere(coefficients)]
    pairs = {(names[i], names[j]): truth[i, j] for i in range(len(names)) for j in range(len(names)) if i != j}
    assert sum(value != 0 for value in pairs.values()) == EFFECTS[name]
    check(names, networks.covariance(coefficients, noise), edges, pairs)
