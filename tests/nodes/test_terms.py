"""A term is not a variable: products and levels run through the engines, and are read onto parents."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import alldags as ad
from alldags.engines.exact import Exact
from alldags.nodes import Loadings, NodePosterior
from alldags.nodes.build import NodeTerms, build
from alldags.nodes.data import working_data
from alldags.nodes.loadings import onto_parents
from alldags.nodes.problem import NodeProblem

PRIOR = ad.Prior.paper()
PARENTS = ("x", "w")
TERMS = ("x", "w", "x*w")
MEMBERS = np.array([[True, False, True], [False, True, True]])


def product_rows(rng: np.random.Generator, rows: int = 400) -> np.ndarray:
    x, w = rng.normal(size=(2, rows))
    return np.column_stack([x, w, x * w, 1.0 * x - 0.5 * w + 0.75 * x * w + rng.normal(size=rows)])


def problem_at(table: np.ndarray, w: float, prior: ad.Prior = PRIOR, p: tuple = (0.5, 0.5, 0.5)) -> NodeProblem:
    """Regress y on x, w and x*w; the effect of x is asked for at one value of w."""
    names = (*TERMS, "y")
    slopes = np.array([[1.0, 0.0, w], [0.0, 1.0, 0.0]])
    data = working_data(ad.Moments.from_table(table, names=names), prior, names)
    return build(data.of("y"), NodeTerms("y", TERMS, p, Loadings(PARENTS, slopes, MEMBERS)), prior)


def fitted(problem: NodeProblem) -> NodePosterior:
    return onto_parents(Exact()(problem, np.random.default_rng(0)))


@pytest.mark.parametrize("w", [0.0, 2.0])
def test_the_effect_of_x_depends_on_w(rng, w):
    node = fitted(problem_at(product_rows(rng), w))
    sd = np.sqrt(node.second_moment[0, 0] - node.mean[0] ** 2)
    assert node.mean[0] == pytest.approx(1.0 + 0.75 * w, abs=4 * sd)
    assert sd < 0.2


@pytest.mark.parametrize("w", [0.0, 2.0])
def test_moments_onto_parents_are_those_of_all_sets_of_terms(rng, w):
    table = product_rows(rng, 30)
    x, y = table[:, :3], table[:, 3]
    weights, means, seconds, present = [], [], [], []
    for mask in product([False, True], repeat=3):
        inside = np.array(mask)
        a = x[:, inside].T @ x[:, inside] + np.eye(inside.sum())
        covariance = np.eye(len(y)) + x[:, inside] @ x[:, inside].T
        weights.append(-0.5 * (np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)))
        slope = np.array([1.0, 0.0, w])[inside]
        mean = slope @ np.linalg.solve(a, x[:, inside].T @ y)
        means.append(mean)
        seconds.append(mean**2 + slope @ np.linalg.solve(a, slope))
        present.append(mask[0] or mask[2])
    weight = np.exp(np.array(weights) - max(weights))
    weight /= weight.sum()
    node = fitted(problem_at(table, w))
    assert node.mean[0] == pytest.approx(weight @ means, rel=1e-9)
    assert node.second_moment[0, 0] == pytest.approx(weight @ seconds, rel=1e-9)
    assert node.second_moment_between[0, 0] == pytest.approx(weight @ np.square(means), rel=1e-9)
    assert node.inclusion[0] == pytest.approx(weight @ np.array(present, dtype=float), rel=1e-9)


def test_an_edge_is_present_iff_one_of_its_terms_is(rng):
    node = fitted(problem_at(product_rows(rng, 40), 0.0))
    assert node.parents == PARENTS
    np.testing.assert_allclose(node.prior_inclusion, 0.75)
    none = node.probability_disjoint(np.array([[True, True]]))[0]
    tops = node.top_parent_sets(4)
    assert sum(item.probability for item in tops) == pytest.approx(1.0)
    assert sum(item.probability for item in tops if not item.parents) == pytest.approx(none)
    for place, name in enumerate(PARENTS):
        share = sum(item.probability for item in tops if name in item.parents)
        assert share == pytest.approx(node.inclusion[place])


def test_the_prior_of_an_edge_follows_the_prior_of_the_number_of_terms(rng):
    prior = ad.Prior(noise=ad.KnownNoise(1.0), units="raw", intercept=False, edges=ad.BetaBinomial(1, 1))
    node = fitted(problem_at(product_rows(rng, 40), 0.0, prior))
    assert node.prior_inclusion[0] == pytest.approx(1 - (1 / 4 + (1 / 4) / 3))  # no term; w alone of three single ones
    assert not node.has_independent_edges


def test_a_certain_term_makes_its_edges_certain(rng):
    node = fitted(problem_at(product_rows(rng, 40), 0.0, p=(0.5, 0.5, 1.0)))
    assert node.certain.all()
    np.testing.assert_allclose(node.inclusion, 1.0)
    np.testing.assert_allclose(node.prior_inclusion, 1.0)


def test_draws_have_the_moments(rng):
    node = fitted(problem_at(product_rows(rng, 40), 2.0))
    draws, noise = node.draw(20_000, np.random.default_rng(1))
    assert draws.shape == (20_000, 2)
    assert noise.shape == (20_000,)
    sd = np.sqrt(np.diag(node.second_moment) - node.mean**2)
    np.testing.assert_allclose(draws.mean(axis=0), node.mean, atol=5 * sd.max() / np.sqrt(20_000))
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.03)


def test_where_an_intervention_puts_a_product_is_not_guessed(rng):
    with pytest.raises(ad.AlldagsError, match=r"do\(\) needs straight lines, but the regression of 'y' has the terms"):
        _ = fitted(problem_at(product_rows(rng, 40), 0.0)).origin


def test_without_loadings_a_posterior_is_read_as_it_is(rng):
    names = (*TERMS, "y")
    data = working_data(ad.Moments.from_table(product_rows(rng, 20), names=names), PRIOR, names)
    posterior = Exact()(build(data.of("y"), NodeTerms("y", TERMS, (0.5,) * 3), PRIOR), rng)
    assert onto_parents(posterior) is posterior
