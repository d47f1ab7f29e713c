"""Prior edge probabilities as shown, under every kind of edge prior."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import alldags as ad
from lines import fit
from problems import PRIORS, random_node, random_world


def test_size_prior_counts_sets(rng):
    problem, _ = random_node(2, PRIORS["known"], 5, certain=1)
    sized = replace(problem, log_size=rng.normal(size=5))
    total, inside = 0.0, np.zeros(5)
    for bits in product([0, 1], repeat=4):
        mask = np.array([1, *bits], dtype=bool)
        weight = math.exp(sized.log_odds[mask].sum() + sized.log_size[sum(bits)])
        total += weight
        inside += weight * mask
    np.testing.assert_allclose(sized.prior_inclusion, inside / total, rtol=1e-12)
    np.testing.assert_array_equal(problem.prior_inclusion, problem.probability)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (None, 0.5),
        (ad.priors.EqualEdges(0.2), 0.2),
        (ad.priors.BetaBinomial(1.0, 3.0), 0.25),
        (ad.priors.BetaBinomial(1.0, 3.0, shared=True, points=9), 0.25),
    ],
    ids=["given", "equal", "per node", "shared"],
)
def test_tables_show_the_prior_that_was_used(edges, expected):
    world = random_world(5, ad.Prior())
    graph = ad.CandidateGraph.from_order(world.names)
    posterior = fit(world.rows, graph, names=world.names, prior=ad.Prior(edges=edges), engine="exact")
    assert posterior.edge_probabilities()["prior"] == pytest.approx([expected] * 10, rel=1e-6)
    table = posterior.effect("a", "e").edge_influence()
    assert table["prior"] == pytest.approx([expected] * len(table), rel=1e-6)
    if isinstance(edges, ad.priors.BetaBinomial) and not edges.shared:
        assert all(math.isnan(value) for value in table["sign_flips_at"])
