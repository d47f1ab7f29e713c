"""A category with certain edges and a wide slab against maximum likelihood by statsmodels."""

from __future__ import annotations

import json

import numpy as np
import pytest

import alldags as ad
from golden.levels import FILE, WORDS, made
from lines import fit

EXPECTED = json.loads(FILE.read_text())


@pytest.fixture(scope="module")
def posterior():
    x, code = made()
    table = {f"x{i}": x[:, i] for i in range(3)} | {"way": np.array(WORDS)[code]}
    graph = ad.CandidateGraph.from_edges({(f"x{i}", "way"): 1.0 for i in range(3)})
    prior = ad.Prior(slab=None, slab_variance=1e4)
    return fit(table, graph, families={"way": "categorical"}, prior=prior, rng=0)


def test_coefficients_and_their_errors_are_those_of_maximum_likelihood(posterior):
    x, node = made()[0], posterior.workings.models.items[0].node("way").columns
    contrasts = posterior.workings.data.families["way"].contrasts
    against = contrasts[1:] - contrasts[0]  # log odds of each level against the first
    mean = (node.mean.reshape(3, 3) @ against.T).T / x.std(axis=0, ddof=1)
    second = (node.second_moment - np.outer(node.mean, node.mean)).reshape(3, 3, 3, 3)
    spread = np.array([[np.sqrt(row @ second[i, :, i] @ row) for i in range(3)] for row in against])
    errors = spread / x.std(axis=0, ddof=1)
    np.testing.assert_allclose(mean, EXPECTED["coefficients"], atol=1e-2)
    np.testing.assert_allclose(errors, EXPECTED["errors"], rtol=0.05)


def test_differences_of_probabilities_and_their_errors_are_those_of_maximum_likelihood(posterior):
    found = posterior.effect("x0", "way").probability.levels()
    np.testing.assert_allclose(found["difference"], EXPECTED["differences"], atol=2e-3)
    width = (np.array(found["high"]) - found["low"]) / (2 * 1.96)
    np.testing.assert_allclose(width, EXPECTED["difference_errors"], rtol=0.06)
