"""One graph with certain edges is a regression: least squares, ridge and Bayesian ridge of scikit-learn are limits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from lines import fit

GOLDEN = json.loads(Path(__file__).with_name("limits.json").read_text(encoding="utf-8"))
X, Y = np.array(GOLDEN["x"]), np.array(GOLDEN["y"])
CAUSES = ("a", "b", "c", "d")
TABLE = dict(zip((*CAUSES, "y"), (*X.T, Y), strict=True))
GRAPH = ad.CandidateGraph.from_edges({(cause, "y"): 1.0 for cause in CAUSES})


def node(prior: ad.Prior):
    """Return the posterior of the outcome's regression, in the table's units."""
    posterior = fit(TABLE, GRAPH, prior=prior, engine="exact", rng=0)
    return posterior._models.items[0].node("y")


def test_a_wide_slab_is_least_squares():
    found = node(ad.Prior(slab_variance=1e10, units="raw", link=0.0))
    np.testing.assert_allclose(found.mean, GOLDEN["least_squares"], rtol=1e-7)


def test_standard_deviations_are_those_of_least_squares_with_a_flat_prior_of_the_noise():
    found = node(ad.Prior(slab_variance=1e10, units="raw", link=0.0))
    centred = X - X.mean(axis=0)
    residual = Y - Y.mean() - centred @ np.array(GOLDEN["least_squares"])
    error = np.linalg.inv(centred.T @ centred).diagonal() * (residual @ residual)
    square = found.second_moments(list(range(4)))
    rows = len(Y) - 1  # a slab, however wide, takes no degree of freedom from the noise; the intercept takes one
    np.testing.assert_allclose(square.diagonal() - found.mean**2, error / (rows - 2), rtol=1e-6)


@pytest.mark.parametrize("penalty", GOLDEN["ridge"])
def test_a_slab_is_ridge_regression(penalty):
    """With a slab in units of the noise the penalty is one over its variance, whatever the noise."""
    found = node(ad.Prior(slab_variance=1.0 / float(penalty), units="raw", link=0.0))
    np.testing.assert_allclose(found.mean, GOLDEN["ridge"][penalty], rtol=1e-9)


def test_known_noise_and_slab_are_bayesian_ridge():
    """Means and covariances at the two precisions that scikit-learn settles on."""
    bayes = GOLDEN["bayesian_ridge"]
    prior = ad.Prior(
        1.0 / bayes["coefficient_precision"], ad.priors.KnownNoise(bayes["noise_precision"]), units="raw", link=0.0
    )
    found = node(prior)
    np.testing.assert_allclose(found.mean, bayes["coefficients"], rtol=1e-7)
    covariance = found.second_moments(list(range(4))) - np.outer(found.mean, found.mean)
    np.testing.assert_allclose(covariance, bayes["covariance"], rtol=1e-6, atol=1e-9)
    effect = fit(TABLE, GRAPH, prior=prior, rng=0).effect("a", "y")
    assert effect.sd == pytest.approx(np.sqrt(bayes["covariance"][0][0]), rel=1e-6)
